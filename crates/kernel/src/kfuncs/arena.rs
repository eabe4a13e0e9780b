//! The kfuncs on arenas (`kernel/bpf/arena.c`). The pages themselves belong to the world.

use crate::kfuncs::Served;
use crate::kfuncs::maps::not_a_map;
use crate::state::bpf::functions::F;
use crate::state::kernel::Kernel;
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, Errno, World};

/// The cost of a page besides the call, in BPF instructions: zeroing its words, or removing its mapping on all CPUs.
const PAGE_INSNS: u64 = 512;

/// `NUMA_NO_NODE`.
const NO_NODE: u32 = u32::MAX;

impl Kernel {
    pub(super) fn serve_arena<W: World>(&mut self, w: &mut W, c: CpuId, f: F, a: &[u64; 5]) -> Served {
        let Some(map) = w.map_at(Ea(a[0])) else { return not_a_map(f, a[0]) };
        let (at, pages) = (Ea(a[1]), a[2] as u32);
        match f {
            F::ArenaAllocPages => {
                let node = a[3] as u32;
                if (node != NO_NODE && node >= self.machine.topology.nodes()) || a[4] != 0 {
                    return 0.into();
                }
                let got = w.arena_alloc(map, at, pages);
                if got.is_some() {
                    self.charge_pages(c, u64::from(pages));
                }
                got.unwrap_or_default().0.into()
            }
            F::ArenaFreePages => {
                let given = w.arena_free(map, at, pages);
                self.charge_pages(c, given);
                0.into()
            }
            _ => w.arena_reserve(map, at, pages).map_or_else(errno, |()| 0.into()),
        }
    }

    fn charge_pages(&mut self, c: CpuId, pages: u64) {
        self.charge_ps(c, pages * PAGE_INSNS * self.machine.costs.insn_ps);
    }
}

/// The result of a kfunc that returns an `int`: the high half of R0 is not set.
fn errno(why: Errno) -> Served {
    (why.as_r0() & 0xffff_ffff).into()
}
