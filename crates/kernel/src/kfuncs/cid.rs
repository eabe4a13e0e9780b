//! The kfuncs on cids, the topological ids of CPUs (`kernel/sched/ext/cid.c`).

use crate::kfuncs::Served;
use crate::state::bpf::functions::F;
use crate::state::kernel::Kernel;
use crate::state::layout;
use crate::state::machine::PERF_ONE;
use crate::state::scx::cids::{BadCid, NOWHERE};
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, Errno, World};

impl Kernel {
    pub(super) fn serve_cid<W: World>(&mut self, w: &mut W, c: CpuId, f: F, a: &[u64; 5]) -> Served {
        match f {
            F::NrCids => (self.cpus.len() as u64).into(),
            F::NrOnlineCids => self.nr_online().into(),
            F::ThisCid => self.cid_or_errno(c).into(),
            F::CpuToCid => match self.cpu_arg(c, a[0]) {
                Some(cpu) => self.cid_or_errno(cpu).into(),
                None => Errno::EINVAL.as_r0().into(),
            },
            F::CidToCpu => self.cid_arg(c, a[0]).map_or(Errno::EINVAL.as_r0(), |cpu| u64::from(cpu.0)).into(),
            F::CidCurr => self.cid_arg(c, a[0]).map_or(0, |cpu| self.current_ea(cpu).0).into(),
            F::CidTopo => self.cid_topo(w, c, a).into(),
            F::CidOverride => self.cid_override(w, c, a).into(),
            F::CidperfCap => self.cid_arg(c, a[0]).map_or(PERF_ONE, |cpu| self.capacity(cpu)).into(),
            F::CidperfCur => self.cid_arg(c, a[0]).map_or(PERF_ONE, |cpu| self.performance(cpu)).into(),
            F::CidperfSet => match self.cid_arg(c, a[0]) {
                Some(cpu) => self.cpuperf_set(c, u64::from(cpu.0), a[1]).into(),
                None => 0.into(),
            },
            _ => match self.cid_arg(c, a[0]) {
                Some(cpu) => self.kick_cpu(c, u64::from(cpu.0), a[1]).into(),
                None => 0.into(),
            },
        }
    }

    fn nr_online(&self) -> u64 {
        self.machine.topology.iter().filter(|&cpu| self.cpus[cpu].online).count() as u64
    }

    /// A CPU's cid; there is none before a scheduler was first enabled.
    pub(super) fn cid_or_errno(&self, cpu: CpuId) -> u64 {
        self.cids.of(cpu).map_or(Errno::EINVAL.as_r0(), u64::from)
    }

    /// The CPU with this cid, else an error (`cid_valid()`).
    fn cid_arg(&mut self, c: CpuId, cid: u64) -> Option<CpuId> {
        let cid = cid as i32;
        let cpu = self.cids.cpu(cid);
        if cpu.is_none() {
            self.error(c, format!("invalid cid {cid}"));
        }
        cpu
    }

    /// The program's structure may be shorter or longer than ours: the rest is filled with -1, or all of it if the cid
    /// is invalid.
    fn cid_topo<W: World>(&mut self, w: &mut W, c: CpuId, a: &[u64; 5]) -> u64 {
        let topo = match self.cid_arg(c, a[0]) {
            Some(_) => self.cids.topo(a[0] as i32),
            None => NOWHERE,
        };
        show_topo(w, a, topo);
        0
    }

    /// There are only root schedulers here, so there is no child to refuse.
    fn cid_override<W: World>(&mut self, w: &mut W, c: CpuId, a: &[u64; 5]) -> u64 {
        let (bytes, expected) = (a[1] as u32, 4 * self.cpus.len() as u32);
        if bytes != expected {
            self.error(c, format!("scx_bpf_cid_override: expected {expected} bytes, got {bytes}"));
            return 0;
        }
        let Some(words) = w.slice(Ea(a[0]), u64::from(bytes)) else { return 0 };
        let cids: Vec<i32> =
            words.chunks_exact(4).filter_map(|b| b.try_into().ok()).map(i32::from_le_bytes).collect();
        let done = self.cids.set(cids);
        self.queues.show_cids(self.scx.speaks_cids().then_some(&self.cids));
        match done {
            Ok(()) => {}
            Err(BadCid::Invalid(cid)) => self.error(c, format!("invalid cid {cid}")),
            Err(BadCid::Taken(cid)) => self.error(c, format!("cid {cid} assigned to multiple cpus")),
        }
        0
    }
}

/// Copies `topo` to the place that the arguments of `scx_bpf_cid_topo()` name.
pub(super) fn show_topo<W: World>(w: &mut W, a: &[u64; 5], topo: [i32; 6]) {
    let Some(out) = w.slice_mut(Ea(a[1]), a[2]) else { return };
    out.fill(0xff);
    let known = out.len().min(layout::cid_topo::SIZE as usize);
    let bytes = topo.iter().flat_map(|word| word.to_le_bytes());
    for (to, byte) in out[..known].iter_mut().zip(bytes) {
        *to = byte;
    }
}
