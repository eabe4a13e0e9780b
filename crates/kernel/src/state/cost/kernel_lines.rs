//! The cache lines of the kernel's own objects that have no place in simulated memory.
//!
//! One line represents the hot part of each object: a CPU's runqueue, a dispatch queue, a task, a lock; the idle masks
//! have one for each 512 CPUs, or one per node if they are per node. The lines of runqueues and dispatch queues are
//! stored with these, because who touches one has the other at hand. A function returns the cost of the access for the
//! CPU `by` in picoseconds, and moves the line to where that access puts it. Nearly always that is the CPU at hand, so
//! what has to be known of a CPU is computed once, and comes with it ([`Cpus::holder`](crate::state::cpus::Cpus)).

use crate::state::cost::lock::LockUse;
use crate::state::cpu::after_ps;
use crate::state::idle::IdleMask;
use crate::state::idle::touched::CPUS_PER_LINE;
use keel_abi::crowd::Crowd;
use keel_abi::fetch::fetch_at;
use keel_abi::lines::{Holder, InTransit, Line, LineCosts, LineUse, Transfers};
use keel_abi::{Instant, NodeId, TaskId, Topology};

/// The lines of all kernel objects.
#[derive(Clone, Debug)]
pub struct KernelLines {
    transfers: Transfers,
    /// None where tasks crowd each other.
    tasks: Vec<Line>,
    crowded: Option<Crowded>,
    /// By [`IdleMask`]: the lines of the machine's mask, then those of the nodes' masks.
    idle: [Vec<AtomicLine>; 2],
    /// Where the lines in use begin: those of the machine's mask, or those of the nodes'.
    idle_from: u32,
    /// Words of mutexes and conditions, by number.
    futexes: Vec<AtomicLine>,
    /// Their buckets in the kernel.
    buckets: Vec<Line>,
    locks: Vec<Line>,
    uses: Uses,
}

/// The lines of tasks where they crowd each other.
#[derive(Clone, Debug)]
struct Crowded {
    crowd: Crowd,
    tasks: Vec<Line>,
}

/// The costs of the lines of each kind of object.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    runqueues: LineUse,
    queues: LineUse,
    tasks: LineUse,
    idle: LineUse,
    futexes: LineUse,
    locks: LineUse,
}

impl KernelLines {
    /// A machine whose lines have never been touched.
    pub fn new(topology: &Topology, costs: LineCosts) -> Self {
        let cpus = topology.cpus();
        let transfers = Transfers::new(topology.clone(), costs);
        Self {
            crowded: transfers.crowd(1).map(|crowd| Crowded { crowd, tasks: Vec::new() }),
            transfers,
            tasks: Vec::new(),
            idle: [(); 2].map(|()| {
                vec![AtomicLine::default(); (cpus.div_ceil(CPUS_PER_LINE) + topology.nodes()) as usize]
            }),
            idle_from: 0,
            futexes: Vec::new(),
            buckets: Vec::new(),
            locks: Vec::new(),
            uses: Uses::default(),
        }
    }

