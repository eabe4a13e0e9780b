//! Every helper and kfunc that is served: its name, and where it may be called from.
//!
//! Linux 7.2 rejects a call from the wrong place when it verifies a program (`scx_kfunc_context_filter()`); keel
//! rejects it when the program reaches the call, by the same rules.

use crate::state::callback::Place;
use keel_abi::bpf::FuncId;
use keel_abi::scx::Op;

/// Where a function may be called from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// Anywhere.
    Any,
    /// `ops.select_cpu`, `ops.enqueue`, `ops.dispatch`.
    EnqueueOrDispatch,
    /// `ops.dispatch`.
    Dispatch,
    /// `ops.cpu_release`.
    CpuRelease,
    /// `ops.dispatch`, and any place where no runqueue is locked.
    DispatchOrUnlocked,
    /// `ops.select_cpu`, `ops.enqueue`, and any place where no runqueue is locked.
    SelectCpu,
    /// `ops.init`, by a program that may sleep.
    Init,
    /// Any place where no runqueue is locked and a program may sleep; not `ops.exit_task`, which is in no list of
    /// `scx_kf_allow_flags`.
    Sleepable,
}

impl From {
    /// Returns whether the function may be called from here. `op` matters only in a callback.
    fn allows(self, op: Op, place: Place) -> bool {
        let is_op = place == Place::Op;
        if place == Place::Trace {
            // The kernel gives these programs only one of sched_ext's sets.
            return matches!(self, Self::Any);
        }
        let unlocked = !is_op || is_unlocked(op);
        match self {
            Self::Any => true,
            Self::EnqueueOrDispatch => is_op && matches!(op, Op::SelectCpu | Op::Enqueue | Op::Dispatch),
            Self::Dispatch => is_op && op == Op::Dispatch,
            Self::CpuRelease => is_op && op == Op::CpuRelease,
            Self::DispatchOrUnlocked => unlocked || op == Op::Dispatch,
            Self::SelectCpu => unlocked || matches!(op, Op::SelectCpu | Op::Enqueue),
            Self::Init => is_op && op == Op::Init,
            Self::Sleepable => place == Place::Syscall || is_op && is_unlocked(op) && may_sleep(op),
        }
    }
}

/// Callbacks without a runqueue's lock (`scx_kf_allow_flags[]`).
fn is_unlocked(op: Op) -> bool {
    let of_a_cgroup = matches!(
        op,
        Op::CgroupInit
            | Op::CgroupExit
            | Op::CgroupPrepMove
            | Op::CgroupCancelMove
            | Op::CgroupSetWeight
            | Op::CgroupSetBandwidth
            | Op::CgroupSetIdle
    );
    of_a_cgroup || matches!(op, Op::Init | Op::Exit | Op::InitTask | Op::CpuOnline | Op::CpuOffline)
}

/// Those whose programs may sleep (`bpf_scx_check_member()`).
fn may_sleep(op: Op) -> bool {
    !matches!(op, Op::CgroupCancelMove | Op::CgroupSetWeight | Op::CgroupSetBandwidth | Op::CgroupSetIdle)
}

macro_rules! functions {
    (helpers { $($hv:ident $hn:literal $number:literal,)* } kfuncs { $($kv:ident $kn:literal $from:ident,)* }) => {
        /// A helper or kfunc.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub(crate) enum F { $($hv,)* $($kv,)* }

        pub(super) const ALL: &[F] = &[$(F::$hv,)* $(F::$kv,)*];

        impl F {
            /// Every function, in the order of their numbers.
            pub(crate) const fn all() -> &'static [F] {
                ALL
            }

            /// Its name.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$hv => $hn,)* $(Self::$kv => $kn,)* }
            }

            const fn is_helper(self) -> bool {
                match self { $(Self::$hv => true,)* $(Self::$kv => false,)* }
            }

            const fn from(self) -> From {
                match self { $(Self::$hv => From::Any,)* $(Self::$kv => From::$from,)* }
            }
        }

        /// The helper with this number, if it is served.
        pub fn helper(number: i32) -> Option<FuncId> {
            match number { $($number => Some(FuncId(F::$hv as u32)),)* _ => None }
        }

        /// The kfunc with this name, if it is served.
        pub fn kfunc(name: &str) -> Option<FuncId> {
            match name { $($kn => Some(FuncId(F::$kv as u32)),)* _ => None }
        }
    };
}

