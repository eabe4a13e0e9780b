//! The cache lines of the kernel's own objects, those that lie nowhere in simulated memory.
//!
//! One line stands for the hot part of each object: a CPU's runqueue, a dispatch queue, a task, a
//! lock; the idle masks have one for each 512 CPUs, or one a node where they are kept per node. A function's answer is what the access costs
//! the CPU `by` in picoseconds, and the line is then where that access leaves it.

use crate::dsq::DsqHandle;
use keel_abi::crowd::Crowd;
use keel_abi::lines::{InTransit, Line, LineCosts, LineUse, Transfers};
use keel_abi::{CpuId, Instant, TaskId, Topology};

/// CPUs whose bits share a line.
const CPUS_PER_LINE: u32 = 512;

/// The lines of all kernel objects.
#[derive(Clone, Debug)]
pub struct KernelLines {
    transfers: Transfers,
    runqueues: Vec<Line>,
    queues: Vec<Line>,
    tasks: Vec<Line>,
    crowd: Option<Crowd>,
    /// Those of the machine's mask, then those of the nodes' masks.
    idle: Vec<AtomicLine>,
    idle_per_node: bool,
    locks: Vec<Line>,
    uses: Uses,
}

/// What the lines of each kind of object have cost.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    runqueues: LineUse,
    queues: LineUse,
    tasks: LineUse,
    idle: LineUse,
    locks: LineUse,
}

impl KernelLines {
    /// A machine whose lines nobody has touched.
    pub fn new(topology: &Topology, costs: LineCosts) -> Self {
        let cpus = topology.cpus();
        let transfers = Transfers::new(topology.clone(), costs);
        Self {
            crowd: transfers.crowd(),
            transfers,
            runqueues: vec![Line::default(); cpus as usize],
            queues: Vec::new(),
            tasks: Vec::new(),
            idle: vec![AtomicLine::default(); (cpus.div_ceil(CPUS_PER_LINE) + topology.nodes()) as usize],
            idle_per_node: false,
            locks: Vec::new(),
            uses: Uses::default(),
        }
    }

