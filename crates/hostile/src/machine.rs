//! Machines: reads them, and runs a scheduler on them.

use crate::scene::{self, Ended};
use crate::text::{sentence, text};
use keel_abi::Span;
use keel_lab::{RunSpec, machines};

/// Larger machines are read but not run, because that takes long and shows little more.
const MOST_CPUS: u32 = 64;

/// Runs the target on one machine file.
pub fn run(input: &[u8]) {
    let Some(text) = text(input) else { return };
    let machine = match machines::read("m.toml", text) {
        Ok(machine) => machine,
        Err(error) => return sentence(&error),
    };
    if machine.topology.cpus() > MOST_CPUS {
        return;
    }
    let workload = keel_workload::mix(4, machine.topology.cpus(), 250, 20);
    scene::with(|scene| {
        let spec = scene.spec(scene::built_in("fifo"));
        let spec = RunSpec { workload, machine, duration: Span::from_us(500), ..spec };
        let mut sink = keel_check::Judge::default();
        Ended::of(scene.fifo.run(&spec, Some(scene::MOST_INSNS), &mut sink)).check();
        std::hint::black_box(sink.judgement());
    });
}