functions! {
    helpers {
    MapLookup "bpf_map_lookup_elem" 1,
    MapUpdate "bpf_map_update_elem" 2,
    MapDelete "bpf_map_delete_elem" 3,
    ProbeReadAny "bpf_probe_read" 4,
    Ktime "bpf_ktime_get_ns" 5,
    Printk "bpf_trace_printk" 6,
    Prandom "bpf_get_prandom_u32" 7,
    SmpId "bpf_get_smp_processor_id" 8,
    PidTgid "bpf_get_current_pid_tgid" 14,
    CurrentTask "bpf_get_current_task" 35,
    NumaId "bpf_get_numa_node_id" 42,
    ProbeReadAnyStr "bpf_probe_read_str" 45,
    PerfRead "bpf_perf_event_read_value" 55,
    MapPush "bpf_map_push_elem" 87,
    MapPop "bpf_map_pop_elem" 88,
    MapPeek "bpf_map_peek_elem" 89,
    SpinLock "bpf_spin_lock" 93,
    SpinUnlock "bpf_spin_unlock" 94,
    ProbeRead "bpf_probe_read_kernel" 113,
    ProbeReadStr "bpf_probe_read_kernel_str" 115,
    Jiffies "bpf_jiffies64" 118,
    KtimeBoot "bpf_ktime_get_boot_ns" 125,
    RingOutput "bpf_ringbuf_output" 130,
    RingReserve "bpf_ringbuf_reserve" 131,
    RingSubmit "bpf_ringbuf_submit" 132,
    RingDiscard "bpf_ringbuf_discard" 133,
    RingQuery "bpf_ringbuf_query" 134,
    PerCpuPtr "bpf_per_cpu_ptr" 153,
    ThisCpuPtr "bpf_this_cpu_ptr" 154,
    StorageGet "bpf_task_storage_get" 156,
    StorageDelete "bpf_task_storage_delete" 157,
    CurrentTaskBtf "bpf_get_current_task_btf" 158,
    KtimeCoarse "bpf_ktime_get_coarse_ns" 160,
    ForEachMapElem "bpf_for_each_map_elem" 164,
    Snprintf "bpf_snprintf" 165,
    TimerInit "bpf_timer_init" 169,
    TimerSetCallback "bpf_timer_set_callback" 170,
    TimerStart "bpf_timer_start" 171,
    TimerCancel "bpf_timer_cancel" 172,
    Vprintk "bpf_trace_vprintk" 177,
    Loop "bpf_loop" 181,
    Strncmp "bpf_strncmp" 182,
    KptrXchg "bpf_kptr_xchg" 194,
    MapLookupPercpu "bpf_map_lookup_percpu_elem" 195,
    DynptrFromMem "bpf_dynptr_from_mem" 197,
    DynptrRead "bpf_dynptr_read" 201,
    DynptrWrite "bpf_dynptr_write" 202,
    DynptrData "bpf_dynptr_data" 203,
    UserRingDrain "bpf_user_ringbuf_drain" 209,
    CgrpStorageGet "bpf_cgrp_storage_get" 210,
    CgrpStorageDelete "bpf_cgrp_storage_delete" 211,
    } kfuncs {
    CreateDsq "scx_bpf_create_dsq" Sleepable,
    DestroyDsq "scx_bpf_destroy_dsq" Any,
    DsqInsertV1 "scx_bpf_dsq_insert" EnqueueOrDispatch,
    DsqInsert "scx_bpf_dsq_insert___v2" EnqueueOrDispatch,
    DsqInsertVtimeV1 "scx_bpf_dsq_insert_vtime" EnqueueOrDispatch,
    DsqInsertVtime "__scx_bpf_dsq_insert_vtime" EnqueueOrDispatch,
    DsqMoveToLocalV1 "scx_bpf_dsq_move_to_local" Dispatch,
    DsqMoveToLocal "scx_bpf_dsq_move_to_local___v2" Dispatch,
    DsqMove "scx_bpf_dsq_move" DispatchOrUnlocked,
    DsqMoveVtime "scx_bpf_dsq_move_vtime" DispatchOrUnlocked,
    DsqMoveSetSlice "scx_bpf_dsq_move_set_slice" DispatchOrUnlocked,
    DsqMoveSetVtime "scx_bpf_dsq_move_set_vtime" DispatchOrUnlocked,
    DispatchNrSlots "scx_bpf_dispatch_nr_slots" Dispatch,
    DispatchCancel "scx_bpf_dispatch_cancel" Dispatch,
    DsqNrQueued "scx_bpf_dsq_nr_queued" Any,
    DsqPeek "scx_bpf_dsq_peek" Any,
    DsqIterNew "bpf_iter_scx_dsq_new" Any,
    DsqIterNext "bpf_iter_scx_dsq_next" Any,
    DsqIterDestroy "bpf_iter_scx_dsq_destroy" Any,
    KickCpu "scx_bpf_kick_cpu" Any,
    DsqReenq "scx_bpf_dsq_reenq" Any,
    ReenqueueLocal "scx_bpf_reenqueue_local___v2" Any,
    ReenqueueLocalV1 "scx_bpf_reenqueue_local" CpuRelease,
    ErrorBstr "scx_bpf_error_bstr" Any,
    ExitBstr "scx_bpf_exit_bstr" Any,
    DumpBstr "scx_bpf_dump_bstr" Any,
    StreamVprintk "bpf_stream_vprintk" Any,
    Events "scx_bpf_events" Any,
    SelectCpuDfl "scx_bpf_select_cpu_dfl" SelectCpu,
    SelectCpuAnd "__scx_bpf_select_cpu_and" SelectCpu,
    SelectCpuAndV1 "scx_bpf_select_cpu_and" SelectCpu,
    TestAndClearIdle "scx_bpf_test_and_clear_cpu_idle" Any,
    PickIdleCpu "scx_bpf_pick_idle_cpu" Any,
    PickAnyCpu "scx_bpf_pick_any_cpu" Any,
    PickIdleCpuNode "scx_bpf_pick_idle_cpu_node" Any,
    PickAnyCpuNode "scx_bpf_pick_any_cpu_node" Any,
    GetIdleCpumask "scx_bpf_get_idle_cpumask" Any,
    GetIdleSmtmask "scx_bpf_get_idle_smtmask" Any,
    GetIdleCpumaskNode "scx_bpf_get_idle_cpumask_node" Any,
    GetIdleSmtmaskNode "scx_bpf_get_idle_smtmask_node" Any,
    PutIdleCpumask "scx_bpf_put_idle_cpumask" Any,
    GetPossibleCpumask "scx_bpf_get_possible_cpumask" Any,
    GetOnlineCpumask "scx_bpf_get_online_cpumask" Any,
    PutCpumask "scx_bpf_put_cpumask" Any,
    TaskCpu "scx_bpf_task_cpu" Any,
    TaskRunning "scx_bpf_task_running" Any,
    CpuCurr "scx_bpf_cpu_curr" Any,
    CpuRq "scx_bpf_cpu_rq" Any,
    CpuNode "scx_bpf_cpu_node" Any,
    NrCpuIds "scx_bpf_nr_cpu_ids" Any,
    NrNodeIds "scx_bpf_nr_node_ids" Any,
    Now "scx_bpf_now" Any,
    TaskSetSlice "scx_bpf_task_set_slice" Any,
    TaskSetVtime "scx_bpf_task_set_dsq_vtime" Any,
    CpuperfCap "scx_bpf_cpuperf_cap" Any,
    CpuperfCur "scx_bpf_cpuperf_cur" Any,
    CpuperfSet "scx_bpf_cpuperf_set" Any,
    RcuLock "bpf_rcu_read_lock" Any,
    RcuUnlock "bpf_rcu_read_unlock" Any,
    ResSpinLock "bpf_res_spin_lock" Any,
    ResSpinUnlock "bpf_res_spin_unlock" Any,
    ResSpinLockIrq "bpf_res_spin_lock_irqsave" Any,
    ResSpinUnlockIrq "bpf_res_spin_unlock_irqrestore" Any,
    PreemptDisable "bpf_preempt_disable" Any,
    PreemptEnable "bpf_preempt_enable" Any,
    IterNumNew "bpf_iter_num_new" Any,
    IterNumNext "bpf_iter_num_next" Any,
    IterNumDestroy "bpf_iter_num_destroy" Any,
    ArenaAllocPages "bpf_arena_alloc_pages" Any,
    ArenaFreePages "bpf_arena_free_pages" Any,
    ArenaReservePages "bpf_arena_reserve_pages" Any,
    TaskFromPid "bpf_task_from_pid" Any,
    TaskAcquire "bpf_task_acquire" Any,
    TaskRelease "bpf_task_release" Any,
    TidToTask "scx_bpf_tid_to_task" Any,
    CidOverride "scx_bpf_cid_override" Init,
    CidToCpu "scx_bpf_cid_to_cpu" Any,
    CpuToCid "scx_bpf_cpu_to_cid" Any,
    CidTopo "scx_bpf_cid_topo" Any,
    NrCids "scx_bpf_nr_cids" Any,
    NrOnlineCids "scx_bpf_nr_online_cids" Any,
    ThisCid "scx_bpf_this_cid" Any,
    TaskCid "scx_bpf_task_cid" Any,
    CidCurr "scx_bpf_cid_curr" Any,
    KickCid "scx_bpf_kick_cid" Any,
    CidperfCap "scx_bpf_cidperf_cap" Any,
    CidperfCur "scx_bpf_cidperf_cur" Any,
    CidperfSet "scx_bpf_cidperf_set" Any,
    SubDispatch "scx_bpf_sub_dispatch" Dispatch,
    TaskCgroup "scx_bpf_task_cgroup" Any,
    CgroupAcquire "bpf_cgroup_acquire" Any,
    CgroupRelease "bpf_cgroup_release" Any,
    CgroupAncestor "bpf_cgroup_ancestor" Any,
    CgroupFromId "bpf_cgroup_from_id" Any,
    TaskUnderCgroup "bpf_task_under_cgroup" Any,
    TaskGetCgroup1 "bpf_task_get_cgroup1" Any,
    ObjNew "bpf_obj_new_impl" Any,
    ObjDrop "bpf_obj_drop_impl" Any,
    RbtreeAdd "bpf_rbtree_add_impl" Any,
    RbtreeRemove "bpf_rbtree_remove" Any,
    RbtreeFirst "bpf_rbtree_first" Any,
    MaskCreate "bpf_cpumask_create" Any,
    MaskAcquire "bpf_cpumask_acquire" Any,
    MaskRelease "bpf_cpumask_release" Any,
    MaskFirst "bpf_cpumask_first" Any,
    MaskFirstZero "bpf_cpumask_first_zero" Any,
    MaskSetCpu "bpf_cpumask_set_cpu" Any,
    MaskClearCpu "bpf_cpumask_clear_cpu" Any,
    MaskTestCpu "bpf_cpumask_test_cpu" Any,
    MaskTestAndSet "bpf_cpumask_test_and_set_cpu" Any,
    MaskTestAndClear "bpf_cpumask_test_and_clear_cpu" Any,
    MaskSetAll "bpf_cpumask_setall" Any,
    MaskClear "bpf_cpumask_clear" Any,
    MaskAnd "bpf_cpumask_and" Any,
    MaskOr "bpf_cpumask_or" Any,
    MaskXor "bpf_cpumask_xor" Any,
    MaskEqual "bpf_cpumask_equal" Any,
    MaskIntersects "bpf_cpumask_intersects" Any,
    MaskSubset "bpf_cpumask_subset" Any,
    MaskEmpty "bpf_cpumask_empty" Any,
    MaskFull "bpf_cpumask_full" Any,
    MaskCopy "bpf_cpumask_copy" Any,
    MaskAny "bpf_cpumask_any_distribute" Any,
    MaskAnyAnd "bpf_cpumask_any_and_distribute" Any,
    MaskWeight "bpf_cpumask_weight" Any,
    }
}

