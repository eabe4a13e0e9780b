//! One scene in four formats (`crates/readers/recordings/blame`, written by hand): `waker`, on CPU 1, wakes `victim` on
//! CPU 0, where `hog0` runs, although CPU 3 idles. After 50 ms CPU 3 pulls it. The wakeup is to blame, not the pull.

use crate::read;
use keel_abi::{CpuId, Pid, Span};
use keel_check::{Act, Decision, Figures, Finding, How, Judge, Judgement, Limits, finding::Kind};
use std::io::Cursor;

fn judged(bytes: &[u8]) -> Judgement {
    let limits = Limits { delay: Some(Span::from_ms(1)), ..Limits::default() };
    let mut judge = Judge::with(Figures::new(), limits);
    read(Cursor::new(bytes), &mut judge).expect("it can be judged");
    judge.judgement()
}

fn check(bytes: &[u8]) {
    let judged = judged(bytes);
    let pid = |task| judged.summary.tasks.iter().find(|row| row.task == task).map(|row| row.pid);
    let of = |kind: Kind| -> &Finding {
        judged.findings.iter().find(|found| found.kind == kind).expect("it is found")
    };
    let (waste, late) = (of(Kind::WastedCore), of(Kind::LongDelay));
    assert_eq!((&waste.cpus, &late.cpus), (&vec![CpuId(3)], &vec![CpuId(0), CpuId(3)]));
    for found in [waste, late] {
        let Decision { act, at, by, to, waker, .. } = found.decision.expect("it is described");
        assert_eq!(
            (act, by, to, pid(waker)),
            (Act::Woken, CpuId(1), CpuId(0), Some(Pid(204))),
            "{}",
            found.text
        );
        assert_eq!(at, found.start, "{}", found.text);
        assert_eq!(found.duration.as_ns() / 100_000, 504, "{}", found.text);
    }
    assert!(
        waste
            .text
            .ends_with("task victim (pid 200) waited in the queue of CPU 0, where waker (pid 204) woke it"),
        "{}",
        waste.text
    );
    assert!(
        late.text.starts_with("task victim (pid 200) was woken by waker (pid 204) for CPU 0"),
        "{}",
        late.text
    );
    assert!(late.text.ends_with("on CPU 3; CPU 0 was running hog0 (pid 100) then"), "{}", late.text);
    let groups = &judged.waste.groups;
    assert_eq!(groups.waited_on, [(CpuId(0), judged.waste.wasted)]);
    assert_eq!(groups.how, [(How::WokenLastCpu, judged.waste.wasted)]);
    assert_eq!(groups.wakers[0].name, "waker");
}

#[test]
fn of_perf_script() {
    check(include_bytes!("../../recordings/blame/perf.txt"));
}

#[test]
fn of_perf_script_with_nanoseconds() {
    check(include_bytes!("../../recordings/blame/perf-ns.txt"));
}

#[test]
fn of_an_old_perf() {
    check(include_bytes!("../../recordings/blame/perf-old.txt"));
}

#[test]
fn of_ftrace() {
    check(include_bytes!("../../recordings/blame/ftrace.txt"));
}
