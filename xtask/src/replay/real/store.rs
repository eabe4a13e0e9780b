//! The figures of real runs, in files that people can read: one file per kernel, one line per run.

use super::FOLDER;
use super::figures::{Figures, NAMES};
use crate::Failure;
use crate::tree::root;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Runs by load, scheduler and the run's number.
pub(super) type Runs = BTreeMap<(String, String, u32), Figures>;

fn file(kernel: &str) -> String {
    format!("{FOLDER}/{kernel}.tsv")
}

fn head() -> String {
    format!("load\tscheduler\trun\t{}", NAMES.join("\t"))
}

/// The stored figures of a kernel. Empty if there is no file.
///
/// # Errors
/// If a line is not a run.
pub(super) fn read(kernel: &str) -> Result<Runs, Failure> {
    let file = file(kernel);
    match std::fs::read_to_string(root().join(&file)) {
        Ok(text) => parse(&text).map_err(|why| format!("{file}: {why}")),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Runs::new()),
        Err(e) => Err(format!("{file}: {e}")),
    }
}

/// Stores the runs. The file is replaced atomically.
pub(super) fn write(kernel: &str, runs: &Runs) -> Result<(), Failure> {
    let file = file(kernel);
    let path = root().join(&file);
    let part = path.with_extension("part");
    std::fs::write(&part, text(runs))
        .and_then(|()| std::fs::rename(&part, &path))
        .map_err(|e| format!("{file}: {e}"))
}

fn text(runs: &Runs) -> String {
    let mut text = format!("{}\n", head());
    for ((load, scheduler, run), figures) in runs {
        let cells: Vec<String> = figures.values().iter().map(|value| format!("{value:.3}")).collect();
        writeln!(text, "{load}\t{scheduler}\t{run}\t{}", cells.join("\t")).expect("a string takes all");
    }
    text
}

fn parse(text: &str) -> Result<Runs, String> {
    let mut lines = text.lines();
    if lines.next() != Some(head().as_str()) {
        return Err("its first line does not name the columns".to_owned());
    }
    let run = |(at, line): (usize, &str)| {
        run(line).ok_or_else(|| format!("line {}: write eleven columns with tabs between", at + 2))
    };
    lines.enumerate().map(run).collect()
}

fn run(line: &str) -> Option<((String, String, u32), Figures)> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [load, scheduler, run, values @ ..] = &cells[..] else { return None };
    let number = |cell: &&str| cell.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    let values: Vec<f64> = values.iter().map(number).collect::<Option<_>>()?;
    let figures = Figures::from_values(values.try_into().ok()?);
    Some((((*load).to_owned(), (*scheduler).to_owned(), run.parse().ok()?), figures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let figures = Figures::from_values([1.5, 2.0, 3.25, 4.0, 5.0, 6.0, 7.125, 8.0]);
        let runs: Runs = [(("redis".to_owned(), "o1".to_owned(), 2), figures)].into();
        let kept = text(&runs);
        assert_eq!(parse(&kept).unwrap(), runs);
        let check = |from: &str, to: &str, expected: &str| {
            let refused = parse(&kept.replace(from, to)).unwrap_err();
            assert!(refused.starts_with(expected), "{refused}");
        };
        check("load\t", "", "its first line");
        check("1.500", "much", "line 2: write eleven columns");
        check("\t8.000", "", "line 2: write eleven columns");
    }
}
