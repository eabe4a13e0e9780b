//! `./x bench --lab`: how long all published experiments take on all threads of the host.

use crate::{Failure, cargo};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The cost of one run of the whole lab.
pub(super) struct Lab {
    wall_s: f64,
    cpu_s: f64,
    threads: usize,
}

/// Builds `keel` in release mode and runs the lab once.
pub(super) fn measure() -> Result<Lab, Failure> {
    cargo::run(&["build", "-q", "--release", "-p", "keel-cli"])?;
    let keel = cargo::built("keel")?;
    let (begun, before) = (Instant::now(), of_children()?);
    let status = Command::new(&keel).args(["lab", "--json"]).stdout(Stdio::null()).status();
    let status = status.map_err(|e| format!("cannot run {}: {e}", keel.display()))?;
    if !status.success() {
        return Err(format!("keel lab ended with {status}"));
    }
    Ok(Lab {
        wall_s: begun.elapsed().as_secs_f64(),
        cpu_s: of_children()? - before,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    })
}

impl Lab {
    /// The result in one line.
    pub(super) fn text(&self) -> String {
        let Self { wall_s, cpu_s, threads } = self;
        format!("keel lab: {wall_s:.0} s on {threads} threads, {cpu_s:.0} s of CPU time")
    }

    pub(super) fn json(&self) -> Value {
        json!({ "lab": { "wall_s": self.wall_s, "cpu_s": self.cpu_s, "threads": self.threads } })
    }
}

/// CPU time of the children that have ended, in seconds.
fn of_children() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat").map_err(|e| format!("/proc/self/stat: {e}"))?;
    children_s(&stat).ok_or_else(|| "/proc/self/stat is not as proc(5) describes".to_owned())
}

/// `cutime` and `cstime` of proc(5), in ticks of 10 ms.
fn children_s(stat: &str) -> Option<f64> {
    // A program's name is in brackets and may contain any character.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some((ticks(13)? + ticks(14)?) as f64 / 100.0)
}

#[cfg(test)]
mod tests {
    use super::children_s;

    #[test]
    fn the_childrens_time_is_found_behind_any_name() {
        let check = |stat: &str, expected| assert_eq!(children_s(stat), expected, "{stat}");
        check("7 (a) b) R 1 2 3 4 5 6 7 8 9 10 11 12 250 50 20 0", Some(3.0));
        check("7 (a) R 1 2", None);
        check("", None);
    }
}
