//! Finds waits that cannot end: for a semaphore that no task posts, and in cycles of tasks that each wait before they
//! post.
//!
//! Each task is followed through its steps until it waits for a semaphore that no runnable task posts. What is found
//! here happens in every run, whatever the durations and the scheduler.

use crate::compile::Compiler;
use crate::error::{WorkloadError, shown};
use crate::place::Place;
use keel_abi::task::{Step, TaskSpec};

/// The tasks that cannot continue.
#[derive(Debug, Default, PartialEq, Eq)]
struct Stuck {
    /// The first task that waits for a semaphore that no task posts, and the semaphore.
    alone: Option<(usize, u32)>,
    /// Tasks that never get past a wait for a semaphore that is posted only later.
    circle: Vec<usize>,
}

/// All tasks while they are followed, each step once.
struct Walk<'a> {
    tasks: &'a [TaskSpec],
    /// Each task's next step.
    at: Vec<usize>,
    /// Whether it starts on its own, or another task has created it.
    is_there: Vec<bool>,
    is_posted: Vec<bool>,
    /// The tasks that wait for each semaphore.
    waiters: Vec<Vec<usize>>,
    ready: Vec<usize>,
}

impl<'a> Walk<'a> {
    fn new(tasks: &'a [TaskSpec], semaphores: u32) -> Self {
        let is_there: Vec<bool> = tasks.iter().map(|task| task.instances > 0).collect();
        Self {
            tasks,
            at: vec![0; tasks.len()],
            ready: (0..tasks.len()).filter(|&task| is_there[task]).collect(),
            is_there,
            is_posted: vec![false; semaphores as usize],
            waiters: vec![Vec::new(); semaphores as usize],
        }
    }

    fn all(&mut self) {
        while let Some(task) = self.ready.pop() {
            while let Some(step) = self.tasks[task].steps.get(self.at[task]) {
                match *step {
                    Step::Await(semaphore) if !self.is_posted[semaphore.0 as usize] => {
                        self.waiters[semaphore.0 as usize].push(task);
                        break;
                    }
                    Step::Post { semaphore, .. } => self.post(semaphore.0 as usize),
                    Step::Fork(spec) | Step::Spawn(spec) => self.start(spec as usize),
                    // Steps after this are never reached.
                    Step::Loop { times: None, .. } => break,
                    _ => {}
                }
                self.at[task] += 1;
            }
        }
    }

    fn post(&mut self, semaphore: usize) {
        self.is_posted[semaphore] = true;
        self.ready.append(&mut self.waiters[semaphore]);
    }

    fn start(&mut self, task: usize) {
        if !std::mem::replace(&mut self.is_there[task], true) {
            self.ready.push(task);
        }
    }

    fn stuck(&self) -> Stuck {
        let mut has_poster = vec![false; self.is_posted.len()];
        for step in self.tasks.iter().flat_map(|task| &task.steps) {
            if let Step::Post { semaphore, .. } = step {
                has_poster[semaphore.0 as usize] = true;
            }
        }
        let mut found = Stuck::default();
        for (semaphore, waiters) in self.waiters.iter().enumerate() {
            match has_poster[semaphore] {
                true => found.circle.extend(waiters),
                false => found.alone = found.alone.or(waiters.first().map(|&task| (task, semaphore as u32))),
            }
        }
        found.circle.sort_unstable();
        found
    }
}

impl Compiler<'_> {
    /// Rejects cycles, and warns about other waits that never end, because a recording may end in such a wait.
    pub(crate) fn check_waits(&mut self, at: &Place<'_>, tasks: &[TaskSpec]) -> Result<(), WorkloadError> {
        let mut walk = Walk::new(tasks, self.semaphores.len());
        walk.all();
        let Stuck { alone, circle } = walk.stuck();
        let name = |task: usize| shown(&tasks[task].name);
        if let Some((task, semaphore)) = alone {
            let semaphore = shown(self.semaphores.name(semaphore));
            let note = format!(
                "{} waits for the semaphore {semaphore}, which no task posts, so it waits forever",
                name(task)
            );
            self.warn(at, note);
        }
        match circle[..] {
            // A task that waits for one that never continues is not in a cycle.
            _ if alone.is_some() => Ok(()),
            [] => Ok(()),
            [one] => {
                let problem =
                    format!("{} waits for a semaphore that only itself posts, and later", name(one));
                Err(self.error(at, problem))
            }
            [first, second, ..] => {
                let problem = format!(
                    "{} tasks wait for each other in a cycle, such as {} and {}: each posts only after its wait",
                    circle.len(),
                    name(first),
                    name(second)
                );
                Err(self.error(at, problem))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use keel_abi::Topology;

    /// Checks the error or warning about a file with tasks of these steps.
    fn check(tasks: &[&str], expected: Result<&str, &str>) {
        let task = |(nth, steps): (usize, &&str)| {
            format!("\"t{nth}\": {{ \"run\": 10, \"evenkeel\": {{ \"steps\": [{steps}] }} }}")
        };
        let text = tasks.iter().enumerate().map(task).collect::<Vec<_>>().join(", ");
        let read = crate::parse("w.json", &format!("{{ \"tasks\": {{ {text} }} }}"), &Topology::flat(2));
        let told = read.map(|(_, notes)| notes.iter().map(ToString::to_string).collect::<String>());
        let told = told.map_err(|error| error.to_string());
        match (&told, expected) {
            (Ok(text), Ok(part)) | (Err(text), Err(part)) => {
                assert!(text.contains(part) && text.is_empty() == part.is_empty(), "{text}");
            }
            _ => panic!("{told:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn waits_that_cannot_end_are_told() {
        let (a, b) = (r#"{ "await": "a" }, { "post": "b" }"#, r#"{ "await": "b" }, { "post": "a" }"#);
        check(&[a, b], Err("2 tasks wait for each other in a cycle, such as t0 and t1"));
        check(&[a, r#"{ "post": "a" }, { "await": "b" }"#], Ok(""));
        check(&[a], Ok("t0 waits for the semaphore a, which no task posts"));
        check(&[r#"{ "await": "a" }, { "post": "a" }"#], Err("waits for a semaphore that only itself posts"));
        // A task that waits for one that never continues is not in a cycle.
        check(&[r#"{ "await": "x" }, { "post": "a" }"#, a], Ok("t0 waits for the semaphore x"));
    }
}