    /// The costs of the lines of each kind of object so far.
    pub fn uses(&self) -> [(&'static str, LineUse); 6] {
        let Uses { runqueues, queues, tasks, idle, futexes, locks } = self.uses;
        [
            ("runqueues", runqueues),
            ("dispatch queues", queues),
            ("tasks", tasks),
            ("idle masks", idle),
            ("mutexes and their futexes", futexes),
            ("other locks", locks),
        ]
    }

    /// The costs of moving lines on this machine.
    pub const fn transfers(&self) -> &Transfers {
        &self.transfers
    }

    /// Allocates lines for `task`; this is optional.
    pub fn add_task(&mut self, task: TaskId) {
        let tasks = self.crowded.as_mut().map_or(&mut self.tasks, |crowded| &mut crowded.tasks);
        line(tasks, task.index());
    }

    /// Reads a runqueue.
    #[inline]
    pub fn read_runqueue_ps(&mut self, line: &mut Line, by: &Holder) -> u64 {
        self.transfers.read_counted_ps(line, by, &mut self.uses.runqueues)
    }

    /// Writes a runqueue, including its lock.
    #[inline(always)]
    pub fn write_runqueue_ps(&mut self, line: &mut Line, by: &Holder) -> u64 {
        self.transfers.write_counted_ps(line, by, &mut self.uses.runqueues)
    }

    /// Reads a dispatch queue.
    #[inline(always)]
    pub fn read_queue_ps(&mut self, line: &mut Line, by: &Holder) -> u64 {
        self.transfers.read_counted_ps(line, by, &mut self.uses.queues)
    }

    /// Writes a dispatch queue, including its lock.
    #[inline]
    pub fn write_queue_ps(&mut self, line: &mut Line, by: &Holder) -> u64 {
        self.transfers.write_counted_ps(line, by, &mut self.uses.queues)
    }

    /// Reads a dispatch queue and then writes it, including its lock: what each of them costs.
    #[inline]
    pub(crate) fn read_and_write_queue_ps(&mut self, line: &mut Line, by: &Holder) -> (u64, u64) {
        self.transfers.read_and_write_counted_ps(line, by, &mut self.uses.queues)
    }

    /// Reads a task.
    #[inline]
    pub fn read_task_ps(&mut self, task: TaskId, by: &Holder) -> u64 {
        match self.tasks.get_mut(task.index()) {
            Some(line) => self.transfers.read_counted_ps(line, by, &mut self.uses.tasks),
            None => self.rare_task_ps(task, by, false),
        }
    }

    /// Reads each of these tasks.
    #[inline(always)]
    pub(crate) fn read_tasks_ps(&mut self, tasks: impl Iterator<Item = TaskId>, by: &Holder) -> u64 {
        let mut ps = 0;
        for task in tasks {
            ps += match self.tasks.get_mut(task.index()) {
                Some(line) => self.transfers.read_each_counted_ps(line, by, &mut self.uses.tasks),
                None => self.rare_task_ps(task, by, false),
            };
        }
        ps
    }

    /// Requests the host's memory for the state of a task's line.
    #[inline]
    pub(crate) fn fetch_task(&self, task: TaskId) {
        fetch_at(&self.tasks, task.index());
    }

    /// Writes a task.
    #[inline(always)]
    pub fn write_task_ps(&mut self, task: TaskId, by: &Holder) -> u64 {
        match self.tasks.get_mut(task.index()) {
            Some(line) => self.transfers.write_counted_ps(line, by, &mut self.uses.tasks),
            None => self.rare_task_ps(task, by, true),
        }
    }

    /// Writes a task's neighbour in a queue: mostly another CPU has touched that last.
    #[inline(always)]
    pub(crate) fn write_neighbour_ps(&mut self, task: TaskId, by: &Holder) -> u64 {
        match self.tasks.get_mut(task.index()) {
            Some(line) => self.transfers.write_others_counted_ps(line, by, &mut self.uses.tasks),
            None => self.rare_task_ps(task, by, true),
        }
    }

    /// Writes a task again that `by` has written in the same step: it still has the line, unless a crowd of tasks has
    /// taken its place.
    #[inline]
    pub(crate) fn rewrite_task_ps(&mut self, task: TaskId, by: &Holder) -> u64 {
        match self.crowded {
            None => 0,
            Some(_) => self.rare_task_ps(task, by, true),
        }
    }

    /// Reads a task and then writes it.
    #[inline]
    pub(crate) fn read_and_write_task_ps(&mut self, task: TaskId, by: &Holder) -> u64 {
        match self.tasks.get_mut(task.index()) {
            Some(line) => {
                let (read_ps, write_ps) =
                    self.transfers.read_and_write_counted_ps(line, by, &mut self.uses.tasks);
                read_ps + write_ps
            }
            None => self.rare_task_ps(task, by, false) + self.rare_task_ps(task, by, true),
        }
    }

    /// Reads or writes a task for the first time, which is the same, or one of a crowd.
    #[cold]
    #[inline(never)]
    fn rare_task_ps(&mut self, task: TaskId, by: &Holder, writes: bool) -> u64 {
        let (transfers, uses) = (&self.transfers, &mut self.uses.tasks);
        let Some(crowded) = &mut self.crowded else {
            return transfers.write_counted_ps(line(&mut self.tasks, task.index()), by, uses);
        };
        crowded.make_room(task, transfers, by);
        let line = &mut crowded.tasks[task.index()];
        uses.count(match writes {
            true => transfers.write_by_ps(line, by),
            false => transfers.read_by_ps(line, by),
        })
    }

    /// Sets whether the idle masks are per node.
    pub fn set_idle_per_node(&mut self, per_node: bool) {
        self.idle_from = if per_node { self.machine_idle_lines() } else { 0 };
    }

    /// Changes bits of a line of an idle mask at `now`. Lines are numbered as in
    /// [`Touched`](crate::state::idle::Touched). A CPU's own bit is changed by an atomic instruction, the bits of its
    /// core by plain ones (`cpumask_andnot()`), which do not queue.
    #[inline]
    pub(crate) fn write_idle_ps(&mut self, mask: IdleMask, line: u32, by: &Holder, now: Instant) -> u64 {
        let line = self.idle_line(line);
        let line = &mut self.idle[mask as usize][line];
        match mask {
            IdleMask::Cpus => line.write_ps(&self.transfers, by, now, &mut self.uses.idle),
            IdleMask::Cores => self.transfers.write_counted_ps(&mut line.line, by, &mut self.uses.idle),
        }
    }

    /// Reads a line of an idle mask.
    #[inline]
    pub(crate) fn read_idle_ps(&mut self, mask: IdleMask, line: u32, by: &Holder, now: Instant) -> u64 {
        let line = self.idle_line(line);
        self.idle[mask as usize][line].read_ps(&self.transfers, by, now, &mut self.uses.idle)
    }

    /// Reads the first line of the mask of idle CPUs and then changes a bit of it. `moment` tells when the write is
    /// done, from the cost of the read.
    #[inline(always)]
    pub(crate) fn read_and_write_idle_ps(&mut self, by: &Holder, moment: impl Fn(u64) -> Instant) -> u64 {
        let line = self.idle_line(0);
        let line = &mut self.idle[IdleMask::Cpus as usize][line];
        line.read_and_write_ps(&self.transfers, by, moment, &mut self.uses.idle)
    }

    /// Like `read_and_write_idle_ps` for a CPU with this clock, whose step has cost `spent_ps` so far. Nothing, and the
    /// line stays as it is, if it does not come from the CPU that wrote it last.
    #[inline(always)]
    pub(crate) fn read_and_write_idle_at_once_ps(&mut self, by: &Holder, at: (Instant, u64)) -> Option<u64> {
        let line = self.idle_line(0);
        let line = &mut self.idle[IdleMask::Cpus as usize][line];
        line.read_and_write_at_once_ps(&self.transfers, by, at, &mut self.uses.idle)
    }

    /// Changes a bit of the first line of the mask of idle CPUs if `by` has the line alone, which costs nothing. Returns
    /// whether it has.
    #[inline(always)]
    pub(crate) fn rewrites_idle(&mut self, by: &Holder) -> bool {
        let line = self.idle_line(0);
        let line = &mut self.idle[IdleMask::Cpus as usize][line];
        let has_it = by.writes(&mut line.line);
        line.uses.taken += u64::from(has_it);
        has_it
    }

    #[inline]
    fn idle_line(&self, line: u32) -> usize {
        (self.idle_from + line) as usize
    }

    fn machine_idle_lines(&self) -> u32 {
        self.transfers.topology().cpus().div_ceil(CPUS_PER_LINE)
    }

    /// How CPUs contended to change the idle masks: the machine's, or each node's.
    pub fn idle_uses(&self) -> impl Iterator<Item = (Option<NodeId>, LockUse)> {
        let machine = self.machine_idle_lines();
        let sum = |lines: std::ops::Range<u32>| {
            let of_masks = self.idle.iter().flat_map(|mask| &mask[lines.start as usize..lines.end as usize]);
            of_masks.fold(LockUse::default(), |mut sum, line| {
                sum.add(line.uses);
                sum
            })
        };
        let all = machine + self.transfers.topology().nodes();
        let nodes = (machine..all).map(move |line| (Some(NodeId(line - machine)), sum(line..line + 1)));
        std::iter::once((None, sum(0..machine))).chain(nodes)
    }

    /// Changes the word of a mutex or condition at `now`, by an atomic instruction.
    pub fn write_futex_ps(&mut self, futex: u32, by: &Holder, now: Instant) -> u64 {
        let word = at(&mut self.futexes, futex as usize);
        word.write_ps(&self.transfers, by, now, &mut self.uses.futexes)
    }

    /// Reads that word.
    pub fn read_futex_ps(&mut self, futex: u32, by: &Holder, now: Instant) -> u64 {
        let word = at(&mut self.futexes, futex as usize);
        word.read_ps(&self.transfers, by, now, &mut self.uses.futexes)
    }

    /// Writes its bucket in the kernel, including the lock.
    pub fn write_bucket_ps(&mut self, futex: u32, by: &Holder) -> u64 {
        let bucket = line(&mut self.buckets, futex as usize);
        self.transfers.write_counted_ps(bucket, by, &mut self.uses.futexes)
    }

    /// Writes a standalone lock, by a dense number that the caller chooses.
    #[inline]
    pub fn write_lock_ps(&mut self, lock: u32, by: &Holder) -> u64 {
        self.transfers.write_counted_ps(line(&mut self.locks, lock as usize), by, &mut self.uses.locks)
    }
}

impl Crowded {
    /// `by` is about to touch a task: if it has to fetch the line, that may evict another task's.
    fn make_room(&mut self, task: TaskId, transfers: &Transfers, by: &Holder) {
        let (tasks, me) = (&mut self.tasks, by.key().shared);
        if line(tasks, task.index()).sharers & me != 0 {
            return;
        }
        let holds = |other: u32| tasks[other as usize].sharers & me != 0;
        let set = self.crowd.set_of(task.0, 0);
        if let Some(gone) = self.crowd.set(by.cpu(), set).fetched(task.0, holds) {
            let gone = &mut tasks[gone as usize];
            gone.sharers = transfers.holders().without(gone.sharers, by.cpu());
        }
    }
}

/// A line that CPUs change by atomic instructions.
#[derive(Clone, Copy, Debug, Default)]
struct AtomicLine {
    line: Line,
    transit: InTransit,
    /// How CPUs contended for the changes.
    uses: LockUse,
}

impl AtomicLine {
    #[inline]
    fn write_ps(&mut self, transfers: &Transfers, by: &Holder, now: Instant, uses: &mut LineUse) -> u64 {
        let transfer_ps = transfers.write_by_ps(&mut self.line, by);
        self.written_ps(transfer_ps, now, uses)
    }

