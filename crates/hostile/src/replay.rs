//! Recordings as workloads: makes them, writes them to a file, and runs them, as `keel replay` and `keel workload from`
//! do.

use crate::scene::{self, Ended, Scene};
use crate::text::sentence;
use crate::trace::mended;
use keel_abi::task::Workload;
use keel_abi::{CpuSet, Span};
use keel_lab::RunSpec;
use keel_replay::{Builder, Late, Overheads, Replay, export, fit, scaled, stuck};
use keel_trace::{Reader, Sink};
use std::io::Cursor;

/// Larger replays are made but not run, because that takes long and shows little more.
const MOST_TASKS: usize = 200;
const MOST_OPS: u64 = 20_000;
/// The maximum number of copies. More show nothing new.
const COPIES: u32 = 2;

/// The result for a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// It is not a recording, or no part of it can be read.
    Unread,
    /// There is nothing to replay. Contains the error message.
    Refused,
    /// It is a workload that is too large for this target.
    Made,
    /// It was replayed.
    Replayed,
}

/// Runs the target on one recording.
pub fn run(input: &[u8]) {
    of_file(input);
}

/// Replays the contents of a file. If a trace becomes invalid, replays the part before that.
pub(crate) fn of_file(input: &[u8]) -> Came {
    let mut builder = builder();
    if read(input, &mut builder) {
        return finished(builder);
    }
    let mut builder = self::builder();
    match mended(input) {
        Some(whole) if read(&whole, &mut builder) => finished(builder),
        _ => Came::Unread,
    }
}

/// Creates a builder for all tasks, with costs to subtract.
pub(crate) fn builder() -> Builder {
    let span = Span::from_ns;
    let overheads = Overheads {
        stint: span(950),
        stint_to_idle: span(850),
        wakeup: span(400),
        fork: span(4_000),
        exit: span(600),
        timer: span(700),
        tick: span(800),
        tick_period: Span::from_ms(1),
        smt_shared_per_mille: 620,
        takes_turns: false,
    };
    Builder::new(overheads, None)
}

fn read(bytes: &[u8], sink: &mut dyn Sink) -> bool {
    match Reader::new(bytes) {
        Ok(mut reader) => reader.pump(sink).is_ok(),
        Err(_) => keel_readers::read(Cursor::new(bytes), sink).is_ok(),
    }
}

/// Does the rest of what `keel` does with it.
pub(crate) fn finished(builder: Builder) -> Came {
    let replay = match builder.finish() {
        Ok(replay) => replay,
        Err(error) => {
            sentence(&error);
            return Came::Refused;
        }
    };
    replay.confidence.sentences().iter().for_each(|line| sentence(line));
    assert_eq!(stuck(&replay.workload), None, "a recording makes no circles");
    match export(&replay, Late { slack: Span::from_us(50), ..Late::default() }) {
        Ok(text) => read_again(&text),
        Err(error) => sentence(&error),
    }
    scene::with(|scene| follow(scene, replay))
}

/// Checks that keel can read the file, or rejects it for a reason that is not the export's fault.
fn read_again(text: &str) {
    serde_json::from_str::<serde_json::Value>(text).expect("it writes JSON");
    scene::with(|scene| {
        if let Err(error) = keel_lab::workloads::read("w.json", text, &scene.machine) {
            sentence(&error);
            assert!(!error.to_string().contains("circle"), "a recording makes no circles: {error}");
        }
    });
}

fn follow(scene: &Scene, replay: Replay) -> Came {
    let mut workload = scaled(replay.workload, COPIES);
    fit(&mut workload, scene.machine.topology.cpus());
    let ops: u64 = workload.recorded.iter().flat_map(|all| &all.tapes).map(|tape| tape.len()).sum();
    if workload.tasks.len() > MOST_TASKS || ops > MOST_OPS {
        return Came::Made;
    }
    assert!(is_within(&workload, scene.machine.topology.cpus()), "a CPU that the machine has not");
    let spec = RunSpec { workload, ..scene.spec(scene::built_in("fifo")) };
    let mut judge = keel_check::Judge::default();
    Ended::of(scene.fifo.run(&spec, Some(scene::MOST_INSNS), &mut judge)).check();
    std::hint::black_box(judge.judgement());
    Came::Replayed
}

fn is_within(workload: &Workload, cpus: u32) -> bool {
    let all = CpuSet::first(cpus);
    workload.tasks.iter().all(|task| task.cpus.is_subset(&all))
}
