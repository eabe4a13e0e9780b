//! `keel record --ring` on real kernels. Each signal gives a file of the last moments that is complete, has the right
//! length, and reaches to the signal.

use super::OUT;
use super::args::Args;
use super::guest::Script;
use super::seen::Seen;
use crate::Failure;
use crate::tree::root;
use serde_json::Value;
use std::time::Duration;

const GUEST: &[&str] = &["--cpus", "4"];

/// A turn, the number of its files, and whether each is as long as the ring.
const TURNS: [(&str, usize, bool); 3] = [("signals", 3, true), ("short", 1, false), ("killed", 0, true)];

/// Old data is dropped in chunks of this part of the ring's time.
const CHUNKS: u64 = 16;
/// How much longer a file may be: keel waits for the data from before the signal, and emulated CPUs are slow.
const LATE_NS: u64 = 2_000_000_000;

/// Runs all turns on all kernels. Returns what did not hold.
pub(super) fn run(args: &Args) -> Result<Vec<String>, Failure> {
    let names: Vec<String> = TURNS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let mut faults = Vec::new();
    for kernel in &args.kernels {
        println!("Linux {kernel}: keel record --ring {}s", args.seconds);
        let script = Script {
            kernel,
            guest: GUEST,
            script: "tests/live/ring.sh",
            out: format!("{OUT}/{kernel}/ring"),
            first: Some(args.seconds.to_string()),
            turn: Duration::from_secs(10 * u64::from(args.seconds) + 180),
        };
        let folder = root().join(&script.out);
        for (seen, (name, files, _)) in script.run(&names)?.iter().zip(TURNS) {
            let json = |nth: usize| std::fs::read(folder.join(format!("{name}.{nth}.json")));
            let read = |nth| serde_json::from_slice(&json(nth).unwrap_or_default()).unwrap_or_default();
            let checks: Vec<Value> = (1..=files).map(read).collect();
            let fault = fault(seen, &checks, args.seconds);
            let lengths: Vec<String> = checks.iter().map(length).collect();
            println!("  {name:8} {} {}", lengths.join(" "), fault.as_deref().unwrap_or("good"));
            faults.extend(fault.map(|fault| format!("{name} on Linux {kernel}: {fault} (see {OUT})")));
        }
    }
    Ok(faults)
}

fn length(check: &Value) -> String {
    format!("{:.2} s", number(check, "duration_ns") as f64 / 1e9)
}

fn number(check: &Value, name: &str) -> u64 {
    check[name].as_u64().unwrap_or_default()
}

/// Whether a task ran just before this signal.
fn has_mark(check: &Value, signal: usize) -> bool {
    let names = check["names"].as_array().map_or(&[][..], Vec::as_slice);
    names.iter().any(|name| name["name"] == format!("mark-{signal}"))
}

/// What is wrong with a turn. `checks` are the results of `keel check --json` for its files.
fn fault(seen: &Seen, checks: &[Value], seconds: u32) -> Option<String> {
    let (_, files, is_full) = *TURNS.iter().find(|(name, ..)| *name == seen.turn)?;
    if let Some(trouble) = seen.trouble() {
        return Some(trouble);
    }
    if seen.fact("files") != files.to_string() {
        return Some(format!("{} files, not {files}", seen.fact("files")));
    }
    let (ring_ns, mut nths) = (u64::from(seconds) * 1_000_000_000, (1..).zip(checks));
    nths.find_map(|(nth, check)| {
        let ns = number(check, "duration_ns");
        let why = match () {
            () if seen.fact(&format!("check-{nth}")) != "0" => "cannot be judged".to_owned(),
            () if check["lost_events"] != 0 => format!("lost {} events", check["lost_events"]),
            () if number(check, "switches") == 0 => "has no switches".to_owned(),
            () if is_full && ns < ring_ns - ring_ns / CHUNKS => format!("is {} long", length(check)),
            () if ns > ring_ns + ring_ns / CHUNKS + LATE_NS => format!("is {} long", length(check)),
            () if !has_mark(check, nth) => "lacks what ran just before the signal".to_owned(),
            () if nth > 1 && has_mark(check, nth - 1) => "has what is too old".to_owned(),
            () => return None,
        };
        Some(format!("file {nth} {why}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Three files of this many seconds, with these marks, from a ring of 3 s.
    fn check(seconds: f64, marks: [&[usize]; 3], lost: u64, expected: Option<&str>) {
        let mut seen = Seen { turn: "signals".into(), ..Seen::default() };
        for (fact, words) in
            [("works", "0"), ("files", "3"), ("check-1", "0"), ("check-2", "0"), ("check-3", "0")]
        {
            seen.facts.insert(fact.into(), words.into());
        }
        let file = |marks: &[usize]| {
            let names: Vec<Value> =
                marks.iter().map(|mark| json!({ "name": format!("mark-{mark}") })).collect();
            let ns = (seconds * 1e9) as u64;
            json!({ "duration_ns": ns, "lost_events": lost, "switches": 9, "names": names })
        };
        assert_eq!(fault(&seen, &marks.map(file), 3).as_deref(), expected);
        seen.facts.insert("files".into(), "2".into());
        assert_eq!(fault(&seen, &marks.map(file), 3).as_deref(), Some("2 files, not 3"));
    }

    #[test]
    fn files_of_the_last_moments_are_judged() {
        check(3.1, [&[1], &[2], &[3]], 0, None);
        check(3.1, [&[1], &[2], &[3]], 5, Some("file 1 lost 5 events"));
        check(2.0, [&[1], &[2], &[3]], 0, Some("file 1 is 2.00 s long"));
        check(9.0, [&[1], &[2], &[3]], 0, Some("file 1 is 9.00 s long"));
        check(3.1, [&[1], &[1], &[3]], 0, Some("file 2 lacks what ran just before the signal"));
        check(3.1, [&[1], &[1, 2], &[3]], 0, Some("file 2 has what is too old"));
    }
}
