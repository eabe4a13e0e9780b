//! Kernel threads that wake on their own: those of the noise, and watchdogs. They are ordinary tasks, so the scheduler
//! under test schedules them: a sched_ext scheduler sees `PF_KTHREAD` and, for those of one CPU, `nr_cpus_allowed ==
//! 1`.
//!
//! On a real kernel they exist, asleep, long before a scheduler is attached. So nothing starts them: their specs have
//! no instances, and the machine boots with a task for each.

use crate::state::machine::Machine;
use crate::state::noise::profile::{Profile, Thread};
use keel_abi::task::{Amount, Policy, Step, TaskSpec, Workload};
use keel_abi::{CpuSet, NodeId, Noise, Span};

/// The number of kernel threads. None of them ever exits.
pub fn threads(noise: Noise, machine: &Machine) -> u64 {
    specs(noise, machine).len() as u64
}

/// Adds the kernel threads to a workload, behind its own tasks.
pub(crate) fn add_specs(noise: Noise, machine: &Machine, workload: &mut Workload) {
    let free = workload.tasks.iter().map(|task| task.process).max().map_or(0, |most| most.saturating_add(1));
    for (number, spec) in specs(noise, machine).into_iter().enumerate() {
        workload.tasks.push(TaskSpec { process: free.saturating_add(number as u32), ..spec });
    }
}

fn specs(noise: Noise, machine: &Machine) -> Vec<TaskSpec> {
    let mut specs = watchdogs(machine);
    specs.extend(noisy(noise, machine));
    specs
}

/// Instructions of a watchdog thread when it runs: it notes the time (`__touch_watchdog()` of 2.6.36) and goes to
/// sleep.
const WATCHDOG_INSNS: u64 = 100;

/// The watchdog thread of each CPU, if the machine's kernel has them; these don't count as noise. Each CPU's timer
/// began when the CPU came up, long before the run.
fn watchdogs(machine: &Machine) -> Vec<TaskSpec> {
    let Some(period) = machine.realtime.watchdog else { return Vec::new() };
    let work = Span::from_ns(WATCHDOG_INSNS * machine.costs.insn_ps / 1000);
    let steps = vec![
        Step::Sleep(Amount { base: Span::ZERO, spread: period }),
        Step::Run(Amount::fixed(work)),
        Step::Sleep(Amount::fixed(period)),
        Step::Loop { to: 1, times: None, slot: 0 },
    ];
    let spec = |cpu: keel_abi::CpuId| TaskSpec {
        name: format!("watchdog/{}", cpu.0),
        cpus: CpuSet::from_iter([cpu]),
        policy: Policy::Fifo(99),
        steps: steps.clone(),
        kthread: true,
        ..TaskSpec::default()
    };
    machine.topology.iter().map(spec).collect()
}

fn noisy(noise: Noise, machine: &Machine) -> Vec<TaskSpec> {
    let Some(profile) = Profile::of(noise) else { return Vec::new() };
    let spec = |name: &str, cpus: CpuSet, thread: &Thread| TaskSpec {
        name: name.to_owned(),
        cpus,
        steps: steps(thread, machine.costs.insn_ps),
        kthread: true,
        ..TaskSpec::default()
    };
    let topology = &machine.topology;
    let mut specs = vec![
        spec("rcu_preempt", CpuSet::new(), &profile.rcu),
        spec("kworker/u", CpuSet::new(), &profile.unbound_worker),
    ];
    let of_node = |node| topology.cpus_where(|place| place.node == NodeId(node));
    specs.extend((0..topology.nodes()).map(|node| spec("kcompactd", of_node(node), &profile.compactor)));
    specs.extend(topology.iter().map(|cpu| spec("kworker", CpuSet::from_iter([cpu]), &profile.worker)));
    specs
}

/// Sleeps for a random part of its interval, then works and sleeps for ever.
fn steps(thread: &Thread, insn_ps: u64) -> Vec<Step> {
    let sleep = |amount| match thread.deferrable {
        true => Step::SleepDeferrable(amount),
        false => Step::Sleep(amount),
    };
    let half = |span: Span| Amount { base: span, spread: Span::from_ns(span.as_ns() / 2) };
    let work = Span::from_ns(thread.insns * insn_ps / 1000);
    vec![
        sleep(Amount { base: thread.every, spread: thread.every }),
        Step::Run(half(work)),
        sleep(half(thread.every)),
        Step::Loop { to: 1, times: None, slot: 0 },
    ]
}
