//! Shows how much each machine constant affects each experiment, as a table and as JSON.

use crate::cells::{left, lines_of, plain_table, right};
use crate::style::{Paint, Style};
use keel_abi::numbers::figures;
use keel_check::escape_all;
use serde::Serialize;

/// The table omits ratios that change by less than this.
const MOVES: f64 = 0.05;

/// One experiment's first claim, with each constant halved and doubled.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SensitivityReport {
    /// The experiment's name.
    pub id: String,
    /// The ratio on the unmodified machine.
    pub base: Option<f64>,
    /// The band in which the ratio must be, including both ends, to reproduce the published effect.
    pub band: (f64, f64),
    /// The ratios with each constant varied.
    pub constants: Vec<ConstantReport>,
}

/// One constant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConstantReport {
    /// Its name.
    pub name: String,
    /// The ratio with the constant halved; absent if that changes no machine, or if a run failed.
    pub halved: Option<f64>,
    /// The ratio with it doubled.
    pub doubled: Option<f64>,
}

impl ConstantReport {
    /// Returns the greater of the two changes, as a share of the base.
    fn moves(&self, base: Option<f64>) -> f64 {
        let of = |ratio: Option<f64>| change(base, ratio).map_or(0.0, f64::abs);
        of(self.halved).max(of(self.doubled))
    }
}

impl SensitivityReport {
    /// Returns the constants that change the ratio by [`MOVES`] or more, largest change first.
    pub(crate) fn moving(&self) -> Vec<&ConstantReport> {
        let moves = |constant: &&ConstantReport| constant.moves(self.base) >= MOVES;
        let mut moving: Vec<&ConstantReport> = self.constants.iter().filter(moves).collect();
        moving.sort_by(|a, b| b.moves(self.base).total_cmp(&a.moves(self.base)));
        moving
    }

    /// Returns the constants that its machines have.
    fn varied(&self) -> impl Iterator<Item = &ConstantReport> {
        self.constants.iter().filter(|constant| constant.halved.or(constant.doubled).is_some())
    }

    /// Returns whether a varied ratio is in the band while the base is not, or the reverse.
    pub(crate) fn crosses(&self, ratio: Option<f64>) -> bool {
        let holds = |ratio: f64| (self.band.0..=self.band.1).contains(&ratio);
        self.base.zip(ratio).is_some_and(|(base, ratio)| holds(base) != holds(ratio))
    }
}

/// Returns a sentence: how many pairs of experiment and constant change, how many don't, and how many enter or leave
/// the band.
pub(crate) fn counted(experiments: &[SensitivityReport]) -> String {
    let moved: usize = experiments.iter().map(|experiment| experiment.moving().len()).sum();
    let varied: usize = experiments.iter().map(|experiment| experiment.varied().count()).sum();
    let crossing = experiments.iter().flat_map(|experiment| {
        experiment
            .varied()
            .filter(|constant| experiment.crosses(constant.halved) || experiment.crosses(constant.doubled))
    });
    format!(
        "{moved} pairs of experiment and constant change by 5 % or more\nwhen the constant is halved or doubled, {} do not; {} enter or leave the published band (*).",
        varied - moved,
        crossing.count(),
    )
}

/// Returns the constants that change each experiment, largest change first, and a sentence.
pub fn table(experiments: &[SensitivityReport], style: Style) -> String {
    let mut table = plain_table(style);
    let heads = ["band", "as it is", "halved", "", "doubled", ""].map(right);
    table.set_header([left("experiment"), left("constant")].into_iter().chain(heads));
    let mut any = false;
    for experiment in experiments {
        for constant in experiment.moving() {
            let mut row = vec![
                left(escape_all(&experiment.id)),
                left(&constant.name),
                right(format!("{} to {}", figures(experiment.band.0), figures(experiment.band.1))),
                right(experiment.base.map_or("-".to_owned(), figures)),
            ];
            for ratio in [constant.halved, constant.doubled] {
                let star = if experiment.crosses(ratio) { "*" } else { "" };
                row.push(right(ratio.map_or("-".to_owned(), |ratio| figures(ratio) + star)));
                row.push(right(changed(experiment.base, ratio)));
            }
            table.add_row(row);
            any = true;
        }
    }
    let lines = if any { lines_of(&table) + "\n\n" } else { String::new() };
    format!("{lines}{}\n", style.paint(Paint::Bold, &counted(experiments)))
}

/// Returns the change from the base to a ratio, as a share of the base, or `None` if either is unknown or the base is
/// 0.
fn change(base: Option<f64>, ratio: Option<f64>) -> Option<f64> {
    base.filter(|&base| base != 0.0).zip(ratio).map(|(base, ratio)| ratio / base - 1.0)
}

/// Returns the change as text, which is empty if there is none.
pub(crate) fn changed(base: Option<f64>, ratio: Option<f64>) -> String {
    change(base, ratio).map_or(String::new(), |change| format!("{:+.0} %", change * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_most_comes_first() {
        let constant = |name: &str, halved, doubled| ConstantReport { name: name.into(), halved, doubled };
        let experiment = SensitivityReport {
            id: "yield".into(),
            base: Some(4.0),
            band: (3.0, 5.0),
            constants: vec![
                constant("insn_ps", Some(4.1), Some(3.9)),
                constant("llc_ps", Some(3.0), Some(6.0)),
                constant("lock_per_waiter_ns", None, Some(12.0)),
                constant("ipi_ns", None, None),
            ],
        };
        // A change from 0 has no share.
        let nothing = SensitivityReport {
            id: "none".into(),
            base: Some(0.0),
            band: (0.1, 0.9),
            constants: vec![constant("ipi_ns", Some(0.0), Some(0.003))],
        };
        insta::assert_snapshot!(table(&[experiment, nothing], Style::PLAIN));
    }
}
