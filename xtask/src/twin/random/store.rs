//! The figures of real runs, in files that people can read: one file for each kernel and seed, one line for each name
//! in each run.

use super::draw::VERSION;
use super::figures::{Row, Run};
use super::plan::Drawn;
use crate::Failure;
use crate::tree::root;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Their folder, from the root: a folder for each kernel, a file for each workload.
const FOLDER: &str = "tests/twin/random";

/// The columns.
const HEAD: &str = "scheduler\trun\tname\tshare\tswitches\tpreemptions\tmigrations\tp50_ms\tp99_ms\twasted_s";

/// Replaces the name in a line about the whole run.
const ALL: &str = "*";

/// The runs of one workload, by scheduler and run number.
pub(super) type Runs = BTreeMap<(String, u32), Run>;

fn file(kernel: &str, drawn: &Drawn) -> String {
    format!("{FOLDER}/{kernel}/{}.tsv", drawn.name)
}

/// The stored runs of a workload. Empty if there is no file.
///
/// # Errors
/// If the figures belong to another workload than the one that the seed draws now, or cannot be read.
pub(super) fn read(kernel: &str, drawn: &Drawn) -> Result<Runs, Failure> {
    let file = file(kernel, drawn);
    match std::fs::read_to_string(root().join(&file)) {
        Ok(text) => parse(&text, drawn).map_err(|why| format!("{file}: {why}")),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Runs::new()),
        Err(e) => Err(format!("{file}: {e}")),
    }
}

/// Stores the runs of a workload. The file is replaced atomically.
pub(super) fn write(kernel: &str, drawn: &Drawn, runs: &Runs) -> Result<(), Failure> {
    let file = file(kernel, drawn);
    let path: PathBuf = root().join(&file);
    let part = path.with_extension("part");
    let folder = path.parent().expect("it is in a folder");
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&part, text(drawn, runs)))
        .and_then(|()| std::fs::rename(&part, &path))
        .map_err(|e| format!("{file}: {e}"))
}

/// Identifies the workload of the figures.
fn key(drawn: &Drawn) -> String {
    format!("# generator {VERSION}, workload {:08x}", drawn.fingerprint)
}

fn text(drawn: &Drawn, runs: &Runs) -> String {
    let mut text = format!("{}: {}\n{HEAD}\n", key(drawn), drawn.about());
    for ((scheduler, run), of) in runs {
        let mut line = |name: &str, row: &Row, wasted: &str| {
            let [switches, preemptions, migrations] = row.counts;
            let [p50_ms, p99_ms] = row.delay_ms;
            writeln!(
                text,
                "{scheduler}\t{run}\t{name}\t{:.4}\t{switches}\t{preemptions}\t{migrations}\t{p50_ms:.4}\t{p99_ms:.4}\t{wasted}",
                row.share
            )
            .expect("a string takes all");
        };
        for (name, row) in &of.names {
            line(name, row, "");
        }
        line(ALL, &of.all(&drawn.workload), &format!("{:.4}", of.wasted_s));
    }
    text
}

fn parse(text: &str, drawn: &Drawn) -> Result<Runs, String> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    if head.split_once(": ").is_none_or(|(first, _)| first != key(drawn)) {
        return Err(format!(
            "its figures are of another workload than '{}'; delete it and record the seed again",
            key(drawn)
        ));
    }
    if lines.next() != Some(HEAD) {
        return Err("its second line does not name the columns".to_owned());
    }
    let mut runs = Runs::new();
    for (at, line) in lines.enumerate() {
        let wrong = || format!("line {}: write ten columns with tabs between", at + 3);
        let cells: Vec<&str> = line.split('\t').collect();
        let [scheduler, run, name, .., wasted] = cells[..] else { return Err(wrong()) };
        let run: u32 = run.parse().map_err(|_| wrong())?;
        let of = runs.entry((scheduler.to_owned(), run)).or_default();
        if name == ALL {
            of.wasted_s = wasted.parse().map_err(|_| wrong())?;
        } else {
            of.names.insert(name.to_owned(), row(&cells).ok_or_else(wrong)?);
        }
    }
    Ok(runs)
}

fn row(cells: &[&str]) -> Option<Row> {
    let [_, _, _, share, switches, preemptions, migrations, p50, p99, _] = cells else { return None };
    let number = |cell: &str| cell.parse::<f64>().ok().filter(|value| value.is_finite());
    Some(Row {
        share: number(share)?,
        counts: [number(switches)?, number(preemptions)?, number(migrations)?],
        delay_ms: [number(p50)?, number(p99)?],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let drawn = Drawn::of_seed(7).unwrap();
        let row = Row { share: 0.25, counts: [100.0, 3.0, 7.0], delay_ms: [0.5, 12.25] };
        let run = Run { names: [("hog1".to_owned(), row)].into(), wasted_s: 0.125 };
        let runs: Runs = [(("o1".to_owned(), 2), run)].into();
        let kept = text(&drawn, &runs);
        assert_eq!(parse(&kept, &drawn).unwrap(), runs);
        let other = Drawn::of_seed(8).unwrap();
        let refused = parse(&kept, &other).unwrap_err();
        assert!(refused.starts_with("its figures are of another workload than '# generator"), "{refused}");
        let check = |from: &str, to: &str, expected: &str| {
            let refused = parse(&kept.replace(from, to), &drawn).unwrap_err();
            assert!(refused.starts_with(expected), "{refused}");
        };
        check("generator", "made by", "its figures are of another workload");
        check("run\tname", "name\trun", "its second line");
        check("0.2500", "a quarter", "line 3: write ten columns");
        check("\t0.1250", "\t", "line 4: write ten columns");
    }
}
