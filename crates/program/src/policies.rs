//! Handles the scheduling policies and priorities that the program's threads set. They are reported back, but have no
//! effect: the threads are one task, which is an ordinary one.

use crate::calls::{Answer, error};
use crate::program::Program;
use crate::thread::Thread;

/// The sizes of `struct sched_attr` and of its first version, in bytes.
const ATTR_BYTES: usize = 56;
const FIRST_BYTES: u64 = 48;
/// The offsets in it of the policy, the nice value and the priority.
const POLICY_AT: usize = 4;
const NICE_AT: usize = 16;
const PRIORITY_AT: usize = 20;
/// `SCHED_EXT`, which libc does not have; 4 is not a policy.
const EXT: i32 = 7;
/// `SCHED_RESET_ON_FORK`, a flag that is combined with a policy.
const RESET_ON_FORK: i32 = 0x4000_0000;
/// What `sched_rr_get_interval` returns for `SCHED_RR`, and for others.
const ROUND_NS: u64 = 100_000_000;

/// What a thread has set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Policy {
    policy: i32,
    priority: i32,
    nice: i32,
}

impl Program {
    /// Answers calls about policies. Returns `None` for another call.
    pub(crate) fn policy_call(&mut self, t: &mut Thread, number: i64, a: [u64; 6]) -> Option<Answer> {
        Some(match number {
            libc::SYS_sched_get_priority_max => limit(a[0], 99),
            libc::SYS_sched_get_priority_min => limit(a[0], 1),
            libc::SYS_sched_setscheduler => self.set_policy(t, a[0], Some(a[1] as i32), a[2]),
            libc::SYS_sched_setparam => self.set_policy(t, a[0], None, a[1]),
            libc::SYS_sched_setattr => self.set_attr(t, a),
            libc::SYS_sched_getscheduler => match self.policy_of(t, a[0]) {
                Some(own) => Answer::Value(i64::from(own.policy)),
                None => error(libc::ESRCH),
            },
            libc::SYS_sched_getparam => match self.policy_of(t, a[0]) {
                Some(own) => self.put(a[1], &own.priority.to_le_bytes(), 0),
                None => error(libc::ESRCH),
            },
            libc::SYS_sched_getattr => self.tell_attr(t, a),
            libc::SYS_sched_rr_get_interval => match self.policy_of(t, a[0]) {
                Some(own) => self.put_span(a[1], if own.policy == libc::SCHED_RR { ROUND_NS } else { 0 }),
                None => error(libc::ESRCH),
            },
            libc::SYS_setpriority => self.set_nice(t, a),
            libc::SYS_getpriority if a[0] as i32 == libc::PRIO_PROCESS as i32 => {
                match self.policy_of(t, a[1]) {
                    Some(own) => Answer::Value(i64::from(20 - own.nice)),
                    None => error(libc::ESRCH),
                }
            }
            libc::SYS_getpriority => Answer::Value(20),
            _ => return None,
        })
    }

    /// Changes the policy of the thread that a call names: 0 means the caller, which is not in the table.
    fn change(&mut self, t: &mut Thread, named: u64, change: impl FnOnce(&mut Policy)) -> Answer {
        let policy = match named as i32 {
            own if own == 0 || own == t.own => &mut t.policy,
            own => match self.threads.get_mut(&own) {
                Some(thread) => &mut thread.policy,
                None => return error(libc::ESRCH),
            },
        };
        change(policy);
        Answer::Value(0)
    }

    fn policy_of(&self, t: &Thread, named: u64) -> Option<Policy> {
        match named as i32 {
            own if own == 0 || own == t.own => Some(t.policy),
            own => self.threads.get(&own).map(|thread| thread.policy),
        }
    }

    /// Sets a policy with a `struct sched_param`. Without a policy, the old one is kept.
    fn set_policy(&mut self, t: &mut Thread, named: u64, policy: Option<i32>, at: u64) -> Answer {
        let Some(priority) = self.word_at(at).map(|word| word as i32) else { return error(libc::EFAULT) };
        let Some(old) = self.policy_of(t, named) else { return error(libc::ESRCH) };
        let policy = policy.map_or(old.policy, |policy| policy & !RESET_ON_FORK);
        if !is_valid(policy, priority) {
            return error(libc::EINVAL);
        }
        self.change(t, named, |own| (own.policy, own.priority) = (policy, priority))
    }

    fn set_attr(&mut self, t: &mut Thread, a: [u64; 6]) -> Answer {
        let mut attr = [0; FIRST_BYTES as usize];
        if !self.host.read(a[1], &mut attr) {
            return error(libc::EFAULT);
        }
        let word = |at: usize| i32::from_le_bytes(std::array::from_fn(|i| attr[at + i]));
        let [policy, nice, priority] = [POLICY_AT, NICE_AT, PRIORITY_AT].map(word);
        // A deadline's parameters are not checked, because what the program sets has no effect.
        if a[2] != 0 || (policy != libc::SCHED_DEADLINE && !is_valid(policy, priority)) {
            return error(libc::EINVAL);
        }
        self.change(t, a[0], |own| *own = Policy { policy, priority, nice: nice.clamp(-20, 19) })
    }

    fn tell_attr(&self, t: &Thread, a: [u64; 6]) -> Answer {
        let [named, at, size, flags, ..] = a;
        if flags != 0 || size < FIRST_BYTES {
            return error(libc::EINVAL);
        }
        let Some(own) = self.policy_of(t, named) else { return error(libc::ESRCH) };
        let len = ATTR_BYTES.min(size as usize);
        let mut attr = [0; ATTR_BYTES];
        let words =
            [(0, len as i32), (POLICY_AT, own.policy), (NICE_AT, own.nice), (PRIORITY_AT, own.priority)];
        for (at, word) in words {
            attr[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        self.put(at, &attr[..len], 0)
    }

    fn set_nice(&mut self, t: &mut Thread, a: [u64; 6]) -> Answer {
        match a[0] as u32 {
            libc::PRIO_PROCESS => self.change(t, a[1], |own| own.nice = (a[2] as i32).clamp(-20, 19)),
            libc::PRIO_PGRP | libc::PRIO_USER => Answer::Value(0),
            _ => error(libc::EINVAL),
        }
    }
}

/// Returns whether a priority is valid for a policy: 1 to 99 for real-time policies, 0 for others.
fn is_valid(policy: i32, priority: i32) -> bool {
    match policy {
        libc::SCHED_FIFO | libc::SCHED_RR => (1..=99).contains(&priority),
        libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE | EXT => priority == 0,
        _ => false,
    }
}

/// Returns a limit of a policy's priorities: only `SCHED_FIFO` and `SCHED_RR` have any.
fn limit(policy: u64, realtime: i64) -> Answer {
    match policy as i32 {
        libc::SCHED_FIFO | libc::SCHED_RR => Answer::Value(realtime),
        0..=EXT if policy != 4 => Answer::Value(0),
        _ => error(libc::EINVAL),
    }
}
