use super::*;
use crate::story::script::{Lines, records, trimmed};
use proptest::prelude::*;

/// Checks the stream made from records on two CPUs, from instant 100 on, after tasks A, B and C were announced and did
/// something.
fn check(input: &str, expected: &str) {
    let (mut story, mut lines) = (Story::new(100, 2), Lines::default());
    let reported = "100 0 first A 1 A
                100 0 first B 2 B
                100 0 first C 3 C
                100 0 switch - idle A
                100 0 switch A blocked B
                100 0 switch B blocked C
                100 0 switch C blocked -";
    records(reported).iter().for_each(|raw| story.take(raw, &mut lines));
    story.flush(&mut lines);
    lines.text.clear();
    records(input).iter().for_each(|raw| story.take(raw, &mut lines));
    story.flush(&mut lines);
    assert_eq!(lines.text, trimmed(expected), "{input}");
}

#[test]
fn a_tasks_life_is_emitted() {
    check(
        "110 0 first D 4 child
         110 0 fork D 1 A
         120 1 switch - idle D
         130 1 task D 4 named
         140 1 switch D preempted B
         150 0 migrate D 1 0
         160 0 switch - idle D
         170 0 switch D yielded C
         180 0 switch C blocked D
         190 0 switch D exited -
         200 1 switch B blocked -
         210 1 wakeup B 0 -",
        "10 task 3 4 child on 2 CPUs
         10 0 fork child 1 A
         20 1 switch - idle child
         30 task 3 4 named on 2 CPUs
         40 1 switch named preempted B
         50 0 migrate named 1 0
         60 0 switch - idle named
         70 0 switch named yielded C
         80 0 switch C blocked named
         90 0 exit named
         90 0 switch named exited -
         100 1 switch B blocked -
         110 1 wakeup B 0 -",
    );
}

#[test]
fn a_priority_is_emitted_when_first_known_and_on_change() {
    check(
        "110 0 ranks A 1 A 120 100
         111 0 ranks A 1 A 120 100
         120 0 switch - idle A 120
         130 0 switch A blocked B 49
         140 1 inherits B 10
         150 0 switch B blocked -
         160 1 switch - idle B 10
         170 1 ranks A 1 A 49 0
         180 1 ranks D 4 D 98 0
         190 1 fork D 1 -",
        "10 task 0 1 A on 2 CPUs
         10 0 A ranks 120 100
         11 task 0 1 A on 2 CPUs
         20 0 switch - idle A
         30 0 switch A blocked B
         30 0 B ranks 49 0
         40 0 B ranks 10 0
         50 0 switch B blocked -
         60 1 switch - idle B
         70 task 0 1 A on 2 CPUs
         70 0 A ranks 49 0
         90 task 3 4 D on 2 CPUs
         90 0 D ranks 98 0
         90 1 fork D 1 -",
    );
}

#[test]
fn groups_and_policies_are_emitted_when_first_known_and_on_change() {
    check(
        "110 0 group 7 0 50
         110 0 in A 1 A 0 7
         111 0 in A 1 A 0 7
         112 0 group 7 0 50
         120 0 throttled B on 9
         130 0 group 9 7 20
         140 0 in A 1 A 3 9
         150 0 group 7 0 60
         160 0 in A 1 A 3 0",
        "10 group 1 below 0 weighs 50
         10 task 0 1 A on 2 CPUs
         10 A by policy 0 in group 1
         11 task 0 1 A on 2 CPUs
         20 0 throttled B on 2
         30 group 2 below 1 weighs 20
         40 task 0 1 A on 2 CPUs
         40 A by policy 3 in group 2
         50 group 1 below 0 weighs 60
         60 task 0 1 A on 2 CPUs
         60 A by policy 3 in group 0",
    );
}

#[test]
fn how_a_task_waited_comes_before_its_wakeup() {
    check(
        "110 0 wakeup A 1 - poll timer
         111 0 wakeup A 1 - futex softirq",
        "10 0 A waited in Poll for Timer
         10 0 wakeup A 1 -",
    );
}

