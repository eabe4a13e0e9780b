//! `./x twin --versus` compares two schedulers on a real kernel whose time is counted in instructions, under hackbench
//! and loops of `sched_yield()`, with few and with many runnable tasks: the ratio, and how much equal runs differ.

use super::OUT;
use super::args::Args;
use crate::tree::root;
use crate::{Failure, cargo};
use std::fmt::Write;
use std::process::{Command, Stdio};

/// The schedulers that are compared. The ratio is of the first to the second.
const ARMS: [&str; 2] = ["o1", "goodness"];
/// Runs of each.
const RUNS: u32 = 3;

/// A load: its name, its command, and whether a higher result is better.
struct Load {
    name: &'static str,
    command: &'static str,
    more_is_better: bool,
}

const LOADS: [Load; 4] = [
    Load { name: "hackbench, 10 tasks", command: "hackbench -f 5 -g 1 -l 300", more_is_better: false },
    Load { name: "hackbench, 400 tasks", command: "hackbench -f 20 -g 10 -l 10", more_is_better: false },
    Load { name: "yields, 10 tasks", command: "$out/yields 10 0.5", more_is_better: true },
    Load { name: "yields, 400 tasks", command: "$out/yields 400 0.5", more_is_better: true },
];

/// Runs everything and prints the table.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    build_yields()?;
    let keel = cargo::built("keel")?;
    let script = format!("{OUT}/versus.sh");
    let text = script_text(&keel.display().to_string());
    std::fs::write(root().join(&script), text).map_err(|e| format!("{script}: {e}"))?;
    let output = Command::new(&keel)
        .args(["vm", "--kernel", &args.kernel, "--cpus", "4", "--icount=3", "--", "sh", &script])
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot run keel: {e}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("the guest failed ({}): {}", output.status, said.trim()));
    }
    let table = table(&said)?;
    print!("{table}");
    let path = format!("{OUT}/versus.txt");
    std::fs::write(root().join(&path), &table).map_err(|e| format!("{path}: {e}"))
}

/// Compiles the loop of `sched_yield()`.
fn build_yields() -> Result<(), Failure> {
    let status = Command::new("cc")
        .args(["-O2", "-o", &format!("{OUT}/yields"), "tests/twin/yields.c"])
        .current_dir(root())
        .status()
        .map_err(|e| format!("cannot run cc ({e}); install gcc"))?;
    if status.success() { Ok(()) } else { Err("cc refuses tests/twin/yields.c".into()) }
}

/// The guest's script. Each run prints a line with the number of the load, the number of the scheduler, and the value.
fn script_text(keel: &str) -> String {
    let mut script = super::real::prelude(keel);
    for (at, load) in LOADS.iter().enumerate() {
        for (arm, scheduler) in ARMS.iter().enumerate() {
            writeln!(script, "load {scheduler}").expect("a string takes all");
            for _ in 0..RUNS {
                let command = load.command;
                writeln!(script, "echo \"= {at} {arm} $({command} | tail -n 1)\"")
                    .expect("a string takes all");
            }
            let ended = format!("! {at} {arm} $(tail -n 1 $out/{scheduler}.run.log)");
            writeln!(script, "unload || echo \"{ended}\"").expect("a string takes all");
        }
    }
    script
}

/// The table from the guest's output.
fn table(said: &str) -> Result<String, Failure> {
    let mut text =
        format!("{} over {}, on a real kernel whose time is counted in instructions\n", ARMS[0], ARMS[1]);
    writeln!(text, "  {:<22} {:>8}   {:<18} equal runs differ by", "load", "ratio", "between")
        .expect("a string takes all");
    for (at, load) in LOADS.iter().enumerate() {
        let values = [0, 1].map(|arm| values(said, at, arm));
        if values.iter().any(|values| values.len() != RUNS as usize) {
            return Err(format!("{}: some runs reported nothing", load.name));
        }
        let [a, b] = &values;
        let ratio = |x: f64, y: f64| if load.more_is_better { x / y } else { y / x };
        let ratios: Vec<f64> = a.iter().flat_map(|&x| b.iter().map(move |&y| ratio(x, y))).collect();
        let between = format!("{:.3} .. {:.3}", least(&ratios), greatest(&ratios));
        let spread = values.iter().map(|v| greatest(v) / least(v) - 1.0).fold(0.0, f64::max) * 100.0;
        let mean = ratio(a.iter().sum(), b.iter().sum());
        writeln!(text, "  {:<22} {mean:>8.3}   {between:<18} {spread:.1} %", load.name)
            .expect("a string takes all");
        for words in ended(said, at) {
            writeln!(text, "  {:<22} unreliable: {words}", "").expect("a string takes all");
        }
    }
    Ok(text)
}

/// keel's last message about each scheduler that the kernel ended under a load. Their values may be those of the
/// kernel's own scheduler.
fn ended(said: &str, load: usize) -> impl Iterator<Item = &str> {
    let begin = format!("! {load} ");
    said.lines().filter_map(move |line| Some(line.strip_prefix(&begin)?.split_once(' ')?.1))
}

/// A load's result under one of the schedulers: the last number of its line.
fn values(said: &str, load: usize, arm: usize) -> Vec<f64> {
    let of_arm = said.lines().filter_map(|line| line.strip_prefix(&format!("= {load} {arm} ")));
    of_arm.filter_map(|line| line.split_whitespace().last()?.parse().ok()).collect()
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn greatest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_say_how_much_better_the_first_is() {
        let mut said = String::new();
        for load in 0..LOADS.len() {
            for (arm, text) in [(0, "Time: 2.0"), (1, "Time: 3.0")] {
                said += &format!("= {load} {arm} {text}\n").repeat(RUNS as usize);
            }
        }
        let table = table(&said).unwrap();
        assert!(table.contains("hackbench, 10 tasks       1.500   1.500 .. 1.500     0.0 %"), "{table}");
        assert!(table.contains("yields, 400 tasks         0.667   0.667 .. 0.667     0.0 %"), "{table}");
        assert!(super::table("= 0 0 1.0").is_err());
        said += "! 2 0 keel: the kernel ended o1: a stall\n";
        let last = super::table(&said).unwrap();
        assert!(last.contains("unreliable: keel: the kernel ended o1: a stall"), "{last}");
    }
}
