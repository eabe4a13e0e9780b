//! The helpers on maps and task storage. The maps themselves belong to the world.

use crate::kfuncs::Served;
use crate::state::bpf::functions::F;
use crate::state::kernel::Kernel;
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, Errno, Owner, World};

/// `BPF_LOCAL_STORAGE_GET_F_CREATE`.
const STORAGE_CREATE: u64 = 1;

/// `BPF_F_LOCK`.
const LOCK: u64 = 4;

fn answer(done: Result<(), Errno>) -> Served {
    done.map_or_else(Errno::as_r0, |()| 0).into()
}

impl Kernel {
    #[inline(never)]
    pub(super) fn map_lookup<W: World>(&mut self, w: &mut W, c: CpuId, a: &[u64; 5]) -> Served {
        match w.map_at(Ea(a[0])) {
            Some(map) => w.map_lookup(map, Ea(a[1]), c).unwrap_or_default().0.into(),
            None => not_a_map(F::MapLookup, a[0]),
        }
    }

    pub(super) fn serve_map<W: World>(&mut self, w: &mut W, c: CpuId, f: F, a: &[u64; 5]) -> Served {
        let Some(map) = w.map_at(Ea(a[0])) else { return not_a_map(f, a[0]) };
        match f {
            F::MapLookupPercpu => {
                let cpu = a[2] as u32;
                if cpu as usize >= self.cpus.len() {
                    return 0.into();
                }
                w.map_lookup(map, Ea(a[1]), CpuId(cpu)).unwrap_or_default().0.into()
            }
            F::MapUpdate | F::MapDelete => {
                // Deleting or replacing an element also frees its timer; writing it under its lock does not.
                let in_place = f == F::MapUpdate && a[3] & LOCK != 0;
                let has_timers = !in_place && self.timers.are_in(Ea(a[0]));
                let old = if has_timers { w.map_lookup(map, Ea(a[1]), c) } else { None };
                let done = match f {
                    F::MapUpdate => w.map_update(map, Ea(a[1]), Ea(a[2]), a[3], c),
                    _ => w.map_delete(map, Ea(a[1])),
                };
                if let (Ok(()), Some(old)) = (done, old) {
                    self.timers.forget(old);
                }
                answer(done)
            }
            F::MapPush => answer(w.map_push(map, Ea(a[1]), a[2])),
            F::MapPop => answer(w.map_pop(map, Ea(a[1]), false)),
            _ => answer(w.map_pop(map, Ea(a[1]), true)),
        }
    }

    pub(super) fn storage_get<W: World>(&mut self, w: &mut W, a: &[u64; 5]) -> Served {
        let Some(map) = w.map_at(Ea(a[0])) else { return not_a_map(F::StorageGet, a[0]) };
        if a[3] & !STORAGE_CREATE != 0 {
            return 0.into();
        }
        let Some(task) = self.task_at(Ea(a[1])) else { return 0.into() };
        let create = a[3] & STORAGE_CREATE != 0;
        w.storage_get(map, Owner::Task(task.0), create, Ea(a[2])).unwrap_or_default().0.into()
    }

    pub(super) fn storage_delete<W: World>(&mut self, w: &mut W, a: &[u64; 5]) -> Served {
        let Some(map) = w.map_at(Ea(a[0])) else { return not_a_map(F::StorageDelete, a[0]) };
        match self.task_at(Ea(a[1])) {
            Some(task) => answer(w.storage_delete(map, Owner::Task(task.0))),
            None => Errno::EINVAL.as_r0().into(),
        }
    }
}

#[cold]
#[inline(never)]
pub(super) fn not_a_map(f: F, handle: u64) -> Served {
    Served::forbidden(format!("{}() was given {handle:#x}, which is not a map", f.name()))
}