#[test]
fn pipes_have_numbers_and_nothing_else() {
    check(
        "110 0 switch - idle A
         111 0 writes A 70001 100
         112 0 read - 70001 100
         113 0 writes A 60001 8
         114 1 read B 70001 100",
        "10 0 switch - idle A
         11 0 A Write 100 bytes of pipe 0
         13 0 A Write 8 bytes of pipe 1
         14 1 B Read 100 bytes of pipe 0",
    );
}

#[test]
fn throttling_ends_by_its_record_or_when_the_task_runs() {
    check(
        "105 0 switch - idle A
         110 0 throttled A on
         111 0 throttled A on
         112 0 switch A preempted -
         120 1 throttled A off
         121 1 throttled A off
         130 1 throttled A on
         140 0 switch - idle A
         150 0 throttled A off",
        "5 0 switch - idle A
         10 0 throttled A on
         12 0 switch A preempted -
         20 1 throttled A off
         30 1 throttled A on
         40 0 switch - idle A",
    );
}

#[test]
fn a_cpu_is_reserved_once() {
    check(
        "110 0 reserved 1 on
         111 1 reserved 1 on
         112 0 reserved 9 on
         120 1 reserved 1 off
         121 1 reserved 1 off",
        "10 0 reserved 1 on
         20 1 reserved 1 off",
    );
}

#[test]
fn decisions_keep_their_place() {
    check(
        "110 0 wakeup A 1 -
         115 0 decision 1
         120 1 switch - idle A
         120 1 decision 0",
        "10 0 wakeup A 1 -
         15 0 chose Some(CpuId(1))
         20 1 switch - idle A
         20 1 chose Some(CpuId(0))",
    );
}

#[test]
fn what_changes_nothing_is_left_out() {
    check(
        "110 0 wakeup A 0 -
         111 0 wakeup A 0 -
         120 0 switch - idle A
         121 0 wakeup A 0 A
         122 0 migrate A 0 1
         123 0 migrate B 0 1
         124 0 switch A blocked A
         125 0 wakeup - 0 A",
        "10 0 wakeup A 0 -
         20 0 switch - idle A",
    );
}

#[test]
fn what_was_not_seen_is_made_up() {
    // No record shows A leaving CPU 0, or B arriving there.
    check(
        "110 0 switch - idle A
         !3 120 0 switch B preempted C",
        "10 0 switch - idle A
         20 0 lost 3
         20 0 switch A blocked B
         20 0 switch B preempted C",
    );
    // No record shows A leaving CPU 0, and it is on CPU 1 now.
    check(
        "110 0 switch - idle A
         120 1 switch - idle A
         130 1 switch A blocked -
         140 0 switch - idle B",
        "10 0 switch - idle A
         20 0 switch A blocked -
         20 1 switch - idle A
         30 1 switch A blocked -
         40 0 switch - idle B",
    );
    // A was on CPU 1 when a record shows it leaving CPU 0.
    check(
        "110 1 switch - idle A
         120 0 switch A preempted B",
        "10 1 switch - idle A
         20 1 switch A blocked -
         20 0 switch - idle A
         20 0 switch A preempted B",
    );
}

#[test]
fn a_task_without_a_record_is_unknown() {
    check(
        "110 0 switch - idle Z
         120 0 task Z 9 late",
        "10 task 3 0 unknown on 2 CPUs
         10 0 switch - idle unknown
         20 task 3 9 late on 2 CPUs",
    );
}

#[test]
fn a_run_without_a_wakeup_is_counted() {
    let (mut story, mut lines) = (Story::new(100, 2), Lines::default());
    let reported = "110 0 first A 1 A
                110 0 wakeup A 0 -
                120 0 switch - idle A
                130 0 switch A blocked B
                140 0 switch B blocked A";
    records(reported).iter().for_each(|raw| story.take(raw, &mut lines));
    assert_eq!(story.counts().unwoken, 2, "nobody saw B wake, nor A the second time");
}

#[test]
fn an_address_is_used_again() {
    check(
        "110 0 switch - idle A
         120 1 first A 77 heir
         130 0 switch - idle A",
        "10 0 switch - idle A
         20 0 exit A
         20 0 switch A exited -
         30 task 3 77 heir on 2 CPUs
         30 0 switch - idle heir",
    );
    // The same task, announced by the snapshot before.
    check("110 1 first A 1 again", "10 task 0 1 again on 2 CPUs");
}

