//! Made-up runs for tests, examples and measurements of the code that shows runs: a scenario sets the number of
//! runnable tasks on each CPU at each time. keel itself never makes one.

use keel_abi::{CpuId, CpuSet, Instant, Pid, TaskId, Topology};
use keel_trace::{Event, Meta, Policy, Sink, TaskInfo, What, Why};
use std::collections::VecDeque;

/// The maximum number of tasks on a CPU.
const MOST: u32 = 12;

/// A made-up run.
#[derive(Clone, Debug)]
pub struct MadeUp {
    /// The machine.
    pub topology: Topology,
    /// The length of the run, in nanoseconds.
    pub ns: u64,
    /// The interval at which the scenario is evaluated, in nanoseconds.
    pub tick_ns: u64,
    /// The names of the first tasks; the others are workers.
    pub names: &'static [&'static str],
}

impl MadeUp {
    /// Creates a run that evaluates the scenario every 4 ms and has only workers.
    pub fn new(topology: Topology, ns: u64) -> Self {
        Self { topology, ns, tick_ns: 4_000_000, names: &[] }
    }

    /// Plays the run. `wanted(cpu, share of the run, random)` returns the number of runnable tasks on a CPU;
    /// `reported(number)` returns the decision that the scheduler reports after the evaluation with this number.
    pub fn play(
        &self,
        sink: &mut dyn Sink,
        wanted: impl Fn(CpuId, f64, u64) -> u32,
        reported: impl Fn(u64) -> Option<Policy>,
    ) {
        let [scheduler, workload, unit] = ["made-up", "made-up", "loops"].map(str::to_owned);
        let topology = self.topology.clone();
        sink.meta(Instant::ZERO, &Meta::Start { topology, scheduler, workload, unit });
        let cpus = self.topology.cpus();
        for task in 0..cpus * MOST {
            sink.meta(Instant::ZERO, &Meta::Task(self.info(task)));
        }
        let mut turns: Vec<Turns> = (0..cpus).map(Turns::of).collect();
        let mut random = 1u64;
        let gap = (self.tick_ns / u64::from(cpus)).min(900);
        let mut events = Vec::new();
        for tick in 0..self.ns / self.tick_ns {
            let begun = tick * self.tick_ns;
            for cpu in self.topology.iter() {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = Instant::from_ns(begun + u64::from(cpu.0) * gap);
                let want = wanted(cpu, begun as f64 / self.ns as f64, random >> 33).min(MOST);
                let what = |what| events.push(Event { at, cpu, what });
                turns[cpu.index()].turn(cpu, want as usize, what);
            }
            sink.events(&events);
            events.clear();
            if let Some(policy) = reported(tick) {
                let at = Instant::from_ns(begun + u64::from(cpus) * gap);
                sink.meta(at, &Meta::Policy(Box::new(policy)));
            }
        }
        sink.meta(Instant::from_ns(self.ns), &Meta::End);
    }

    fn info(&self, task: u32) -> TaskInfo {
        let name = match self.names.get(task as usize) {
            Some(name) => (*name).to_owned(),
            None => format!("worker-{}", task % 7),
        };
        let nice = if task % 9 == 8 { 10 } else { 0 };
        TaskInfo { task: TaskId(task), pid: Pid(1000 + task), name, nice, cpus: CpuSet::new() }
    }
}

/// A CPU's runnable tasks, the running one first, and its sleeping tasks.
struct Turns {
    queue: VecDeque<TaskId>,
    asleep: Vec<TaskId>,
}

impl Turns {
    fn of(cpu: u32) -> Self {
        let asleep = (0..MOST).rev().map(|n| TaskId(cpu * MOST + n)).collect();
        Self { queue: VecDeque::new(), asleep }
    }

    /// Wakes, runs, rotates and blocks tasks until `want` tasks are runnable, and emits the events.
    fn turn(&mut self, cpu: CpuId, want: usize, mut emit: impl FnMut(What)) {
        let Self { queue, asleep } = self;
        let before = queue.front().copied().unwrap_or(TaskId::IDLE);
        let blocks = !before.is_idle() && queue.len() > want;
        while queue.len() < want {
            let Some(task) = asleep.pop() else { break };
            emit(What::Wakeup { task, target: cpu, waker: TaskId::IDLE });
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
            emit(What::Switch { prev: before, why, next });
        }
    }
}

/// Returns a scenario in which all nodes share the work. With `loses_a_node`, node 1 has no work for a while and node 0
/// far too much; at the end all nodes share again.
pub fn shared(topology: &Topology, loses_a_node: bool) -> impl Fn(CpuId, f64, u64) -> u32 + use<> {
    let per_node = topology.cpus() / topology.nodes();
    move |cpu, share, random| {
        let even = if random % 10 < 8 { 1 } else { random as u32 % 3 };
        match cpu.0 / per_node {
            0 if loses_a_node && (0.3..0.75).contains(&share) => 5 + random as u32 % 4,
            1 if loses_a_node && (0.3..0.75).contains(&share) => 0,
            2 if (0.5..0.6).contains(&share) => u32::from(random.is_multiple_of(4)),
            _ => even,
        }
    }
}
