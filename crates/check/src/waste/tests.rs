mod model;

use super::*;
use crate::script::play;
use keel_abi::TaskId;

fn verdict(cpus: u32, lines: &str) -> Verdict {
    let mut waste = WastedCores::new(3);
    play(&mut waste, cpus, lines);
    waste.verdict()
}

fn check(cpus: u32, lines: &str, (wasted, transient): (u64, u64), expected: &[&str]) {
    let verdict = verdict(cpus, lines);
    let texts: Vec<_> = verdict.findings.iter().map(|f| f.text.as_str()).collect();
    assert_eq!(texts, expected);
    assert_eq!((verdict.wasted, verdict.transient), (Span::from_us(wasted), Span::from_us(transient)));
}

#[test]
fn the_last_placement_is_named() {
    check(
        6,
        "0       0 fork A 2
         0       2 switch - idle A
         0       0 placed D 2 select_cpu
         0       0 fork D 2
         0       0 queued D local:2
         1900000 2 switch A blocked D
         2000000 end",
        (1_900_000, 0),
        &["CPU 0 idled for 1.90 s while task task-d (pid 1003) waited in the queue of CPU 2, \
           where select_cpu put it"],
    );
}

#[test]
fn a_full_machine_wastes_nothing() {
    check(
        1,
        "0   0 fork A 0
         0   0 switch - idle A
         0   0 fork B 0
         900 0 switch A preempted B
         999 end",
        (0, 0),
        &[],
    );
}

#[test]
fn short_and_pending_parts_are_transient() {
    // The first wait is short; the second is long, but CPU 0 had been kicked for all of it.
    check(
        1,
        "0   0 fork A 0
         9   0 switch - idle A
         20  0 switch A blocked -
         100 0 kick 0
         100 0 wake A 0
         290 0 switch - idle A
         400 end",
        (0, 199),
        &[],
    );
}

#[test]
fn a_kick_excuses_only_for_a_while() {
    check(
        1,
        "100  0 wake A 0
         300  0 kick 0
         1300 0 switch - idle A
         1400 end",
        (1000, 200),
        &["CPU 0 idled for 1.20 ms while task task-a (pid 1000) waited in the queue of CPU 0"],
    );
}

#[test]
fn affinity_decides_which_tasks_could_have_run() {
    let waits_on_0 = "0 0 may B 0
         0 0 fork A 0
         0 0 switch - idle A
         0 0 fork B 0
         500 0 switch A blocked B
         600 end";
    check(4, &waits_on_0.replace("0 0 may B 0", "0 may B 0"), (0, 0), &[]);
    check(
        4,
        &waits_on_0.replace("0 0 may B 0", "0 may B 0,3"),
        (500, 0),
        &["CPU 3 idled for 500.00 µs while task task-b (pid 1001) waited in the queue of CPU 0"],
    );
}

#[test]
fn an_affinity_that_changes_while_waiting_counts_at_once() {
    check(
        2,
        "0 may B 0
         0   0 fork A 0
         0   0 switch - idle A
         0   0 fork B 0
         300 may B 0-1
         800 1 switch - idle B
         900 end",
        (500, 0),
        &["CPU 1 idled for 500.00 µs while task task-b (pid 1001) waited in the queue of CPU 0"],
    );
}

#[test]
fn one_episode_may_have_many_witnesses() {
    check(
        2,
        "0   0 fork A 0
         0   0 switch - idle A
         0   0 fork B 0
         100 0 held B
         300 0 switch A preempted B
         900 0 switch B yielded A
         950 end",
        (950, 0),
        &[
            "CPU 1 idled for 950.00 µs while at least one task always waited; task-a (pid 1000) waited longest, for 600.00 µs \
           in the queue of CPU 0 after it was preempted",
        ],
    );
}

#[test]
fn a_task_held_by_the_bpf_program_is_reported_as_such() {
    check(
        1,
        "0   0 fork A 0
         1   0 held A
         900 0 queued A local:0
         905 0 switch - idle A
         950 end",
        (900, 5),
        &[
            "CPU 0 idled for 905.00 µs while task task-a (pid 1000) waited held by the BPF program, in no queue",
        ],
    );
}

