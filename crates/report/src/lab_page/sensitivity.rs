//! The page of how much each machine constant affects each experiment.

use super::{end, head, put, table, text};
use crate::sensitivity::{ConstantReport, SensitivityReport, changed, counted};
use keel_abi::numbers::figures;
use std::fmt::Write;

/// Returns the page: for each experiment, the constants that change it by 5 % or more, largest change first.
pub fn of_sensitivity(experiments: &[SensitivityReport]) -> String {
    let mut page = head("Each machine constant halved and doubled", &counted(experiments));
    let heads = ["constant", "halved", "doubled"].map(str::to_owned);
    for experiment in experiments {
        let base = experiment.base.map_or("–".to_owned(), figures);
        let band = format!("band {} to {}", figures(experiment.band.0), figures(experiment.band.1));
        put!(page, "<article><h2>{} <small>{base} as it is, {band}</small></h2>", text(&experiment.id));
        let shown = |ratio: Option<f64>| {
            let star = if experiment.crosses(ratio) { "*" } else { "" };
            let change = changed(experiment.base, ratio);
            ratio
                .map_or("–".to_owned(), |ratio| format!("{}{star} <small>{change}</small>", figures(ratio)))
        };
        let row = |constant: &&ConstantReport| {
            vec![text(&constant.name), shown(constant.halved), shown(constant.doubled)]
        };
        let constants = experiment.moving();
        match constants.is_empty() {
            true => {
                put!(page, "<p>No constant changes it by 5 %.</p>");
            }
            false => table(&mut page, "constants", &heads, &constants.iter().map(row).collect::<Vec<_>>()),
        }
        put!(page, "</article>");
    }
    end(page)
}
