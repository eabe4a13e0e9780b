//! `cfs` with bugs of the Wasted Cores paper, and cured of them, on real kernels: recorded, and checked as any recording is.

use super::OUT;
use super::args::Args;
use super::guest::Script;
use super::seen::Seen;
use crate::Failure;
use std::time::Duration;

/// Four nodes in a ring, so that two of them are two hops apart.
const RING: &[&str] = &["--cpus", "8", "--numa", "4", "--links", "0-1,1-2,2-3,3-0"];

/// The bugs that need no machine of more than eight CPUs, as `--set bug=` has them.
const BUGS: &[&str] = &["group-construction", "missing-domains"];

/// With a bug this much of a CPU idles beside waiting tasks at least, for all of the time: the workloads leave two CPUs without work.
const LEAST_WITH: f64 = 1.0;
/// And cured, this part of that at most.
const MOST_WITHOUT: f64 = 0.1;

/// A turn, as far as it is judged.
#[derive(Debug, PartialEq)]
struct Turn {
    name: String,
    /// CPUs that idled beside waiting tasks, on average.
    wasted_cpus: f64,
    fault: Option<String>,
}

/// All turns on all kernels; gives what did not hold.
pub(super) fn run(args: &Args) -> Result<Vec<String>, Failure> {
    let turns: Vec<String> =
        BUGS.iter().flat_map(|bug| [(*bug).to_owned(), format!("{bug}-cured")]).collect();
    let mut faults = Vec::new();
    for kernel in &args.kernels {
        println!("Linux {kernel}: cfs with bugs and without, {} s of each recorded", args.seconds);
        let script = Script {
            kernel,
            guest: RING,
            script: "tests/live/bugs.sh",
            out: format!("{OUT}/{kernel}/bugs"),
            first: Some(args.seconds.to_string()),
            turn: Duration::from_secs(4 * u64::from(args.seconds) + 180),
        };
        let seen: Vec<Turn> = script.run(&turns)?.iter().map(judge).collect();
        for pair in seen.chunks(2) {
            let fault = pair.iter().find_map(|turn| turn.fault.clone()).or_else(|| compared(pair));
            for turn in pair {
                println!("  {:26} {:5.2} CPUs idle beside waiting tasks", turn.name, turn.wasted_cpus);
            }
            println!("  {:26} {}", "", fault.as_deref().unwrap_or("good"));
            faults.extend(fault.map(|fault| format!("{} on Linux {kernel}: {fault}", pair[0].name)));
        }
    }
    Ok(faults)
}

fn judge(seen: &Seen) -> Turn {
    let number = |name: &str| seen.fact(name).parse::<f64>().ok();
    let wasted = number("wasted_core_ns").zip(number("duration_ns").filter(|&ns| ns > 0.0));
    Turn {
        name: seen.turn.clone(),
        wasted_cpus: wasted.map_or(0.0, |(wasted, duration)| wasted / duration),
        fault: fault(seen, wasted.is_some()),
    }
}

fn fault(seen: &Seen, is_measured: bool) -> Option<String> {
    if let Some(trouble) = seen.trouble() {
        return Some(trouble);
    }
    let expected = [
        ("attached", "enabled cfs"),
        ("afterwards", "enabled cfs"),
        ("record-code", "0"),
        ("code", "0"),
        ("check-code", "0"),
        ("lost_events", "0"),
        ("detached", "disabled -"),
    ];
    let wrong = expected.into_iter().find(|(fact, expected)| seen.fact(fact) != *expected);
    if let Some((fact, expected)) = wrong {
        return Some(format!("{}: {fact} is '{}', not '{expected}' (see {OUT})", seen.turn, seen.fact(fact)));
    }
    (!is_measured).then(|| format!("{}: keel check told no waste (see {OUT})", seen.turn))
}

/// What is wrong with a bug's turn and that without it, each good in itself.
fn compared(pair: &[Turn]) -> Option<String> {
    let [with, without] = pair else { return Some("a turn is missing".to_owned()) };
    if with.wasted_cpus < LEAST_WITH {
        return Some(format!("the bug wastes {:.2} CPUs, not {LEAST_WITH:.2} or more", with.wasted_cpus));
    }
    let most = MOST_WITHOUT * with.wasted_cpus;
    (without.wasted_cpus > most)
        .then(|| format!("cured it wastes {:.2} CPUs, not at most {most:.2}", without.wasted_cpus))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(turn: &str, wasted_ns: u64) -> Seen {
        let mut seen = Seen { turn: turn.into(), ..Seen::default() };
        let wasted = wasted_ns.to_string();
        for (fact, words) in [
            ("attached", "enabled cfs"),
            ("afterwards", "enabled cfs"),
            ("record-code", "0"),
            ("code", "0"),
            ("check-code", "0"),
            ("lost_events", "0"),
            ("detached", "disabled -"),
            ("works", "0"),
            ("duration_ns", "1000000000"),
            ("wasted_core_ns", wasted.as_str()),
        ] {
            seen.facts.insert(fact.into(), words.into());
        }
        seen
    }

    #[test]
    fn a_bug_must_waste_and_its_cure_not() {
        let check = |with, without, expected: Option<&str>| {
            let pair = [judge(&seen("b", with)), judge(&seen("b-cured", without))];
            assert_eq!(pair.iter().find_map(|turn| turn.fault.as_deref()), None);
            assert_eq!(compared(&pair).as_deref(), expected);
        };
        check(2_000_000_000, 10_000_000, None);
        check(900_000_000, 0, Some("the bug wastes 0.90 CPUs, not 1.00 or more"));
        check(2_000_000_000, 210_000_000, Some("cured it wastes 0.21 CPUs, not at most 0.20"));
        assert_eq!(compared(&[]).as_deref(), Some("a turn is missing"));
    }

    #[test]
    fn whatever_goes_wrong_is_told() {
        let check = |fact: &str, words: &str, expected: &str| {
            let mut seen = seen("b", 0);
            seen.facts.insert(fact.into(), words.into());
            let fault = judge(&seen).fault.unwrap();
            assert!(fault.contains(expected), "{fault}");
        };
        check("attached", "disabled -", "attached is 'disabled -', not 'enabled cfs'");
        check("lost_events", "3", "lost_events is '3', not '0'");
        check("works", "1", "hackbench fails afterwards");
        check("wasted_core_ns", "", "told no waste");
    }
}
