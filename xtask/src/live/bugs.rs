//! Records `cfs` with bugs from the Wasted Cores paper, `ule` as posted, and both fixed, on real kernels. The
//! recordings are checked like any other.

use super::OUT;
use super::args::Args;
use super::guest::Script;
use super::seen::Seen;
use crate::Failure;
use crate::tree::root;
use serde_json::Value;
use std::time::Duration;

/// Four nodes in a ring, so that some of them are two hops apart.
const RING: &[&str] = &["--cpus", "8", "--numa", "4", "--links", "0-1,1-2,2-3,3-0"];

/// The bugs that need no machine with more than eight CPUs, as in `--set bug=`, and the scheduler of each.
const BUGS: &[(&str, &str)] =
    &[("group-construction", "cfs"), ("missing-domains", "cfs"), ("left-behind", "ule")];

/// With a bug, at least this much of a CPU idles while tasks wait, all the time. The workloads leave two CPUs without
/// work.
const LEAST_WITH: f64 = 1.0;
/// With the fix, at most this part of that.
const MOST_WITHOUT: f64 = 0.1;

/// The expected output of a good turn. `*` is the turn's name.
const FACTS: [(&str, &str); 6] = [
    ("attached", "enabled *"),
    ("afterwards", "enabled *"),
    ("record-code", "0"),
    ("code", "0"),
    ("check-code", "0"),
    ("detached", "disabled -"),
];

/// The judged part of a turn.
#[derive(Debug, PartialEq)]
struct Turn {
    name: String,
    /// CPUs that idled while tasks waited, on average.
    wasted_cpus: f64,
    fault: Option<String>,
}

/// Runs all turns on all kernels. Returns what did not hold.
pub(super) fn run(args: &Args) -> Result<Vec<String>, Failure> {
    let turns: Vec<String> =
        BUGS.iter().flat_map(|(bug, _)| [(*bug).to_owned(), format!("{bug}-fixed")]).collect();
    let mut faults = Vec::new();
    for kernel in &args.kernels {
        println!("Linux {kernel}: schedulers with bugs and without, {} s of each recorded", args.seconds);
        let script = Script {
            kernel,
            guest: RING,
            script: "tests/live/bugs.sh",
            out: format!("{OUT}/{kernel}/bugs"),
            first: Some(args.seconds.to_string()),
            turn: Duration::from_secs(4 * u64::from(args.seconds) + 180),
        };
        let reported = |seen: &Seen| {
            let json = std::fs::read(root().join(&script.out).join(format!("{}.json", seen.turn)));
            json.ok().and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default()
        };
        let seen: Vec<Turn> = script.run(&turns)?.iter().map(|seen| judge(seen, &reported(seen))).collect();
        for pair in seen.chunks(2) {
            let fault = pair.iter().find_map(|turn| turn.fault.clone()).or_else(|| compared(pair));
            for turn in pair {
                println!("  {:26} {:5.2} CPUs idle while tasks wait", turn.name, turn.wasted_cpus);
            }
            println!("  {:26} {}", "", fault.as_deref().unwrap_or("good"));
            faults.extend(fault.map(|fault| format!("{} on Linux {kernel}: {fault}", pair[0].name)));
        }
    }
    Ok(faults)
}

/// The output of a turn, and what `keel check --json` reports about its recording.
fn judge(seen: &Seen, reported: &Value) -> Turn {
    let number = |name: &str| reported[name].as_f64();
    let wasted = number("wasted_core_ns").zip(number("duration_ns").filter(|&ns| ns > 0.0));
    Turn {
        name: seen.turn.clone(),
        wasted_cpus: wasted.map_or(0.0, |(wasted, duration)| wasted / duration),
        fault: fault(seen).or_else(|| unsure(seen, reported, wasted.is_some())),
    }
}

