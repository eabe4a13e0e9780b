//! A made-up run: every CPU has as many runnable tasks at a time as a scenario says.

use keel_abi::{CpuId, CpuSet, Instant, Pid, TaskId, Topology};
use keel_trace::{Event, Meta, Sink, TaskInfo, What, Why};
use std::collections::VecDeque;

/// Tasks that a CPU can have at most.
const MOST: u32 = 12;
/// From one look at the scenario to the next, in nanoseconds.
const TICK: u64 = 4_000_000;

/// Plays a run of `ns` nanoseconds into `sink`: `wanted(cpu, share of the run, random)` runnable tasks a CPU.
pub(crate) fn play(
    sink: &mut dyn Sink,
    topology: &Topology,
    ns: u64,
    wanted: impl Fn(CpuId, f64, u64) -> u32,
) {
    let [scheduler, workload, unit] = ["made-up", "made-up", "loops"].map(str::to_owned);
    sink.meta(Instant::ZERO, &Meta::Start { topology: topology.clone(), scheduler, workload, unit });
    for task in 0..topology.cpus() * MOST {
        let name = format!("worker-{task}");
        let info = TaskInfo { task: TaskId(task), pid: Pid(1000 + task), name, nice: 0, cpus: CpuSet::new() };
        sink.meta(Instant::ZERO, &Meta::Task(info));
    }
    let mut queues = vec![VecDeque::new(); topology.cpus() as usize];
    let mut asleep: Vec<Vec<TaskId>> =
        topology.iter().map(|cpu| (0..MOST).map(|n| TaskId(cpu.0 * MOST + n)).collect()).collect();
    let mut random = 1u64;
    for tick in 0..ns / TICK {
        for cpu in topology.iter() {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let at = Instant::from_ns(tick * TICK + u64::from(cpu.0) * 900);
            let want = wanted(cpu, (tick * TICK) as f64 / ns as f64, random >> 33).min(MOST);
            sink.events(&turn(at, cpu, want as usize, &mut queues[cpu.index()], &mut asleep[cpu.index()]));
        }
    }
    sink.meta(Instant::from_ns(ns), &Meta::End);
}

/// Wakes, runs, rotates and blocks until `want` tasks are runnable; the queue's front runs.
fn turn(
    at: Instant,
    cpu: CpuId,
    want: usize,
    queue: &mut VecDeque<TaskId>,
    asleep: &mut Vec<TaskId>,
) -> Vec<Event> {
    let mut whats = Vec::new();
    let before = queue.front().copied().unwrap_or(TaskId::IDLE);
    let blocks = !before.is_idle() && queue.len() > want;
    while queue.len() < want {
        let Some(task) = asleep.pop() else { break };
        whats.push(What::Wakeup { task, target: cpu, waker: TaskId::IDLE });
        queue.push_back(task);
    }
    let why = match () {
        () if before.is_idle() => Why::WasIdle,
        () if blocks => Why::Blocked,
        () => Why::Preempted,
    };
    if blocks {
        asleep.extend(queue.pop_front());
    } else if !before.is_idle() {
        queue.rotate_left(1);
    }
    let next = queue.front().copied().unwrap_or(TaskId::IDLE);
    if next != before {
        whats.push(What::Switch { prev: before, why, next });
    }
    whats.into_iter().map(|what| Event { at, cpu, what }).collect()
}

/// All nodes share the work, then node 1 has none while node 0 has far too much, then all share again.
pub(crate) fn lost_node(topology: &Topology) -> impl Fn(CpuId, f64, u64) -> u32 {
    let per_node = topology.cpus() / topology.nodes();
    move |cpu, share, random| {
        let even = if random % 10 < 8 { 1 } else { random as u32 % 3 };
        match cpu.0 / per_node {
            0 if (0.3..0.75).contains(&share) => 5 + random as u32 % 4,
            1 if (0.3..0.75).contains(&share) => 0,
            2 if (0.5..0.6).contains(&share) => u32::from(random.is_multiple_of(4)),
            _ => even,
        }
    }
}