/// The name of every helper and kfunc that is served, in the order of their numbers.
pub fn served() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|f| f.name())
}

/// All functions that are served, and whether each is a helper.
pub(crate) fn functions() -> impl Iterator<Item = (&'static str, bool)> {
    ALL.iter().map(|f| (f.name(), f.is_helper()))
}

/// What each call of a function needs to know, computed once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// The function itself.
    pub(crate) f: F,
    /// Its price in picoseconds.
    pub(crate) cost_ps: u64,
    /// A bit for each callback that may call it, and one each for timers, syscall programs and tracing programs.
    allowed: u64,
    /// A bit for each callback in which its calls are boundaries.
    boundary: u64,
}

const TIMER_BIT: u64 = 1 << 63;

const SYSCALL_BIT: u64 = 1 << 62;

const TRACE_BIT: u64 = 1 << 61;

const _: () = assert!(Op::ALL.len() < 61);

impl Terms {
    /// The terms of a function with this price.
    pub(crate) fn new(f: F, cost_ps: u64) -> Self {
        let bits = |wanted: &dyn Fn(Op) -> bool| {
            Op::ALL.iter().filter(|&&op| wanted(op)).map(|&op| 1 << op as u32).sum::<u64>()
        };
        let bit = |place, bit| if f.from().allows(Op::Tick, place) { bit } else { 0 };
        let others =
            bit(Place::Timer, TIMER_BIT) | bit(Place::Syscall, SYSCALL_BIT) | bit(Place::Trace, TRACE_BIT);
        Self {
            f,
            cost_ps,
            allowed: bits(&|op| f.from().allows(op, Place::Op)) | others,
            boundary: bits(&|op| f.is_boundary(op)),
        }
    }

