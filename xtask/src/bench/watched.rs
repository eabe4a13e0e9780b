//! Measures a child process. The kernel reports its user time while it is a zombie. Its peak memory is sampled while it
//! runs.

use crate::Failure;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How often the process's memory is sampled.
const LOOK: Duration = Duration::from_millis(5);
/// The kernel's ticks per second for user time (`USER_HZ`).
const TICKS_S: f64 = 100.0;

/// The cost of a command.
pub(crate) struct Took {
    /// Wall time in seconds.
    pub(crate) wall_s: f64,
    /// User CPU time of all threads in seconds.
    pub(crate) user_s: f64,
    /// The peak memory use.
    pub(crate) peak_kib: u64,
}

/// Runs keel until it exits, and measures it.
pub(crate) fn took(keel: &mut Command) -> Result<Took, Failure> {
    let begun = Instant::now();
    let mut child = keel.spawn().map_err(|e| format!("cannot run keel: {e}"))?;
    let (user_s, peak_kib) = watched(&child)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let status = child.wait().map_err(|e| format!("cannot wait for keel: {e}"))?;
    match status.success() {
        true => Ok(Took { wall_s, user_s, peak_kib }),
        false => Err(format!("{keel:?} failed: {status}")),
    }
}

/// User time and peak memory of a child that is not waited for until it has exited.
fn watched(child: &Child) -> Result<(f64, u64), Failure> {
    let of = |what: &str| std::fs::read_to_string(format!("/proc/{}/{what}", child.id()));
    let mut peak_kib = 0;
    loop {
        let stat = of("stat").map_err(|e| format!("/proc has nothing about keel: {e}"))?;
        let (is_over, user_s) = ended(&stat).ok_or("/proc/PID/stat has an unknown format")?;
        if is_over {
            return Ok((user_s, peak_kib));
        }
        peak_kib = peak_kib.max(of("status").ok().as_deref().and_then(peak).unwrap_or(0));
        std::thread::sleep(LOOK);
    }
}

/// Whether a process has ended, and its user time in seconds, from its `stat`.
fn ended(stat: &str) -> Option<(bool, f64)> {
    // Its name is in brackets and may contain any character.
    let words: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u32 = words.get(11)?.parse().ok()?;
    Some((*words.first()? == "Z", f64::from(ticks) / TICKS_S))
}

/// The peak memory in KiB, from a process's `status`.
fn peak(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_status_is_read() {
        let stat =
            |state| format!("12 (keel) (1)) {state} 1 12 12 0 -1 4194304 500 0 0 0 215 31 0 0 20 0 1 0");
        assert_eq!(ended(&stat("R")), Some((false, 2.15)));
        assert_eq!(ended(&stat("Z")), Some((true, 2.15)));
        assert_eq!(ended("12 keel"), None);
        assert_eq!(peak("Name:\tkeel\nVmPeak:\t 9000 kB\nVmHWM:\t    4321 kB\n"), Some(4321));
        assert_eq!(peak("Name:\tkeel\nState:\tZ (zombie)\n"), None);
    }

    #[test]
    fn a_child_is_watched_until_it_ends() {
        let mut child = Command::new("sh").args(["-c", "exit 0"]).spawn().expect("sh runs");
        let (user_s, _) = watched(&child).expect("it ends");
        assert!(user_s < 60.0, "{user_s}");
        assert!(child.wait().expect("it was not waited for").success());
    }
}
