//! Detects tasks that are woken while they are going to sleep.
//!
//! The waker of such a task emits `sched_waking` while the task is still running, and waits until it has left its CPU;
//! then it is runnable again. If a recording has `sched_wakeup`, this is obvious. Without it, as with `perf sched
//! record`, the waking looks like the waking of a task that never slept, which is frequent. The following events
//! distinguish them: a task that was woken, left its CPU to sleep, and came back without another wakeup was woken on
//! its way.

use crate::sched_record::{SchedEvent, SchedRecord};
use keel_trace::Why;
use rustc_hash::FxHashMap;

/// The most of them that are remembered.
const MOST: usize = 1 << 21;

/// Finds these tasks in the first pass over a recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct WokenAsleep {
    tasks: FxHashMap<u32, State>,
    /// The numbers of the switches away from them.
    found: Vec<u64>,
}

/// A task that runs, or has just stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Runs,
    /// It was woken while it was running.
    Woken,
    /// After that it left its CPU, at the switch with this number.
    Left(u64),
}

impl WokenAsleep {
    /// Processes the record with this number.
    #[inline]
    pub(crate) fn take(&mut self, number: u64, seen: &SchedRecord) {
        match seen.what {
            SchedEvent::Switch { prev, why, next } => {
                let prev_was = self.tasks.get_mut(&prev.pid);
                match prev_was {
                    Some(was @ State::Woken) if why == Why::Blocked && prev.pid != 0 => {
                        *was = State::Left(number)
                    }
                    Some(_) => drop(self.tasks.remove(&prev.pid)),
                    None => {}
                }
                if let Some(State::Left(left)) = self.tasks.insert(next.pid, State::Runs)
                    && self.found.len() < MOST
                {
                    self.found.push(left);
                }
            }
            SchedEvent::Woken { task, .. } => match self.tasks.get(&task.pid) {
                Some(State::Runs) => drop(self.tasks.insert(task.pid, State::Woken)),
                // The one before had no effect.
                Some(State::Left(_)) => drop(self.tasks.remove(&task.pid)),
                Some(State::Woken) | None => {}
            },
            SchedEvent::WakeupNew { task, .. } | SchedEvent::Forked { child: task } => {
                self.tasks.remove(&task.pid);
            }
            _ => {}
        }
    }

    /// Returns the numbers of the switches after which the previous task is woken at once, in ascending order.
    pub(crate) fn found(mut self) -> Vec<u64> {
        self.found.sort_unstable();
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched_record::Who;

    /// Checks records like `wake 7` and `7 S 8`: a waking, and a switch with its reason.
    fn check(records: &str, expected: &[u64]) {
        let who = |pid: &str| Who { pid: pid.parse().expect("a pid"), ..Who::default() };
        let mut going = WokenAsleep::default();
        for (number, record) in records.split(", ").enumerate() {
            let words: Vec<&str> = record.split(' ').collect();
            let what = match words[..] {
                ["wake", task] => SchedEvent::Woken { task: who(task), target: 0, waker: 0, waker_cpu: 0 },
                [prev, why, next] => {
                    let why = if why == "S" { Why::Blocked } else { Why::Preempted };
                    SchedEvent::Switch { prev: who(prev), why, next: who(next) }
                }
                _ => panic!("{record} is no record"),
            };
            let seen = SchedRecord { at: 0, cpu: 0, lost: 0, current: None, interrupt: false, what };
            going.take(number as u64, &seen);
        }
        assert_eq!(going.found(), expected, "{records}");
    }

    #[test]
    fn a_task_that_runs_again_without_a_waking_was_woken_on_its_way() {
        check("0 R 7, wake 7, 7 S 8, 8 S 7", &[2]);
        check("0 R 7, wake 7, wake 7, 7 S 8, 8 S 9, 9 S 7", &[3]);
        // It was woken again, so the first one came too early to matter.
        check("0 R 7, wake 7, 7 S 8, wake 7, 8 S 7", &[]);
        // It did not sleep, or was not woken while it ran.
        check("0 R 7, wake 7, 7 R 8, 8 S 7", &[]);
        check("0 R 7, 7 S 8, 8 S 7", &[]);
        check("0 R 7, 7 S 8, wake 7, 8 S 7", &[]);
        check("0 R 7, wake 7, 7 S 0, 0 R 8, 8 S 0", &[]);
    }
}
