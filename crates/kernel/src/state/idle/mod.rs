//! Which CPUs are idle, and which of them to pick: the kernel's built-in idle tracking (`kernel/sched/ext/idle.c` of
//! Linux 7.2).
//!
//! Masks are 64-bit words with one bit per CPU. Claiming a CPU clears its bit, and the bits of its whole core in the
//! mask of fully idle cores, so that no other CPU claims it before it has run. The masks of a single node are the
//! machine's masks restricted to the node.

mod mask;
mod pick;
mod select;
mod shape;
pub(crate) mod touched;

pub use select::SelectCpu;
pub(crate) use touched::IdleMask;
pub(crate) use touched::Touched;

use crate::state::idle::mask::Mask;
use crate::state::idle::shape::Shape;
use keel_abi::{CpuId, NodeId, Topology};

/// The idle masks of one machine.
#[derive(Clone, Debug)]
pub struct IdleMasks {
    shape: Shape,
    /// Idle CPUs.
    cpus: Mask,
    /// CPUs of fully idle cores; unused without SMT.
    cores: Mask,
    /// For each CPU, where its last distributing search (`distribute_cpu_mask_prev`) ended.
    spread: Vec<u32>,
    per_node: bool,
    touched: Touched,
    /// Each mask is in one line: nothing is per node, and there are few CPUs.
    one_line: bool,
    /// BPF programs read the masks.
    shown: bool,
    /// There is only that line, without a mask of cores, and only the kernel uses it.
    plain: bool,
    /// The same, if that takes several lines.
    long: bool,
}

impl IdleMasks {
    /// The masks of a machine with this topology; every CPU is online and none is idle.
    pub fn new(topology: &Topology) -> Self {
        let shape = Shape::new(topology);
        let mut masks = Self {
            cpus: Mask::new(shape.words()),
            cores: Mask::new(shape.words()),
            spread: vec![0; topology.cpus() as usize],
            per_node: false,
            touched: Touched::default(),
            one_line: touched::fit_in_one_line(shape.words()),
            shown: false,
            plain: false,
            long: false,
            shape,
        };
        masks.note_plain();
        masks
    }

    /// Sets whether the scheduler wants per-node masks (`SCX_OPS_BUILTIN_IDLE_PER_NODE`): searches then begin at a node
    /// and continue by distance.
    pub fn set_per_node(&mut self, per_node: bool) {
        self.per_node = per_node;
        self.one_line = !per_node && touched::fit_in_one_line(self.shape.words());
        self.note_plain();
    }

    /// BPF programs read the masks from here on.
    pub(crate) fn show(&mut self) {
        self.shown = true;
        self.note_plain();
    }

    fn note_plain(&mut self) {
        let is_bare = !self.shape.smt && !self.shown && !self.per_node;
        (self.plain, self.long) = (is_bare && self.one_line, is_bare && !self.one_line);
    }

    /// Returns whether all that is known of idle CPUs is in one line, which only the kernel reads and writes. Then who
    /// changes it knows what that touches, and charges for it without notes.
    #[inline(always)]
    pub(crate) const fn is_plain(&self) -> bool {
        self.plain
    }

    /// Like [`IdleMasks::is_plain`], where that takes several lines.
    #[inline]
    pub(crate) const fn is_long(&self) -> bool {
        self.long
    }

    /// [`IdleMasks::set_idle`] of plain masks, whose line the caller charges for.
    #[inline(always)]
    pub(crate) fn set_plainly(&mut self, cpu: CpuId, idle: bool) {
        debug_assert!(self.plain || self.long, "nothing else changes with the bit");
        let (word, bit) = place(cpu);
        if idle {
            self.cpus.add(word, bit);
        } else {
            self.cpus.remove(word, bit);
        }
    }

    /// Claims `cpu` if it is idle in plain masks, whose line the caller charges for.
    #[inline(always)]
    pub(crate) fn claims_plainly(&mut self, cpu: CpuId) -> bool {
        debug_assert!(self.plain || self.long, "nothing else changes with the bit");
        let (word, bit) = place(cpu);
        self.cpus.remove(word, bit)
    }

    /// Returns whether masks are per node.
    pub const fn per_node(&self) -> bool {
        self.per_node
    }

    /// Returns whether cores have more than one CPU, so that there is a mask of fully idle cores.
    pub(crate) const fn has_smt(&self) -> bool {
        self.shape.smt
    }

