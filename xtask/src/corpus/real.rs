//! `./x corpus --real` attaches each object to a real kernel and to the simulated one, with the same workload. It
//! compares how both end: their messages, the shares of the CPUs, and the numbers of switches and migrations.
//!
//! The guest is the twin's: four CPUs whose time is counted in instructions.

use super::KNOWN;
use super::args::Args;
use super::build::Built;
use super::verdict::Test;
use crate::live::guest::Script;
use crate::live::seen::Seen;
use crate::tree::root;
use crate::twin::figures::Figures;
use crate::twin::real::QUIET;
use crate::{Failure, cargo};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The folder for the results, from the root.
const OUT: &str = "out/corpus";
/// The workload that runs on both kernels.
const WORKLOAD: &str = "real.json";
/// The tasks of that workload.
const NAMES: [&str; 4] = ["hog", "nicer", "pinned", "waker"];
/// The part of its four seconds that is judged.
const JUDGED_MS: std::ops::Range<u64> = 500..3500;
const GUEST: &[&str] = &["--cpus", "4", "--icount=3", "--append", QUIET];
/// In wall time. On a busy host, a guest may start late.
const TURN: Duration = Duration::from_secs(240);

/// How one object did on one kernel.
#[derive(Clone, Debug, PartialEq)]
struct End {
    /// Why it ended, in the kernel's words without details, or `stays` if it did not end.
    words: String,
    /// What its tasks did, if it stayed.
    figures: Option<Figures>,
}

/// The result for a scheduler that is still attached at the end.
const STAYS: &str = "stays";

/// Runs each object on both kernels, prints a row for each, and writes them to `out/corpus/real.tsv`.
///
/// # Errors
/// If an object ends differently on the two kernels.
pub(super) fn compare(tests: &[Test], objects: &[Built], args: &Args) -> Result<(), Failure> {
    let kernel = args.kernel.as_str();
    cargo::run(&["build", "-q", "--release", "-p", "keel-cli"])?;
    let rows = rows(tests, objects)?;
    let names: Vec<String> = rows.iter().map(|(name, ..)| name.clone()).collect();
    let out = format!("{OUT}/real");
    let script = Script {
        kernel,
        guest: GUEST,
        script: "tests/corpus/real.sh",
        out: out.clone(),
        first: Some(write_list(&rows)?),
        turn: TURN,
    };
    let mut table = format!("{}\n", HEAD.join("\t"));
    println!("{}", line(&HEAD.map(str::to_owned)));
    let mut differ = Vec::new();
    let seen = match args.keep {
        true => names.iter().map(|name| Seen::read(&root().join(&out), name)).collect(),
        false => script.run(&names)?,
    };
    for (seen, (name, object, recipe)) in seen.iter().zip(&rows) {
        let real = real(seen, &root().join(format!("{out}/{name}.trc")));
        let simulated = simulated(name, object, recipe.as_deref())?;
        let cells = cells(name, &simulated, &real);
        println!("{}", line(&cells));
        table += &format!("{}\n", cells.join("\t"));
        if simulated.words != real.words {
            differ.push(name.as_str());
        }
    }
    let path = root().join(format!("{OUT}/real.tsv"));
    std::fs::write(&path, table).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("{} objects, {} that end differently on Linux {kernel}", rows.len(), differ.len());
    match differ.as_slice() {
        [] => Ok(()),
        some => Err(format!("different results: {}", some.join(", "))),
    }
}

/// Name, object and recipe of each test whose object exists. A test occurs once for each way to run it.
fn rows(tests: &[Test], objects: &[Built]) -> Result<Vec<(String, PathBuf, Option<String>)>, Failure> {
    let mut rows = Vec::new();
    for object in objects {
        let Ok(path) = &object.path else { continue };
        let path = path.strip_prefix(root()).unwrap_or(path).to_owned();
        for test in super::tests_of(tests, object) {
            let recipe = (!test.recipe.is_empty()).then(|| format!("{KNOWN}/{}.keel.toml", test.recipe));
            rows.push((test.name, path.clone(), recipe));
        }
    }
    match rows.is_empty() {
        true => Err("no object's name begins with that".to_owned()),
        false => Ok(rows),
    }
}

/// Writes the list that the script reads. Returns its path from the root.
fn write_list(rows: &[(String, PathBuf, Option<String>)]) -> Result<String, Failure> {
    let list = format!("{OUT}/real.list");
    let line = |(name, object, recipe): &(String, PathBuf, Option<String>)| {
        format!("{name} {} {}\n", object.display(), recipe.as_deref().unwrap_or("-"))
    };
    let text: String = rows.iter().map(line).collect();
    let path = root().join(&list);
    std::fs::create_dir_all(root().join(OUT))
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|e| format!("{list}: {e}"))?;
    Ok(list)
}

/// Its result on the real kernel.
fn real(seen: &Seen, trace: &Path) -> End {
    let words = match seen.trouble() {
        Some(trouble) => trouble,
        None => said(&seen.said, seen.fact("code")),
    };
    let figures = if words == STAYS { figures(trace) } else { None };
    End { words, figures }
}

/// Why `keel run` exited with this code, from its messages.
fn said(text: &str, code: &str) -> String {
    let reported =
        |start: &str| text.lines().rev().find_map(|line| line.split_once(start).map(|(_, rest)| rest));
    match (code, reported("the kernel ended ")) {
        ("0", _) => STAYS.to_owned(),
        ("3", Some(ended)) => ended.split(": ").nth(1).unwrap_or(ended).to_owned(),
        _ => reported("keel: ").unwrap_or("it says nothing").to_owned(),
    }
}

/// The figures of a run, or `None` if one of the tasks never ran.
fn figures(trace: &Path) -> Option<Figures> {
    Figures::of(&cargo::built("keel").ok()?, trace, &NAMES.map(str::to_owned), JUDGED_MS).ok()
}

