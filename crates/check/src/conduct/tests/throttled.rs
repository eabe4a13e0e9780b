//! A throttled task does not wait, for any check; without throttling, each finding is reported.

use super::*;

/// Reported without throttling; not reported if B is throttled from the beginning of its wait to its end.
fn only_without(cpus: u32, lines: &str, kind: Kind) {
    assert_eq!(found(Limits::default(), cpus, lines, kind).len(), 1, "{lines}");
    let (reported, kept): (Vec<&str>, Vec<&str>) =
        lines.lines().partition(|line| line.contains(" throttled "));
    assert!(reported.is_empty(), "{lines}");
    let throttled = kept.join("\n").replacen("fork B 0", "throttled B on\n{at} 0 fork B 0", 1);
    let at =
        lines.lines().find(|line| line.contains("fork B 0")).and_then(|line| line.split_whitespace().next());
    let throttled = throttled.replace("{at}", at.expect("B comes"));
    check(cpus, &throttled, kind, &[]);
}

const BUSY: &str = "0 0 fork A 0\n0 0 switch - idle A";

#[test]
fn it_does_not_starve() {
    let pair = |ms: u64| format!("{ms}000 0 switch A preempted C\n{}000 0 switch C preempted A\n", ms + 100);
    let turns: String = (1..10).map(|n| pair(n * 200)).collect();
    let lines = format!("{BUSY}\n1000 0 fork B 0\n{turns}2000000 0 switch A preempted B\n2000100 end");
    only_without(1, &lines, Kind::Starvation);
}

#[test]
fn it_does_not_come_late() {
    let lines = format!("{BUSY}\n1000 0 fork B 0\n400000 0 switch A preempted B\n400100 end");
    only_without(1, &lines, Kind::LongDelay);
}

#[test]
fn it_is_not_stalled() {
    let lines = format!("{BUSY}\n1000 0 fork B 0\n900000 0 switch A preempted B\n900100 end");
    only_without(1, &lines, Kind::Stall);
}

#[test]
fn a_throttled_task_is_not_blocked_by_others() {
    let lines = format!("0 0 prio A 120\n0 0 prio B 50\n{BUSY}\n1000 0 fork B 0\n5000 end");
    only_without(1, &lines, Kind::PriorityInversion);
}

#[test]
fn it_is_in_its_place() {
    let lines = format!("0 0 prio A 10\n0 0 prio B 50\n{BUSY}\n1000 0 fork B 0\n5000 end");
    only_without(2, &lines, Kind::MisplacedRealtime);
    // A CPU that idles on purpose would not have run it.
    check(2, &format!("0 1 reserved 1 on\n{lines}"), Kind::MisplacedRealtime, &[]);
}

#[test]
fn it_gets_what_it_is_entitled_to() {
    let lines = format!("0 0 prio A 120 100\n0 0 prio B 120 100\n{BUSY}\n0 0 fork B 0\n2500000 end");
    let lines = lines.replace("2500000 end", "1200000 0 kick 0\n2400000 0 kick 0\n2500000 end");
    only_without(1, &lines, Kind::UnfairShare);
}

#[test]
fn what_it_waits_before_and_after_counts() {
    let lines = format!(
        "0 0 prio A 120\n0 0 prio B 50\n{BUSY}
         1000  0 fork B 0
         3000  0 throttled B on
         9000  0 throttled B off
         11000 0 switch A preempted B
         12000 end"
    );
    let text = |ms| {
        format!(
            "real-time task task-b (pid 1001) waited on CPU 0 for {ms}.00 ms while less urgent task task-a (pid 1000) ran there"
        )
    };
    check(1, &lines, Kind::PriorityInversion, &[&text(2), &text(2)]);
}
