//! `keel watch` on real kernels. It must find provoked waste within two seconds, and nothing if there is no waste.

use super::OUT;
use super::args::Args;
use super::guest::Script;
use super::seen::Seen;
use crate::Failure;
use crate::tree::root;
use serde_json::Value;
use std::time::Duration;

/// Four nodes in a ring, so that some of them are two hops apart. Time is counted in instructions. Otherwise, an
/// emulated CPU might wait so long for its turn that a wakeup looks like waste, and the time to a finding would depend
/// on the host.
const RING: &[&str] = &["--cpus", "8", "--numa", "4", "--links", "0-1,1-2,2-3,3-0", "--icount=3"];

/// The maximum time from the start of the waste to its finding, in ns.
const SOON_NS: i128 = 2_000_000_000;

/// A turn, its scheduler, and whether cores are wasted.
const TURNS: [(&str, &str, bool); 8] = [
    ("pinned", "disabled -", false),
    ("partition", "disabled -", true),
    ("quiet", "disabled -", false),
    ("freed", "disabled -", false),
    ("missing-domains", "enabled cfs", true),
    ("missing-domains-fixed", "enabled cfs", false),
    ("group-construction", "enabled cfs", true),
    ("group-construction-fixed", "enabled cfs", false),
];

/// The judged part of a turn.
#[derive(Debug, Default, PartialEq)]
struct Turn {
    looks: u64,
    suspicions: u64,
    findings: u64,
    /// From the provocation to the first finding.
    first_ns: Option<i128>,
    /// As a share of one CPU's time.
    cost: f64,
    fault: Option<String>,
}

