//! Transfers through pipes.

use super::{IDLE, check, made, start, switch, wakeup};
use crate::{Builder, Late, Overheads, export};
use keel_abi::tape::{Op, RecordedPipe, Room};
use keel_abi::{CpuId, Instant, Span, TaskId};
use keel_trace::{Call, Event, Piping, Sink, Source, What, Why};
use serde_json::{Value, json};

fn piped(task: u32, bytes: u32, how: Piping) -> What {
    What::Piped { task: TaskId(task), pipe: 7, bytes, room: Room::Pages(16), how }
}

fn writes(task: u32, bytes: u32) -> What {
    piped(task, bytes, Piping::Write)
}

fn read(task: u32, bytes: u32) -> What {
    piped(task, bytes, Piping::Read)
}

/// Returns how the next woken task waited.
fn waited(task: u32, call: Call) -> What {
    What::Waited { task: TaskId(task), call, source: Source::Task }
}

/// Task 0 waits in a read until task 1 writes. The second time it need not wait. `woken` is the recorded wakee, and
/// `got` how much it reads at first.
fn one_wait(woken: TaskId, got: u32) -> Vec<(u64, What)> {
    vec![
        (0, switch(9, Why::WasIdle, 0)),
        (10, switch(0, Why::Blocked, 1)),
        (20, writes(1, 100)),
        (23, waited(0, Call::PipeRead)),
        (23, wakeup(0, woken)),
        (30, writes(1, 100)),
        (40, switch(1, Why::Exited, 0)),
        (45, read(0, got)),
        (55, read(0, 100)),
        (60, switch(0, Why::Exited, 9)),
    ]
}

#[test]
fn reads_and_writes_are_steps_whether_or_not_they_waited() {
    let events = one_wait(TaskId(1), 100);
    check(&events, 0, "run10 take100 count1 run5 run10 take100 count1 run5 exit");
    check(&events, 1, "run10 put100 run3 run7 put100 run10 exit");
    // The same for a wait that an unknown source ended.
    check(&one_wait(IDLE, 100), 0, "run10 take100 count1 run5 run10 take100 count1 run5 exit");
    assert_eq!(made(&events).unwrap().confidence.causes.by_task, 1);
    assert_eq!(made(&one_wait(IDLE, 100)).unwrap().confidence.causes.by_task, 1);
}

/// At the end of a pipe there is nothing to read: the task that closed it woke the reader.
#[test]
fn a_read_that_gives_nothing_waits_for_a_wakeup() {
    let events = one_wait(TaskId(1), 0);
    check(&events, 0, "run10 await0 count1 run5 run10 take100 count1 run5 exit");
    check(&events, 1, "run10 put100 run3 post0 run7 put100 run10 exit");
    check(&one_wait(IDLE, 0), 0, "run10 sleep13 count1 run5 run10 take100 count1 run5 exit");
}

#[test]
fn a_full_pipe_holds_its_writer_up_by_itself() {
    let events = [
        (0, switch(9, Why::WasIdle, 1)),
        (10, writes(1, 70_000)),
        (15, switch(1, Why::Blocked, 0)),
        (20, waited(1, Call::PipeWrite)),
        (20, wakeup(1, TaskId(0))),
        (25, read(0, 65_536)),
        (30, switch(0, Why::Blocked, 1)),
        (40, switch(1, Why::Exited, 9)),
        (50, waited(0, Call::PipeRead)),
        (50, wakeup(0, TaskId(1))),
        (51, switch(9, Why::WasIdle, 0)),
        (55, read(0, 4_464)),
        (60, switch(0, Why::Exited, 9)),
    ];
    check(&events, 1, "run10 put70000 run5 run10 exit");
    check(&events, 0, "run5 run5 take65536 count1 run5 take4464 count1 run4 run5 exit");
}

/// The pipes of a recording.
fn check_pipes(events: &[(u64, What)], expected: &[RecordedPipe]) {
    let recorded = made(events).expect("it can be replayed").workload.recorded.expect("it is a recording");
    assert_eq!(recorded.pipes, expected);
}

#[test]
fn what_was_in_a_pipe_before_is_there_at_first() {
    let pipe = |held_bytes| [RecordedPipe { room: Room::Pages(16), held_bytes }];
    check_pipes(&one_wait(TaskId(1), 100), &pipe(0));
    check_pipes(&one_wait(TaskId(1), 130), &pipe(30));
}

