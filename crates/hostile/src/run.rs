//! Objects with altered instructions: runs them for a few milliseconds with the interpreter and with native code. Both
//! must give the same events, leave the same variables and end in the same way.

use crate::altered::Altered;
use crate::scene::{self, Ended};
use keel_abi::Span;
use keel_lab::{Engine, Prepared, RunSpec, SchedulerSource, machines, workloads};
use keel_trace::{NullSink, Writer};

/// Tasks that fork, yield and wait for each other.
const BUSY: &str = "{ 'tasks': { \
    'a': { 'instance': 2, 'loop': -1, 'run': 90, 'resume': 'c', 'sleep': 70, 'yield': '' }, \
    'b': { 'loop': 3, 'run': 40, 'fork': 'f', 'suspend': 'c', 'timer': { 'ref': 'tick', 'period': 400 } }, \
    'f': { 'instance': 0, 'loop': 1, 'run': 30, 'lock': 'm', 'sleep': 20, 'unlock': 'm' } } }";

/// A little more than two ticks.
const DURATION: Span = Span::from_us(2200);

/// Runs the target on changes to one of the project's objects.
pub fn run(input: &[u8]) {
    ended(input);
}

/// Returns the result of the interpreter's run. `None` if the input represents no object.
fn ended(input: &[u8]) -> Option<Ended> {
    let altered = Altered::in_code(input)?;
    scene::with(|scene| {
        let recipe = altered.base.recipe();
        let name = altered.base.name.to_owned();
        let spec = scene.spec(SchedulerSource { name, bytes: altered.bytes.into(), recipe });
        let spec = RunSpec { seed: altered.seed, duration: DURATION, ..chosen(spec, altered.choice) };
        let prepared = match Prepared::new(&scene.types, &spec) {
            Ok(prepared) => prepared,
            Err(error) => return Some(Ended::of(Err(error)).checked()),
        };
        let one = |engine| see(&prepared, &RunSpec { engine, ..spec.clone() });
        let (by_interpreter, by_native) = (one(Engine::Interpreter), one(Engine::Native));
        assert_eq!(by_interpreter.ended, by_native.ended, "interpreter and native code end alike");
        assert!(
            by_interpreter.events == by_native.events,
            "interpreter and native code give the same events"
        );
        assert!(
            by_interpreter.left == by_native.left,
            "interpreter and native code leave the same variables"
        );
        if altered.choice & 0x80 != 0 {
            let spec = RunSpec { checked: true, ..spec };
            Ended::of(prepared.run(&spec, Some(scene::MOST_INSNS), &mut NullSink)).checked();
        }
        Some(by_interpreter.ended)
    })
}

/// Returns the spec with the machine and the workload that the input selects.
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

/// Everything observable about a run.
struct Seen {
    events: Vec<u8>,
    /// The global variables as the scheduler left them.
    left: Vec<u8>,
    ended: Ended,
}

fn see(prepared: &Prepared, spec: &RunSpec) -> Seen {
    let mut writer = Writer::new(Vec::new());
    let (result, left) = match prepared.run_and_read(spec, Some(scene::MOST_INSNS), &mut writer) {
        Ok((outcome, left)) => (Ok(outcome), left),
        Err(error) => (Err(error), Vec::new()),
    };
    // If nothing ran, nothing can be written.
    let events = writer.finish().unwrap_or_default();
    Seen { events, left, ended: Ended::of(result).checked() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bases::OBJECTS;

    /// Returns how many of these inputs execute instructions of the object, either in callbacks, whose instructions are
    /// counted, or in programs that end well.
    fn executed(inputs: impl Iterator<Item = Vec<u8>>) -> usize {
        let has_programs = |input: &[u8]| OBJECTS[usize::from(input[0])].recipe.contains("[[run]]");
        let ran = |input: &Vec<u8>| match ended(input).and_then(|ended| ended.instructions()) {
            Some(instructions) => instructions > 0 || has_programs(input),
            None => false,
        };
        inputs.filter(ran).count()
    }

    #[test]
    fn what_is_altered_is_mostly_executed() {
        let seeds = (0..OBJECTS.len() as u8).map(|base| vec![base, base, 1]);
        let whole = executed(seeds.clone());
        assert!(whole * 10 > OBJECTS.len() * 8, "{whole} of {} objects are executed", OBJECTS.len());
        // About fifty instructions into each seed, uses another register.
        let altered = executed(seeds.map(|mut seed| {
            seed.extend([1, 3, 50, 0, 7, 0, 0, 0]);
            seed
        }));
        assert!(altered * 2 > OBJECTS.len(), "{altered} of {} altered objects are executed", OBJECTS.len());
    }
}
