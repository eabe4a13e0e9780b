mod model;

use super::*;
use crate::script::play;

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
           where select_cpu had put it"],
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
    // The first wait is short; the second is long, but for all of it CPU 0 had been kicked.
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
fn affinity_decides_who_could_have_run() {
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
        &["CPU 3 idled for 500.00 us while task task-b (pid 1001) waited in the queue of CPU 0"],
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
        &["CPU 1 idled for 500.00 us while task task-b (pid 1001) waited in the queue of CPU 0"],
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
            "CPU 1 idled for 950.00 us while there was always a task waiting; the longest, task-a (pid 1000), for 600.00 us \
           in the queue of CPU 0 after it had been preempted",
        ],
    );
}

#[test]
fn a_task_in_the_programs_hands_is_said_to_be_there() {
    check(
        1,
        "0   0 fork A 0
         1   0 held A
         900 0 queued A local:0
         905 0 switch - idle A
         950 end",
        (900, 5),
        &[
            "CPU 0 idled for 905.00 us while task task-a (pid 1000) waited in the hands of the BPF program, in no queue",
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
        &["CPU 1 idled for 400.00 us while task task-b (pid 1001) waited in the queue of CPU 0"],
    );
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
