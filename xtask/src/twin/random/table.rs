//! The distribution as tables: by half, by scheduler, by kind of workload; the winners; and the worst.

use super::judge::{Distance, Figure, Pair, quantile};
use super::plan::Half;
use super::ranking::{self, Contest};
use std::collections::BTreeSet;
use std::fmt::Write;

/// How many of the worst are shown.
pub(super) const WORST: usize = 20;

/// Figures that are counted together.
const TOGETHER: [(&str, &[Figure]); 4] = [
    ("shares", &[Figure::Share]),
    ("counts", &[Figure::Switches, Figure::Preemptions, Figure::Migrations]),
    ("p50", &[Figure::P50]),
    ("p99", &[Figure::P99]),
];

/// Everything except the worst.
pub(super) fn text(pairs: &[Pair]) -> String {
    let distances: Vec<Distance> = pairs.iter().flat_map(Pair::distances).collect();
    let mut text = String::new();
    for half in [Half::Open, Half::Aside] {
        let of_half: Vec<&Pair> = pairs.iter().filter(|pair| pair.drawn.half == half).collect();
        let own: Vec<&Distance> = distances.iter().filter(|d| d.pair.drawn.half == half).collect();
        writeln!(text, "\nThe half {}: {} pairs of workload and scheduler\n", half.word(), of_half.len())
            .expect("a string takes all");
        figures(&mut text, &own);
        contests(&mut text, &of_half);
    }
    let drawn: Vec<&Distance> = distances.iter().filter(|d| d.pair.drawn.half != Half::Neither).collect();
    text += "\nBoth halves, by scheduler and by kind of workload: figures within their bounds\n\n";
    let mut seen = Vec::new();
    for pair in pairs {
        if !seen.contains(&pair.scheduler) {
            seen.push(pair.scheduler.clone());
        }
    }
    groups_head(&mut text, "scheduler");
    for scheduler in &seen {
        group(&mut text, scheduler, &drawn, |d| d.pair.scheduler == *scheduler);
    }
    let kinds: BTreeSet<&str> = pairs.iter().flat_map(|pair| pair.drawn.workload.kinds()).collect();
    text.push('\n');
    groups_head(&mut text, "kind");
    for kind in kinds {
        group(&mut text, kind, &drawn, |d| d.pair.drawn.workload.kinds().contains(&kind));
    }
    text += "\nThe independent workload\n\n";
    groups_head(&mut text, "scheduler");
    let own: Vec<&Distance> = distances.iter().filter(|d| d.pair.drawn.half == Half::Neither).collect();
    for scheduler in &seen {
        group(&mut text, scheduler, &own, |d| d.pair.scheduler == *scheduler);
    }
    text
}

/// A row for each figure: how many are within bounds, and how much simulated and real runs differ, beside two real
/// ones.
fn figures(text: &mut String, distances: &[&Distance]) {
    *text += "| figure | within | a real run | apart: half | nine of ten | all | real runs: half | nine of ten | of real |\n\
              | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for figure in Figure::ALL {
        let own: Vec<&&Distance> = distances.iter().filter(|d| d.figure == figure).collect();
        let apart: Vec<f64> = own.iter().map(|d| d.apart()).collect();
        let again: Vec<f64> = own.iter().map(|d| d.again()).collect();
        let percent = |values: &[f64], part| format!("{:.1} %", 100.0 * quantile(values, part));
        let ratio = apart.iter().sum::<f64>() / again.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {ratio:.1} |",
            figure.word(),
            part(own.iter().filter(|d| d.is_within()).count(), own.len()),
            part(own.iter().filter(|d| d.is_real_within()).count(), own.len()),
            percent(&apart, 0.5),
            percent(&apart, 0.9),
            percent(&apart, 1.0),
            percent(&again, 0.5),
            percent(&again, 0.9),
        )
        .expect("a string takes all");
    }
}

/// Which scheduler wins.
fn contests(text: &mut String, pairs: &[&Pair]) {
    *text += "\n| the winner by | is the same | is the same where it leads by more than noise |\n| --- | --- | --- |\n";
    for contest in Contest::ALL {
        let seen = ranking::agreement(pairs, contest);
        let all = part(seen.same as usize, seen.contests as usize);
        let decided = part(seen.decided_same as usize, seen.decided as usize);
        writeln!(text, "| {} | {all} | {decided} |", contest.word()).expect("a string takes all");
    }
}

fn groups_head(text: &mut String, of: &str) {
    writeln!(text, "| {of} | {} |", TOGETHER.map(|(name, _)| name).join(" | ")).expect("a string takes all");
    *text += "| --- | --- | --- | --- | --- |\n";
}

