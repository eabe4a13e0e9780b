//! Tasks that wait for wakeups that cannot come: cycles of waits, and pipes with a missing side. A workload made from a
//! recording has none, because its wakeups did happen; an edited one may.

use keel_abi::tape::{Op, Recorded};
use keel_abi::task::Workload;

/// Tasks that cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The names of the first of these tasks, each with the task that should wake it, if there is one.
    pub tasks: Vec<(String, Option<String>)>,
    /// The number of these tasks.
    pub count: usize,
}

/// How many tasks are named.
const NAMED: usize = 3;

/// Plays all tapes without time, and finds tasks that are left waiting for a semaphore that another would have posted.
pub fn stuck(workload: &Workload) -> Option<Stuck> {
    let recorded = workload.recorded.as_ref()?;
    let mut play = Play::new(recorded, workload);
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

struct Play<'a> {
    recorded: &'a Recorded,
    at: Vec<usize>,
    waits: Vec<Option<u32>>,
    posted: Vec<u64>,
    waiter: Vec<Option<usize>>,
    ready: Vec<usize>,
}

impl<'a> Play<'a> {
    fn new(recorded: &'a Recorded, workload: &Workload) -> Self {
        let (tasks, semaphores) = (recorded.tapes.len(), recorded.semaphores as usize);
        let begins = |task: &usize| workload.tasks.get(*task).is_some_and(|task| task.instances > 0);
        Self {
            recorded,
            at: vec![0; tasks],
            waits: vec![None; tasks],
            posted: vec![0; semaphores],
            waiter: vec![None; semaphores],
            ready: (0..tasks).filter(begins).collect(),
        }
    }

    fn run(&mut self) {
        while let Some(task) = self.ready.pop() {
            while let Some((op, next)) = self.recorded.tapes[task].read(self.at[task]) {
                self.at[task] = next;
                match op {
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

    /// Posts what a task posts on its way to a wait.
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

    /// For each semaphore, a task that would still post it if it had not stopped.
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
