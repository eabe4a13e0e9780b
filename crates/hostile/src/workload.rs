//! Workloads: rt-app's JSON or a generator's name, joined with others, and run under a scheduler.

use crate::scene::{self, Ended, Scene};
use crate::text::{sentence, text};
use keel_abi::task::Workload;
use keel_lab::{LabError, RunSpec, workloads};

/// Larger workloads are read but not run, because that takes long and shows little more.
const MOST_TASKS: u64 = 200;
const MOST_STEPS: usize = 4000;

/// Runs the target on one workload.
pub fn run(input: &[u8]) {
    let Some(text) = text(input) else { return };
    scene::with(|scene| match read(scene, text) {
        Ok(workload) => follow(scene, workload),
        Err(error) => sentence(&error),
    });
}

/// Reads a file. Text without a brace or line break is a name such as `mix:10:80+hogs:3`.
fn read(scene: &Scene, text: &str) -> Result<Workload, LabError> {
    if text.contains(['{', '\n']) {
        return workloads::read("w.json", text, &scene.machine).map(|(workload, _)| workload);
    }
    let plain = |name: &str| match (workloads::built_in(name), workloads::made(name, &scene.machine)) {
        (Some(file), _) => workloads::read(name, file, &scene.machine).map(|(workload, _)| workload),
        (None, Some(made)) => made,
        (None, None) => Err(LabError::BadInput("there is no such workload".to_owned())),
    };
    let made = |name: &str| {
        let (own, settings) = workloads::settings(name, |_| false)?;
        let mut workload = plain(own)?;
        workloads::apply(own, &mut workload, &settings, &scene.machine)?;
        Ok(workload)
    };
    let parts = workloads::parts(text, |_| false)?;
    let parts = parts.into_iter().map(made).collect::<Result<Vec<_>, _>>()?;
    workloads::join("w", parts)
}

fn follow(scene: &Scene, workload: Workload) {
    let tasks: u64 = workload.tasks.iter().map(|task| u64::from(task.instances)).sum();
    let steps: usize = workload.tasks.iter().map(|task| task.steps.len()).sum();
    if tasks > MOST_TASKS || steps > MOST_STEPS {
        return;
    }
    let spec = RunSpec { workload, ..scene.spec(scene::built_in("fifo")) };
    let mut sink = keel_check::Judge::default();
    Ended::of(scene.fifo.run(&spec, Some(scene::MOST_INSNS), &mut sink)).check();
    std::hint::black_box(sink.judgement());
}
