//! The order in which the kernel itself searches for an idle CPU for a waking task (`scx_select_cpu_dfl()`):
//!
//! 1. If the waker is about to sleep, the task's last CPU if it shares the waker's cache, or else the waker's.
//! 2. On machines with SMT, a core with no busy CPU: the last CPU's, then one in its LLC, its node, anywhere.
//! 3. Any idle CPU: the last one, its siblings, then one in its LLC, its node, anywhere.

use crate::state::idle::{IdleMask, IdleMasks, has, place, word_of};
use keel_abi::CpuId;
use keel_abi::scx::pick_idle::{CORE, IN_NODE};
use keel_abi::scx::wake;

/// A task that needs a CPU.
#[derive(Clone, Copy, Debug)]
pub struct SelectCpu<'a> {
    /// The CPU that searches: the waker's.
    pub on: CpuId,
    /// The CPU that the task ran on last.
    pub prev: CpuId,
    /// `SCX_WAKE_*`.
    pub wake_flags: u64,
    /// Whether the local queue of `on` is empty.
    pub waker_queue_empty: bool,
    /// Whether the task that runs on `on` is exiting.
    pub waker_exits: bool,
    /// The task's own CPUs (`p->cpus_ptr`).
    pub cpus: &'a [u64],
    /// Restricts the choice further (`scx_bpf_select_cpu_and()`).
    pub allowed: Option<&'a [u64]>,
    /// `SCX_PICK_IDLE_*`.
    pub flags: u64,
}

impl SelectCpu<'_> {
    #[inline]
    fn may_use(&self, cpu: CpuId) -> bool {
        has(self.cpus, cpu) && self.allowed.is_none_or(|allowed| has(allowed, cpu))
    }

    #[inline]
    fn word(&self, word: usize) -> u64 {
        word_of(self.cpus, word) & self.allowed.map_or(u64::MAX, |a| word_of(a, word))
    }
}

impl IdleMasks {
    /// Claims and returns the idle CPU that the kernel would choose, if any. Not for tasks with one CPU: see
    /// [`IdleMasks::select_pinned`].
    #[inline]
    pub fn select_cpu_dfl(&mut self, task: &SelectCpu<'_>) -> Option<CpuId> {
        match self.shape.smt || task.wake_flags & wake::SYNC != 0 {
            true => self.select_cpu_by_steps(task),
            false => self.single_cpu(task),
        }
    }

    #[inline(never)]
    fn select_cpu_by_steps(&mut self, task: &SelectCpu<'_>) -> Option<CpuId> {
        self.beside_the_waker(task)
            .or_else(|| self.whole_core(task))
            .or_else(|| if self.shape.smt && task.flags & CORE != 0 { None } else { self.single_cpu(task) })
    }

    /// The kfuncs' choice for a task with one CPU, or one that may not migrate now: its last CPU if that is idle and
    /// allowed, else none (`select_cpu_from_kfunc()`).
    pub fn select_pinned(&mut self, task: &SelectCpu<'_>) -> Option<CpuId> {
        // The kfunc searches only the given set, if there is one.
        let (word, bit) = place(task.prev);
        let allowed = word_of(task.allowed.unwrap_or(task.cpus), word) & bit != 0;
        (allowed && self.test_and_clear(task.prev)).then_some(task.prev)
    }

    /// The choice when the waker is about to sleep: the task's last CPU if it is idle and shares the waker's cache, or
    /// else the waker's, if no task waits there and the machine is not full.
    #[inline]
    fn beside_the_waker(&mut self, task: &SelectCpu<'_>) -> Option<CpuId> {
        if task.wake_flags & wake::SYNC == 0 {
            return None;
        }
        let (on, prev) = (task.on, task.prev);
        if task.may_use(prev) && self.shape.share_cache(on, prev) && self.test_and_clear(prev) {
            return Some(prev);
        }
        let same_node = !self.per_node || self.shape.node_of(on) == self.shape.node_of(prev);
        let near_enough = task.flags & IN_NODE == 0 || same_node;
        let stays = task.waker_queue_empty && !task.waker_exits && near_enough;
        if !stays {
            return None;
        }
        self.note_read(IdleMask::Cpus, on);
        if !self.idle_near(on) || !task.may_use(on) {
            return None;
        }
        // The waker is running, so its bit is already clear: the kernel leaves it alone.
        self.clear(on);
        Some(on)
    }