    /// What the lines of each kind of object have cost so far.
    pub fn uses(&self) -> [(&'static str, LineUse); 5] {
        let Uses { runqueues, queues, tasks, idle, locks } = self.uses;
        [
            ("runqueues", runqueues),
            ("dispatch queues", queues),
            ("tasks", tasks),
            ("idle masks", idle),
            ("other locks", locks),
        ]
    }

    /// What moving lines costs on this machine.
    pub const fn transfers(&self) -> &Transfers {
        &self.transfers
    }

    /// Makes room for `task`; others may be touched without.
    pub fn add_task(&mut self, task: TaskId) {
        if task.index() >= self.tasks.len() {
            self.tasks.resize(task.index() + 1, Line::default());
        }
    }

    /// Reads the runqueue of `rq`.
    #[inline]
    pub fn read_runqueue_ps(&mut self, rq: CpuId, by: CpuId) -> u64 {
        self.uses.runqueues.count(self.transfers.read_ps(&mut self.runqueues[rq.index()], by))
    }

    /// Writes the runqueue of `rq`, its lock included.
    #[inline]
    pub fn write_runqueue_ps(&mut self, rq: CpuId, by: CpuId) -> u64 {
        self.uses.runqueues.count(self.transfers.write_ps(&mut self.runqueues[rq.index()], by))
    }

    /// Reads a dispatch queue.
    #[inline]
    pub fn read_queue_ps(&mut self, queue: DsqHandle, by: CpuId) -> u64 {
        self.uses.queues.count(self.transfers.read_ps(line(&mut self.queues, queue.index()), by))
    }

    /// Writes a dispatch queue, its lock included.
    #[inline]
    pub fn write_queue_ps(&mut self, queue: DsqHandle, by: CpuId) -> u64 {
        self.uses.queues.count(self.transfers.write_ps(line(&mut self.queues, queue.index()), by))
    }

    /// Reads a task.
    #[inline]
    pub fn read_task_ps(&mut self, task: TaskId, by: CpuId) -> u64 {
        self.fetch_task(task, by);
        self.uses.tasks.count(self.transfers.read_ps(line(&mut self.tasks, task.index()), by))
    }

    /// Writes a task.
    #[inline]
    pub fn write_task_ps(&mut self, task: TaskId, by: CpuId) -> u64 {
        self.fetch_task(task, by);
        self.uses.tasks.count(self.transfers.write_ps(line(&mut self.tasks, task.index()), by))
    }

    /// `by` is about to touch a task: if it has to fetch its line, that may take another task's place.
    #[inline]
    fn fetch_task(&mut self, task: TaskId, by: CpuId) {
        let Some(crowd) = &mut self.crowd else { return };
        let (tasks, me) = (&mut self.tasks, self.transfers.key(by).shared);
        if line(tasks, task.index()).sharers & me != 0 {
            return;
        }
        if let Some(gone) = crowd.fetched(by, task.0, |other| tasks[other as usize].sharers & me != 0) {
            let gone = &mut tasks[gone as usize];
            gone.sharers = self.transfers.holders().without(gone.sharers, by);
        }
    }

    /// Are the idle masks kept per node?
    pub fn set_idle_per_node(&mut self, per_node: bool) {
        self.idle_per_node = per_node;
    }

    /// Changes the idle bit of `cpu` at `now`, by an atomic instruction.
    #[inline]
    pub fn write_idle_ps(&mut self, cpu: CpuId, by: CpuId, now: Instant) -> u64 {
        let topology = self.transfers.topology();
        let line = match self.idle_per_node {
            true => topology.cpus().div_ceil(CPUS_PER_LINE) + topology.place(cpu).node.0,
            false => cpu.0 / CPUS_PER_LINE,
        };
        self.uses.idle.count(self.idle[line as usize].write_ps(&self.transfers, by, now))
    }

    /// Writes a lock of its own, by a dense number that the caller chooses.
    #[inline]
    pub fn write_lock_ps(&mut self, lock: u32, by: CpuId) -> u64 {
        self.uses.locks.count(self.transfers.write_ps(line(&mut self.locks, lock as usize), by))
    }
}

/// A line that CPUs change by atomic instructions.
#[derive(Clone, Copy, Debug, Default)]
struct AtomicLine {
    line: Line,
    transit: InTransit,
}

impl AtomicLine {
    #[inline]
    fn write_ps(&mut self, transfers: &Transfers, by: CpuId, now: Instant) -> u64 {
        self.transit.queue_ps(transfers.write_ps(&mut self.line, by), now)
    }
}

#[inline]
fn line(lines: &mut Vec<Line>, index: usize) -> &mut Line {
    if index >= lines.len() {
        grow(lines, index);
    }
    &mut lines[index]
}

#[cold]
#[inline(never)]
fn grow(lines: &mut Vec<Line>, index: usize) {
    lines.resize(index + 1, Line::default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_move_between_cpus_each_on_its_own() {
        let costs = LineCosts { llc_ps: 20, hop_ps: 100, memory_ps: 70, ..LineCosts::default() };
        let mut lines = KernelLines::new(&Topology::regular(2, 1, 2, 1), costs);
        let (a, near, far) = (CpuId(0), CpuId(1), CpuId(2));
        lines.add_task(TaskId(3));
        let mut check = |expected: [u64; 4], write: fn(&mut KernelLines, CpuId) -> u64| {
            assert_eq!([a, a, near, far].map(|by| write(&mut lines, by)), expected);
        };
        check([70, 0, 20, 100], |l, by| l.write_task_ps(TaskId(3), by));
        check([70, 0, 20, 100], |l, by| l.write_queue_ps(DsqHandle(9), by));
        check([70, 0, 20, 100], |l, by| l.write_runqueue_ps(CpuId(1), by));
    }

    #[test]
    fn an_atomic_instruction_waits_for_those_before_it() {
        let costs = LineCosts { llc_ps: 20_000, hop_ps: 100_000, memory_ps: 70_000, ..LineCosts::default() };
        let check = |per_node, expected: [u64; 4]| {
            let mut lines = KernelLines::new(&Topology::regular(2, 1, 2, 1), costs);
            lines.set_idle_per_node(per_node);
            let write = |(cpu, ns)| lines.write_idle_ps(CpuId(cpu), CpuId(cpu), Instant::from_ns(ns)) / 1000;
            assert_eq!([(0, 0), (1, 0), (2, 10), (0, 1000)].map(write), expected);
        };
        check(false, [70, 90, 180, 100]);
        check(true, [70, 90, 70, 20]);
    }

    #[test]
    fn tasks_crowd_each_other_where_the_machine_says_so() {
        let check = |tasks_held, expected: [u64; 5]| {
            let costs = LineCosts { llc_ps: 20, memory_ps: 70, tasks_held, ..LineCosts::default() };
            let mut lines = KernelLines::new(&Topology::regular(1, 1, 2, 1), costs);
            let touch = |(task, by)| lines.write_task_ps(TaskId(task), CpuId(by));
            assert_eq!([(1, 0), (2, 0), (3, 0), (1, 0), (3, 1)].map(touch), expected, "{tasks_held}");
        };
        check(0, [70, 70, 70, 0, 20]);
        check(2, [70, 70, 70, 70, 20]);
        check(3, [70, 70, 70, 0, 20]);
    }
}