#[test]
fn cpus_come_and_go_and_those_beyond_the_machine_are_ignored() {
    check(
        "105 0 kick 1
         106 0 kick 7
         110 0 online 1 down
         112 1 switch - idle A
         115 0 stopped 1
         116 0 stopped 7
         120 0 online 1 up
         130 0 online 7 up
         140 7 switch - idle A
         150 0 wakeup A 7 -
         160 0 fork A 7 -",
        "5 0 kick 1
         10 0 online 1 down
         12 1 switch - idle A
         15 1 switch A blocked -
         20 0 online 1 up",
    );
}

#[test]
fn an_inactive_task_is_not_announced() {
    check(
        "110 0 first D 4 quiet
         120 0 task D 4 named
         130 0 first E 5 other
         140 0 wakeup D 1 -",
        "40 task 3 4 named on 2 CPUs
         40 0 wakeup named 1 -",
    );
}

fn any_record() -> impl Strategy<Value = Raw> {
    let key = || (0u64..6).prop_map(Key);
    let cpu = || (0u32..4).prop_map(CpuId);
    let why = prop::sample::select(vec![Why::Preempted, Why::Yielded, Why::Blocked, Why::Exited]);
    let switch = (cpu(), key(), why, key()).prop_map(|(cpu, prev, why, next)| {
        let why = if prev.is_idle() { Why::WasIdle } else { why };
        RawWhat::Switch { cpu, prev, why, next, prio: None }
    });
    let what = prop_oneof![
        4 => switch,
        2 => (cpu(), key(), cpu(), key())
            .prop_map(|(cpu, task, target, waker)| RawWhat::Wakeup { cpu, task, target, waker, waited: None }),
        1 => (cpu(), key(), cpu(), key())
            .prop_map(|(cpu, child, target, parent)| RawWhat::Fork { cpu, child, target, parent }),
        1 => (cpu(), key(), cpu(), cpu())
            .prop_map(|(cpu, task, from, to)| RawWhat::Migrate { cpu, task, from, to }),
    ];
    (cpu(), what, 0u32..2).prop_map(|(writer, what, lost)| Raw { at: 0, writer, lost, what })
}

/// Checks the stream's guarantees: the task that leaves a CPU is the one that was switched to there, and no task is in
/// two places.
#[derive(Default)]
struct Strict {
    cpus: Vec<Option<TaskId>>,
    gone: Vec<TaskId>,
    reported: u32,
    now: Instant,
}

impl Sink for Strict {
    fn wants(&self) -> crate::Class {
        crate::Class::ALL
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            assert!(event.at >= self.now, "{event:?}");
            self.now = event.at;
            let What::Switch { prev, why, next } = event.what else { continue };
            assert!(next.is_idle() || next.0 < self.reported, "no record announced {event:?}");
            self.cpus.resize(3, None);
            assert_eq!(self.cpus[event.cpu.index()], (!prev.is_idle()).then_some(prev), "{event:?}");
            assert!(next.is_idle() || !self.cpus.contains(&Some(next)), "{event:?}");
            assert!(!self.gone.contains(&next), "{event:?}");
            self.cpus[event.cpu.index()] = (!next.is_idle()).then_some(next);
            if why == Why::Exited {
                self.gone.push(prev);
            }
        }
    }

    fn meta(&mut self, _: Instant, meta: &Meta) {
        if let Meta::Task(info) = meta {
            self.reported = self.reported.max(info.task.0 + 1);
        }
    }
}

proptest! {
    #[test]
    fn the_stream_agrees_with_itself_whatever_was_lost(mut raws in prop::collection::vec(any_record(), 0..120)) {
        let (mut story, mut strict) = (Story::new(0, 3), Strict::default());
        for (n, raw) in raws.iter_mut().enumerate() {
            raw.at = n as u64 * 1000;
            story.take(raw, &mut strict);
        }
        story.end(raws.len() as u64 * 1000, &mut strict);
    }
}
