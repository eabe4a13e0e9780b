//! Each scheduler on each kernel, under load.

use super::OUT;
use super::args::Args;
use super::guest::{EIGHT_CPUS, Script};
use super::kernel_log;
use super::seen::Seen;
use crate::Failure;
use std::time::Duration;

/// The loads, by the names of their loops in `tests/live/load.sh`.
pub(super) const LOADS: &[&str] = &["hackbench", "cpu", "switch", "fork", "pipe", "yield", "futex", "rt-app"];

/// One scheduler's turn on one kernel.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) kernel: String,
    pub(super) scheduler: String,
    /// How long it was under load, in the guest's seconds.
    pub(super) loaded_s: u64,
    /// Loops of each of [`LOADS`].
    pub(super) loops: Vec<u64>,
    /// What went wrong.
    pub(super) fault: Option<String>,
}

/// Runs all turns and prints each as it ends.
pub(super) fn run(args: &Args) -> Result<Vec<Turn>, Failure> {
    let mut turns = Vec::new();
    for kernel in &args.kernels {
        println!("Linux {kernel}: {} under load for {} s each", args.schedulers.join(", "), args.seconds);
        let script = Script {
            kernel,
            guest: EIGHT_CPUS,
            script: "tests/live/load.sh",
            out: format!("{OUT}/{kernel}/load"),
            first: Some(args.seconds.to_string()),
            // On a busy host, a guest may be slow.
            turn: Duration::from_secs(4 * u64::from(args.seconds) + 180),
        };
        turns.extend(script.run(&args.schedulers)?.iter().map(|seen| judge(kernel, seen, args.seconds)));
    }
    Ok(turns)
}

fn judge(kernel: &str, seen: &Seen, seconds: u32) -> Turn {
    let number = |name: &str| seen.fact(name).parse().unwrap_or(0);
    Turn {
        kernel: kernel.to_owned(),
        scheduler: seen.turn.clone(),
        loaded_s: number("loaded"),
        loops: LOADS.iter().map(|load| number(load)).collect(),
        fault: fault(seen, seconds),
    }
}

/// The first thing that went wrong, the most informative first.
fn fault(seen: &Seen, seconds: u32) -> Option<String> {
    let scheduler = &seen.turn;
    if let Some(words) = kernel_log::ended(&seen.kernel_log) {
        let reported = seen.said.lines().rev().find_map(|line| line.strip_prefix("keel: "));
        return Some(reported.unwrap_or(words).to_owned());
    }
    if let Some(trouble) = seen.trouble() {
        return Some(trouble);
    }
    for (fact, expected, what) in [
        ("attached", format!("enabled {scheduler}"), "after attaching"),
        ("afterwards", format!("enabled {scheduler}"), "after the load"),
        ("code", "0".to_owned(), "as exit code of keel run"),
        ("detached", "disabled -".to_owned(), "after detaching"),
        ("stress-ng-code", "0".to_owned(), "as exit code of stress-ng"),
        ("rt-app-code", "0".to_owned(), "as exit code of rt-app"),
    ] {
        let found = seen.fact(fact);
        if found != expected {
            return Some(format!("'{found}' {what}, not '{expected}'"));
        }
    }
    if seen.said.matches(" is attached; ").count() != 1 {
        return Some("it was attached more than once".to_owned());
    }
    let loaded_s = seen.fact("loaded").parse().unwrap_or(0);
    if loaded_s < seconds {
        return Some(format!("the load lasted {loaded_s} s, not {seconds}"));
    }
    let idle = LOADS.iter().find(|load| seen.fact(load).parse().unwrap_or(0) == 0);
    idle.map(|load| format!("{load} did not get through one loop"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of a good turn, with one change.
    fn check(change: impl Fn(&mut Seen), expected: Option<&str>) {
        let mut seen = Seen {
            turn: "o1".into(),
            said: "o1 is attached; Ctrl-C gives the CPUs back\no1 is detached: by wish\n".into(),
            ..Seen::default()
        };
        let mut fact = |name: &str, words: &str| seen.facts.insert(name.into(), words.into());
        for (name, words) in [
            ("attached", "enabled o1"),
            ("afterwards", "enabled o1"),
            ("code", "0"),
            ("detached", "disabled -"),
            ("works", "0"),
            ("stress-ng-code", "0"),
            ("rt-app-code", "0"),
            ("loaded", "61"),
        ] {
            fact(name, words);
        }
        for load in LOADS {
            fact(load, "7");
        }
        change(&mut seen);
        assert_eq!(fault(&seen, 60).as_deref(), expected);
    }

    #[test]
    fn every_fault_is_reported() {
        let set = |name: &'static str, words: &'static str| {
            move |seen: &mut Seen| drop(seen.facts.insert(name.into(), words.into()))
        };
        check(|_| {}, None);
        check(set("attached", "disabled -"), Some("'disabled -' after attaching, not 'enabled o1'"));
        check(set("afterwards", "enabled fifo"), Some("'enabled fifo' after the load, not 'enabled o1'"));
        check(set("code", "130"), Some("'130' as exit code of keel run, not '0'"));
        check(set("detached", "enabled o1"), Some("'enabled o1' after detaching, not 'disabled -'"));
        check(set("works", "1"), Some("hackbench fails afterwards, with 1"));
        check(set("loaded", "59"), Some("the load lasted 59 s, not 60"));
        check(set("fork", "0"), Some("fork did not get through one loop"));
        check(|seen| seen.said.push_str("o1 is attached; "), Some("it was attached more than once"));
        check(|seen| seen.guest_ended = Some("it hangs".into()), Some("the guest ended: it hangs"));
        check(|seen| seen.kernel_log = "[ 1.0] BUG: x".into(), Some("the kernel says: BUG: x"));
    }

    #[test]
    fn a_stall_is_reported_with_the_kernels_message() {
        let stall = |seen: &mut Seen| {
            seen.kernel_log = "[ 1.0] sched_ext: BPF scheduler \"o1\" disabled (runnable task stall)".into();
        };
        check(stall, Some("BPF scheduler \"o1\" disabled (runnable task stall)"));
        let reported = |seen: &mut Seen| {
            stall(seen);
            seen.said =
                "keel: the kernel ended o1: runnable task stall: sh[3] failed to run for 30.1s\n".into();
        };
        check(reported, Some("the kernel ended o1: runnable task stall: sh[3] failed to run for 30.1s"));
    }
}