    /// Sets whether the scheduler is a `struct sched_ext_ops_cid`. The kernel forbids its callbacks and timers the
    /// functions that take CPU numbers (`scx_kfunc_ids_cpu_only`).
    pub(crate) fn set_form(&mut self, speaks_cids: bool) {
        if !self.is_for_cpus() {
            return;
        }
        *self = Self::new(self.f, self.cost_ps);
        if speaks_cids {
            self.allowed &= SYSCALL_BIT | TRACE_BIT;
        }
    }

    /// Returns whether it takes CPU numbers and has a counterpart for cids.
    pub(crate) fn is_for_cpus(&self) -> bool {
        self.f.is_for_cpus()
    }

    /// Its own cost in picoseconds.
    pub(crate) fn cost_ps(&self) -> u64 {
        self.cost_ps
    }

    #[inline]
    pub(crate) fn is_boundary(&self, op: Op) -> bool {
        self.boundary >> op as u32 & 1 != 0
    }

    #[inline]
    pub(crate) fn allows(&self, op: Op, place: Place) -> bool {
        match place {
            Place::Op => self.allows_callback(op),
            other => self.allows_elsewhere(other),
        }
    }

    /// Returns whether the scheduler's own callback may call it.
    #[inline]
    pub(crate) fn allows_callback(&self, op: Op) -> bool {
        self.allowed >> op as u32 & 1 != 0
    }