#[test]
fn offline_cpus_are_not_wasted() {
    check(
        2,
        "0   0 off 1
         0   0 fork A 0
         0   0 switch - idle A
         0   0 fork B 0
         500 0 on 1
         900 1 switch - idle B
         950 end",
        (400, 0),
        &["CPU 1 idled for 400.00 µs while task task-b (pid 1001) waited in the queue of CPU 0"],
    );
}

/// A runs on CPU 0 of two; `lines` says what B does until 1 ms.
fn check_b(lines: &str, wasted_us: u64, texts: &[&str]) {
    check(2, &format!("0 0 fork A 0\n0 0 switch - idle A\n{lines}\n1000 end"), (wasted_us, 0), texts);
}

#[test]
fn a_throttled_task_waits_for_no_cpu() {
    // Throttled while it runs, so that it leaves its CPU.
    check_b(
        "100 1 switch - idle B
         200 1 throttled B on
         210 1 switch B preempted -
         900 1 throttled B off
         900 1 switch - idle B",
        0,
        &[],
    );
    // Throttled while it waits; its waits before and after count.
    check_b(
        "100 0 wake B 0
         300 0 throttled B on
         500 0 migrate B 0 1
         800 0 throttled B off
         900 1 switch - idle B",
        300,
        &[
            "CPU 1 idled for 200.00 µs while task task-b (pid 1001) waited in the queue of CPU 0",
            "CPU 1 idled for 100.00 µs while task task-b (pid 1001) waited in the queue of CPU 1, \
             where it was moved from CPU 0",
        ],
    );
    // Throttled while it sleeps; being switched to ends it.
    check_b(
        "100 0 throttled B on
         200 0 wake B 0
         600 1 switch - idle B
         700 1 switch B preempted -",
        300,
        &["CPU 1 idled for 300.00 µs while task task-b (pid 1001) waited in the queue of CPU 1 \
           after it was preempted"],
    );
    // Its CPUs may change while it is throttled.
    check_b("100 0 throttled B on\n200 0 wake B 0\n300 may B 1\n400 may B 0-1", 0, &[]);
}

#[test]
fn a_group_may_not_use_a_cpu_where_its_limit_is_used_up() {
    let waits = |us: u32| {
        format!("CPU 1 idled for {us}.00 µs while task task-c (pid 1002) waited in the queue of CPU 0")
    };
    // B's throttling closes CPU 1 to its group, which C is in if it was throttled before for the same limit.
    let check_c = |lines: &str, wasted_us: u64, texts: &[&str]| {
        let lines =
            format!("10 1 switch - idle B\n20 1 throttled B on 7\n30 1 switch B preempted -\n{lines}");
        check_b(&lines, wasted_us, texts);
    };
    let in_group = "40 0 throttled C on 7\n50 0 throttled C off 7";
    check_c(&format!("{in_group}\n100 0 wake C 0"), 0, &[]);
    check_c("40 0 throttled C on 8\n50 0 throttled C off 8\n100 0 wake C 0", 900, &[&waits(900)]);
    check_c("40 0 throttled C on\n50 0 throttled C off\n100 0 wake C 0", 900, &[&waits(900)]);
    // It is in its parent's group.
    check_c("100 0 made C 0 B", 0, &[]);
    // It is already waiting when its group becomes known.
    check_c("100 0 wake C 0\n200 0 throttled C on 7\n300 0 throttled C off 7", 100, &[&waits(100)]);
    // B may run again, runs again, or ends.
    check_c(&format!("{in_group}\n100 0 wake C 0\n400 1 throttled B off 7\n400 1 switch - idle B"), 0, &[]);
    check_c(
        &format!("{in_group}\n100 0 wake C 0\n400 0 throttled B off 7\n400 0 switch A blocked B"),
        600,
        &[&waits(600)],
    );
    check_c(&format!("{in_group}\n100 0 wake C 0\n400 0 switch A blocked B"), 600, &[&waits(600)]);
    check_c(&format!("{in_group}\n100 0 wake C 0\n400 0 exit B"), 600, &[&waits(600)]);
    // One of two tasks throttled there may run again.
    let two = "35 1 throttled D on 7\n36 1 switch - idle D\n37 1 throttled D on 7\n38 1 switch D preempted -";
    check_c(&format!("{two}\n{in_group}\n100 0 wake C 0\n400 0 exit B"), 0, &[]);
    check_c(&format!("{two}\n{in_group}\n100 0 wake C 0\n400 0 exit B\n500 0 exit D"), 500, &[&waits(500)]);
}