    #[inline]
    fn written_ps(&mut self, transfer_ps: u64, now: Instant, uses: &mut LineUse) -> u64 {
        self.uses.taken += 1;
        if transfer_ps == 0 {
            return 0;
        }
        let (price_ps, waits) = self.transit.wait_ps(transfer_ps, now);
        self.uses.count_wait(waits, 1);
        uses.count(price_ps)
    }

    #[inline(always)]
    fn read_and_write_ps(
        &mut self,
        transfers: &Transfers,
        by: &Holder,
        moment: impl Fn(u64) -> Instant,
        uses: &mut LineUse,
    ) -> u64 {
        let (share_ps, take_ps) = transfers.read_and_write_ps(&mut self.line, by);
        if share_ps | take_ps == 0 {
            self.uses.taken += 1;
            return 0;
        }
        let read_ps = self.shared_ps(share_ps, moment(0), uses);
        read_ps + self.written_ps(take_ps, moment(read_ps), uses)
    }

    /// Like `read_and_write_ps` where both cost the same. The read waits until the line has arrived from earlier
    /// writers, so the write behind it waits for nobody.
    #[inline(always)]
    fn read_and_write_at_once_ps(
        &mut self,
        transfers: &Transfers,
        by: &Holder,
        (clock, spent_ps): (Instant, u64),
        uses: &mut LineUse,
    ) -> Option<u64> {
        let price_ps = transfers.shared_and_taken_ps::<false>(&mut self.line, by)?;
        self.uses.taken += 1;
        if price_ps == 0 {
            return Some(0);
        }
        let left_ps = match self.transit.has_arrived(clock) {
            true => 0,
            false => self.transit.left_ps(after_ps(clock, spent_ps)),
        };
        let read_ps = left_ps + price_ps;
        self.transit.take_arrived(price_ps, after_ps(clock, spent_ps + read_ps));
        Some(uses.count(read_ps) + uses.count(price_ps))
    }

