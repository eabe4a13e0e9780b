//! Finds tasks that wait for wakeups that cannot come: cycles of waits, and pipes with a missing side. A workload made
//! from a recording has none, because its wakeups did happen; an edited one may.
//!
//! A recording that has missed something can contain impossible transfers through pipes. [`halts`] detects this before
//! the replay.

use crate::level::{Level, Way};
use keel_abi::tape::{Op, Recorded};
use keel_abi::task::Workload;
use std::collections::BTreeSet;

/// Tasks that cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The names of the first of these tasks, each with the task that should wake it, if any.
    pub tasks: Vec<(String, Option<String>)>,
    /// The number of these tasks.
    pub count: usize,
}

/// The maximum number of tasks that are named.
const NAMED: usize = 3;

/// Plays all tapes without time, and finds tasks that are left waiting for a semaphore that another would have posted.
pub fn stuck(workload: &Workload) -> Option<Stuck> {
    let recorded = workload.recorded.as_ref()?;
    let begins = |task: usize| workload.tasks.get(task).is_some_and(|task| task.instances > 0);
    let mut play = Play::new(recorded, begins);
    play.run();
    let posters = play.posters();
    let mut found = Stuck { tasks: Vec::new(), count: 0 };
    for (task, waits) in play.waits.iter().enumerate() {
        // A wait that never ends is the end of the recording.
        let Some(semaphore) = waits else { continue };
        let Some(&by) = posters.get(*semaphore as usize) else { continue };
        let Some(by) = by else { continue };
        found.count += 1;
        if found.tasks.len() < NAMED {
            let name = |task: usize| workload.tasks.get(task).map(|task| task.name.clone());
            found.tasks.push((name(task).unwrap_or_default(), name(by)));
        }
    }
    (found.count > 0).then_some(found)
}

/// Tasks that block at pipes forever although they continued in the recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Halted {
    /// Tasks that stop at their last write to a pipe, in the middle of which they ended, and that pipe.
    pub(crate) cut: BTreeSet<(u32, u32)>,
    /// The pipes at which others stop.
    pub(crate) pipes: BTreeSet<u32>,
}

/// Plays all tapes without time. Returns the tasks that stop, or `None` if all reach their ends. `never` is the
/// semaphore that nobody posts.
pub(crate) fn halts(recorded: &Recorded, begins: impl Fn(usize) -> bool, never: u32) -> Option<Halted> {
    let mut play = Play::new(recorded, begins);
    play.run();
    let (mut halted, mut any) = (Halted::default(), false);
    for task in (0..play.at.len()).filter(|&task| play.has_halted(task, never)) {
        any = true;
        match play.at_pipe[task] {
            Some(pipe) if play.is_last_put(task, pipe) => drop(halted.cut.insert((task as u32, pipe))),
            Some(pipe) => drop(halted.pipes.insert(pipe)),
            None => {}
        }
    }
    any.then_some(halted)
}

struct Play<'a> {
    recorded: &'a Recorded,
    at: Vec<usize>,
    /// For each task, the pipe at which it waits.
    at_pipe: Vec<Option<u32>>,
    pipes: Vec<Level>,
    waits: Vec<Option<u32>>,
    posted: Vec<u64>,
    waiter: Vec<Option<usize>>,
    ready: Vec<usize>,
}

impl<'a> Play<'a> {
    fn new(recorded: &'a Recorded, begins: impl Fn(usize) -> bool) -> Self {
        let (tasks, semaphores) = (recorded.tapes.len(), recorded.semaphores as usize);
        Self {
            recorded,
            at: vec![0; tasks],
            at_pipe: vec![None; tasks],
            pipes: recorded.pipes.iter().map(Level::new).collect(),
            waits: vec![None; tasks],
            posted: vec![0; semaphores],
            waiter: vec![None; semaphores],
            ready: (0..tasks).filter(|&task| begins(task)).collect(),
        }
    }