#[test]
fn a_pipe_of_which_one_side_is_missing_is_none() {
    // More comes out than it can have held.
    let events = [
        (0, switch(9, Why::WasIdle, 0)),
        (10, switch(0, Why::Blocked, 1)),
        (23, waited(0, Call::PipeRead)),
        (23, wakeup(0, TaskId(1))),
        (40, switch(1, Why::Exited, 0)),
        (45, read(0, 70_000)),
        (60, switch(0, Why::Exited, 9)),
    ];
    check(&events, 0, "run10 await0 count1 run5 run15 exit");
    check(&events, 1, "run13 post0 run17 exit");
    // The writer is left out.
    let mut builder = Builder::new(Overheads::default(), Some([TaskId(0)].into()));
    start(&mut builder);
    for (us, what) in one_wait(TaskId(1), 100) {
        builder.events(&[Event { at: Instant::ZERO + Span::from_us(us), cpu: CpuId(0), what }]);
    }
    let recorded = builder.finish().unwrap().workload.recorded.unwrap();
    let ops: Vec<Op> = recorded.tapes[0].iter().collect();
    assert!(ops.contains(&Op::Sleep(Span::from_us(13))), "{ops:?}");
    assert!(!ops.iter().any(|op| matches!(op, Op::Take { .. })), "{ops:?}");
}

#[test]
fn a_file_has_pipes_as_channels_and_fills_those_that_were_not_empty() {
    let replay = made(&one_wait(TaskId(1), 130)).expect("it can be replayed");
    let file: Value =
        serde_json::from_str(&export(&replay, Late::default()).expect("it is short")).expect("it is JSON");
    assert_eq!(file["evenkeel"]["channels"], json!({ "pipe0": { "kind": "pipe", "bytes": 65_536 } }));
    let steps = |task: &str| {
        file["tasks"][task]["phases"].as_object().map(|phases| json!(phases)).unwrap_or_default()
    };
    let has =
        |task: &str, step: Value| assert!(steps(task).to_string().contains(&step.to_string()), "{file:#}");
    has("t0", json!({ "receive": { "bytes": 130, "channel": "pipe0" } }));
    has("t1", json!({ "send": { "bytes": 100, "channel": "pipe0" } }));
    has("fills pipe0", json!({ "send": { "bytes": 30, "channel": "pipe0" } }));
}

/// Task 1 writes this many packets, each of which fills the pipe, and exits. Then task 0 reads one.
fn fills(times: u64) -> Vec<(u64, What)> {
    let piped = |task, how| What::Piped { task: TaskId(task), pipe: 7, bytes: 10, room: Room::Pages(1), how };
    let mut events = vec![(0, switch(9, Why::WasIdle, 0)), (10, switch(0, Why::Blocked, 1))];
    events.extend((0..times).map(|n| (20 + n, piped(1, Piping::Packet))));
    events.extend([
        (40, waited(0, Call::PipeRead)),
        (40, wakeup(0, TaskId(1))),
        (50, switch(1, Why::Exited, 0)),
        (55, piped(0, Piping::Read)),
        (60, switch(0, Why::Exited, 9)),
    ]);
    events
}

#[test]
fn what_a_task_writes_last_may_never_have_gone_in() {
    check(&fills(2), 1, "run10 put10 run1 put10 run19 run10 exit");
    // It ended while it waited to write.
    check(&fills(3), 1, "run10 put10 run1 put10 run1 run18 run10 exit");
    check(&fills(3), 0, "run10 take10 count1 run5 run5 exit");
    assert_eq!(made(&fills(3)).unwrap().confidence.causes.pipes_by_wakeups, 0);
}

/// Writes that a signal interrupts are recorded as complete. At such a pipe, tasks would wait forever.
#[test]
fn a_pipe_at_which_tasks_would_stop_is_replayed_by_its_wakeups() {
    let causes = made(&fills(4)).unwrap().confidence.causes;
    assert_eq!((causes.pipes, causes.pipes_by_wakeups), (1, 1));
    check(&fills(4), 0, "run10 await0 count1 run5 run5 exit");
    check(&fills(4), 1, "run10 run1 run1 run1 run17 post0 run10 exit");
}

#[test]
fn what_is_missing_of_a_recording_is_said() {
    let mut confidence = made(&fills(4)).unwrap().confidence;
    let says = |confidence: &crate::Confidence, text: &str| {
        assert!(confidence.to_string().contains(text), "{confidence}");
    };
    says(&confidence, "1 of 1 pipes and local sockets are replayed by their wakeups alone");
    assert!(!confidence.to_string().contains("incomplete"));
    confidence.incomplete = Some("it ends early".to_owned());
    says(&confidence, "\nthe recording is incomplete: it ends early\n");
}