    #[cold]
    fn allows_elsewhere(&self, place: Place) -> bool {
        let bit = match place {
            Place::Op => 0,
            Place::Timer => TIMER_BIT,
            Place::Syscall => SYSCALL_BIT,
            Place::Trace => TRACE_BIT,
        };
        self.allowed & bit != 0
    }
}

/// The terms of all functions, by number.
pub(crate) type AllTerms = [Terms; F::all().len()];

impl F {
    /// Returns whether it takes a resilient lock.
    #[inline]
    pub(crate) fn is_res_spin_lock(self) -> bool {
        matches!(self, Self::ResSpinLock | Self::ResSpinLockIrq)
    }

    fn is_for_cpus(self) -> bool {
        matches!(
            self,
            Self::KickCpu
                | Self::TaskCpu
                | Self::CpuRq
                | Self::CpuCurr
                | Self::CpuNode
                | Self::CpuperfCap
                | Self::CpuperfCur
                | Self::CpuperfSet
                | Self::GetPossibleCpumask
                | Self::GetOnlineCpumask
                | Self::PutCpumask
                | Self::SelectCpuDfl
                | Self::SelectCpuAnd
                | Self::SelectCpuAndV1
                | Self::GetIdleCpumask
                | Self::GetIdleCpumaskNode
                | Self::GetIdleSmtmask
                | Self::GetIdleSmtmaskNode
                | Self::PutIdleCpumask
                | Self::TestAndClearIdle
                | Self::PickIdleCpu
                | Self::PickIdleCpuNode
                | Self::PickAnyCpu
                | Self::PickAnyCpuNode
        )
    }