    /// Returns whether a CPU is idle in the mask that `cpu` belongs to.
    fn idle_near(&self, cpu: CpuId) -> bool {
        if !self.per_node {
            return self.any_idle();
        }
        let node = self.shape.node(self.shape.node_of(cpu));
        node.iter().zip(self.cpus.words()).any(|(a, b)| a & b != 0)
    }

    /// A fully idle core: the last CPU's, or one in its cache, its node, anywhere.
    #[inline]
    fn whole_core(&mut self, task: &SelectCpu<'_>) -> Option<CpuId> {
        if !self.shape.smt {
            return None;
        }
        let (word, bit) = place(task.prev);
        self.note_read(IdleMask::Cores, task.prev);
        if task.may_use(task.prev) && self.cores[word] & bit != 0 && self.test_and_clear(task.prev) {
            return Some(task.prev);
        }
        self.outwards(task, CORE)
    }

    /// Any idle CPU: the last one, its sibling, or one in its cache, its node, anywhere.
    #[inline]
    fn single_cpu(&mut self, task: &SelectCpu<'_>) -> Option<CpuId> {
        if task.may_use(task.prev) && self.test_and_clear(task.prev) {
            return Some(task.prev);
        }
        self.sibling(task).or_else(|| self.outwards(task, 0))
    }

    #[inline]
    fn sibling(&mut self, task: &SelectCpu<'_>) -> Option<CpuId> {
        if self.shape.smt { self.idle_sibling(task) } else { None }
    }

    #[inline(never)]
    fn idle_sibling(&mut self, task: &SelectCpu<'_>) -> Option<CpuId> {
        self.note_read(IdleMask::Cpus, task.prev);
        for i in 0..self.shape.core(task.prev).len() {
            let part = self.shape.core(task.prev)[i];
            let word = part.word as usize;
            let mut idle = part.bits & task.word(word) & self.cpus[word];
            if place(task.prev).0 == word {
                idle &= !place(task.prev).1;
            }
            if idle != 0 {
                let cpu = CpuId(part.word * 64 + idle.trailing_zeros());
                self.test_and_clear(cpu);
                return Some(cpu);
            }
        }
        None
    }

    /// Searches outwards from the last CPU's cache to its node to the whole machine.
    #[inline]
    fn outwards(&mut self, task: &SelectCpu<'_>, core: u64) -> Option<CpuId> {
        if self.cpus.is_empty() && !self.per_node {
            // No core is idle either: each search would read all lines of the masks and find nothing.
            if self.shape.smt {
                self.note_search(IdleMask::Cores, None, 0, None);
            }
            if !self.shape.smt || (task.flags | core) & CORE == 0 {
                self.note_search(IdleMask::Cpus, None, 0, None);
            }
            return None;
        }
        self.search_outwards(task, core)
    }

    #[inline(never)]
    fn search_outwards(&mut self, task: &SelectCpu<'_>, core: u64) -> Option<CpuId> {
        let (on, prev) = (task.on, task.prev);
        let node = self.per_node.then(|| self.shape.node_of(prev));
        if self.shape.by_llc {
            let within = self.shape.llc_span(prev);
            let cpus = |m: &Self, word: usize| m.shape.llc(prev)[word] & task.word(word);
            let found = self.pick_in_node(on, (within, cpus), node, core);
            if found.is_some() {
                return found;
            }
        }
        if self.shape.by_node && !self.per_node {
            let own = self.shape.node_of(prev);
            let within = self.shape.node_span(own);
            let cpus = |m: &Self, word: usize| m.shape.node(own)[word] & task.word(word);
            let found = self.pick_in_node(on, (within, cpus), node, core);
            if found.is_some() {
                return found;
            }
        }
        self.pick_among(on, |_, word| task.word(word), node, task.flags | core)
    }
}
