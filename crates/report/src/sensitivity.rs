//! How far each machine constant moves each experiment, as table and JSON.

use crate::style::{Paint, Style};
use crate::table::{lines_of, plain_table};
use crate::units::figures;
use crate::verdict::printable;
use comfy_table::{Cell, CellAlignment};
use serde::Serialize;

/// A ratio that moves by less is not listed for people.
pub(crate) const MOVES: f64 = 0.05;

/// One experiment's first claim, with each constant halved and doubled.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SensitivityReport {
    /// The experiment's name.
    pub id: String,
    /// The ratio on the machine as it is.
    pub base: Option<f64>,
    /// The ratio with each constant varied.
    pub constants: Vec<ConstantReport>,
}

/// One constant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConstantReport {
    /// Its name.
    pub name: String,
    /// The ratio with the constant halved; absent where that changes no machine, or a run failed.
    pub halved: Option<f64>,
    /// The ratio with it doubled.
    pub doubled: Option<f64>,
}

impl ConstantReport {
    /// The greater of the two moves, as a share of the base.
    pub(crate) fn moves(&self, base: Option<f64>) -> f64 {
        let of = |ratio: Option<f64>| base.zip(ratio).map_or(0.0, |(base, ratio)| (ratio / base - 1.0).abs());
        of(self.halved).max(of(self.doubled))
    }
}

/// How many pairs of experiment and constant move, and how many do not.
pub(crate) fn counted(experiments: &[SensitivityReport]) -> (usize, usize) {
    let varied = |constant: &&ConstantReport| constant.halved.or(constant.doubled).is_some();
    let of = |experiment: &SensitivityReport| {
        let moves = |constant: &&ConstantReport| constant.moves(experiment.base) >= MOVES;
        let moved = experiment.constants.iter().filter(moves).count();
        (moved, experiment.constants.iter().filter(varied).count() - moved)
    };
    experiments.iter().map(of).fold((0, 0), |(a, b), (moved, still)| (a + moved, b + still))
}

/// What moves, the most first, and a sentence.
pub fn table(experiments: &[SensitivityReport], style: Style) -> String {
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let mut table = plain_table(style);
    let heads = ["as it is", "halved", "", "doubled", ""].map(|head| right(head.to_owned()));
    table.set_header([Cell::new("experiment"), Cell::new("constant")].into_iter().chain(heads));
    let (moved, still) = counted(experiments);
    for experiment in experiments {
        let mut constants: Vec<&ConstantReport> = experiment.constants.iter().collect();
        constants.sort_by(|a, b| b.moves(experiment.base).total_cmp(&a.moves(experiment.base)));
        for constant in constants {
            if constant.moves(experiment.base) < MOVES {
                continue;
            }
            let pair = |ratio: Option<f64>| {
                let change = experiment.base.zip(ratio).map(|(base, ratio)| (ratio / base - 1.0) * 100.0);
                let change = change.map_or(String::new(), |percent| format!("{percent:+.0} %"));
                [right(ratio.map_or("-".to_owned(), figures)), right(change)]
            };
            let mut row = vec![
                Cell::new(printable(&experiment.id)),
                Cell::new(&constant.name),
                right(experiment.base.map_or("-".to_owned(), figures)),
            ];
            row.extend(pair(constant.halved));
            row.extend(pair(constant.doubled));
            table.add_row(row);
        }
    }
    let told = format!(
        "{moved} pairs of experiment and constant move by 5 % or more when the constant is halved or doubled, {still} do not."
    );
    let lines = if moved > 0 { lines_of(&table) + "\n\n" } else { String::new() };
    format!("{lines}{}\n", style.paint(Paint::Bold, &told))
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
            constants: vec![
                constant("insn_ps", Some(4.1), Some(3.9)),
                constant("llc_ps", Some(3.0), Some(6.0)),
                constant("lock_per_waiter_ns", None, Some(12.0)),
                constant("ipi_ns", None, None),
            ],
        };
        insta::assert_snapshot!(table(&[experiment], Style::PLAIN));
    }
}
