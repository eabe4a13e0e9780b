//! Shared code of the tests of whole runs: objects, specs, traces.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part")]

use keel_abi::task::Workload;
use keel_abi::{Instant, Span};
use keel_lab::{Engine, Machine, Outcome, RunSpec, SchedulerSource, machines, schedulers, workloads};
use keel_trace::{Class, Event, Meta, Sink, Writer};

/// The built-in fifo.
pub fn fifo() -> SchedulerSource {
    built_in("fifo")
}

/// A built-in scheduler.
pub fn built_in(name: &str) -> SchedulerSource {
    source(name, schedulers::built_in(name).unwrap_or_else(|| panic!("{name} is built in")))
}

/// A scheduler from its bytes.
pub fn source(name: &str, bytes: &[u8]) -> SchedulerSource {
    SchedulerSource { name: name.to_owned(), bytes: bytes.into(), recipe: keel_recipe::Recipe::default() }
}

/// One of the objects in tests/objects, compiled.
pub fn object(name: &str) -> SchedulerSource {
    compiled("tests/objects", name)
}

/// A scheduler from its source in a folder of the repository.
pub fn compiled(folder: &str, name: &str) -> SchedulerSource {
    let compiler =
        keel_bpfc::Compiler::new("../..").include("schedulers/include").include("crates/kernel/btf");
    let bytes = compiler.compile(format!("{folder}/{name}.bpf.c")).unwrap_or_else(|e| panic!("{e}"));
    source(name, &bytes)
}

/// A machine file's machine.
pub fn machine(text: &str) -> Machine {
    machines::read("m.toml", text).unwrap_or_else(|e| panic!("{e}"))
}

/// Two nodes of two cores of two threads each.
pub fn two_nodes() -> Machine {
    machine(
        "name = 'two nodes'\n\
         [topology]\n\
         nodes = 2\n\
         llcs_per_node = 1\n\
         cores_per_llc = 2\n\
         threads_per_core = 2\n",
    )
}

/// A workload file's workload.
pub fn workload(text: &str, machine: &Machine) -> Workload {
    workloads::read("w.json", text, machine).unwrap_or_else(|e| panic!("{e}")).0
}

/// A run by native code.
pub fn spec(
    scheduler: SchedulerSource,
    workload: Workload,
    machine: Machine,
    duration_ms: u64,
    seed: u64,
) -> RunSpec {
    RunSpec {
        scheduler,
        settings: Vec::new(),
        workload,
        machine,
        duration: Span::from_ms(duration_ms),
        seed,
        noise: keel_abi::Noise::None,
        engine: Engine::Native,
        order: None,
        checked: false,
    }
}

/// A run's whole trace, byte by byte, and how it ended.
pub fn trace(spec: &RunSpec) -> (Vec<u8>, Outcome) {
    let mut writer = Writer::new(Vec::new());
    let outcome = keel_lab::run(spec, &mut writer, &mut |_| {})
        .unwrap_or_else(|e| panic!("{} with seed {}: {e}", spec.scheduler.name, spec.seed));
    (writer.finish().unwrap_or_else(|e| panic!("seed {}: {e}", spec.seed)), outcome)
}

/// Everything that a run emits in some classes.
pub struct Collector {
    wants: Class,
    pub events: Vec<Event>,
    pub metas: Vec<(Instant, Meta)>,
}

impl Sink for Collector {
    fn wants(&self) -> Class {
        self.wants
    }

    fn events(&mut self, events: &[Event]) {
        self.events.extend_from_slice(events);
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.metas.push((at, meta.clone()));
    }
}

/// Everything that a run emits in these classes.
pub fn collect(spec: &RunSpec, wants: Class) -> Collector {
    let mut collector = Collector { wants, events: Vec::new(), metas: Vec::new() };
    keel_lab::run(spec, &mut collector, &mut |_| {}).expect("it runs");
    collector
}
