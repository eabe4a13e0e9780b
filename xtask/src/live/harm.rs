//! Recorders must not harm the kernel. `keel record` and `keel watch` run while the kernel is disturbed in many ways.
//! The kernel must not complain, recordings must be complete, and each disturbance must have happened.

use super::OUT;
use super::args::Args;
use super::guest::Script;
use super::seen::Seen;
use crate::tree::root;
use crate::{Failure, cargo};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// So few CPUs that an emulated machine stays busy.
const FOUR_CPUS: &[&str] = &["--cpus", "4", "--memory", "3G"];

/// The maximum number of guests that are booted until one has a correct clock.
const BOOTS: u32 = 8;

/// What is active in a turn.
const WHO: [&str; 3] = ["record", "watch", "scheduler"];

/// What `tests/live/harm.sh` provokes in a round.
const ROUNDS: [(&str, &[&str]); 5] = [
    ("mounts", &["mounts", "umounts", "pipes", "forks"]),
    ("groups", &["groups", "hotplug", "forks", "mounts"]),
    ("classes", &["realtime", "deadline", "affinity", "yields", "mounts"]),
    ("tools", &["perf_records", "trace_records", "umounts", "pipes", "forks"]),
    (
        "all",
        &[
            "umounts",
            "pipes",
            "forks",
            "hotplug",
            "groups",
            "realtime",
            "deadline",
            "affinity",
            "perf_records",
            "trace_records",
        ],
    ),
];

/// The judged part of a turn.
#[derive(Debug, PartialEq, Eq)]
struct Turn {
    name: String,
    /// By the guest's clock.
    lasted_s: u64,
    /// How often each disturbance happened.
    provoked: Vec<(&'static str, u64)>,
    /// Complete recordings, killed recorders, and looks.
    recorded: [u64; 3],
    fault: Option<String>,
}

/// Runs all turns on all kernels, again and again until the time is over. Returns what did not hold.
pub(super) fn run(args: &Args) -> Result<Vec<String>, Failure> {
    let keel = match &args.recorder {
        Some(path) => std::path::absolute(path).map_err(|e| format!("{}: {e}", path.display()))?,
        None => cargo::built("keel")?,
    };
    let mut faults = Vec::new();
    for kernel in &args.kernels {
        let turns = turns(args.minutes, args.seconds);
        println!(
            "Linux {kernel}: {} turns of {} s, recorded by {}",
            turns.len(),
            args.seconds,
            keel.display()
        );
        let taken = one(kernel, &keel, args.seconds, &turns)?;
        for turn in &taken {
            println!("  {}", reported(turn));
            let fault = turn.fault.as_ref();
            faults.extend(fault.map(|fault| format!("{} on Linux {kernel}: {fault} (see {OUT})", turn.name)));
        }
        println!("{}", sum(kernel, &taken));
    }
    Ok(faults)
}

fn one(kernel: &str, keel: &Path, seconds: u32, turns: &[String]) -> Result<Vec<Turn>, Failure> {
    let script = Script {
        kernel,
        guest: FOUR_CPUS,
        script: "tests/live/harm.sh",
        out: format!("{OUT}/harm/{kernel}"),
        first: Some(seconds.to_string()),
        turn: Duration::from_secs(4 * u64::from(seconds) + 180),
    };
    let mut boots = 1;
    let seen = loop {
        match script.run_with(keel, turns) {
            // The next guest measures its clock again.
            Err(_) if boots < BOOTS && root().join(&script.out).join("clock").exists() => boots += 1,
            seen => break seen?,
        }
    };
    Ok(seen.iter().map(|seen| judge(seen, seconds.into())).collect())
}

/// Enough turns to fill the minutes. Each name consists of a number, what is active, and the round.
fn turns(minutes: u32, seconds: u32) -> Vec<String> {
    let all = ROUNDS.iter().flat_map(|(round, _)| WHO.map(|who| format!("{who}-{round}")));
    let count = (minutes * 60).div_ceil(seconds) as usize;
    all.collect::<Vec<_>>()
        .into_iter()
        .cycle()
        .take(count)
        .enumerate()
        .map(|(n, name)| format!("{}-{name}", n + 1))
        .collect()
}

/// What a turn's round provokes. Empty if there is no such round.
fn round(turn: &str) -> &'static [&'static str] {
    let name = turn.rsplit('-').next().unwrap_or(turn);
    ROUNDS.iter().find(|(round, _)| *round == name).map_or(&[], |(_, provoked)| provoked)
}

fn judge(seen: &Seen, seconds: u64) -> Turn {
    let number = |fact: &str| seen.fact(fact).parse().unwrap_or(0);
    // Several loops of a kind are distinguished by a number.
    let times = |kind: &str| {
        let of =
            seen.facts.iter().filter(|(fact, _)| fact.rsplit_once('-').is_some_and(|(name, _)| name == kind));
        of.filter_map(|(_, words)| words.parse::<u64>().ok()).sum()
    };
    let mut turn = Turn {
        name: seen.turn.clone(),
        lasted_s: number("lasted"),
        provoked: round(&seen.turn).iter().map(|&kind| (kind, times(kind))).collect(),
        recorded: ["recorded", "killed", "looks"].map(number),
        fault: None,
    };
    turn.fault = seen.trouble().or_else(|| recorder(seen)).or_else(|| unprovoked(&turn, seconds));
    turn
}

