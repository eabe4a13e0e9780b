use super::*;

const STARVED: Kind = Kind::Starvation;
const LATE: Kind = Kind::LongDelay;

#[test]
fn a_wait_beyond_the_bound_is_starvation() {
    check(
        2,
        "0       0 fork A 0
         0       0 fork B 0
         0       0 switch - idle A
         500000  0 migrate B 0 1
         1500000 0 switch A preempted B
         1600000 0 switch B blocked A
         1700000 end",
        STARVED,
        &["task task-b (pid 1001) was runnable for 1.50 s without running, on CPU 1"],
    );
}

#[test]
fn one_that_still_waits_is_starved() {
    check(
        1,
        "0 0 fork A 0
         2000000 end",
        STARVED,
        &[
            "task task-a (pid 1000) has been runnable for 2.00 s without running, on CPU 0, and still waits at \
             the end",
        ],
    );
}

#[test]
fn a_fair_round_is_no_starvation() {
    let lines = "0 0 fork A 0
         0 0 fork B 0
         1010000 0 switch - idle A
         1020000 0 switch A blocked B
         1030000 end";
    check(1, lines, STARVED, &[]);
}

#[test]
fn the_wait_of_a_stalled_cpu_is_no_starvation_and_no_delay() {
    let lines = "0       0 fork A 0
         0       0 switch - idle A
         100     0 fork B 0
         200     0 fork C 0
         1500000 0 switch A preempted B
         1510000 0 switch B blocked C
         1600000 end";
    check(1, lines, STARVED, &[]);
    check(1, lines, LATE, &[]);
    let stall = "CPU 0 ran task task-a (pid 1000) without a break for 1.50 s while 2 tasks waited, the first task-b (pid 1001), in \
                 its queue";
    check(1, lines, Kind::Stall, &[stall]);
}

#[test]
fn a_late_wakeup_names_its_waker_and_the_tasks_that_ran() {
    let lines = "0      0 fork A 0
         0      0 switch - idle A
         0      1 fork B 1
         0      1 switch - idle B
         1000   1 switch B blocked -
         10000  0 wake B 0 A
         160000 0 switch A blocked B
         170000 end";
    let late = "task task-b (pid 1001) was woken by task-a (pid 1000) for CPU 0 and ran 150.00 ms later, on CPU 0; \
                CPU 0 was running task-a (pid 1000) then";
    check(2, lines, LATE, &[late]);
    let finding = &found(Limits::default(), 2, lines, LATE)[0];
    assert_eq!((finding.threshold, finding.tasks.len()), (DELAY, 2));
    assert_eq!(
        finding.decision.map(|decision| decision.words()).unwrap_or_default(),
        "woken by CPU 0 and put on CPU 0 at 10.00 ms; it last ran on CPU 1"
    );
}

#[test]
fn a_delay_within_the_limit_or_a_fair_round_is_none() {
    let lines = |us: u32| format!("0 0 fork A 0\n{us} 0 switch - idle A\n300000 end");
    check(1, &lines(100_000), LATE, &[]);
    // A single task counts itself: one more slice.
    check(1, &lines(119_999), LATE, &[]);
    check(1, &lines(120_000), LATE, &[]);
    assert_eq!(found(Limits::default(), 1, &lines(120_001), LATE).len(), 1);
    // A task that lost its CPU was not woken.
    check(1, "0 0 fork A 0\n0 0 switch - idle A\n5 0 switch A preempted -\n200000 end", LATE, &[]);
}

#[test]
fn a_limit_that_is_asked_for_is_taken_as_it_is() {
    let limits = Limits { delay: Some(Span::from_ms(2)), ..Limits::default() };
    let lines = |us: u32| format!("0 0 fork A 0\n{us} 0 switch - idle A\n300000 end");
    assert_eq!(found(limits, 1, &lines(2_000), LATE).len(), 0);
    assert_eq!(found(limits, 1, &lines(2_001), LATE)[0].threshold, Span::from_ms(2));
}