/// How it ends on the simulated kernel.
fn simulated(name: &str, object: &Path, recipe: Option<&str>) -> Result<End, Failure> {
    let trace = format!("{OUT}/{name}.sim.trc");
    let mut command = Command::new(cargo::built("keel")?);
    command.arg("sim").arg(object).args(["--json", "--duration", "4s", "--trace", &trace]);
    command.args(["--workload", &format!("{KNOWN}/{WORKLOAD}+tests/twin/background.json")]);
    command.args(["--machine", "tests/twin/guest.toml"]);
    command.args(recipe.iter().flat_map(|recipe| ["--host", recipe]));
    let output = command.current_dir(root()).output().map_err(|e| format!("cannot run keel: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let words = match serde_json::from_slice::<Value>(&output.stdout) {
        Err(_) => refusal(&said).to_owned(),
        Ok(run) => ended(&run["exit"]),
    };
    let figures = if words == STAYS { figures(&root().join(&trace)) } else { None };
    Ok(End { words, figures })
}

/// Why keel would not run it: its messages without remarks.
fn refusal(said: &str) -> &str {
    let mut reported = said.lines().rev().filter_map(|line| line.strip_prefix("keel: "));
    reported.find(|line| !line.starts_with("note: ")).unwrap_or("it died")
}

/// The kernel's reason for an exit, from `keel sim --json`. For `runtime error (and more)`, the part before the
/// brackets.
fn ended(exit: &Value) -> String {
    let reason = exit["reason"].as_str().unwrap_or_default();
    match exit["kind"].as_str() {
        Some("none" | "done") => STAYS.to_owned(),
        _ => reason.split_once(" (").map_or(reason, |(words, _)| words).to_owned(),
    }
}

/// The columns: title, and width on a terminal.
const HEAD: [&str; 7] =
    ["object", "simulated end", "real end", "nicer, %", "share differs by", "switches", "migrations"];
const WIDTHS: [usize; 7] = [27, 26, 26, 11, 16, 11, 11];

/// The simulated and the real value in one cell.
fn cells(name: &str, simulated: &End, real: &End) -> [String; 7] {
    let both = simulated.figures.as_ref().zip(real.figures.as_ref());
    let pair = |figure: &dyn Fn(&Figures) -> f64| {
        both.map_or("-".to_owned(), |(s, r)| format!("{:.0}; {:.0}", figure(s), figure(r)))
    };
    let count = |which: usize| {
        pair(&move |figures: &Figures| figures.names.values().map(|name| name.counts[which]).sum())
    };
    let starved = |end: &End| end.words == STAYS && end.figures.is_none();
    let apart = match both {
        Some((s, r)) => format!("{:.1} points", 100.0 * apart(s, r)),
        None if starved(simulated) || starved(real) => "one never ran".to_owned(),
        None => "-".to_owned(),
    };
    let nicer = pair(&|figures| 100.0 * figures.names["nicer"].share);
    [name.to_owned(), simulated.words.clone(), real.words.clone(), nicer, apart, count(0), count(2)]
}

/// The largest difference in a task name's share of a CPU.
fn apart(a: &Figures, b: &Figures) -> f64 {
    let shares = |figures: &Figures| -> BTreeMap<String, f64> {
        figures.names.iter().map(|(name, of)| (name.clone(), of.share)).collect()
    };
    let b = shares(b);
    shares(a).iter().map(|(name, share)| (share - b[name]).abs()).fold(0.0, f64::max)
}

fn line(cells: &[String; 7]) -> String {
    let cut = |cell: &String, width: usize| cell.chars().take(width).collect::<String>();
    let cells = cells.iter().zip(WIDTHS).map(|(cell, width)| format!("{:width$}", cut(cell, width)));
    cells.collect::<Vec<_>>().join(" ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ends_are_detected_from_the_kernels_message() {
        let check = |text: &str, code: &str, expected: &str| assert_eq!(said(text, code), expected);
        check("x is attached; Ctrl-C gives\nx is detached: unregistered from user space\n", "0", STAYS);
        check("keel: the kernel ended x.bpf.o: runtime error: bad: 3\n", "3", "runtime error");
        check("keel: x.bpf.o: the kernel refused it\n", "3", "x.bpf.o: the kernel refused it");
        check("", "137", "it says nothing");
        let check = |kind: &str, reason: &str, expected: &str| {
            assert_eq!(ended(&json!({"kind": kind, "reason": reason})), expected);
        };
        check("none", "", STAYS);
        assert_eq!(refusal("keel: note: x\nkeel: x.bpf.o: it needs y\nhelp: z\n"), "x.bpf.o: it needs y");
        check("error", "runtime error (bad: 3 (x))", "runtime error");
        check("unreg_bpf", "unregistered from BPF", "unregistered from BPF");
    }

    #[test]
    fn rows_have_both_kernels_figures() {
        use crate::twin::figures::Name;
        let end = |share: f64, switches: f64| {
            let name = Name { share, counts: [switches, 0.0, 2.0], ..Name::default() };
            let names = NAMES.map(|n| (n.to_owned(), name.clone())).into_iter().collect();
            End { words: STAYS.to_owned(), figures: Some(Figures { names, ..Figures::default() }) }
        };
        let row = cells("x", &end(0.25, 10.0), &end(0.2, 11.0));
        assert_eq!(row, ["x", STAYS, STAYS, "25; 20", "5.0 points", "40; 44", "8; 8"].map(str::to_owned));
        let gone = End { words: "runtime error".to_owned(), figures: None };
        assert_eq!(cells("x", &end(0.25, 10.0), &gone)[2..4], ["runtime error".to_owned(), "-".to_owned()]);
    }
}