fn fault(seen: &Seen) -> Option<String> {
    if let Some(trouble) = seen.trouble() {
        return Some(trouble);
    }
    let wrong = facts(&seen.turn).into_iter().find(|(fact, expected)| seen.fact(fact) != expected.as_str());
    wrong.map(|(fact, expected)| {
        format!("{}: {fact} is '{}', not '{expected}' (see {OUT})", seen.turn, seen.fact(fact))
    })
}

/// The expected output of a turn.
fn facts(turn: &str) -> Vec<(&'static str, String)> {
    let of = BUGS.iter().find(|(bug, _)| turn.starts_with(bug));
    let scheduler = of.map_or("cfs", |(_, scheduler)| scheduler);
    FACTS.iter().map(|(fact, expected)| (*fact, expected.replace('*', scheduler))).collect()
}

/// Why a recording decides nothing.
fn unsure(seen: &Seen, reported: &Value, is_measured: bool) -> Option<String> {
    let why = match (is_measured, reported["lost_events"].as_u64()) {
        (true, Some(0)) => return None,
        (true, lost) => format!("{} events were lost", lost.unwrap_or_default()),
        (false, _) => "keel check reported no waste".to_owned(),
    };
    Some(format!("{}: {why} (see {OUT})", seen.turn))
}

/// What is wrong with the pair of turns with and without a bug, if each is good in itself.
fn compared(pair: &[Turn]) -> Option<String> {
    let [with, without] = pair else { return Some("a turn is missing".to_owned()) };
    if with.wasted_cpus < LEAST_WITH {
        return Some(format!("the bug wastes {:.2} CPUs, not {LEAST_WITH:.2} or more", with.wasted_cpus));
    }
    let most = MOST_WITHOUT * with.wasted_cpus;
    (without.wasted_cpus > most)
        .then(|| format!("fixed, it wastes {:.2} CPUs, not at most {most:.2}", without.wasted_cpus))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn seen(turn: &str) -> Seen {
        let mut seen = Seen { turn: turn.into(), ..Seen::default() };
        for (fact, words) in facts(turn).into_iter().chain([("works", "0".into())]) {
            seen.facts.insert(fact.into(), words);
        }
        seen
    }

    fn reported(wasted_ns: u64, lost: u64) -> Value {
        json!({ "lost_events": lost, "duration_ns": 1_000_000_000, "wasted_core_ns": wasted_ns })
    }

    #[test]
    fn a_bug_must_waste_and_its_fix_must_not() {
        let check = |with, without, expected: Option<&str>| {
            let pair =
                [judge(&seen("b"), &reported(with, 0)), judge(&seen("b-fixed"), &reported(without, 0))];
            assert_eq!(pair.iter().find_map(|turn| turn.fault.as_deref()), None);
            assert_eq!(compared(&pair).as_deref(), expected);
        };
        check(2_000_000_000, 10_000_000, None);
        check(900_000_000, 0, Some("the bug wastes 0.90 CPUs, not 1.00 or more"));
        check(2_000_000_000, 210_000_000, Some("fixed, it wastes 0.21 CPUs, not at most 0.20"));
        assert_eq!(compared(&[]).as_deref(), Some("a turn is missing"));
    }

    #[test]
    fn every_fault_is_reported() {
        let check = |fact: &str, words: &str, expected: &str| {
            let mut seen = seen("b");
            seen.facts.insert(fact.into(), words.into());
            let fault = judge(&seen, &reported(0, 0)).fault.unwrap();
            assert!(fault.contains(expected), "{fault}");
        };
        check("attached", "disabled -", "attached is 'disabled -', not 'enabled cfs'");
        assert_eq!(facts("left-behind-fixed")[0], ("attached", "enabled ule".to_owned()));
        check("works", "1", "hackbench fails afterwards");
        let fault = |reported: Value| judge(&seen("b"), &reported).fault.unwrap_or_default();
        assert_eq!(fault(reported(0, 3)), "b: 3 events were lost (see out/live)");
        assert_eq!(fault(Value::Null), "b: keel check reported no waste (see out/live)");
    }
}
