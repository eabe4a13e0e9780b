//! Objects whose instructions were altered, run for a few milliseconds by the interpreter and by native code: both must
//! give the same events and the same end.

use crate::altered::Altered;
use crate::scene::{self, Ended};
use keel_abi::Span;
use keel_lab::{Engine, LabError, Prepared, RunSpec, SchedulerSource, machines, workloads};
use keel_trace::{NullSink, Writer};

/// Tasks that fork, yield and wait for one another.
const BUSY: &str = "{ 'tasks': { \
    'a': { 'instance': 2, 'loop': -1, 'run': 90, 'resume': 'c', 'sleep': 70, 'yield': '' }, \
    'b': { 'loop': 3, 'run': 40, 'fork': 'f', 'suspend': 'c', 'timer': { 'ref': 'tick', 'period': 400 } }, \
    'f': { 'instance': 0, 'loop': 1, 'run': 30, 'lock': 'm', 'sleep': 20, 'unlock': 'm' } } }";

/// Two ticks and a little more.
const DURATION: Span = Span::from_us(2200);

pub(crate) fn run(input: &[u8]) {
    let Some(altered) = Altered::in_code(input) else { return };
    scene::with(|scene| {
        let recipe = altered.base.recipe();
        let name = altered.base.name.to_owned();
        let spec = scene.spec(SchedulerSource { name, bytes: altered.bytes.into(), recipe });
        let spec = RunSpec { seed: altered.seed, duration: DURATION, ..chosen(spec, altered.choice) };
        let prepared = match Prepared::new(&scene.types, &spec) {
            Ok(prepared) => prepared,
            Err(error) => return Ended::of(Err(error)).check(),
        };
        let one = |engine| trace(&prepared, &RunSpec { engine, ..spec.clone() });
        let (by_interpreter, by_native) = (one(Engine::Interpreter), one(Engine::Native));
        assert_eq!(by_interpreter.1, by_native.1, "interpreter and native code end alike");
        assert!(by_interpreter.0 == by_native.0, "interpreter and native code give the same events");
        if altered.choice & 0x80 != 0 {
            let spec = RunSpec { checked: true, ..spec };
            Ended::of(prepared.run(&spec, Some(scene::MOST_INSNS), &mut NullSink)).check();
        }
    });
}

/// The machine and the workload that the input chooses.
fn chosen(spec: RunSpec, choice: u8) -> RunSpec {
    let machine = match choice & 3 {
        0 => machines::of_cpus(1),
        1 => machines::of_cpus(2),
        _ => spec.machine.clone(),
    };
    let workload = match choice & 4 {
        0 => keel_workload::mix(5, machine.topology.cpus(), 250, 60),
        _ => workloads::read("w.json", BUSY, &machine).expect("our own workload is right").0,
    };
    RunSpec { machine, workload, ..spec }
}

/// Every event of a run, and how it ended.
fn trace(prepared: &Prepared, spec: &RunSpec) -> (Vec<u8>, Ended) {
    let mut writer = Writer::new(Vec::new());
    let ended = Ended::of(prepared.run(spec, Some(scene::MOST_INSNS), &mut writer));
    ended.check();
    let written = writer.finish().map_err(|e| LabError::Bug(e.to_string()));
    // Where nothing ran there is nothing to be written.
    (written.unwrap_or_default(), ended)
}
