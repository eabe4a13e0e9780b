//! The fuzzer's seeds: the project's own files and objects, and traces of its own runs.

use crate::bases::{self, OBJECTS};
use crate::scene;
use keel_abi::Span;
use keel_lab::{RunSpec, SchedulerSource};
use keel_trace::Writer;

/// A seed: its target, its name and its bytes.
pub type Seed = (&'static str, String, Vec<u8>);

/// Returns all seeds made from built-in items. Text seeds are in files, which the caller reads.
pub fn all() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for name in ["mix:5:80:40", "chat:2:3:4", "hogs", "typist+hogs:3", "lu:4:1@cpus=0-1+hotplug:1"] {
        seeds.push(("workload", name.replace([':', '+', '@', '='], "-"), name.into()));
    }
    seeds.push(("trace", "fifo".into(), trace()));
    seeds.push(("trace", "reports".into(), decisions()));
    seeds.push(("replay", "fifo".into(), trace()));
    for (name, trace) in crate::damage::traces() {
        seeds.push(("replay", name, trace));
    }
    for (at, base) in OBJECTS.iter().enumerate() {
        for (target, choice) in [("object", 0), ("run", 0), ("run", 6)] {
            seeds.push((target, format!("{}-{choice}", base.name), vec![at as u8, choice, 1]));
        }
    }
    seeds
}

/// Returns the trace of a short run.
pub fn trace() -> Vec<u8> {
    scene::with(|scene| {
        let spec = RunSpec { duration: Span::from_ms(3), ..scene.spec(scene::built_in("fifo")) };
        let mut writer = Writer::new(Vec::new());
        scene.fifo.run(&spec, None, &mut writer).expect("fifo runs");
        writer.finish().expect("memory takes it")
    })
}

/// Returns the trace of a shorter run, whose scheduler reports its decisions.
fn decisions() -> Vec<u8> {
    scene::with(|scene| {
        let base = bases::named("reports");
        let source =
            SchedulerSource { name: base.name.into(), bytes: base.bytes.into(), recipe: base.recipe() };
        let spec = RunSpec { duration: Span::from_us(400), ..scene.spec(source) };
        let mut writer = Writer::new(Vec::new());
        keel_lab::run(&spec, &mut writer, &mut |_| {}).expect("it runs");
        writer.finish().expect("memory takes it")
    })
}
