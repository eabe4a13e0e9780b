//! Hashes of traces, to check whether two builds or two engines make the same runs: `same [ENGINE] [MS] [SEED]`, with
//! ENGINE one of `native`, `cranelift`, `interpreter` and `frames`.
//!
//! Prints one line for each scheduler on each machine. Equal lines are equal traces, byte for byte.
#![forbid(unsafe_code)]

use keel_abi::{Noise, Span};
use keel_lab::machines::Machine;
use keel_lab::{Engine, RunSpec, machines, schedulers};
use keel_trace::Writer;

fn main() {
    let mut args = std::env::args().skip(1);
    let engine = match args.next().as_deref() {
        None | Some("native") => Engine::Native,
        Some("cranelift") => Engine::Cranelift,
        Some("interpreter") => Engine::Interpreter,
        Some("frames") => Engine::Frames,
        Some(other) => panic!("{other} is no engine"),
    };
    let ms = args.next().map_or(20, |text| text.parse().expect("milliseconds"));
    let seed = args.next().map_or(7, |text| text.parse().expect("a seed"));
    for (name, _) in schedulers::list() {
        for (machine_name, machine) in machines() {
            let cpus = machine.topology.cpus();
            for (load, noise) in [(80, Noise::None), (140, Noise::Busy)] {
                let spec = RunSpec {
                    scheduler: schedulers::source(&name).expect("it is in the list"),
                    settings: Vec::new(),
                    workload: keel_workload::mix(6 * cpus, cpus, load, 50),
                    machine: machine.clone(),
                    duration: Span::from_ms(ms),
                    seed,
                    noise,
                    engine,
                    order: None,
                    checked: false,
                };
                println!("{name} {machine_name} {load}: {}", traced(&spec));
            }
        }
    }
}

/// Small and large machines, with and without SMT, with lines of each form, with crowded caches, and with CPUs that take
/// turns on an emulator's thread.
fn machines() -> Vec<(String, Machine)> {
    let built_in = ["laptop-8", "opteron-6272", "p3-2", "quad-2010", "xeon-8", "epyc-2x64"];
    let built_in = built_in.map(|name| (name.to_owned(), machines::built_in(name).expect("it is built in")));
    let regular = [1, 4, 64, 96].map(|cpus| (format!("{cpus} CPUs"), machines::of_cpus(cpus)));
    let mut in_turns = machines::of_cpus(4);
    in_turns.costs.turn_ns = 100_000;
    built_in.into_iter().chain(regular).chain([("4 CPUs in turns".to_owned(), in_turns)]).collect()
}

/// The trace's length and FNV-1a hash, or why there is none.
fn traced(spec: &RunSpec) -> String {
    let mut writer = Writer::new(Vec::new());
    match keel_lab::run(spec, &mut writer, &mut |_| {}) {
        Err(e) => format!("{e}"),
        Ok(outcome) => {
            let bytes = writer.finish().expect("a vector takes everything");
            let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            });
            let overhead = &outcome.overhead;
            format!("{} bytes, {hash:016x}, {} insns, {:?}", bytes.len(), overhead.instructions, outcome.exit)
        }
    }
}