/// Runs all turns on all kernels. Returns what did not hold.
pub(super) fn run(args: &Args) -> Result<Vec<String>, Failure> {
    let names: Vec<String> = TURNS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let mut faults = Vec::new();
    for kernel in &args.kernels {
        println!("Linux {kernel}: keel watch for {} s of each", args.seconds);
        let script = Script {
            kernel,
            guest: RING,
            script: "tests/live/watch.sh",
            out: format!("{OUT}/{kernel}/watch"),
            first: Some(args.seconds.to_string()),
            turn: Duration::from_secs(30 * u64::from(args.seconds) + 300),
        };
        let folder = root().join(&script.out);
        let text = |turn: &str, kind: &str| {
            std::fs::read_to_string(folder.join(format!("{turn}.{kind}"))).unwrap_or_default()
        };
        for (seen, (name, scheduler, wastes)) in script.run(&names)?.iter().zip(TURNS) {
            let check = serde_json::from_str(&text(name, "check")).unwrap_or_default();
            let turn = judge(seen, &lines(&text(name, "lines")), &check, scheduler, wastes);
            println!("  {name:26} {}", reported(&turn));
            if let Some(line) =
                text(name, "sar").lines().rfind(|line| line.starts_with("Average") && line.contains("all"))
            {
                println!("  {:26} sar beside it: {}", "", line.trim());
            }
            faults.extend(turn.fault.map(|fault| format!("{name} on Linux {kernel}: {fault} (see {OUT})")));
        }
    }
    Ok(faults)
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn reported(turn: &Turn) -> String {
    let found = match (turn.findings, turn.first_ns) {
        (0, _) => "found nothing".to_owned(),
        (n, None) => format!("{n} found"),
        (n, Some(ns)) => format!("{n} found, the first after {:.1} s", ns.max(0) as f64 / 1e9),
    };
    let cost = format!("{:.2} % of a CPU", 100.0 * turn.cost);
    let end = turn.fault.as_deref().unwrap_or("good");
    format!("{found} in {} looks, {} suspicions; {cost}; {end}", turn.looks, turn.suspicions)
}

/// The output of a turn, of `keel watch --json`, and of `keel check --json` for the first recording that it kept.
fn judge(seen: &Seen, lines: &[Value], check: &Value, scheduler: &str, wastes: bool) -> Turn {
    let of = |event: &str| lines.iter().find(|line| line["event"] == event).cloned().unwrap_or_default();
    let (begin, first, end) = (of("begin"), of("finding"), of("end"));
    let number = |name: &str| end[name].as_u64().unwrap_or_default();
    let mut turn = Turn {
        looks: number("looks"),
        suspicions: number("suspicions"),
        findings: number("findings"),
        first_ns: since(seen, &begin, &first),
        cost: end["cost"]["share_of_a_cpu"].as_f64().unwrap_or_default(),
        fault: None,
    };
    turn.fault = fault(seen, scheduler, wastes).or_else(|| match (end.is_null(), wastes) {
        (true, _) => Some("keel watch did not end".to_owned()),
        (false, true) => not_found(&turn, check),
        (false, false) => (turn.findings > 0).then(|| format!("a false finding: {}", first["text"])),
    });
    turn
}

/// From the provocation to a finding. Negative if it was found before everything was provoked.
fn since(seen: &Seen, begin: &Value, finding: &Value) -> Option<i128> {
    let number = |value: &Value| value.as_u64().map(i128::from);
    let provoked: i128 = seen.fact("provoked").parse().ok()?;
    Some(number(&begin["unix_ns"])? + number(&finding["at_ns"])? - provoked)
}

fn fault(seen: &Seen, scheduler: &str, wastes: bool) -> Option<String> {
    if let Some(trouble) = seen.trouble() {
        return Some(trouble);
    }
    let code = if wastes { "1" } else { "0" };
    let facts = [("scheduler", scheduler), ("code", code), ("detached", "disabled -")];
    let wrong = facts.iter().find(|(fact, expected)| seen.fact(fact) != *expected);
    wrong.map(|(fact, expected)| {
        format!("{fact} is '{}', not '{expected}': {}", seen.fact(fact), seen.fact("words"))
    })
}

/// Why waste was not found as expected.
fn not_found(turn: &Turn, check: &Value) -> Option<String> {
    match turn.first_ns {
        None => Some("it was not found".to_owned()),
        Some(ns) if ns > SOON_NS => Some(format!("it was found after {:.1} s", ns as f64 / 1e9)),
        Some(_) if check["wasted_core_ns"].as_u64().unwrap_or_default() == 0 => {
            Some("its recording shows no waste".to_owned())
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn seen(code: &str) -> Seen {
        let facts =
            [("scheduler", "enabled cfs"), ("code", code), ("detached", "disabled -"), ("works", "0")];
        let mut seen = Seen { turn: "t".into(), ..Seen::default() };
        for (fact, words) in facts.into_iter().chain([("provoked", "5000000000")]) {
            seen.facts.insert(fact.into(), words.into());
        }
        seen
    }

    /// Output of a `keel watch` that began at 4 s and found something this many milliseconds later.
    fn said(found_ms: Option<u64>) -> Vec<Value> {
        let begin = json!({"event": "begin", "unix_ns": 4_000_000_000u64});
        let finding =
            found_ms.map(|ms| json!({"event": "finding", "at_ns": ms * 1_000_000, "text": "CPU 7"}));
        let findings = u64::from(found_ms.is_some());
        let end = json!({"event": "end", "looks": 9, "suspicions": 2, "findings": findings, "cost": {"share_of_a_cpu": 0.01}});
        [begin].into_iter().chain(finding).chain([end]).collect()
    }

    #[test]
    fn waste_must_be_found_soon_and_nothing_else() {
        let check = |wastes, code: &str, found_ms, wasted, expected: Option<&str>| {
            let turn = judge(
                &seen(code),
                &said(found_ms),
                &json!({"wasted_core_ns": wasted}),
                "enabled cfs",
                wastes,
            );
            assert_eq!(turn.fault.as_deref(), expected);
        };
        check(true, "1", Some(2900), 5, None);
        check(true, "1", Some(900), 5, None);
        check(true, "1", Some(3100), 5, Some("it was found after 2.1 s"));
        check(true, "1", Some(2900), 0, Some("its recording shows no waste"));
        check(true, "0", None, 5, Some("code is '0', not '1': "));
        check(false, "0", None, 0, None);
        check(false, "0", Some(2900), 5, Some("a false finding: \"CPU 7\""));
        let nothing = judge(&seen("0"), &[], &Value::Null, "enabled cfs", false);
        assert_eq!(nothing.fault.as_deref(), Some("keel watch did not end"));
        let other = judge(&seen("0"), &said(None), &Value::Null, "disabled -", false);
        assert_eq!(other.fault.as_deref(), Some("scheduler is 'enabled cfs', not 'disabled -': "));
    }

    #[test]
    fn a_turn_is_one_line() {
        let turn = judge(&seen("1"), &said(Some(2900)), &json!({"wasted_core_ns": 1}), "enabled cfs", true);
        assert_eq!(
            reported(&turn),
            "1 found, the first after 1.9 s in 9 looks, 2 suspicions; 1.00 % of a CPU; good"
        );
    }
}
