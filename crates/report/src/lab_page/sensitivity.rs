//! The page of how far each machine constant moves each experiment.

use super::{end, head, put, table, text};
use crate::sensitivity::{ConstantReport, MOVES, SensitivityReport, counted};
use crate::units::figures;
use std::fmt::Write;

/// The page: what moves by 5 % or more, the most first.
pub fn of_sensitivity(experiments: &[SensitivityReport]) -> String {
    let (moved, still) = counted(experiments);
    let says = format!(
        "{moved} pairs of experiment and constant move by 5 % or more when the constant is halved or doubled, {still} do not."
    );
    let mut page = head("Each machine constant halved and doubled", &says);
    let heads = ["constant", "halved", "doubled"].map(str::to_owned);
    for experiment in experiments {
        let mut constants: Vec<&ConstantReport> =
            experiment.constants.iter().filter(|constant| constant.moves(experiment.base) >= MOVES).collect();
        constants.sort_by(|a, b| b.moves(experiment.base).total_cmp(&a.moves(experiment.base)));
        let base = experiment.base.map_or("–".to_owned(), figures);
        put!(page, "<article><h2>{} <small>{base} as it is</small></h2>", text(&experiment.id));
        let shown = |ratio: Option<f64>| {
            let change = experiment.base.zip(ratio).map(|(base, ratio)| (ratio / base - 1.0) * 100.0);
            let change = change.map_or(String::new(), |percent| format!(" <small>{percent:+.0} %</small>"));
            ratio.map_or("–".to_owned(), |ratio| figures(ratio) + &change)
        };
        let row = |constant: &&ConstantReport| {
            vec![text(&constant.name), shown(constant.halved), shown(constant.doubled)]
        };
        match constants.is_empty() {
            true => {
                put!(page, "<p>No constant moves it by 5 %.</p>");
            }
            false => table(&mut page, "constants", &heads, &constants.iter().map(row).collect::<Vec<_>>()),
        }
        put!(page, "</article>");
    }
    end(page)
}
