//! Determines to which tasks timers belong, and whether they are relative or absolute.
//!
//! In rt-app, all threads that name a timer share it, unless its name begins with `unique`. One use that says
//! `absolute` makes the timer absolute for all its uses. Both are known only at the end, so steps first have a
//! provisional number, which [`Timers::settle`] replaces: ids below `Workload::timers` are each task's own, the others
//! are shared.

use keel_abi::task::{ObjectId, Step, TaskSpec, TimerMode};
use std::collections::BTreeMap;

/// All timers of a workload, by provisional number.
#[derive(Default)]
pub(crate) struct Timers<'a> {
    /// By task index (for unique ones) and name.
    numbers: BTreeMap<(Option<u32>, &'a str), u32>,
    list: Vec<Timer>,
}

struct Timer {
    first_user: u32,
    shared: bool,
    mode: TimerMode,
}

impl<'a> Timers<'a> {
    /// Returns the provisional number of the timer that `task` calls `name`. `alone` means that the task never has more
    /// than one instance.
    pub(crate) fn used(&mut self, task: u32, alone: bool, name: &'a str, mode: TimerMode) -> ObjectId {
        let unique = name.starts_with("unique");
        let next = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry((unique.then_some(task), name)).or_insert(next);
        if number == next {
            self.list.push(Timer { first_user: task, shared: false, mode: TimerMode::Relative });
        }
        let timer = &mut self.list[number as usize];
        timer.shared |= !unique && (timer.first_user != task || !alone);
        if mode == TimerMode::Absolute {
            timer.mode = mode;
        }
        ObjectId(number)
    }

    /// Gives every timer step its final id and mode. Returns how many timers of its own a task may have.
    pub(crate) fn settle(&self, tasks: &mut [TaskSpec]) -> u32 {
        let mut own_by_task: BTreeMap<u32, u32> = BTreeMap::new();
        let mut shared = 0;
        let mut place = |timer: &Timer| {
            let count = match timer.shared {
                true => &mut shared,
                false => own_by_task.entry(timer.first_user).or_default(),
            };
            *count += 1;
            *count - 1
        };
        let places: Vec<u32> = self.list.iter().map(&mut place).collect();
        let own = own_by_task.values().copied().max().unwrap_or(0);
        for step in tasks.iter_mut().flat_map(|task| &mut task.steps) {
            if let Step::Timer { timer, mode, .. } = step {
                let settled = &self.list[timer.0 as usize];
                let offset = if settled.shared { own } else { 0 };
                *timer = ObjectId(places[timer.0 as usize] + offset);
                *mode = settled.mode;
            }
        }
        own
    }
}
