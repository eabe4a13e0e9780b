//! Untrusted input for keel: one entry for each kind of input, which accepts any bytes.
//!
//! An entry does with the bytes what `keel` does with a file that contains them, in bounded time and memory, and
//! returns. If it finds a fault in keel itself (an internal error, a message with a line break, engines that disagree),
//! it panics. The fuzzer in `fuzz/` calls the entries, and this crate's tests replay the inputs that it kept.
//!
//! This crate is never part of what users run.
//!
//! Entries, one for each kind of input:
//!
//! - `experiment`: published experiments
//! - `machine`: machine files, and a scheduler run on them
//! - `object`: BPF objects, which are read, relocated, translated and attached
//! - `recipe`: recipes, which are followed on a simulated kernel
//! - `recording`: recordings by other tools
//! - `replay`: recordings as workloads, which are made, written as a file, and run
//! - `run`: objects with altered instructions, run by both engines
//! - `trace`: traces
//! - `workload`: workloads, run under a scheduler
//!
//! Shared parts:
//!
//! - `altered`: the project's objects with a list of changes
//! - [`damage`]: recordings that are damaged in every way
//! - `bases`: the base objects
//! - `scene`: small scenes to run schedulers in
//! - [`seeds`]: the inputs that the fuzzer starts from
//! - `text`: texts, and the messages that reject them
#![forbid(unsafe_code)]

mod altered;
mod bases;
pub mod damage;
mod experiment;
mod machine;
mod object;
mod recipe;
mod recording;
mod replay;
mod run;
mod scene;
pub mod seeds;
mod text;
mod trace;
mod workload;

// Separate functions, so that a program with one of them does not contain the code of the others.
pub use experiment::run as experiment;
pub use machine::run as machine;
pub use object::run as object;
pub use recipe::run as recipe;
pub use recording::run as recording;
pub use replay::{Came, run as replay};
pub use run::run;
pub use trace::run as trace;
pub use workload::run as workload;

/// A kind of input.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, also in `fuzz/fuzz_targets` and `fuzz/corpus`.
    pub name: &'static str,
    /// Runs the target on one input.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "experiment", run: experiment::run },
    Target { name: "machine", run: machine::run },
    Target { name: "object", run: object::run },
    Target { name: "recipe", run: recipe::run },
    Target { name: "recording", run: recording::run },
    Target { name: "replay", run: replay::run },
    Target { name: "run", run: run::run },
    Target { name: "trace", run: trace::run },
    Target { name: "workload", run: workload::run },
];

/// Passes one input to the target with this name. Panics if there is no such target, or keel is at fault.
pub fn call(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.unwrap_or_else(|| panic!("no target is called {name}")).run)(input);
}

/// Returns the object that an input of `object` or `run` represents, if any.
pub fn altered_object(target: &str, input: &[u8]) -> Option<Vec<u8>> {
    match target {
        "object" => altered::Altered::anywhere(input).map(|altered| altered.bytes),
        "run" => altered::Altered::in_code(input).map(|altered| altered.bytes),
        _ => None,
    }
}
