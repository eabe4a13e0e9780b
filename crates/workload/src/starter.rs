//! Makes a program start its threads as rt-app does. The main thread creates them one after the other, each with the
//! program's nice value and CPUs. A thread prepares itself, waits for the others, and only then sets its own affinity
//! and begins. This matters because a scheduler that rarely moves tasks keeps these first placements for long.
//!
//! Source: `thread_body()` of rt-app 1.0, and recordings of its first milliseconds.

use keel_abi::task::{Amount, ObjectId, Policy, Step, TaskSpec, Workload};
use keel_abi::{CpuSet, Span};

/// The main thread's name.
const NAME: &str = "rt-app";

/// How many times the main thread waits, at even intervals, before it creates threads.
const WAITS: u32 = 10;

/// How long starting takes, not counting the kernel's own work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Starter {
    /// How long the main thread works before it creates the first thread: it reads its file, and sometimes writes to
    /// the console.
    pub(crate) main: Span,
    /// How long it waits meanwhile, in total.
    pub(crate) main_waits: Span,
    /// How long the main thread works before it creates each thread.
    pub(crate) apart: Span,
    /// How long a thread works before it waits for the others.
    pub(crate) before: Span,
    /// How long a thread works before it sets its affinity and begins.
    pub(crate) after: Span,
}

/// Makes a main thread start the tasks of each process that would start on their own.
pub(crate) fn start_by_threads(workload: &mut Workload, starter: Starter) {
    let mut processes: Vec<u32> = Vec::new();
    for task in workload.tasks.iter().filter(|task| starts(task)) {
        if !processes.contains(&task.process) {
            processes.push(task.process);
        }
    }
    for process in processes {
        let main = main_thread(&workload.tasks, process, starter);
        let threads = workload.tasks.iter_mut().filter(|task| starts(task) && task.process == process);
        let barrier = ObjectId(workload.barriers.len() as u32);
        let console = ObjectId(workload.mutexes);
        let mut count = 0_u32;
        for thread in threads {
            count = count.saturating_add(thread.instances);
            become_thread(thread, starter, barrier, console);
        }
        workload.barriers.push(count);
        workload.mutexes += 1;
        workload.tasks.push(main);
    }
}

fn starts(task: &TaskSpec) -> bool {
    task.instances > 0 && !task.kthread
}

fn main_thread(tasks: &[TaskSpec], process: u32, starter: Starter) -> TaskSpec {
    let part = |whole: Span| Amount::fixed(Span::from_ns(whole.as_ns() / u64::from(WAITS)));
    let mut steps = Vec::new();
    if starter.main + starter.main_waits > Span::ZERO {
        steps.extend([Step::Run(part(starter.main)), Step::Sleep(part(starter.main_waits))]);
        steps.push(Step::Loop { to: 0, times: Some(WAITS), slot: 0 });
    }
    let own = || (0..).zip(tasks).filter(|(_, task)| starts(task) && task.process == process);
    for (spec, task) in own() {
        let to = steps.len() as u32;
        steps.extend([Step::Run(Amount::fixed(starter.apart)), Step::Fork(spec)]);
        if task.instances > 1 {
            steps.push(Step::Loop { to, times: Some(task.instances), slot: 0 });
        }
    }
    // `pthread_join()`
    let to = steps.len() as u32;
    steps.extend([Step::Sleep(Amount::fixed(Span::from_s(1000))), Step::Loop { to, times: None, slot: 0 }]);
    let first = own().map(|(_, task)| task).next();
    TaskSpec {
        name: NAME.to_owned(),
        instances: 1,
        process,
        session: first.map_or(0, |task| task.session),
        cgroup: first.and_then(|task| task.cgroup),
        pages: own().map(|(_, task)| task.pages).max().unwrap_or(0),
        steps,
        ..TaskSpec::default()
    }
}

/// Prepends to a thread's steps what it does before. Threads write to the console one after the other.
fn become_thread(thread: &mut TaskSpec, starter: Starter, barrier: ObjectId, console: ObjectId) {
    let run = |span: Span| Step::Run(Amount::fixed(span));
    let half = Span::from_ns(starter.before.as_ns() / 2);
    let mut steps = vec![run(starter.before - half), Step::Lock(console), run(half), Step::Unlock(console)];
    let (policy, nice) = (std::mem::take(&mut thread.policy), std::mem::take(&mut thread.nice));
    steps.extend((policy != Policy::default()).then_some(Step::Policy(policy)));
    steps.extend((nice != 0).then_some(Step::Nice(nice)));
    steps.extend([Step::Barrier(barrier), Step::Lock(console), run(starter.after), Step::Unlock(console)]);
    let cpus = std::mem::replace(&mut thread.cpus, CpuSet::new());
    steps.extend((!cpus.is_empty()).then_some(Step::Affinity(cpus)));
    let delay = std::mem::replace(&mut thread.delay, Span::ZERO);
    steps.extend((delay != Span::ZERO).then_some(Step::Sleep(Amount::fixed(delay))));
    steps.push(Step::Begin);
    let before = steps.len() as u32;
    for step in &mut thread.steps {
        if let Step::Loop { to, .. } = step {
            *to += before;
        }
    }
    steps.append(&mut thread.steps);
    thread.steps = steps;
    thread.instances = 0;
}