#[test]
fn a_cpu_that_idles_on_purpose_is_not_wasted() {
    let waits = "CPU 1 idled for 100.00 µs while task task-b (pid 1001) waited in the queue of CPU 0";
    check_b("100 0 wake B 0\n200 1 reserved 1 on", 100, &[waits]);
    check_b("100 1 reserved 1 on\n150 0 wake B 0\n900 1 reserved 1 off", 100, &[waits]);
    // It still is when it idles again, or comes back.
    check_b("50 1 reserved 1 on\n60 1 switch - idle C\n70 1 switch C blocked -\n80 0 wake B 0", 0, &[]);
    check_b("50 1 reserved 1 on\n60 0 off 1\n70 0 on 1\n80 0 wake B 0", 0, &[]);
}

#[test]
fn only_the_longest_are_kept_and_all_are_counted() {
    let mut lines = String::new();
    for n in 0..10u64 {
        let at = n * 10_000;
        lines += &format!("{at} 0 wake A 0\n{} 0 switch - idle A\n", at + 100 + n);
        lines += &format!("{} 0 switch A blocked -\n", at + 5000);
    }
    let verdict = verdict(1, &lines);
    assert_eq!((verdict.episodes, verdict.findings.len()), (10, 3));
    let lengths: Vec<u64> = verdict.findings.iter().map(|f| f.duration.as_ns()).collect();
    assert_eq!(lengths, [109_000, 108_000, 107_000]);
}

#[test]
fn a_stream_without_its_start_is_no_reason_to_panic() {
    let mut waste = WastedCores::new(3);
    let what = What::Wakeup { task: TaskId(3), target: CpuId(u32::MAX), waker: TaskId::IDLE };
    waste.events(&[Event { at: Instant::ZERO, cpu: CpuId(9999), what }]);
    assert_eq!(waste.verdict(), Verdict::default());
}

/// B, woken on CPU 0 where A runs, waits while CPU 1 idles; `lines` happens during that time.
fn meanwhile(lines: &str) -> String {
    format!("0 0 fork A 0\n0 0 switch - idle A\n1000 0 wake B 0 A\n{lines}\n9000 1 switch - idle B\n9100 end")
}

#[test]
fn the_decision_that_ends_a_wait_is_not_blamed_for_it() {
    let check = |lines: &str, (wasted, transient): (u64, u64), expected: &str| {
        let text = format!("CPU 1 idled for 8.00 ms while task task-b (pid 1001) waited{expected}");
        check(2, &meanwhile(lines), (wasted, transient), &[&text]);
    };
    let woken = " in the queue of CPU 0, where task-a (pid 1000) woke it";
    let pulled = "9000 1 migrate B 0 1";
    check(pulled, (8000, 0), woken);
    check("8900 1 migrate B 0 1", (8000, 0), woken);
    check("9000 1 placed B 1 default\n9000 1 migrate B 0 1\n9000 1 queued B local:1", (8000, 0), woken);
    let own = " in the scheduler's queue 0x7";
    check("1000 0 queued B user:7\n9000 1 migrate B 0 1\n9000 1 queued B local:1", (8000, 0), own);
    // Each took a part of the wait: the finding names the longest, with its share.
    check(
        "4000 0 queued B user:7\n9000 1 migrate B 0 1",
        (8000, 0),
        ", for 5.00 ms of it in the scheduler's queue 0x7",
    );
    check(
        "6000 0 held B",
        (8000, 0),
        ", for 5.00 ms of it in the queue of CPU 0, where task-a (pid 1000) woke it",
    );
}

