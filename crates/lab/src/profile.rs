//! Combines the engine's and the kernel's counts of a run into one profile.

use crate::lines::{ELSEWHERE, Variables, name_of};
use crate::locks;
use crate::outcome::Outcome;
use crate::spec::{Engine as Way, RunSpec};
use keel_abi::bpf::{Ea, Engine, MapId, Origin, World};
use keel_abi::lines::LINE_BYTES;
use keel_abi::topology::Distance;
use keel_kernel::{Sim, Site, Waits};
use keel_object::Object;
use keel_profile::{
    About, Conflict, Count, Function, Node, Place, Profile, SourceLine, Totals, Wait, Waiter,
};
use keel_vm::Vm;
use keel_vm::memory::{Source, VmWorld};
use keel_vm::profile::{self as counted, Kind, Taken};

/// Makes the kernel record what a profile needs, if there will be one.
pub(crate) fn keep(spec: &RunSpec, sim: &mut Sim<Vm>) {
    if spec.engine == Way::Profiler {
        sim.keep_waits();
    }
}

/// Returns the profile of a finished run.
pub(crate) fn read(
    spec: &RunSpec,
    object: &Object,
    sim: &mut Sim<Vm>,
    outcome: &Outcome,
) -> Option<Box<Profile>> {
    if spec.engine != Way::Profiler {
        return None;
    }
    let mut profile = Profile {
        about: about(spec, outcome),
        totals: totals(sim, outcome),
        insn_ps: spec.machine.policy_insn_ps(),
        ..Profile::default()
    };
    let waits = sim.waits();
    let taken = sim.engine().profiles();
    let world = sim.engine().world_ref();
    let variables = Variables::of(object, world);
    for one in &taken {
        add(&mut profile, one, &|line| line_name(line, object, world, &variables));
    }
    // Call numbers are those of the code that was loaded last.
    let first = profile.functions.len() - taken.last().map_or(0, |one| one.functions.len());
    profile.waits = waits
        .iter()
        .map(|waits| wait(waits, &profile.functions[first..], first, object, sim, &variables))
        .collect();
    profile.settle();
    Some(Box::new(profile))
}

fn about(spec: &RunSpec, outcome: &Outcome) -> About {
    About {
        scheduler: spec.scheduler.name.clone(),
        workload: spec.workload.name.clone(),
        machine: spec.machine.name.clone(),
        cpus: spec.machine.topology.cpus(),
        seed: spec.seed,
        duration_ns: outcome.end.as_ns(),
    }
}

fn totals(sim: &mut Sim<Vm>, outcome: &Outcome) -> Totals {
    let moved = sim.engine().world_ref().region().moved();
    let (line_moves, line_ps) =
        moved.fold((0, 0), |(moves, ps), (_, uses)| (moves + uses.moves, ps + uses.stall_ps));
    Totals {
        callbacks: outcome.counters.callbacks,
        instructions: outcome.overhead.instructions,
        callback_ns: outcome.overhead.callback.as_ns(),
        lock_wait_ns: outcome.overhead.lock_wait.as_ns(),
        line_moves,
        line_ps,
    }
}

/// Returns the variable in a line, or else its map.
fn line_name(line: u64, object: &Object, world: &VmWorld, variables: &Variables<'_>) -> String {
    let (name, _) = name_of(variables, line);
    if variables.at(line).is_some() || name != ELSEWHERE {
        return name.to_owned();
    }
    let holds = |map: MapId, at: u64| world.map_element(map, Ea(at)).is_some();
    let maps = (0..).map(MapId).zip(&object.maps);
    let mut of_line = maps.filter(|(map, _)| holds(*map, line) || holds(*map, line + LINE_BYTES - 1));
    of_line.next().map_or(name, |(_, map)| map.name.as_str()).to_owned()
}

/// Adds the counts of one object's code. `name` returns the contents of a cache line.
fn add(profile: &mut Profile, taken: &Taken, name: &dyn Fn(u64) -> String) {
    let functions = profile.functions.len() as u32;
    let nodes = profile.nodes.len() as u32;
    profile.functions.extend(taken.functions.iter().map(function));
    profile.nodes.extend(taken.nodes.iter().map(|from| Node {
        origin: origin_name(from.origin),
        in_callbacks: from.origin != Origin::Program,
        caller: from.caller.map(|(node, insn)| (node + nodes, insn)),
        function: from.function + functions,
        calls: from.calls,
        entry_ps: from.entry_ps,
        counts: counts(from),
    }));
    let place = |place: counted::Place| Place { function: place.function + functions, insn: place.insn };
    profile.conflicts.extend(taken.conflicts.iter().map(|from| Conflict {
        from: from.from.map(place),
        to: from.to.map(place),
        distance: distance_name(from.source),
        writes: from.writes,
        name: name(from.line),
        several: from.several,
        moves: from.uses.moves,
        ps: from.uses.stall_ps,
    }));
}

fn function(from: &counted::ProfiledFunction) -> Function {
    let line = |line: &keel_object::model::LineInfo| SourceLine {
        insn: line.insn,
        file: line.file.to_string(),
        line: line.line,
        text: line.text.to_string(),
    };
    let branches = (0..).zip(&from.kinds).filter(|(_, kind)| **kind == Kind::Branch).map(|(insn, _)| insn);
    Function {
        name: from.name.clone(),
        lines: from.lines.iter().map(line).collect(),
        branches: branches.collect(),
    }
}

fn counts(from: &counted::Node) -> Vec<Count> {
    let count = |(insn, from): (u32, &counted::Count)| {
        let &counted::Count { executed, taken, lines_ps, calls_ps } = from;
        (executed > 0).then_some(Count { insn, executed, taken, lines_ps, calls_ps })
    };
    (0..).zip(&from.counts).filter_map(count).collect()
}

fn wait(
    from: &Waits,
    functions: &[Function],
    first: usize,
    object: &Object,
    sim: &mut Sim<Vm>,
    variables: &Variables<'_>,
) -> Wait {
    let mut at = |site: Option<Site>| {
        let Site { origin, call } = site?;
        let place = sim.engine().place(call)?;
        let function = functions.iter().position(|function| function.name == place.program)?;
        let place = Place { function: (first + function) as u32, insn: place.insn };
        Some(Waiter { origin: origin_name(origin), place })
    };
    let (waiter, holder) = (at(from.waiter), at(from.holder));
    let lock = match from.lock {
        Some(lock) => locks::name(lock, object, sim.engine().world_ref(), variables),
        None => "kernel: runqueues".to_owned(),
    };
    Wait { waiter, holder, lock, count: from.count, ns: from.wait.as_ns() }
}

fn origin_name(origin: Origin) -> String {
    match origin {
        Origin::Op(op) => format!("ops.{}", op.name()),
        Origin::Timer => "timer".to_owned(),
        Origin::Trace => "trace".to_owned(),
        Origin::Program => "user space".to_owned(),
    }
}

fn distance_name(source: Source) -> String {
    match source {
        Source::Memory => "memory".to_owned(),
        Source::Cache(Distance::Same) => "same CPU".to_owned(),
        Source::Cache(Distance::Smt) => "SMT sibling".to_owned(),
        Source::Cache(Distance::Llc) => "same LLC".to_owned(),
        Source::Cache(Distance::Node) => "same node".to_owned(),
        Source::Cache(Distance::Hops(1)) => "1 hop".to_owned(),
        Source::Cache(Distance::Hops(hops)) => format!("{hops} hops"),
    }
}
