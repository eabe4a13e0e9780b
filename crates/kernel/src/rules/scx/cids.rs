//! Passes CPUs to a scheduler that identifies them by cids (`struct sched_ext_ops_cid`), and interprets the CPUs that
//! it returns.

use crate::state::kernel::Kernel;
use crate::state::layout::{self, cmask};
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, Errno, World};

/// `SCX_ARENA_GROW_PAGES`.
const GROW_PAGES: u32 = 4;

const PAGE_BYTES: u64 = 4096;

/// The number of BPF instructions to convert a CPU of a mask to a bit of a `struct scx_cmask`.
const CPU_INSNS: u64 = 6;

impl Kernel {
    /// Assigns cids to CPUs before `ops.init` (`scx_cid_init()`).
    pub(crate) fn give_cids(&mut self) {
        let cpus = &self.cpus;
        self.cids.probe(&self.machine.topology, |cpu| cpus[cpu].online);
        self.queues.show_cids(self.scx.speaks_cids().then_some(&self.cids));
    }

    /// Returns a CPU's number as an argument of a callback (`scx_cpu_arg()`).
    #[inline]
    pub(crate) fn cpu_argument(&self, cpu: CpuId) -> u64 {
        match self.scx.speaks_cids() {
            true => u64::from(self.cids.of(cpu).unwrap_or(cpu.0)),
            false => u64::from(cpu.0),
        }
    }

    /// Returns the CPU that a callback has returned (`scx_cpu_ret()`). A bad cid is an error and becomes -EINVAL. A
    /// negative value is returned unchanged.
    #[inline(always)]
    pub(crate) fn answered_cpu(&mut self, c: CpuId, answer: i32) -> i32 {
        if answer < 0 || !self.scx.speaks_cids() { answer } else { self.answered_cid(c, answer) }
    }

    #[inline(never)]
    fn answered_cid(&mut self, c: CpuId, answer: i32) -> i32 {
        match self.cids.cpu(answer) {
            Some(cpu) => cpu.0 as i32,
            None => {
                self.error(c, format!("invalid cid {answer}"));
                -Errno::EINVAL.0
            }
        }
    }

    /// Allocates a `struct scx_cmask` for each CPU in the scheduler's arena, after `ops.init`
    /// (`scx_set_cmask_scratch_alloc()`).
    pub(crate) fn make_cmasks<W: World>(&mut self, world: &mut W) -> Result<(), Errno> {
        let Some(arena) = self.scx.arena else { return Ok(()) };
        let cpus = self.cpus.len() as u64;
        let words = cpus.div_ceil(64) + 1;
        let bytes = cmask::SIZE + 8 * words;
        let pages = GROW_PAGES.max(bytes.div_ceil(PAGE_BYTES) as u32);
        let (mut at, mut left) = (Ea::NULL, 0);
        for _ in 0..cpus {
            if left < bytes {
                at = world.arena_alloc(arena, Ea::NULL, pages).ok_or(Errno::ENOMEM)?;
                left = u64::from(pages) * PAGE_BYTES;
            }
            let header = world.arena_at(at);
            world.put(header.offset(cmask::NR_CIDS), &(cpus as u32).to_le_bytes());
            world.put(header.offset(cmask::ALLOC_WORDS), &(words as u32).to_le_bytes());
            self.scx.cmasks.push(at);
            (at, left) = (at.offset(bytes), left - bytes);
        }
        Ok(())
    }

    /// Returns a task's CPUs, whose mask is at `mask`, as an argument of a callback on `c`: that address, or the
    /// user-space address of a cmask (`scx_call_op_set_cpumask()`). The kernel passes only the low half of the latter,
    /// which is all that loads and stores use. Here, if that half is 0, it is a null pointer.
    pub(crate) fn cpus_argument<W: World>(&mut self, world: &mut W, c: CpuId, mask: u64) -> u64 {
        let Some(&at) = self.scx.cmasks.get(c.index()) else { return mask };
        let cpus = self.cpus.len();
        let mut bits = vec![0_u64; cpus.div_ceil(64)];
        for (nth, word) in (0_u64..).zip(mask_words(world, Ea(mask), bits.len())) {
            let cpus_of =
                (0..64).filter(|bit| word >> bit & 1 != 0).map(|bit| CpuId((64 * nth + bit) as u32));
            for cid in cpus_of.filter_map(|cpu| self.cids.of(cpu)) {
                bits[cid as usize / 64] |= 1 << (cid % 64);
            }
        }
        let header = world.arena_at(at);
        for (nth, word) in bits.iter().enumerate() {
            // A program may have freed the page.
            if let Some(to) = world.slice_mut(header.offset(cmask::SIZE + 8 * nth as u64), 8) {
                to.copy_from_slice(&word.to_le_bytes());
            }
        }
        self.charge_ps(c, cpus as u64 * CPU_INSNS * self.machine.costs.insn_ps);
        at.0
    }
}

fn mask_words<W: World>(world: &W, mask: Ea, words: usize) -> Vec<u64> {
    let words = words.min(layout::cpumask::SIZE as usize / 8);
    (0..words as u64).map(|nth| world.bytes(mask.offset(8 * nth)).map_or(0, u64::from_le_bytes)).collect()
}
