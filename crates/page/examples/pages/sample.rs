//! Made-up runs: every CPU has as many runnable tasks at a time as a scenario says, and a balancer that tells why it moves none.

use keel_abi::{CpuId, CpuSet, Instant, Pid, TaskId, Topology};
use keel_trace::policy::{Group, Kind, Outcome};
use keel_trace::{Event, Meta, Policy, Sink, TaskInfo, What, Why};
use std::collections::VecDeque;

/// Tasks that a CPU can have at most.
const MOST: u32 = 12;

/// Names that strangers may give their tasks.
pub(crate) const HOSTILE: [&str; 8] = [
    "<script>document.title='owned'</script>",
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=document.title='owned'>",
    "\"><svg onload=document.title='owned'>",
    "<!--",
    "evil\u{202e}txt\u{0}\n",
    "{{constructor.constructor('document.title=1')()}}",
    "",
];

/// A made-up run.
pub(crate) struct Sample {
    /// Where.
    pub(crate) topology: Topology,
    /// For how long, in nanoseconds.
    pub(crate) ns: u64,
    /// From one look at the scenario to the next, in nanoseconds.
    pub(crate) tick_ns: u64,
    /// Does a node stay idle while another is crowded?
    pub(crate) loses_a_node: bool,
}

impl Sample {
    /// Plays it.
    pub(crate) fn play(&self, sink: &mut dyn Sink) {
        let [scheduler, workload, unit] = ["made-up", "made-up", "loops"].map(str::to_owned);
        let topology = self.topology.clone();
        sink.meta(Instant::ZERO, &Meta::Start { topology, scheduler, workload, unit });
        let cpus = self.topology.cpus();
        for task in 0..cpus * MOST {
            sink.meta(Instant::ZERO, &Meta::Task(info(task)));
        }
        let mut queues = vec![VecDeque::new(); cpus as usize];
        let mut asleep: Vec<Vec<TaskId>> =
            (0..cpus).map(|cpu| (0..MOST).rev().map(|n| TaskId(cpu * MOST + n)).collect()).collect();
        let mut random = 1u64;
        let every = (40_000_000 / self.tick_ns).max(1);
        let mut events = Vec::new();
        for tick in 0..self.ns / self.tick_ns {
            let begun = tick * self.tick_ns;
            let gap = (self.tick_ns / u64::from(cpus)).min(900);
            for cpu in self.topology.iter() {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = Instant::from_ns(begun + u64::from(cpu.0) * gap);
                let want = self.wanted(cpu, begun as f64 / self.ns as f64, random >> 33).min(MOST);
                turn(&mut events, at, cpu, want as usize, &mut queues[cpu.index()], &mut asleep[cpu.index()]);
            }
            sink.events(&events);
            events.clear();
            if self.loses_a_node && tick % every == 0 {
                let at = Instant::from_ns(begun + u64::from(cpus) * gap);
                sink.meta(at, &Meta::Policy(Box::new(self.decision())));
            }
        }
        sink.meta(Instant::from_ns(self.ns), &Meta::End);
    }

    /// All nodes share the work; a lost one has none while node 0 has far too much.
    fn wanted(&self, cpu: CpuId, share: f64, random: u64) -> u32 {
        let per_node = self.topology.cpus() / self.topology.nodes();
        let even = if random % 10 < 8 { 1 } else { random as u32 % 3 };
        match cpu.0 / per_node {
            0 if self.loses_a_node && (0.3..0.75).contains(&share) => 5 + random as u32 % 4,
            1 if self.loses_a_node && (0.3..0.75).contains(&share) => 0,
            2 if (0.5..0.6).contains(&share) => u32::from(random.is_multiple_of(4)),
            _ => even,
        }
    }

    /// The first CPU of the lost node compares averages and moves nothing.
    fn decision(&self) -> Policy {
        let per_node = self.topology.cpus() / self.topology.nodes();
        let group = |node: u32, load: u64| Group {
            load,
            first_cpu: CpuId(node * per_node),
            cpus: per_node as u16,
            runnable: load as u16 / 128,
        };
        let groups = vec![group(1, 1024), group(0, 900), group(2.min(self.topology.nodes() - 1), 880)];
        Policy {
            level: 2,
            chosen: None,
            outcome: Some(Outcome::Balanced),
            considered: (0..2 * per_node).map(CpuId).collect(),
            nr_groups: 3,
            groups,
            ..Policy::of(Kind::NewIdle, CpuId(per_node))
        }
    }
}

/// The first tasks have hostile names.
fn info(task: u32) -> TaskInfo {
    let name = match HOSTILE.get(task as usize) {
        Some(name) => (*name).to_owned(),
        None => format!("worker-{}", task % 7),
    };
    let nice = if task % 9 == 8 { 10 } else { 0 };
    TaskInfo { task: TaskId(task), pid: Pid(1000 + task), name, nice, cpus: CpuSet::new() }
}

/// Wakes, runs, rotates and blocks until `want` tasks are runnable; the queue's front runs.
fn turn(
    events: &mut Vec<Event>,
    at: Instant,
    cpu: CpuId,
    want: usize,
    queue: &mut VecDeque<TaskId>,
    asleep: &mut Vec<TaskId>,
) {
    let before = queue.front().copied().unwrap_or(TaskId::IDLE);
    let blocks = !before.is_idle() && queue.len() > want;
    while queue.len() < want {
        let Some(task) = asleep.pop() else { break };
        events.push(Event { at, cpu, what: What::Wakeup { task, target: cpu, waker: TaskId::IDLE } });
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
        events.push(Event { at, cpu, what: What::Switch { prev: before, why, next } });
    }
}
