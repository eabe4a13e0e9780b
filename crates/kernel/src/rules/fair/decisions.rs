//! Emits what placements and balancing attempts considered, as policy events, if a run asks for them
//! ([`FairSettings::tell_policy`](crate::state::fair::settings::FairSettings)). Nothing here changes a decision or its
//! cost.

use crate::rules::fair::balance::End;
use crate::rules::fair::stats::Stats;
use crate::state::fair::considered::Considered;
use crate::state::fair::round::{Asker, Round};
use crate::state::kernel::Kernel;
use keel_abi::scx::wake;
use keel_abi::{CpuId, CpuSet, TaskId};
use keel_trace::policy::{Group, Kind, MAX_GROUPS, Outcome};
use keel_trace::{Class, Policy};

impl Considered {
    /// Records a group whose statistics are complete.
    pub(crate) fn group(&mut self, cpus: &CpuSet, stats: &Stats, is_own: bool) {
        let few = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
        let group = Group {
            load: stats.load,
            first_cpu: cpus.lowest().unwrap_or(CpuId(0)),
            cpus: few(cpus.len() as u32),
            runnable: few(stats.fair_tasks),
            class: Some(stats.kind),
        };
        self.nr_groups += 1;
        self.groups.insert(if is_own { 0 } else { self.groups.len() }, group);
        self.groups.truncate(MAX_GROUPS);
    }
}

impl Kernel {
    /// Begins a decision: its inputs are recorded until it ends, if something listens.
    pub(crate) fn begin_decision(&mut self) {
        let is_asked = self.fair.settings.tell_policy && self.out.wants(Class::POLICY);
        self.fair.considered = is_asked.then(Box::default);
    }

    /// Records that a decision looks at this CPU.
    pub(super) fn consider(&mut self, cpu: CpuId) {
        if let Some(considered) = &mut self.fair.considered {
            considered.cpus.insert(cpu);
        }
    }

    /// Emits where `c` has placed a task.
    pub(super) fn emit_placement(&mut self, c: CpuId, task: TaskId, flags: u64, chosen: CpuId) {
        let Some(considered) = self.fair.considered.take() else { return };
        let kind = if flags & (wake::FORK | wake::EXEC) != 0 { Kind::Fork } else { Kind::Wakeup };
        let policy = Policy {
            pid: self.tasks[task].pid,
            chosen: Some(chosen),
            outcome: Some(Outcome::Chose),
            ..considered.policy(kind, c)
        };
        self.out.emit_decision(self.now, policy);
    }

    /// Emits how a balancing attempt has ended, on `c`.
    pub(crate) fn emit_round(&mut self, c: CpuId, round: &mut Round, end: End) {
        let Some(considered) = round.considered.take() else { return };
        let kind = match round.asker {
            Asker::Newidle => Kind::NewIdle,
            Asker::Periodic if c != round.owner => Kind::Nohz,
            Asker::Periodic => Kind::Balance,
        };
        let outcome = match end {
            End::NotDesignated => Outcome::NotDesignated,
            _ if round.moved > 0 => Outcome::Moved,
            End::Balanced => Outcome::Balanced,
            End::AllPinned | End::OnePinned => Outcome::Pinned,
            End::Unbalanced => Outcome::Nobody,
        };
        let is_chosen = !matches!(end, End::Balanced | End::NotDesignated);
        let policy = Policy {
            level: round.level as u32,
            chosen: is_chosen.then_some(round.from),
            moved: round.moved,
            outcome: Some(outcome),
            ..considered.policy(kind, round.owner)
        };
        self.out.emit_decision(self.now, policy);
    }
}