/// A row: how many of a group's figures are within bounds.
fn group(text: &mut String, name: &str, distances: &[&Distance], belongs: impl Fn(&Distance) -> bool) {
    let cells = TOGETHER.map(|(_, figures)| {
        let own = || distances.iter().filter(|d| belongs(d) && figures.contains(&d.figure));
        part(own().filter(|d| d.is_within()).count(), own().count())
    });
    writeln!(text, "| {name} | {} |", cells.join(" | ")).expect("a string takes all");
}

/// `157 of 180, 87 %`.
fn part(some: usize, all: usize) -> String {
    match all {
        0 => "none".to_owned(),
        _ => format!("{some} of {all}, {:.0} %", 100.0 * some as f64 / all as f64),
    }
}

/// The figures that differ most. Those of the half kept aside must not be looked at.
pub(super) fn worst<'a>(pairs: &'a [Pair<'a>]) -> Vec<Distance<'a>> {
    let open = pairs.iter().filter(|pair| pair.drawn.half != Half::Aside);
    let mut distances: Vec<Distance> = open.flat_map(Pair::distances).filter(|d| !d.is_within()).collect();
    distances.sort_by(|a, b| b.of_allowed().total_cmp(&a.of_allowed()));
    distances
}

/// Every compared figure, one per line, separated by tabs. Those of the half kept aside are left out.
pub(super) fn every(pairs: &[Pair]) -> String {
    let mut text =
        String::from("workload\tscheduler\tname\tfigure\tsimulated\treal\treal again\tof allowed\n");
    let open = pairs.iter().filter(|pair| pair.drawn.half != Half::Aside);
    for distance in open.flat_map(Pair::distances) {
        let Distance { pair, name, figure, simulated, real: [first, second], .. } = &distance;
        let (of, by, word, far) = (&pair.drawn.name, &pair.scheduler, figure.word(), distance.of_allowed());
        writeln!(text, "{of}\t{by}\t{name}\t{word}\t{simulated:.4}\t{first:.4}\t{second:.4}\t{far:.2}")
            .expect("a string takes all");
    }
    text
}

/// A line for one of the worst.
pub(super) fn line(distance: &Distance) -> String {
    let Distance { pair, name, figure, simulated, real: [first, second], .. } = distance;
    format!(
        "{} under {}: {name}'s {} is {} simulated, {} and {} real: {:.1} times what is allowed",
        pair.drawn.name,
        pair.scheduler,
        figure.word(),
        number(*simulated),
        number(*first),
        number(*second),
        distance.of_allowed()
    )
}

/// Three significant digits.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::random::figures::{Row, Run};
    use crate::twin::random::plan::Drawn;

    fn pair<'a>(drawn: &'a Drawn, scheduler: &str, share: f64, p99_ms: f64) -> Pair<'a> {
        let run = |share, p99_ms| {
            let row = Row { share, counts: [100.0, 20.0, 0.0], delay_ms: [1.0, p99_ms] };
            Run { names: [("a".to_owned(), row)].into(), wasted_s: 0.0 }
        };
        let real = vec![run(0.5, 8.0), run(0.51, 8.0)];
        Pair { drawn, scheduler: scheduler.into(), real, simulated: vec![run(share, p99_ms)] }
    }

    #[test]
    fn the_distribution_is_by_half_and_the_worst_are_of_the_open_half() {
        let [open, aside] = [1, 2].map(|seed| Drawn::of_seed(seed).unwrap());
        let pairs = [pair(&open, "o1", 0.5, 8.0), pair(&open, "ule", 0.6, 9.0), pair(&aside, "o1", 0.9, 8.0)];
        let text = text(&pairs);
        for row in [
            "The half open: 2 pairs of workload and scheduler",
            "| share | 1 of 2, 50 % | 2 of 2, 100 % | 0.5 % | 9.5 % | 9.5 % | 1.0 % | 1.0 % | 5.0 |",
            "The half aside: 1 pairs of workload and scheduler",
            "| o1 | 1 of 2, 50 % | 4 of 4, 100 % | 2 of 2, 100 % | 2 of 2, 100 % |",
            "| least p99 delay | 1 of 1, 100 % | none |",
        ] {
            assert!(text.contains(row), "{row} is not in {text}");
        }
        let worst = worst(&pairs);
        assert_eq!(worst.len(), 1);
        let expected =
            "1 under ule: a's share is 0.600 simulated, 0.500 and 0.510 real: 4.7 times what is allowed";
        assert_eq!(line(&worst[0]), expected);
        assert_eq!(every(&pairs).lines().count(), 1 + 2 * 5);
    }
}
