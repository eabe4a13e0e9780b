use super::*;
use crate::script::play;

fn summary(cpus: u32, lines: &str) -> Summary {
    let mut figures = Figures::with_costs();
    play(&mut figures, cpus, lines);
    figures.summary()
}

fn us(us: u64) -> Span {
    Span::from_us(us)
}

#[test]
fn a_small_run_is_counted_as_linux_counts() {
    let s = summary(
        2,
        "0    0 fork A 0
         0    0 fork B 0
         10   0 switch - idle A
         110  0 switch A preempted B
         130  1 switch - idle A
         160  0 switch B blocked -
         200  1 switch A blocked -
         300  0 wake B 1
         350  1 switch - idle B
         400  1 count B 3
         400  1 exit B
         400  1 switch B exited -
         500  end",
    );
    assert_eq!((s.switches, s.wakeups, s.forks), (7, 1, 2));
    assert_eq!((s.migrations, s.preemptions, s.units), (2, 1, 3));
    assert_eq!((s.duration, s.machine_time), (us(500), us(1000)));
    assert_eq!(s.busy_share, 0.27);
    assert_eq!(s.throughput(), 6000.0);
    assert_eq!(s.wakeup_delay.max, us(110));
    let row = |t: usize| (s.tasks[t].cpu, s.tasks[t].wait, s.tasks[t].switches, s.tasks[t].preemptions);
    assert_eq!(row(0), (us(170), us(30), 2, 1));
    assert_eq!(row(1), (us(100), us(160), 2, 0));
    assert_eq!(s.tasks[1].cpus, [(CpuId(0), us(50)), (CpuId(1), us(50))]);
    assert_eq!((s.tasks[1].name.as_str(), s.tasks[1].pid.0), ("task-b", 1001));
}

#[test]
fn what_is_under_way_counts_up_to_the_end() {
    let s = summary(
        1,
        "0  0 fork A 0
         0  0 switch - idle A
         20 0 fork B 0
         50 end",
    );
    assert_eq!((s.tasks[0].cpu, s.tasks[1].wait), (us(50), us(30)));
    assert_eq!(s.busy_share, 1.0);
    assert_eq!(s.wakeup_delay.max, Span::ZERO, "a task that still waits has no delay yet");
}

#[test]
fn offline_cpus_are_no_machine_time() {
    let s = summary(
        2,
        "0  0 fork A 0
         0  0 switch - idle A
         50 0 off 1
         60 0 off 1
         100 end",
    );
    assert_eq!(s.machine_time, us(150));
}

#[test]
fn the_same_task_again_is_no_switch() {
    let s = summary(
        1,
        "0  0 fork A 0
         0  0 switch - idle A
         50 0 switch A preempted A
         80 0 switch A blocked -
         80 end",
    );
    assert_eq!((s.switches, s.preemptions, s.tasks[0].cpu), (2, 0, us(80)));
}

#[test]
fn a_recording_that_lost_events_is_no_reason_to_panic() {
    let s = summary(
        1,
        "0  0 switch B blocked A
         10 0 switch C exited -
         20 5 switch A yielded D
         30 end",
    );
    assert_eq!(s.switches, 3);
}

#[test]
fn a_new_name_begins_a_sum_of_its_own() {
    let s = summary(
        1,
        "0 0 fork A 0\n5 0 switch - idle A\n9 0 switch A blocked -\n20 0 wake A 0\n27 0 switch - idle A\n30 end",
    );
    let a = s.names.iter().find(|name| name.name == "task-a").expect("the script has it");
    assert_eq!((a.tasks, a.woken, a.wakeup_delay.max), (1, 2, us(7)));
    assert!(s.names.iter().filter(|name| name.name != "task-a").all(|name| name.woken == 0));
}

#[test]
fn what_a_task_is_throttled_is_no_part_of_its_wait() {
    let s = summary(
        1,
        "0    0 fork A 0
         0    0 switch - idle A
         100  0 wake B 0
         300  0 throttled B on
         900  0 throttled B off
         1000 0 switch A preempted B
         1100 0 throttled B on
         1200 0 switch B preempted A
         1300 0 throttled C on
         1350 0 wake C 0
         1400 0 throttled B off
         1500 end",
    );
    assert_eq!((s.tasks[1].wait, s.tasks[2].wait), (us(200 + 100 + 100), us(0)));
    assert_eq!(s.wakeup_delay.max, us(300));
}
