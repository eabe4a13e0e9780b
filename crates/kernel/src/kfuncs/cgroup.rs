//! The kfuncs and helpers on cgroups.

use crate::kfuncs::Served;
use crate::kfuncs::maps::not_a_map;
use crate::state::bpf::functions::F;
use crate::state::cgroup::Number;
use crate::state::kernel::Kernel;
use keel_abi::bpf::{Ea, Errno, Owner, World};

/// `BPF_LOCAL_STORAGE_GET_F_CREATE`.
const STORAGE_CREATE: u64 = 1;

impl Kernel {
    pub(super) fn serve_cgroup<W: World>(&mut self, w: &mut W, f: F, a: &[u64; 5]) -> Served {
        match f {
            F::TaskCgroup => self.task_cgroup(Ea(a[0])),
            F::CgroupFromId => {
                let found = self.cgroups.with_kernfs_id(a[0]);
                self.acquired(found)
            }
            F::TaskUnderCgroup => self.task_under_cgroup(Ea(a[0]), Ea(a[1])),
            // There are no version 1 hierarchies.
            F::TaskGetCgroup1 => 0.into(),
            F::CgrpStorageGet | F::CgrpStorageDelete => self.cgroup_storage(w, f, a),
            _ => match self.cgroups.at(Ea(a[0])) {
                Some(number) => self.serve_one(w, f, number, a[1]),
                None => 0.into(),
            },
        }
    }

    fn serve_one<W: World>(&mut self, w: &mut W, f: F, number: Number, arg: u64) -> Served {
        match f {
            F::CgroupAcquire => self.acquired(Some(number)),
            F::CgroupAncestor => {
                let level = u32::try_from(arg as i32).ok();
                let found = level.and_then(|level| self.cgroups.ancestor(number, level));
                self.acquired(found)
            }
            _ => {
                self.put_cgroup(w, number);
                0.into()
            }
        }
    }

    /// The address of a cgroup if a reference could be taken, else null.
    fn acquired(&mut self, number: Option<Number>) -> Served {
        match number.filter(|&number| self.cgroups.try_get(number)) {
            Some(number) => self.cgroups[number].ea.0.into(),
            None => 0.into(),
        }
    }

    /// `scx_bpf_task_cgroup()`: always returns a cgroup, the root for tasks of another scheduler.
    fn task_cgroup(&mut self, task: Ea) -> Served {
        let number = self.task_at(task).map_or(Number::ROOT, |task| self.cgroups.of(task));
        // A dead task may refer to a removed cgroup, whose memory stays.
        self.cgroups.try_get(number);
        self.cgroups[number].ea.0.into()
    }

    /// `bpf_task_under_cgroup()`: returns whether the task's cgroup is this one, or below it.
    fn task_under_cgroup(&mut self, task: Ea, ancestor: Ea) -> Served {
        let (Some(task), Some(ancestor)) = (self.task_at(task), self.cgroups.at(ancestor)) else {
            return 0.into();
        };
        let found = self.cgroups.ancestor(self.cgroups.of(task), self.cgroups[ancestor].level);
        u64::from(found == Some(ancestor)).into()
    }

    fn cgroup_storage<W: World>(&mut self, w: &mut W, f: F, a: &[u64; 5]) -> Served {
        let Some(map) = w.map_at(Ea(a[0])) else { return not_a_map(f, a[0]) };
        let owner = self.cgroups.at(Ea(a[1])).map(|number| Owner::Cgroup(number.0));
        match (f, owner) {
            (F::CgrpStorageGet, Some(owner)) if a[3] & !STORAGE_CREATE == 0 => {
                let create = a[3] & STORAGE_CREATE != 0;
                w.storage_get(map, owner, create, Ea(a[2])).unwrap_or_default().0.into()
            }
            (F::CgrpStorageDelete, Some(owner)) => {
                w.storage_delete(map, owner).map_or_else(Errno::as_r0, |()| 0).into()
            }
            (F::CgrpStorageDelete, None) => Errno::EINVAL.as_r0().into(),
            _ => 0.into(),
        }
    }
}