    /// Waits for earlier writers, but delays no later ones.
    #[inline]
    fn read_ps(&mut self, transfers: &Transfers, by: &Holder, now: Instant, uses: &mut LineUse) -> u64 {
        let transfer_ps = transfers.read_by_ps(&mut self.line, by);
        self.shared_ps(transfer_ps, now, uses)
    }

    #[inline]
    fn shared_ps(&self, transfer_ps: u64, now: Instant, uses: &mut LineUse) -> u64 {
        match transfer_ps {
            0 => 0,
            _ => uses.count(self.transit.left_ps(now) + transfer_ps),
        }
    }
}

#[inline]
fn line(lines: &mut Vec<Line>, index: usize) -> &mut Line {
    at(lines, index)
}

#[inline]
fn at<L: Clone + Default>(lines: &mut Vec<L>, index: usize) -> &mut L {
    if index >= lines.len() {
        grow(lines, index);
    }
    &mut lines[index]
}

#[cold]
#[inline(never)]
fn grow<L: Clone + Default>(lines: &mut Vec<L>, index: usize) {
    lines.resize(index + 1, L::default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::CpuId;

    #[test]
    fn objects_move_between_cpus_each_on_its_own() {
        let costs = LineCosts { llc_ps: 20, hop_ps: 100, memory_ps: 70, ..LineCosts::default() };
        let mut lines = KernelLines::new(&Topology::regular(2, 1, 2, 1), costs);
        let (a, near, far) = (CpuId(0), CpuId(1), CpuId(2));
        lines.add_task(TaskId(3));
        let (mut queue, mut runqueue) = (Line::default(), Line::default());
        let mut check = |expected: [u64; 4], write: &mut dyn FnMut(&mut KernelLines, &Holder) -> u64| {
            let by = [a, a, near, far].map(|cpu| lines.transfers().holder(cpu));
            assert_eq!(by.map(|by| write(&mut lines, &by)), expected);
        };
        check([70, 0, 20, 100], &mut |l, by| l.write_task_ps(TaskId(3), by));
        check([70, 0, 20, 100], &mut |l, by| l.write_queue_ps(&mut queue, by));
        check([70, 0, 20, 100], &mut |l, by| l.write_runqueue_ps(&mut runqueue, by));
        check([70, 0, 20, 100], &mut |l, by| l.read_task_ps(TaskId(4), by));
        let moved = |moves, stall_ps| LineUse { moves, stall_ps };
        let uses = lines.uses().map(|(_, uses)| uses);
        assert_eq!(uses[..4], [moved(3, 190), moved(3, 190), moved(6, 380), moved(0, 0)]);
    }

    #[test]
    fn an_atomic_instruction_waits_for_those_before_it() {
        let costs = LineCosts { llc_ps: 20_000, hop_ps: 100_000, memory_ps: 70_000, ..LineCosts::default() };
        let check = |per_node, expected: [u64; 4]| {
            let mut lines = KernelLines::new(&Topology::regular(2, 1, 2, 1), costs);
            lines.set_idle_per_node(per_node);
            let write = |(cpu, ns)| {
                let line = if per_node { cpu / 2 } else { 0 };
                let by = lines.transfers().holder(CpuId(cpu));
                lines.write_idle_ps(IdleMask::Cpus, line, &by, Instant::from_ns(ns)) / 1000
            };
            assert_eq!([(0, 0), (1, 0), (2, 10), (0, 1000)].map(write), expected);
        };
        check(false, [70, 90, 180, 100]);
        check(true, [70, 90, 70, 20]);
    }

    #[test]
    fn plain_changes_of_a_mask_do_not_wait_for_each_other() {
        let costs = LineCosts { llc_ps: 20_000, memory_ps: 70_000, ..LineCosts::default() };
        let mut lines = KernelLines::new(&Topology::regular(1, 1, 4, 1), costs);
        let by = [0, 1, 2].map(|cpu| lines.transfers().holder(CpuId(cpu)));
        let mut write = |mask| by.map(|by| lines.write_idle_ps(mask, 0, &by, Instant::ZERO) / 1000);
        assert_eq!(write(IdleMask::Cpus), [70, 90, 110]);
        assert_eq!(write(IdleMask::Cores), [70, 20, 20]);
    }

    #[test]
    fn a_reader_waits_for_who_writes_and_keeps_nobody_waiting() {
        let costs = LineCosts { llc_ps: 20_000, memory_ps: 70_000, ..LineCosts::default() };
        let mut lines = KernelLines::new(&Topology::regular(1, 1, 4, 1), costs);
        let at = Instant::from_ns;
        let by = [0, 1, 2, 3].map(|cpu| lines.transfers().holder(CpuId(cpu)));
        assert_eq!(lines.write_futex_ps(0, &by[0], at(0)), 70_000);
        let got = [(1, 10), (2, 10), (1, 100)].map(|(cpu, ns)| lines.read_futex_ps(0, &by[cpu], at(ns)));
        assert_eq!(got, [80_000, 80_000, 0]);
        assert_eq!(lines.write_futex_ps(0, &by[3], at(200)), 20_000);
    }

    #[test]
    fn a_read_and_a_write_at_once_cost_as_much_as_one_after_the_other() {
        let costs = LineCosts { llc_ps: 20_300, memory_ps: 70_000, ..LineCosts::default() };
        let mut apart = KernelLines::new(&Topology::regular(1, 1, 4, 1), costs);
        let mut at_once = apart.clone();
        let mut quick = apart.clone();
        for (cpu, at_ps) in [(0, 0), (1, 10_900), (2, 20_000), (2, 30_000), (0, 900_000), (1, 901_999)] {
            let moment = |more_ps: u64| Instant::from_ns((at_ps + more_ps) / 1000);
            let by = apart.transfers().holder(CpuId(cpu));
            let read_ps = apart.read_idle_ps(IdleMask::Cpus, 0, &by, moment(0));
            let both_ps = read_ps + apart.write_idle_ps(IdleMask::Cpus, 0, &by, moment(read_ps));
            assert_eq!(at_once.read_and_write_idle_ps(&by, moment), both_ps, "{cpu} at {at_ps}");
            let clock = Instant::from_ns(at_ps / 1000);
            let quick_ps = quick.read_and_write_idle_at_once_ps(&by, (clock, at_ps % 1000));
            let quick_ps = quick_ps.unwrap_or_else(|| quick.read_and_write_idle_ps(&by, moment));
            assert_eq!(quick_ps, both_ps, "{cpu} at {at_ps}");
        }
        for lines in [at_once, quick] {
            assert_eq!(lines.uses(), apart.uses());
            assert_eq!(lines.idle_uses().next(), apart.idle_uses().next());
        }
    }

    #[test]
    fn tasks_crowd_each_other_where_the_machine_says_so() {
        let check = |tasks_held, expected: [u64; 5]| {
            let costs = LineCosts { llc_ps: 20, memory_ps: 70, tasks_held, ..LineCosts::default() };
            let mut lines = KernelLines::new(&Topology::regular(1, 1, 2, 1), costs);
            let by = [0, 1].map(|cpu| lines.transfers().holder(CpuId(cpu)));
            let touch = |(task, cpu): (u32, usize)| lines.write_task_ps(TaskId(task), &by[cpu]);
            assert_eq!([(1, 0), (2, 0), (3, 0), (1, 0), (3, 1)].map(touch), expected, "{tasks_held}");
        };
        check(0, [70, 70, 70, 0, 20]);
        check(2, [70, 70, 70, 70, 20]);
        check(3, [70, 70, 70, 0, 20]);
    }
}