/// What is wrong with the recorder's own work.
fn recorder(seen: &Seen) -> Option<String> {
    let watches = seen.turn.contains("-watch-");
    let facts: &[(&str, &str)] =
        if watches { &[("watch-code", "0")] } else { &[("bad", ""), ("check-code", "0")] };
    if let Some((fact, _)) = facts.iter().find(|(fact, expected)| seen.fact(fact) != *expected) {
        return Some(format!("{fact} is '{}': {}", seen.fact(fact), seen.fact("words")));
    }
    let work = if watches { "looks" } else { "events" };
    match seen.fact(work).parse::<u64>() {
        Ok(1..) => None,
        _ => Some(format!("it has no {work}: {}", seen.fact("words"))),
    }
}

fn unprovoked(turn: &Turn, seconds: u64) -> Option<String> {
    if turn.lasted_s < seconds {
        return Some(format!("it lasted {} s, not {seconds}", turn.lasted_s));
    }
    let none = turn.provoked.iter().find(|(_, times)| *times == 0);
    none.map(|(kind, _)| format!("{kind}: never provoked"))
}

fn reported(turn: &Turn) -> String {
    let [recorded, killed, looks] = turn.recorded;
    let work = match looks {
        0 => format!("{recorded} recordings, {killed} killed"),
        looks => format!("{looks} looks"),
    };
    let mut text = format!("{:22}{:>4} s  {work}", turn.name, turn.lasted_s);
    for (kind, times) in &turn.provoked {
        write!(text, ", {times} {}", kind.replace('_', " ")).expect("a string takes all");
    }
    write!(text, "; {}", turn.fault.as_deref().unwrap_or("good")).expect("a string takes all");
    text
}

/// A kernel's turns in one line.
fn sum(kernel: &str, turns: &[Turn]) -> String {
    let seconds: u64 = turns.iter().map(|turn| turn.lasted_s).sum();
    let [recorded, killed, looks] = [0, 1, 2].map(|n| turns.iter().map(|turn| turn.recorded[n]).sum::<u64>());
    let faults = turns.iter().filter(|turn| turn.fault.is_some()).count();
    format!(
        "Linux {kernel}: {} guest minutes in {} turns, {recorded} whole recordings, {killed} killed, {looks} looks; {faults} turns went wrong",
        seconds / 60,
        turns.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(turn: &str, facts: &[(&str, &str)]) -> Seen {
        let mut seen = Seen { turn: turn.into(), ..Seen::default() };
        let good = [("works", "0"), ("lasted", "41"), ("bad", ""), ("check-code", "0"), ("events", "9")];
        let provoked =
            [("mounts-1", "3"), ("mounts-2", "4"), ("pipes-1", "1"), ("forks-1", "7"), ("umounts-1", "2")];
        for (fact, words) in good.iter().chain(&provoked).chain(facts) {
            seen.facts.insert((*fact).into(), (*words).into());
        }
        seen
    }

    #[test]
    fn every_fault_is_reported() {
        let check = |turn: &str, facts: &[(&str, &str)], expected: Option<&str>| {
            assert_eq!(judge(&seen(turn, facts), 40).fault.as_deref(), expected, "{turn} {facts:?}");
        };
        check("1-record-mounts", &[], None);
        check("1-record-mounts", &[("bad", "3"), ("words", "it broke")], Some("bad is '3': it broke"));
        check("1-record-mounts", &[("check-code", "2")], Some("check-code is '2': "));
        check("1-scheduler-mounts", &[("events", "0")], Some("it has no events: "));
        check("1-record-mounts", &[("forks-1", "0")], Some("forks: never provoked"));
        check("1-record-mounts", &[("lasted", "39")], Some("it lasted 39 s, not 40"));
        check("1-record-mounts", &[("works", "1")], Some("hackbench fails afterwards, with 1"));
        check("2-watch-mounts", &[("watch-code", "0"), ("looks", "5")], None);
        check("2-watch-mounts", &[("watch-code", "1"), ("looks", "5")], Some("watch-code is '1': "));
        check("2-watch-mounts", &[("watch-code", "0"), ("looks", "0")], Some("it has no looks: "));
        let mut panicked = seen("1-record-mounts", &[]);
        panicked.guest_ended = Some("Kernel panic".into());
        assert_eq!(judge(&panicked, 40).fault.as_deref(), Some("the guest ended: Kernel panic"));
        let mut warned = seen("1-record-mounts", &[]);
        warned.kernel_log = "[ 1.0] WARNING: kernel/sched/core.c:1 at x".into();
        assert_eq!(
            judge(&warned, 40).fault.as_deref(),
            Some("the kernel says: WARNING: kernel/sched/core.c:1 at x")
        );
    }

    #[test]
    fn turns_fill_the_minutes_and_every_round_comes() {
        let turns = turns(15, 40);
        assert_eq!(
            (turns.len(), turns[0].as_str(), turns[4].as_str()),
            (23, "1-record-mounts", "5-watch-groups")
        );
        assert_eq!(turns[15], "16-record-mounts");
        assert!(turns.iter().all(|turn| !round(turn).is_empty()));
    }

    #[test]
    fn a_turn_is_one_line() {
        let turn = judge(&seen("1-record-mounts", &[("recorded", "4"), ("killed", "3")]), 40);
        assert_eq!(
            reported(&turn),
            "1-record-mounts         41 s  4 recordings, 3 killed, 7 mounts, 2 umounts, 1 pipes, 7 forks; good"
        );
        assert_eq!(
            sum("7.2", &[turn]),
            "Linux 7.2: 0 guest minutes in 1 turns, 4 whole recordings, 3 killed, 0 looks; 0 turns went wrong"
        );
    }
}