    /// Records that `cpu` goes on- or offline (`scx_idle_update_selcpu_topology()`). An offline CPU is not idle.
    pub fn set_online(&mut self, cpu: CpuId, online: bool) {
        self.shape.set_online(cpu, online);
        if !online {
            self.set_idle(cpu, false);
        }
    }

    /// Marks every online CPU idle or none, as when a scheduler is attached.
    pub fn set_all(&mut self, idle: bool) {
        for word in 0..self.shape.words() {
            let bits = if idle { self.shape.online()[word] } else { 0 };
            self.cpus.set(word, bits);
            self.cores.set(word, bits);
        }
    }

    /// Marks `cpu` idle or busy (`update_builtin_idle()`).
    #[inline]
    pub fn set_idle(&mut self, cpu: CpuId, idle: bool) {
        self.note_written(IdleMask::Cpus, cpu);
        let (word, bit) = place(cpu);
        if idle {
            self.cpus.add(word, bit);
        } else {
            self.cpus.remove(word, bit);
        }
        if !self.shape.smt {
            return;
        }
        let (parts, online) = (self.shape.core(cpu), self.shape.online());
        if !idle {
            for part in parts {
                self.cores.remove(part.word as usize, part.bits);
            }
            return self.note_written(IdleMask::Cores, cpu);
        }
        let is_whole =
            parts.iter().all(|p| p.bits & online[p.word as usize] & !self.cpus[p.word as usize] == 0);
        if is_whole {
            for part in parts {
                self.cores.add(part.word as usize, part.bits);
            }
            self.note_written(IdleMask::Cores, cpu);
        }
        self.note_read(IdleMask::Cpus, cpu);
    }

    /// Claims `cpu` if it is idle (`scx_idle_test_and_clear_cpu()`). Its core is not fully idle afterwards in either
    /// case.
    #[inline]
    pub fn test_and_clear(&mut self, cpu: CpuId) -> bool {
        if self.shape.smt {
            let of_core = |part: &shape::Part| self.cores[part.word as usize] & part.bits != 0;
            let is_marked = self.shape.core(cpu).iter().any(of_core);
            self.note_read(IdleMask::Cores, cpu);
            if is_marked {
                self.note_written(IdleMask::Cores, cpu);
            }
        }
        self.note_written(IdleMask::Cpus, cpu);
        self.clear(cpu)
    }

    /// Marks `cpu` and its core as not idle; returns whether `cpu` was idle.
    #[inline]
    fn clear(&mut self, cpu: CpuId) -> bool {
        let (word, bit) = place(cpu);
        if self.shape.smt {
            for part in self.shape.core(cpu) {
                self.cores.remove(part.word as usize, part.bits);
            }
        }
        self.cpus.remove(word, bit)
    }

    /// Returns whether `cpu` is marked idle.
    #[inline]
    pub fn is_idle(&self, cpu: CpuId) -> bool {
        let (word, bit) = place(cpu);
        self.cpus[word] & bit != 0
    }

    /// Returns whether any CPU is marked idle.
    #[inline]
    pub fn any_idle(&self) -> bool {
        !self.cpus.is_empty()
    }

    /// The words of `scx_bpf_get_idle_cpumask()`.
    #[inline]
    pub fn cpu_words(&self) -> &[u64] {
        self.cpus.words()
    }

    /// The words of `scx_bpf_get_idle_smtmask()`: fully idle cores, or idle CPUs without SMT.
    #[inline]
    pub fn smt_words(&self) -> &[u64] {
        if self.shape.smt { self.cores.words() } else { self.cpus.words() }
    }

    /// The CPUs of `node`, to restrict the machine's words to the node.
    pub fn node_words(&self, node: NodeId) -> &[u64] {
        self.shape.node(node)
    }

    /// Online CPUs.
    pub fn online_words(&self) -> &[u64] {
        self.shape.online()
    }
}

/// The word and bit of a CPU.
#[inline]
const fn place(cpu: CpuId) -> (usize, u64) {
    (cpu.index() / 64, 1 << (cpu.0 % 64))
}

/// Returns whether a CPU is in a set.
#[inline]
pub(crate) fn has(set: &[u64], cpu: CpuId) -> bool {
    let (word, bit) = place(cpu);
    word_of(set, word) & bit != 0
}

/// A word of a set; the set may end before it.
#[inline]
fn word_of(set: &[u64], word: usize) -> u64 {
    set.get(word).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests;