#[test]
fn a_preempted_task_starves_like_a_woken_one() {
    let lines = "0 0 fork A 0
         0 0 switch - idle A
         5 0 switch A preempted -
         1030000 0 switch - idle A
         1040000 end";
    check(1, lines, STARVED, &["task task-a (pid 1000) was runnable for 1.03 s without running, on CPU 0"]);
}

#[test]
fn a_delay_is_not_reported_where_its_cpu_stalled_meanwhile() {
    let lines = |wake_us: u32| {
        format!(
            "0      0 fork A 0
             0      0 switch - idle A
             0      1 fork B 1
             0      1 switch - idle B
             10     1 switch B blocked -
             {wake_us} 0 wake B 0
             700000 0 switch A blocked B
             800000 end"
        )
    };
    check(2, &lines(100_000), LATE, &[]);
    // Not long enough for a stall.
    assert_eq!(found(Limits::default(), 2, &lines(300_000), LATE).len(), 1);
}

/// A, with nice 19, waits from 200 ms to `us` on the one CPU, which B never holds for long; `a` and `b` are their
/// weights.
fn beside(a: u32, b: u32, us: u32) -> String {
    let mut lines = format!("0 0 prio A 139 {a}\n0 0 prio B 120 {b}\n0 0 fork A 0\n0 0 fork B 0\n");
    lines += "0 0 switch - idle B\n100000 0 switch B preempted A\n200000 0 switch A preempted B\n";
    for at in (600_000..us).step_by(400_000) {
        lines += &format!("{at} 0 switch B preempted -\n{at} 0 switch - idle B\n");
    }
    lines + &format!("{us} 0 switch B preempted A\n4000000 end")
}

#[test]
fn a_light_task_waits_by_its_weight_and_no_longer() {
    // 1 s, and 20 ms for each of the 68 slices that nice 0 has per slice of nice 19.
    check(1, &beside(15, 1024, 2_560_000), STARVED, &[]);
    let text = "task task-a (pid 1000) was runnable for 2.36 s without running, on CPU 0";
    check(1, &beside(15, 1024, 2_561_000), STARVED, &[text]);
    let bound = found(Limits::default(), 1, &beside(15, 1024, 2_600_000), STARVED)[0].threshold;
    assert_eq!(bound, BOUND + Span::from_ms(20) * 68);
    // With equal weights only the number counts.
    let bound = found(Limits::default(), 1, &beside(1024, 1024, 2_300_000), STARVED)[0].threshold;
    assert_eq!(bound, BOUND + Span::from_ms(20));
    // If weights are unknown, nice values stand in for them: 1 against 100.
    check(1, &beside(0, 0, 3_200_000), STARVED, &[]);
    let bound = found(Limits::default(), 1, &beside(0, 0, 3_300_000), STARVED)[0].threshold;
    assert_eq!(bound, BOUND + Span::from_ms(20) * 100);
}

#[test]
fn a_wait_across_queues_reports_its_longest_part() {
    let lines = |moved_us: u32| {
        format!(
            "0      0 fork A 0
             0      0 switch - idle A
             0      1 fork C 1
             0      1 switch - idle C
             0      2 fork B 2
             0      2 switch - idle B
             1000   2 switch B blocked -
             10000  0 wake B 0 A
             {moved_us} 1 migrate B 0 1
             209000 2 migrate B 1 2
             210000 2 switch - idle B
             220000 end"
        )
    };
    let woken =
        "task task-b (pid 1001) was woken by task-a (pid 1000) for CPU 0 and ran 200.00 ms later, on CPU 2; ";
    let there = "CPU 0 was running task-a (pid 1000) then";
    check(3, &lines(150_000), LATE, &[&format!("{woken}{there}")]);
    let moved = "it waited longest, for 159.00 ms, in the queue of CPU 1, where it was moved from CPU 0; \
                 CPU 1 was running task-c (pid 1002) then";
    check(3, &lines(50_000), LATE, &[&format!("{woken}{moved}")]);
    let finding = &found(Limits::default(), 3, &lines(50_000), LATE)[0];
    let words = finding.decision.map(|decision| decision.words()).unwrap_or_default();
    assert_eq!(words, "pulled from CPU 0 by CPU 1 at 50.00 ms");
    assert_eq!(finding.cpus, [CpuId(1), CpuId(2)]);
}
