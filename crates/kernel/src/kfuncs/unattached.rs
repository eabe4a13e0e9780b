//! What sched_ext's kfuncs return while no scheduler is attached: `scx_prog_sched()` finds none.

use crate::state::bpf::functions::F;
use keel_abi::bpf::Errno;

/// `-ENODEV`.
const NO_SCHEDULER: Errno = Errno(19);

/// `SCX_CPUPERF_ONE`.
const FULL_SPEED: u64 = 1024;

/// `NUMA_NO_NODE`.
const NO_NODE: u64 = u64::MAX;

/// The return value of a function that needs a scheduler; `None` for the others.
pub(super) fn answer(f: F) -> Option<u64> {
    Some(match f {
        F::CreateDsq
        | F::DsqNrQueued
        | F::DsqIterNew
        | F::SelectCpuDfl
        | F::SelectCpuAnd
        | F::SelectCpuAndV1
        | F::PickIdleCpu
        | F::PickIdleCpuNode
        | F::PickAnyCpu
        | F::PickAnyCpuNode => NO_SCHEDULER.as_r0(),
        F::CidToCpu | F::CpuToCid => Errno::EINVAL.as_r0(),
        F::DestroyDsq
        | F::DsqPeek
        | F::DsqIterNext
        | F::DsqIterDestroy
        | F::KickCpu
        | F::ErrorBstr
        | F::ExitBstr
        | F::DumpBstr
        | F::TestAndClearIdle
        | F::CpuCurr
        | F::CpuRq
        | F::TaskSetSlice
        | F::TaskSetVtime
        | F::CpuperfSet
        | F::CidTopo
        | F::CidCurr
        | F::KickCid
        | F::CidperfSet
        | F::DsqReenq
        | F::TidToTask => 0,
        F::CpuperfCap | F::CpuperfCur | F::CidperfCap | F::CidperfCur => FULL_SPEED,
        F::CpuNode => NO_NODE,
        _ => return None,
    })
}
