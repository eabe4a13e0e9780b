//! The same scheduler on several machines: which lines cost more on a larger one.

use crate::diff::{Same, comparable, per_callback};
use crate::lines::{Key, Line};
use crate::model::Profile;
use crate::shown::{clean, columns, place, share, source};
use keel_abi::numbers::{counted, figures};
use std::collections::{BTreeMap, BTreeSet};

/// Returns a line's time per callback on each machine, the fastest growth first. At most `most` lines.
pub fn growth(profiles: &[Profile], most: usize) -> String {
    let sizes: Vec<String> =
        profiles.iter().map(|profile| counted(profile.about.cpus.into(), "CPU")).collect();
    beside(profiles, &sizes, most)
}

/// Like `growth`, for runs with other names, such as a scheduler's settings.
pub fn beside(profiles: &[Profile], names: &[String], most: usize) -> String {
    if profiles.is_empty() {
        return String::new();
    }
    let all: Vec<BTreeMap<Same, (Key, Line)>> = profiles.iter().map(comparable).collect();
    let mut rows = vec![head(names), whole(profiles, "all time in callbacks")];
    rows.push(shares(profiles));
    let mut lines: Vec<(f64, Vec<String>)> = Vec::new();
    for same in all.iter().flat_map(BTreeMap::keys).collect::<BTreeSet<_>>() {
        let costs: Vec<f64> = all
            .iter()
            .zip(profiles)
            .map(|(lines, of)| lines.get(same).map_or(0.0, |(_, line)| per_callback(line.ps(), of)))
            .collect();
        let (Some(first), Some(last)) = (costs.first(), costs.last()) else { continue };
        let Some((key, line)) = all.iter().rev().find_map(|lines| lines.get(same)) else { continue };
        if costs.iter().all(|ps| *ps == 0.0) {
            continue;
        }
        lines.push((last - first, row(&costs, &format!("{}  {}", place(key), source(&line.text)))));
    }
    lines.sort_by(|a, b| b.0.total_cmp(&a.0));
    rows.extend(lines.into_iter().take(most).map(|(_, row)| row));
    columns(&rows)
}

fn head(names: &[String]) -> Vec<String> {
    names
        .iter()
        .map(|name| clean(name))
        .chain(["growth".to_owned(), "ns a callback, by line".to_owned()])
        .collect()
}

fn whole(profiles: &[Profile], name: &str) -> Vec<String> {
    let of = |profile: &Profile| per_callback(profile.totals.callback_ns * 1000, profile);
    row(&profiles.iter().map(of).collect::<Vec<_>>(), name)
}

fn shares(profiles: &[Profile]) -> Vec<String> {
    let of = |profile: &Profile| {
        share(profile.totals.callback_ns, profile.about.duration_ns * u64::from(profile.about.cpus))
    };
    let words = ["".to_owned(), "of all CPUs' time".to_owned()];
    profiles.iter().map(of).chain(words).collect()
}

fn row(costs_ps: &[f64], name: &str) -> Vec<String> {
    let (first, last) = (costs_ps[0], costs_ps[costs_ps.len() - 1]);
    let times = match first > 0.0 {
        true => format!("x{}", figures(last / first)),
        false => "new".to_owned(),
    };
    costs_ps.iter().map(|ps| figures(ps / 1000.0)).chain([times, name.to_owned()]).collect()
}
