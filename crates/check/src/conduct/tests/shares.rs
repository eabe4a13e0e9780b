use super::*;
use std::fmt::Write;

const UNFAIR: Kind = Kind::UnfairShare;

/// A and B on one CPU for `rounds` rounds of `a_ms` and `b_ms`.
fn rounds(begin: &str, rounds: u32, a_ms: u32, b_ms: u32) -> String {
    let mut lines = format!("{begin}\n0 0 fork A 0\n0 0 fork B 0\n0 0 switch - idle A\n");
    let mut at = 0;
    for _ in 0..rounds {
        let _ = writeln!(lines, "{} 0 switch A preempted B", at + a_ms * 1000);
        at += (a_ms + b_ms) * 1000;
        let _ = writeln!(lines, "{at} 0 switch B preempted A");
    }
    lines + &format!("{} end", at + 1)
}

const EQUAL: &str = "0 0 prio A 120 100\n0 0 prio B 120 100";

#[test]
fn less_than_half_of_what_its_weight_entitles_to_is_unfair() {
    let text = "task task-b (pid 1001) was runnable for 1.00 s and ran for 200.00 ms; its weight among the tasks \
                on the same CPUs entitles it to 500.00 ms";
    check(1, &rounds(EQUAL, 21, 80, 20), UNFAIR, &[text]);
    check(1, &rounds(EQUAL, 21, 74, 26), UNFAIR, &[]);
}

#[test]
fn weights_decide_what_is_fair() {
    let heavy = "0 0 prio A 116 400\n0 0 prio B 120 100";
    check(1, &rounds(heavy, 21, 80, 20), UNFAIR, &[]);
    assert_eq!(found(Limits::default(), 1, &rounds(heavy, 21, 20, 80), UNFAIR).len(), 1);
}

#[test]
fn windows_in_a_row_are_one_finding() {
    let findings = found(Limits::default(), 1, &rounds(EQUAL, 41, 80, 20), UNFAIR);
    // The first window includes the moment before both existed.
    assert_eq!(findings.iter().map(|f| f.duration).collect::<Vec<_>>(), [Span::from_s(3)]);
}

#[test]
fn tasks_that_cannot_be_compared_are_skipped() {
    let none = |lines: &str| check(2, lines, UNFAIR, &[]);
    // Unknown weights; a real-time task; other CPUs; less than five slices.
    none(&rounds("0 0 prio A 120 0\n0 0 prio B 120 0", 21, 80, 20));
    // The weight of one of them is unknown, so it is unknown with which tasks it shares.
    none(&rounds("0 0 prio A 120 0\n0 0 prio B 120 100", 21, 80, 20));
    none(&rounds("0 0 prio A 50 100\n0 0 prio B 120 100", 21, 80, 20));
    none(&rounds(&format!("{EQUAL}\n0 may A 0\n0 may B 0,1"), 21, 80, 20));
    none(&rounds("0 0 prio A 110 9548\n0 0 prio B 130 1024", 21, 98, 2));
    // A task that sleeps now and then does not want a CPU all the time.
    let sleeps = "900000 0 switch B blocked A\n900001 0 wake B 0\n1900000 0 switch A blocked B\n2000000 end";
    none(&rounds(EQUAL, 9, 80, 20).replace("900000 0 switch B preempted A\n900001 end", sleeps));
}

#[test]
fn a_task_that_sleeps_in_every_window_is_entitled_to_nothing() {
    let mut lines = format!("{EQUAL}\n0 0 fork A 0\n0 0 switch - idle A\n");
    for at in (0..3_200_000).step_by(100_000) {
        let _ = writeln!(lines, "{} 0 wake B 0\n{} 0 switch A preempted B", at + 79_999, at + 80_000);
        let _ = writeln!(lines, "{} 0 switch B blocked A", at + 99_000);
    }
    check(1, &(lines + "3300000 end"), UNFAIR, &[]);
}

#[test]
fn no_task_is_entitled_to_more_than_one_cpu() {
    let mut lines = "0 0 prio A 100 8668\n0 0 prio B 120 100\n0 0 prio C 120 100\n".to_owned();
    for (task, cpu) in ["A", "B", "C"].into_iter().zip(0..) {
        let _ = writeln!(lines, "0 {cpu} fork {task} {cpu}\n0 {cpu} switch - idle {task}");
    }
    check(3, &(lines + "1000000 0 kick 0\n2000000 0 kick 0\n3000000 end"), UNFAIR, &[]);
}