    /// Returns whether other CPUs can observe when a call of it is served. A call that concerns only the caller's own
    /// CPU, its own task or nothing at all is served at the moment that the callback has reached. An insert concerns
    /// only the caller except in `ops.dispatch`, which may name any task.
    #[inline(always)]
    pub(crate) fn is_boundary(self, op: Op) -> bool {
        if op == Op::Dispatch
            && matches!(
                self,
                Self::DsqInsertV1 | Self::DsqInsert | Self::DsqInsertVtimeV1 | Self::DsqInsertVtime
            )
        {
            return true;
        }
        !matches!(
            self,
            Self::Ktime
                | Self::KtimeBoot
                | Self::KtimeCoarse
                | Self::Jiffies
                | Self::Now
                | Self::Prandom
                | Self::SmpId
                | Self::NumaId
                | Self::PidTgid
                | Self::CurrentTask
                | Self::CurrentTaskBtf
                | Self::Loop
                | Self::ForEachMapElem
                | Self::Snprintf
                | Self::Strncmp
                | Self::PerfRead
                | Self::DynptrFromMem
                | Self::DynptrData
                | Self::StorageGet
                | Self::RcuLock
                | Self::RcuUnlock
                | Self::PreemptDisable
                | Self::PreemptEnable
                | Self::IterNumNew
                | Self::IterNumNext
                | Self::IterNumDestroy
                | Self::NrCpuIds
                | Self::NrNodeIds
                | Self::NrCids
                | Self::ThisCid
                | Self::CidToCpu
                | Self::CpuToCid
                | Self::CidTopo
                | Self::CidperfCap
                | Self::CidperfCur
                | Self::CidperfSet
                | Self::SubDispatch
                | Self::CpuNode
                | Self::CpuperfCap
                | Self::CpuperfCur
                | Self::CpuperfSet
                | Self::DsqInsertV1
                | Self::DsqInsert
                | Self::DsqInsertVtimeV1
                | Self::DsqInsertVtime
                | Self::DispatchNrSlots
                | Self::DispatchCancel
                | Self::ReenqueueLocal
                | Self::TaskSetSlice
                | Self::TaskSetVtime
                | Self::TaskAcquire
                | Self::TaskRelease
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_numbered_by_their_place() {
        for (i, f) in ALL.iter().enumerate() {
            assert_eq!(*f as usize, i, "{}", f.name());
        }
        assert_eq!(helper(1), Some(FuncId(F::MapLookup as u32)));
        assert_eq!(kfunc("scx_bpf_now"), Some(FuncId(F::Now as u32)));
        assert_eq!(kfunc("no_such_kfunc"), None);
    }
}
