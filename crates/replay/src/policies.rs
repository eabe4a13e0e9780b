//! Tracks policies and priorities of tasks, as far as they are recorded.

use crate::builder::Builder;
use keel_abi::TaskId;
use keel_abi::task::Policy;

/// `SCHED_FIFO`, `SCHED_RR`, `SCHED_BATCH`, `SCHED_IDLE`, `SCHED_DEADLINE`, `SCHED_EXT` (`task_struct.policy`).
const FIFO: u32 = 1;
const ROUND_ROBIN: u32 = 2;
const BATCH: u32 = 3;
const IDLE: u32 = 5;
const DEADLINE: u32 = 6;
const EXT: u32 = 7;

/// What is known about a task's policy and priority.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scheduled {
    /// The kernel's priority and policy.
    prio: Option<i16>,
    policy: Option<u32>,
    /// Whether the policy has just been recorded, so that its priority is about to follow.
    is_new: bool,
    /// Its initial policy.
    pub(crate) begun: Option<Policy>,
}

impl Scheduled {
    /// Returns the policy with its priority.
    fn now(self) -> Option<Policy> {
        let prio = self.prio?;
        let urgency = 99_i16.saturating_sub(prio).clamp(1, 99) as u8;
        let is_real_time = (0..=98).contains(&prio);
        match self.policy {
            // Whether it has time slices is not recorded, nor whether a mutex gave it the priority.
            None if is_real_time => Some(Policy::Fifo(urgency)),
            // Its priority follows right after.
            Some(FIFO | ROUND_ROBIN) if !is_real_time => None,
            Some(FIFO) => Some(Policy::Fifo(urgency)),
            Some(ROUND_ROBIN) => Some(Policy::RoundRobin(urgency)),
            Some(BATCH) => Some(Policy::Batch),
            Some(IDLE) => Some(Policy::Idle),
            Some(EXT) => Some(Policy::Ext),
            _ => Some(Policy::Other),
        }
    }
}

impl Builder {
    /// Notes that a task's priority is now `prio`.
    pub(crate) fn priority(&mut self, task: TaskId, prio: i16) {
        let (Some(number), exact) = (self.number(task), self.exact) else { return };
        let scheduled = &mut self.task(number).scheduled;
        let is_new = std::mem::take(&mut scheduled.is_new);
        if exact && scheduled.policy.is_some() && !is_new {
            // It was inherited through a mutex, or is unchanged: the trace of a simulated run contains any other
            // change.
            return;
        }
        scheduled.prio = Some(prio);
        self.schedules(number);
    }

    /// Notes that a task's policy and group are now these.
    pub(crate) fn scheduled(&mut self, task: TaskId, policy: u32, group: u32) {
        let now = self.now;
        if let Some(number) = self.number(task) {
            self.groups.joins(now, number, group);
            self.causes.deadlines +=
                u64::from(policy == DEADLINE && self.task(number).scheduled.policy != Some(DEADLINE));
            let scheduled = &mut self.task(number).scheduled;
            (scheduled.policy, scheduled.is_new) = (Some(policy), true);
            self.schedules(number);
        }
    }

    fn schedules(&mut self, number: u32) {
        let at = self.due.unwrap_or(self.now);
        let scheduled = &mut self.task(number).scheduled;
        if let Some(now) = scheduled.now() {
            // A task's initial policy stays the same.
            let begun = *scheduled.begun.get_or_insert(now);
            if !self.tells_requests {
                self.changes.policy(at, number, begun, now);
            }
        }
    }
}
