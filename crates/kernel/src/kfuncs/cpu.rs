//! The kfuncs on CPUs: choosing idle ones, kicks, masks, nodes, frequency.

use crate::kfuncs::Served;
use crate::rules::scx::select_cpu_dfl::AtOnce;
use crate::state::bpf::functions::F;
use crate::state::kernel::Kernel;
use crate::state::layout::select_cpu_and_args;
use crate::state::machine::PERF_ONE;
use keel_abi::bpf::{Ea, Errno, World};
use keel_abi::scx::kick;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    pub(super) fn serve_cpu<W: World>(&mut self, w: &mut W, c: CpuId, f: F, a: &[u64; 5]) -> Served {
        match f {
            F::SelectCpuAnd => self.select_and(w, c, a),
            F::SelectCpuAndV1 => self.select_among(w, c, a[0], a[1], a[2], Ea(a[3]), a[4]),
            F::TestAndClearIdle => self.test_and_clear_idle(w, c, a[0]).into(),
            F::PickIdleCpu => self.pick_idle(w, c, Ea(a[0]), None, a[1]),
            F::PickAnyCpu => self.pick_any(w, c, Ea(a[0]), None, a[1]),
            F::PickIdleCpuNode => self.pick_idle(w, c, Ea(a[0]), Some(a[1]), a[2]),
            F::PickAnyCpuNode => self.pick_any(w, c, Ea(a[0]), Some(a[1]), a[2]),
            F::GetIdleCpumask => self.idle_masks(w, c).0.0.into(),
            F::GetIdleSmtmask => self.idle_masks(w, c).1.0.into(),
            F::GetIdleCpumaskNode => self.node_idle_masks(w, c, a[0]).0.0.into(),
            F::GetIdleSmtmaskNode => self.node_idle_masks(w, c, a[0]).1.0.into(),
            F::ReenqueueLocal => {
                self.note_reenqueue(c);
                0.into()
            }
            F::ReenqueueLocalV1 => {
                let local = self.queues.local(c);
                let queued = u64::from(self.queues.table.queue(local).len());
                self.note_reenqueue(c);
                queued.into()
            }
            F::GetPossibleCpumask => self.possible_mask(w).0.into(),
            F::GetOnlineCpumask => self.online_mask(w).0.into(),
            F::CpuCurr => match self.cpu_arg(c, a[0]) {
                Some(cpu) => self.current_ea(cpu).0.into(),
                None => 0.into(),
            },
            F::CpuRq => match self.cpu_arg(c, a[0]) {
                Some(cpu) => self.runqueue_at(w, cpu).0.into(),
                None => 0.into(),
            },
            F::CpuNode => match self.cpu_arg(c, a[0]) {
                Some(cpu) => u64::from(self.machine.topology.place(cpu).node.0).into(),
                None => Errno::EINVAL.as_r0().into(),
            },
            F::NrCpuIds => (self.cpus.len() as u64).into(),
            F::NrNodeIds => u64::from(self.machine.topology.nodes()).into(),
            F::CpuperfCap => self.cpu_arg(c, a[0]).map_or(PERF_ONE, |cpu| self.capacity(cpu)).into(),
            F::CpuperfCur => self.cpu_arg(c, a[0]).map_or(PERF_ONE, |cpu| self.performance(cpu)).into(),
            F::CpuperfSet => self.cpuperf_set(c, a[0], a[1]).into(),
            _ => 0.into(),
        }
    }

    /// A CPU of the machine, else an error (`ops_cpu_valid()`).
    #[inline]
    pub(super) fn cpu_arg(&mut self, c: CpuId, cpu: u64) -> Option<CpuId> {
        let cpu = cpu as i32;
        let found = u32::try_from(cpu).ok().filter(|&n| (n as usize) < self.cpus.len()).map(CpuId);
        if found.is_none() {
            self.refuse_cpu(c, cpu);
        }
        found
    }

    #[cold]
    #[inline(never)]
    fn refuse_cpu(&mut self, c: CpuId, cpu: i32) {
        self.error(c, format!("invalid CPU {cpu}"));
    }

    pub(super) fn kick_cpu(&mut self, c: CpuId, cpu: u64, flags: u64) -> u64 {
        let Some(target) = self.cpu_arg(c, cpu) else { return 0 };
        if flags & kick::IDLE != 0 && flags & (kick::PREEMPT | kick::WAIT) != 0 {
            self.error(c, "PREEMPT/WAIT cannot be used with SCX_KICK_IDLE".into());
            return 0;
        }
        self.note_kick(target, flags);
        0
    }

    /// With a runqueue locked, only that CPU's target may be set.
    pub(super) fn cpuperf_set(&mut self, c: CpuId, cpu: u64, perf: u64) -> u64 {
        let perf = u64::from(perf as u32);
        if perf > PERF_ONE {
            self.error(c, format!("Invalid cpuperf target {perf} for CPU {}", cpu as i32));
            return 0;
        }
        let Some(cpu) = self.cpu_arg(c, cpu) else { return 0 };
        match self.locked_rq(c) {
            Some(rq) if rq != cpu => self.error(c, format!("Invalid target CPU {}", cpu.0)),
            _ => self.set_target(cpu, perf),
        }
        0
    }

    /// The runqueue that the callback in progress was called with, locked (`scx_locked_rq()`).
    fn locked_rq(&self, c: CpuId) -> Option<CpuId> {
        let subject = self.cpus.this_cpu.callback.subject;
        let rq = if subject.is_idle() { c } else { self.tasks[subject].cpu };
        [rq, c].into_iter().find(|&rq| self.cpus[rq].lock.holder == Some(c))
    }

    /// Idle tracking must be on (`check_builtin_idle_enabled()`).
    #[inline(always)]
    pub(super) fn check_tracking(&mut self, c: CpuId) -> bool {
        if !self.scx.tracks_idle {
            self.refuse_untracked(c);
        }
        self.scx.tracks_idle
    }

    #[cold]
    #[inline(never)]
    fn refuse_untracked(&mut self, c: CpuId) {
        self.error(c, "built-in idle tracking is disabled".into());
    }

    #[inline(always)]
    pub(super) fn select_dfl<W: World>(&mut self, w: &mut W, c: CpuId, a: &[u64; 5]) -> Served {
        let (Some(task), Some(prev)) = (self.task_at(Ea(a[0])), self.cpu_arg(c, a[1])) else {
            return Errno::EINVAL.as_r0().into();
        };
        let chosen = self.claims_default(w, c, task, prev, a[2]);
        if let Some(flag) = w.slice_mut(Ea(a[3]), 1) {
            flag[0] = u8::from(chosen.is_some());
        }
        u64::from(chosen.unwrap_or(prev).0).into()
    }

    /// Claims the kernel's default choice of a CPU for a waking task, if a CPU is idle.
    #[inline(always)]
    fn claims_default<W: World>(
        &mut self,
        w: &mut W,
        c: CpuId,
        task: TaskId,
        prev: CpuId,
        flags: u64,
    ) -> Option<CpuId> {
        if !self.check_tracking(c) {
            return None;
        }
        match self.choose_at_once(task, (prev, true), flags) {
            AtOnce::ClaimedPrev => Some(prev),
            AtOnce::NoneIdle => None,
            AtOnce::Unclear => {
                let chosen = self.select_among_idle(w, c, task, prev, flags, (None, 0));
                self.mirror_idle(w);
                chosen
            }
        }
    }

    fn select_and<W: World>(&mut self, w: &mut W, c: CpuId, a: &[u64; 5]) -> Served {
        let at = Ea(a[2]);
        let word = |w: &W, offset| w.bytes::<8>(at.offset(offset)).map_or(0, u64::from_le_bytes);
        let prev = word(w, select_cpu_and_args::PREV_CPU) as u32;
        let (wake, flags) = (word(w, select_cpu_and_args::WAKE_FLAGS), word(w, select_cpu_and_args::FLAGS));
        self.select_among(w, c, a[0], u64::from(prev), wake, Ea(a[1]), flags)
    }

    #[allow(clippy::too_many_arguments)]
    fn select_among<W: World>(
        &mut self,
        w: &mut W,
        c: CpuId,
        task: u64,
        prev: u64,
        wake: u64,
        allowed: Ea,
        flags: u64,
    ) -> Served {
        let (Some(task), Some(prev)) = (self.task_at(Ea(task)), self.cpu_arg(c, prev)) else {
            return Errno::EINVAL.as_r0().into();
        };
        if !self.check_tracking(c) {
            return Errno::EBUSY.as_r0().into();
        }
        let allowed = self.mask_words(w, c, allowed);
        let chosen = self.select_cpu(w, c, task, prev, wake, (Some(&allowed), flags));
        self.mirror_idle(w);
        chosen.map_or(Errno::EBUSY.as_r0(), |cpu| u64::from(cpu.0)).into()
    }

    fn test_and_clear_idle<W: World>(&mut self, w: &mut W, c: CpuId, cpu: u64) -> u64 {
        if !self.check_tracking(c) {
            return 0;
        }
        let Some(cpu) = self.cpu_arg(c, cpu) else { return 0 };
        let was = self.idle.test_and_clear(cpu);
        self.charge_idle(w, c);
        self.mirror_idle(w);
        u64::from(was)
    }

    /// A node variant requires per-node masks, the plain one forbids them (`validate_node()`, the checks of
    /// `scx_idle_cpu_kfunc`).
    pub(super) fn node_wanted(
        &mut self,
        c: CpuId,
        node: Option<u64>,
    ) -> Result<Option<keel_abi::NodeId>, u64> {
        let per_node = self.idle.per_node();
        match node {
            None if per_node => {
                self.error(c, "per-node idle tracking is enabled".into());
                Err(Errno::EBUSY.as_r0())
            }
            Some(_) if !per_node => {
                self.error(c, "per-node idle tracking is disabled".into());
                Err(Errno::EOPNOTSUPP.as_r0())
            }
            None => Ok(None),
            // `NUMA_NO_NODE` is not an error.
            Some(node) if node as i32 == -1 => Err(Errno::ENOENT.as_r0()),
            Some(node) => match self.node_arg(node) {
                Some(node) => Ok(Some(node)),
                None => {
                    self.error(c, format!("invalid node {}", node as i32));
                    Err(Errno::EINVAL.as_r0())
                }
            },
        }
    }

    fn pick_idle<W: World>(
        &mut self,
        w: &mut W,
        c: CpuId,
        mask: Ea,
        node: Option<u64>,
        flags: u64,
    ) -> Served {
        let node = match self.node_wanted(c, node) {
            Ok(node) => node,
            Err(answer) => return answer.into(),
        };
        if !self.check_tracking(c) {
            return Errno::EBUSY.as_r0().into();
        }
        let allowed = self.mask_words(w, c, mask);
        let found = self.idle.pick_idle(c, &allowed, node, flags);
        self.charge_idle(w, c);
        self.mirror_idle(w);
        found.map_or(Errno::EBUSY.as_r0(), |cpu| u64::from(cpu.0)).into()
    }

    fn pick_any<W: World>(&mut self, w: &mut W, c: CpuId, mask: Ea, node: Option<u64>, flags: u64) -> Served {
        let node = match self.node_wanted(c, node) {
            Ok(node) => node,
            Err(answer) => return answer.into(),
        };
        let allowed = self.mask_words(w, c, mask);
        let tracked = self.scx.tracks_idle;
        let found = self.idle.pick_any(c, &allowed, node, flags, tracked);
        self.charge_idle(w, c);
        self.mirror_idle(w);
        found.map_or(Errno::EBUSY.as_r0(), |cpu| u64::from(cpu.0)).into()
    }

    fn online_mask<W: World>(&mut self, w: &mut W) -> Ea {
        if self.online_mask.is_null() {
            self.online_mask = w.alloc(self.mask_bytes()).unwrap_or_default();
            let words = self.idle.online_words().to_vec();
            crate::state::mask::write_mask(w, self.online_mask, &words);
        }
        self.online_mask
    }

    fn possible_mask<W: World>(&mut self, w: &mut W) -> Ea {
        if self.possible_mask.is_null() {
            self.possible_mask = w.alloc(self.mask_bytes()).unwrap_or_default();
            let all = keel_abi::CpuSet::first(self.cpus.len() as u32);
            crate::state::mask::write_mask(w, self.possible_mask, all.words());
        }
        self.possible_mask
    }
}
