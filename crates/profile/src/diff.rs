//! Compares two profiles line by line: of two objects, machines or commits.
//!
//! A line is the same in both if it has the same text in the same function. The first such line corresponds to the
//! first, the second to the second, so that it is found even if other lines were inserted before it. A line without
//! text is identified by its number.

use crate::lines::{Key, Line, lines};
use crate::model::Profile;
use crate::shown::{clean, columns, place, source, time};
use keel_abi::numbers::{count, counted, figures};
use std::collections::BTreeMap;

/// What identifies a line in two profiles.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Same {
    function: String,
    /// The line, or its number if it has no text.
    what: String,
    /// Which of several equal lines.
    nth: usize,
}

/// Returns a profile's lines by their identity.
pub(crate) fn comparable(profile: &Profile) -> BTreeMap<Same, (Key, Line)> {
    let mut seen = BTreeMap::<(String, String), usize>::new();
    let mut by = BTreeMap::new();
    for (key, line) in lines(profile) {
        let what = match line.text.trim() {
            "" if key.line == 0 => String::new(),
            "" => format!("{}:{}", key.file.rsplit('/').next().unwrap_or_default(), key.line),
            text => text.to_owned(),
        };
        let nth = seen.entry((key.function.clone(), what.clone())).or_default();
        by.insert(Same { function: key.function.clone(), what, nth: *nth }, (key, line));
        *nth += 1;
    }
    by
}

/// Picoseconds per callback.
pub(crate) fn per_callback(ps: u64, profile: &Profile) -> f64 {
    ps as f64 / profile.totals.callbacks.max(1) as f64
}

/// Returns both profiles' times for each line, the largest change of time per callback first. At most `most` lines.
pub fn diff(before: &Profile, after: &Profile, most: usize) -> String {
    let mut text = String::new();
    for (name, profile) in [("before", before), ("after", after)] {
        let (about, totals) = (&profile.about, &profile.totals);
        text += &format!(
            "{name:>6}  {} on {}, seed {}: {} callbacks, {} each, {} instructions each\n",
            clean(&about.scheduler),
            counted(about.cpus.into(), "CPU"),
            about.seed,
            count(totals.callbacks),
            time(per_callback(totals.callback_ns * 1000, profile) as u64),
            figures(per_callback(totals.instructions, profile)),
        );
    }
    let (lines_before, lines_after) = (comparable(before), comparable(after));
    let mut rows: Vec<(f64, Vec<String>)> = Vec::new();
    let both: std::collections::BTreeSet<&Same> = lines_before.keys().chain(lines_after.keys()).collect();
    for same in both {
        let (was, is) = (lines_before.get(same), lines_after.get(same));
        let ps = |line: Option<&(Key, Line)>, of| line.map_or(0.0, |(_, line)| per_callback(line.ps(), of));
        let (was_ps, is_ps) = (ps(was, before), ps(is, after));
        if was_ps == is_ps {
            continue;
        }
        let Some((key, line)) = is.or(was) else { continue };
        let shown = |ps: f64, there: bool| if there { figures(ps / 1000.0) } else { "-".to_owned() };
        let change = is_ps - was_ps;
        let sign = if change < 0.0 { "-" } else { "+" };
        rows.push((
            change,
            vec![
                shown(was_ps, was.is_some()),
                shown(is_ps, is.is_some()),
                format!("{sign}{}", figures(change.abs() / 1000.0)),
                format!("{}  {}", place(key), source(&line.text)),
            ],
        ));
    }
    rows.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    rows.truncate(most);
    let head = ["before", "after", "change", "ns a callback, by line"].map(str::to_owned).to_vec();
    let table: Vec<Vec<String>> = std::iter::once(head).chain(rows.into_iter().map(|(_, row)| row)).collect();
    text + "\n" + &columns(&table)
}
