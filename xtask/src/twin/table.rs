//! The figures of both kernels, side by side.

use super::Pair;
use super::distance::Distance;
use super::figures::{COUNTS, Figures, Name};
use super::kinds::{self, Kinds};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A figure of a name: its title and its format.
type Row = (&'static str, fn(&Name) -> String);

const ROWS: [Row; 7] = [
    ("CPU share", |n| format!("{:.3}", n.share)),
    (COUNTS[0], |n| n.counts[0].to_string()),
    (COUNTS[1], |n| n.counts[1].to_string()),
    (COUNTS[2], |n| n.counts[2].to_string()),
    ("delay p50 ms", |n| format!("{:.2}", n.delay_ms[0])),
    ("delay p99 ms", |n| format!("{:.2}", n.delay_ms[1])),
    ("first run", |n| format!("{}.", n.rank + 1)),
];

/// The whole table, and how much the runs differ.
pub(super) fn text(pairs: &[Pair]) -> String {
    let mut text = String::new();
    for pair in pairs {
        writeln!(text, "\n{}, {}", pair.scenario, pair.scheduler).expect("a string takes all");
        line(&mut text, ["", "", "simulated", "real", "real again"], "");
        let distance = pair.distance();
        for (name, simulated) in &pair.simulated.names {
            let label = format!("{name} x {}", simulated.tasks);
            for (at, (figure, write)) in ROWS.iter().enumerate() {
                let real =
                    |run: usize| pair.real.get(run).map_or(String::new(), |real| write(&real.names[name]));
                let label = if at == 0 { label.as_str() } else { "" };
                let held = if at == 0 { "share" } else { figure };
                let mark = match distance.beyond(name, held) {
                    None => "",
                    Some(_) if pair.is_chance(name, held) => "  ~",
                    Some(_) => "  <",
                };
                line(&mut text, [label, figure, &write(simulated), &real(0), &real(1)], mark);
            }
        }
        let runs = [Some(&pair.simulated), pair.real.first(), pair.real.get(1)];
        let mut row = |figure: &str, of: fn(&Figures) -> f64| {
            let cells = runs.map(|run| run.map_or(String::new(), |figures| format!("{:.3}", of(figures))));
            line(&mut text, ["", figure, &cells[0], &cells[1], &cells[2]], "");
        };
        row("others' share", |figures| figures.others_share);
        row("wasted core-s", |figures| figures.wasted_s);
        findings(&mut text, pair);
    }
    distances(&mut text, pairs);
    text
}

/// The findings: for each kind, the number and the longest in seconds.
fn findings(text: &mut String, pair: &Pair) {
    let all: Vec<&Kinds> = std::iter::once(&pair.simulated).chain(&pair.real).map(|run| &run.kinds).collect();
    let named: BTreeSet<&String> = all.iter().flat_map(|kinds| kinds.keys()).collect();
    let apart = pair.kinds_apart();
    for kind in named {
        let cell = |run: usize| all.get(run).map_or(String::new(), |kinds| kinds::cell(kinds, kind));
        let mark = match apart.contains(kind.as_str()) {
            false => "",
            true if pair.is_kind_by_chance(kind) => "  ~",
            true => "  <",
        };
        line(text, ["found", kind, &cell(0), &cell(1), &cell(2)], mark);
    }
}

/// How much each simulated run differs from the real runs, and these from each other. 1 is the limit.
fn distances(text: &mut String, pairs: &[Pair]) {
    writeln!(text, "\nDistance from the simulated run to the real one (1 is the limit)")
        .expect("a string takes all");
    line(text, ["", "", "itself", "real again", "nearest"], "");
    for pair in pairs {
        let own = pair.distance().mean;
        let again = pair.chance().map_or(String::new(), |chance| format!("{:.2}", chance.mean));
        line(text, [&pair.scenario, &pair.scheduler, &format!("{own:.2}"), &again, nearest(pair, pairs)], "");
    }
}

/// The scheduler whose real run of the workload is closest to this simulated run. Its own if several are equal.
pub(super) fn nearest<'a>(pair: &'a Pair, pairs: &'a [Pair]) -> &'a str {
    let to = |other: &Pair| Distance::between(&pair.simulated, &other.real[0]).mean;
    let others =
        pairs.iter().filter(|other| other.scenario == pair.scenario && other.scheduler != pair.scheduler);
    let rival = others.min_by(|a, b| to(a).total_cmp(&to(b)));
    rival.filter(|rival| to(rival) < to(pair)).map_or(&pair.scheduler, |rival| &rival.scheduler)
}

fn line(text: &mut String, cells: [&str; 5], mark: &str) {
    let [a, b, c, d, e] = cells;
    let line = format!("  {a:<14} {b:<14} {c:>11} {d:>11} {e:>11}{mark}");
    writeln!(text, "{}", line.trim_end()).expect("a string takes all");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(share: f64) -> Figures {
        let name = Name { tasks: 2, share, counts: [30.0, 4.0, 5.0], delay_ms: [0.5, 7.25], rank: 0 };
        let wasted = kinds::read(&serde_json::json!({ "findings_total": { "wasted_core": 3 } }));
        let kinds = if share == 0.9 { Kinds::new() } else { wasted };
        Figures { names: [("hog".to_owned(), name)].into(), others_share: 0.25, wasted_s: 0.125, kinds }
    }

    #[test]
    fn both_kernels_stand_side_by_side() {
        let pair = |scheduler: &str, simulated, real: [f64; 2]| Pair {
            scenario: "hogs".into(),
            scheduler: scheduler.into(),
            simulated: figures(simulated),
            real: real.map(figures).into(),
        };
        let pairs = [pair("fifo", 0.3, [0.36, 0.44]), pair("o1", 0.5, [0.9, 0.9])];
        assert_eq!(pairs.iter().map(|p| nearest(p, &pairs)).collect::<Vec<_>>(), ["fifo", "fifo"]);
        let text = text(&pairs);
        let expected = "
hogs, o1
                                  simulated        real  real again
  hog x 2        CPU share            0.500       0.900       0.900  <
                 switches                30          30          30
                 preemptions              4           4           4
                 migrations               5           5           5
                 delay p50 ms          0.50        0.50        0.50
                 delay p99 ms          7.25        7.25        7.25
                 first run               1.          1.          1.
                 others' share        0.250       0.250       0.250
                 wasted core-s        0.125       0.125       0.125
  found          wasted_core       3, 0.000           0           0  <
";
        assert!(text.contains(expected), "{text}");
        let by_chance = "CPU share            0.300       0.360       0.440  ~\n";
        assert!(text.contains(by_chance), "{text}");
        assert!(
            text.contains("  hogs           o1                    2.00        0.00        fifo\n"),
            "{text}"
        );
    }
}