#[test]
fn a_preempted_task_waits_where_the_scheduler_took_it_before() {
    let lines = "0 0 fork A 0
         0    0 switch - idle A
         500  0 wake B 0
         1000 0 queued A user:7
         1000 0 switch A preempted B
         9000 1 migrate A 0 1
         9000 1 queued A local:1
         9000 1 switch - idle A
         9100 end";
    check(
        2,
        lines,
        (8500, 0),
        &[
            "CPU 1 idled for 8.50 ms while at least one task always waited; task-a (pid 1000) waited longest, for 8.00 ms \
           in the scheduler's queue 0x7 after it was preempted",
        ],
    );
    let decision = verdict(2, lines).findings[0].decision.expect("a decision");
    assert_eq!(decision.words(), "queued by the scheduler on CPU 0 at 1.00 ms");
    // It may be picked again at once: then it is no longer in that queue.
    let again = lines.replace("1000 0 queued A user:7", "900 0 queued A user:7\n950 0 unqueued A");
    let text = &verdict(2, &again).findings[0].text;
    assert!(text.contains("in the queue of CPU 0 after it was preempted"), "{text}");
    // While it waits, only the next queue says where: a simulated run may leave this event out.
    let left = lines.replace("9000 1 migrate A 0 1", "8000 0 unqueued A\n9000 1 migrate A 0 1");
    assert_eq!(verdict(2, &left), verdict(2, lines));
}

#[test]
fn each_moment_is_its_own_decisions() {
    let verdict = verdict(3, &meanwhile("3000 2 migrate B 0 2\n4000 0 held B\n9000 1 migrate B 2 1"));
    let us = |span: Span| span.as_ns() / 1000;
    let Groups { waited_on, in_queues, held, how, wakers, .. } = &verdict.groups;
    assert_eq!(
        waited_on.iter().map(|&(cpu, span)| (cpu.0, us(span))).collect::<Vec<_>>(),
        [(0, 2000), (2, 1000)]
    );
    assert_eq!((us(*in_queues), us(*held)), (5000, 5000));
    let how: Vec<_> = how.iter().map(|&(how, span)| (how, us(span))).collect();
    assert_eq!(how, [(How::Queued, 5000), (How::Woken, 2000), (How::Pulled, 1000)]);
    assert_eq!((wakers[0].name.as_str(), us(wakers[0].wasted)), ("task-a", 2000));
}

#[test]
fn what_is_excused_is_taken_off_where_it_was() {
    // The kick at 8.9 ms excuses the rest, all of which is CPU 1's.
    let verdict = verdict(2, &meanwhile("8900 1 migrate B 0 1\n8900 1 kick 1"));
    assert_eq!((verdict.wasted, verdict.transient), (Span::from_us(7900), Span::from_us(100)));
    assert_eq!(verdict.groups.waited_on, [(CpuId(0), Span::from_us(7900))]);
}

#[test]
fn of_a_task_that_waited_before_the_stream_nothing_is_known() {
    let lines = "0 0 fork A 0\n0 0 switch - idle A\n0 0 made B 0 B\n5000 1 switch - idle B\n5100 end";
    let verdict = verdict(2, lines);
    assert_eq!(verdict.findings[0].decision, None);
    assert_eq!(verdict.groups.how, [(How::Unknown, Span::from_us(5000))]);
}

#[test]
fn where_it_came_unseen_the_last_decision_has_not_put_it() {
    // Woken on CPU 0, it ran on CPU 1, and waits there.
    let lines = "0 0 fork A 0
         0    0 switch - idle A
         0    0 wake B 0 A
         10   1 switch - idle B
         1000 1 wake C 1
         1000 1 switch B preempted C
         6000 2 switch - idle B
         6100 end";
    assert_eq!(verdict(3, lines).findings[0].decision, None);
}
