//! Which function of the kernel serves which helper or kfunc.

use crate::kfuncs::{Served, dynptr};
use crate::state::bpf::functions::F;
use crate::state::kernel::Kernel;
use keel_abi::bpf::{Ea, Frequent, World};
use keel_abi::{CpuId, DsqId};

/// Serves a call: takes the caller's CPU, the function and its arguments.
pub(super) type Serve<W> = fn(&mut Kernel, &mut W, CpuId, F, &[u64; 5]) -> Served;

/// What serves a function. Each call looks this up in a table, so that it takes one jump to what serves it.
#[inline(always)]
pub(super) fn serves<W: World>(f: F) -> Serve<W> {
    Table::<W>::ALL[f as usize]
}

struct Table<W>(std::marker::PhantomData<W>);

impl<W: World> Table<W> {
    /// By the functions' numbers.
    const ALL: &[Serve<W>; F::all().len()] = &{
        let mut all = [serving::<W>(F::MapLookup); F::all().len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = serving(F::all()[i]);
            i += 1;
        }
        all
    };
}

/// What serves one of the frequent functions.
macro_rules! frequent {
    ($which:ident) => {
        |k, w, c, _, a| k.serve_known(w, c, Frequent::$which, a)
    };
}

const fn serving<W: World>(f: F) -> Serve<W> {
    match f {
        F::MapLookup => frequent!(MapLookup),
        F::MapLookupPercpu | F::MapUpdate | F::MapDelete | F::MapPush | F::MapPop | F::MapPeek => {
            |k, w, c, f, a| k.serve_map(w, c, f, a)
        }
        F::TaskCgroup
        | F::CgroupAcquire
        | F::CgroupRelease
        | F::CgroupAncestor
        | F::CgroupFromId
        | F::TaskUnderCgroup
        | F::TaskGetCgroup1
        | F::CgrpStorageGet
        | F::CgrpStorageDelete => |k, w, _, f, a| k.serve_cgroup(w, f, a),
        F::ObjNew | F::ObjDrop | F::RbtreeAdd | F::RbtreeRemove | F::RbtreeFirst => {
            |k, w, _, f, a| k.serve_object(w, f, a)
        }
        F::StorageGet => |k, w, _, _, a| k.storage_get(w, a),
        F::StorageDelete => |k, w, _, _, a| k.storage_delete(w, a),
        F::Ktime | F::KtimeBoot | F::KtimeCoarse => |k, _, _, _, _| k.shown_clock().as_ns().into(),
        F::Jiffies => |k, _, _, _, _| k.jiffies.at(k.shown_clock()).into(),
        F::SmpId => |_, _, c, _, _| u64::from(c.0).into(),
        F::NumaId => |k, _, c, _, _| u64::from(k.machine.topology.place(c).node.0).into(),
        F::Prandom => |k, _, _, _, _| k.prandom(),
        F::PidTgid => |k, _, _, _, _| k.pid_tgid(),
        F::CurrentTask | F::CurrentTaskBtf => |k, _, c, _, _| k.current_ea(c).0.into(),
        F::SpinLock => frequent!(SpinLock),
        F::SpinUnlock => frequent!(SpinUnlock),
        F::ResSpinLock => |k, w, c, _, a| k.res_spin_lock(w, c, Ea(a[0]), None),
        F::ResSpinUnlock => |k, w, c, _, a| k.res_spin_unlock(w, c, Ea(a[0]), false),
        F::ResSpinLockIrq => |k, w, c, _, a| k.res_spin_lock(w, c, Ea(a[0]), Some(Ea(a[1]))),
        F::ResSpinUnlockIrq => |k, w, c, _, a| k.res_spin_unlock(w, c, Ea(a[0]), true),
        F::ProbeRead | F::ProbeReadStr | F::ProbeReadAny | F::ProbeReadAnyStr | F::Strncmp | F::KptrXchg => {
            |k, w, c, f, a| k.serve_memory(w, c, f, a)
        }
        F::PerCpuPtr => |k, w, _, _, a| k.per_cpu_ptr(w, Ea(a[0]), a[1]).into(),
        F::ThisCpuPtr => |k, w, c, _, a| k.per_cpu_ptr(w, Ea(a[0]), u64::from(c.0)).into(),
        F::TimerInit => |k, w, _, _, a| k.timer_init(w, a),
        F::TimerSetCallback => |k, _, _, _, a| k.timer_set_callback(a),
        F::TimerStart => |k, _, c, _, a| k.timer_start(c, a),
        F::TimerCancel => |k, _, _, _, a| k.timer_cancel(a),
        F::Printk | F::Vprintk | F::Snprintf => |k, w, c, f, a| k.serve_print(w, c, f, a),
        // The engine runs the loops; this only charges for them.
        F::ForEachMapElem | F::Loop | F::UserRingDrain => |_, _, _, _, _| 0.into(),
        F::RingOutput | F::RingReserve | F::RingSubmit | F::RingDiscard | F::RingQuery => {
            |k, w, c, f, a| k.serve_ring(w, c, f, a)
        }
        F::PerfRead => |k, w, c, _, a| k.perf_read(w, c, a),
        F::ArenaAllocPages | F::ArenaFreePages | F::ArenaReservePages => {
            |k, w, c, f, a| k.serve_arena(w, c, f, a)
        }
        F::DynptrFromMem => |_, w, _, _, a| dynptr::from_mem(w, a).into(),
        F::DynptrRead => |_, w, _, _, a| dynptr::read(w, a).into(),
        F::DynptrWrite => |_, w, _, _, a| dynptr::write(w, a).into(),
        F::DynptrData => |_, w, _, _, a| dynptr::data(w, a).into(),
        F::DsqIterNew | F::DsqIterNext | F::DsqIterDestroy => |k, w, c, f, a| k.serve_dsq_iter(w, c, f, a),
        F::IterNumNew | F::IterNumNext | F::IterNumDestroy => |k, w, _, f, a| k.serve_num_iter(w, f, a),
        F::ErrorBstr | F::ExitBstr | F::DumpBstr | F::StreamVprintk => {
            |k, w, c, f, a| k.serve_print(w, c, f, a)
        }
        F::RcuLock | F::RcuUnlock | F::PreemptDisable | F::PreemptEnable => |_, _, _, _, _| 0.into(),
        F::Now => |k, _, _, _, _| k.shown_clock().as_ns().into(),
        F::TaskCpu => frequent!(TaskCpu),
        F::TaskFromPid => frequent!(TaskFromPid),
        F::TaskRelease => frequent!(TaskRelease),
        F::TaskRunning | F::TaskCid | F::TaskAcquire => |k, _, _, f, a| k.serve_task(f, a),
        F::TaskSetSlice => frequent!(TaskSetSlice),
        F::TaskSetVtime => frequent!(TaskSetVtime),
        F::Events => |k, w, c, _, a| k.events(w, c, Ea(a[0]), a[1]),
        F::TidToTask => |k, _, c, _, a| k.task_from_tid(c, a[0]).0.into(),
        F::SelectCpuDfl => frequent!(SelectCpuDfl),
        F::KickCpu => frequent!(KickCpu),
        F::ReenqueueLocal
        | F::ReenqueueLocalV1
        | F::SelectCpuAnd
        | F::SelectCpuAndV1
        | F::TestAndClearIdle
        | F::PickIdleCpu
        | F::PickAnyCpu
        | F::PickIdleCpuNode
        | F::PickAnyCpuNode
        | F::GetIdleCpumask
        | F::GetIdleSmtmask
        | F::GetIdleCpumaskNode
        | F::GetIdleSmtmaskNode
        | F::PutIdleCpumask
        | F::GetPossibleCpumask
        | F::GetOnlineCpumask
        | F::PutCpumask
        | F::CpuCurr
        | F::CpuRq
        | F::CpuNode
        | F::NrCpuIds
        | F::NrNodeIds
        | F::CpuperfCap
        | F::CpuperfCur
        | F::CpuperfSet => |k, w, c, f, a| k.serve_cpu(w, c, f, a),
        F::CidOverride
        | F::CidToCpu
        | F::CpuToCid
        | F::CidTopo
        | F::NrCids
        | F::NrOnlineCids
        | F::ThisCid
        | F::CidCurr
        | F::KickCid
        | F::CidperfCap
        | F::CidperfCur
        | F::CidperfSet => |k, w, c, f, a| k.serve_cid(w, c, f, a),
        // No scheduler has a child.
        F::SubDispatch => |_, _, _, _, _| 0.into(),
        F::DsqInsert => frequent!(DsqInsert),
        F::DsqInsertV1 => {
            |k, w, c, _, a| u64::from(k.dsq_insert(w, c, a[0], DsqId(a[1]), a[2], None, a[3])).into()
        }
        F::DsqInsertVtimeV1 => {
            |k, w, c, _, a| u64::from(k.dsq_insert(w, c, a[0], DsqId(a[1]), a[2], Some(a[3]), a[4])).into()
        }
        F::DsqInsertVtime => frequent!(DsqInsertVtime),
        F::DsqMoveToLocalV1 => frequent!(DsqMoveToLocalV1),
        F::DsqMoveToLocal => frequent!(DsqMoveToLocal),
        F::MaskTestCpu => |k, w, c, _, a| k.mask_test_cpu(w, c, a),
        F::MaskSetCpu | F::MaskTestAndSet => |k, w, c, _, a| k.mask_change_cpu(w, c, a, true),
        F::MaskClearCpu | F::MaskTestAndClear => |k, w, c, _, a| k.mask_change_cpu(w, c, a, false),
        _ if f as u32 >= F::MaskCreate as u32 => |k, w, c, f, a| k.serve_cpumask(w, c, f, a),
        _ => |k, w, c, f, a| k.serve_queue(w, c, f, a),
    }
}