    fn run(&mut self) {
        while let Some(task) = self.ready.pop() {
            self.at_pipe[task] = None;
            while let Some((op, next)) = self.recorded.tapes[task].read(self.at[task]) {
                let again = std::mem::replace(&mut self.at[task], next);
                match op {
                    Op::Put { pipe, .. } | Op::Take { pipe, .. } if !self.passes(task, op) => {
                        (self.at[task], self.at_pipe[task]) = (again, Some(pipe));
                        break;
                    }
                    Op::Post { semaphore, .. } | Op::PostMeanwhile { semaphore, .. } => self.post(semaphore),
                    Op::Fork { spec, .. } if (spec as usize) < self.at.len() => {
                        self.ready.push(spec as usize)
                    }
                    Op::Await(semaphore) if !self.take(semaphore, task) => {
                        self.post_meanwhile(task);
                        break;
                    }
                    Op::Exit => {
                        self.post_meanwhile(task);
                        break;
                    }
                    _ => {}
                }
            }
        }
    }

    /// Returns whether a task can complete its write or read. Tasks that wait at the same pipe check again.
    fn passes(&mut self, task: usize, op: Op) -> bool {
        let (pipe, bytes, way) = match op {
            Op::Put { pipe, bytes, packet } => (pipe, bytes, Way::Put { packet }),
            Op::Take { pipe, bytes } => (pipe, bytes, Way::Take),
            _ => return true,
        };
        let Some(level) = self.pipes.get_mut(pipe as usize) else { return true };
        let (passes, again) = level.pass(task, bytes, way);
        self.ready.extend(again);
        passes
    }

    /// Returns whether it waits forever, although it did more in the recording.
    fn has_halted(&self, task: usize, never: u32) -> bool {
        let waits_long = self.waits[task].is_some_and(|semaphore| semaphore != never);
        let mut rest = self.rest(task);
        (self.at_pipe[task].is_some() || waits_long)
            && rest.any(|op| !matches!(op, Op::Await(semaphore) if semaphore == never))
    }

    /// Returns whether it never again writes to the pipe where it waits to write, and never reads from it.
    fn is_last_put(&self, task: usize, pipe: u32) -> bool {
        let here = self.recorded.tapes[task].read(self.at[task]);
        let of_pipe = |op| matches!(op, Op::Put { pipe: of, .. } | Op::Take { pipe: of, .. } if of == pipe);
        matches!(here, Some((Op::Put { .. }, _))) && !self.rest(task).any(of_pipe)
    }

    /// Returns what follows the op in which a task waits.
    fn rest(&self, task: usize) -> impl Iterator<Item = Op> + '_ {
        let tape = &self.recorded.tapes[task];
        let mut at = self.at[task];
        if self.at_pipe[task].is_some() {
            // That op is still to come.
            at = tape.read(at).map_or(at, |(_, next)| next);
        }
        std::iter::from_fn(move || {
            let (op, next) = tape.read(at)?;
            at = next;
            Some(op)
        })
    }

    /// Makes the posts of a task on its way to a wait.
    fn post_meanwhile(&mut self, task: usize) {
        while let Some((Op::PostMeanwhile { semaphore, .. }, next)) =
            self.recorded.tapes[task].read(self.at[task])
        {
            self.at[task] = next;
            self.post(semaphore);
        }
    }

    fn post(&mut self, semaphore: u32) {
        let Some(waiter) = self.waiter.get_mut(semaphore as usize) else { return };
        match waiter.take() {
            Some(task) => {
                self.waits[task] = None;
                self.ready.push(task);
            }
            None => self.posted[semaphore as usize] += 1,
        }
    }

    fn take(&mut self, semaphore: u32, task: usize) -> bool {
        let Some(posted) = self.posted.get_mut(semaphore as usize) else { return true };
        if *posted > 0 {
            *posted -= 1;
            return true;
        }
        self.waits[task] = Some(semaphore);
        self.waiter[semaphore as usize] = Some(task);
        false
    }

    /// Returns, for each semaphore, a task that would still post it if it had not stopped.
    fn posters(&self) -> Vec<Option<usize>> {
        let mut by = vec![None; self.posted.len()];
        for (task, tape) in self.recorded.tapes.iter().enumerate() {
            let mut at = self.at[task];
            while let Some((op, next)) = tape.read(at) {
                at = next;
                if let Op::Post { semaphore, .. } | Op::PostMeanwhile { semaphore, .. } = op
                    && let Some(by) = by.get_mut(semaphore as usize)
                {
                    by.get_or_insert(task);
                }
            }
        }
        by
    }
}
