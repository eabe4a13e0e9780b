//! Workloads as text, for goldens.

use keel_abi::Span;
use keel_abi::cgroup::Cgroup;
use keel_abi::task::{Amount, Policy, Step, TaskSpec, TimerMode, Workload};
use keel_workload::Warning;
use std::fmt::Write;

/// A workload and its warnings, with a line for each step.
pub(crate) fn listing(workload: &Workload, warnings: &[Warning]) -> String {
    let w = workload;
    let mut text = format!("{}: counts {}", w.name, w.unit);
    if let Some(duration) = w.duration {
        write!(text, ", lasts {duration}").unwrap();
    }
    let kinds = [w.mutexes, w.conditions, w.timers];
    writeln!(text, "\nmutexes, conditions, own timers: {kinds:?}; barriers: {:?}", w.barriers).unwrap();
    if !w.inheriting.is_empty() {
        writeln!(
            text,
            "mutexes that hand priorities on: {:?}",
            w.inheriting.iter().map(|id| id.0).collect::<Vec<_>>()
        )
        .unwrap();
    }
    for (id, channel) in w.channels.iter().enumerate() {
        writeln!(text, "channel {id}: {channel:?}").unwrap();
    }
    for cgroup in &w.cgroups {
        let Cgroup { path, parent, is_there, weight, bandwidth, idle } = cgroup;
        let (there, idle) = (if *is_there { "" } else { " later" }, if *idle { " idle" } else { "" });
        writeln!(text, "cgroup {path} in {} weight {weight}{there}{idle} {bandwidth:?}", parent.0).unwrap();
    }
    w.tasks.iter().for_each(|task| list_task(&mut text, task));
    warnings.iter().for_each(|warning| writeln!(text, "! {warning}").unwrap());
    text
}

fn list_task(text: &mut String, task: &TaskSpec) {
    writeln!(text, "{}", heading(task)).unwrap();
    for (i, step) in task.steps.iter().enumerate() {
        writeln!(text, "{i:4} {}", step_text(step)).unwrap();
    }
}

/// A task without its steps.
pub(crate) fn heading(task: &TaskSpec) -> String {
    let TaskSpec { name, instances, delay, nice, cpus, .. } = task;
    let mut text = format!("{name} x{instances}");
    if *delay > Span::ZERO {
        write!(text, " after {delay}").unwrap();
    }
    if *nice != 0 {
        write!(text, " nice {nice}").unwrap();
    }
    if (task.process, task.pages) != (0, 0) {
        write!(text, " in process {} of {} pages", task.process, task.pages).unwrap();
    }
    if task.session != 0 {
        write!(text, " in session {}", task.session).unwrap();
    }
    if task.policy != Policy::Other {
        write!(text, " {:?}", task.policy).unwrap();
    }
    if task.kthread {
        text.push_str(" of the kernel's");
    }
    if let Some(hint) = task.hint {
        write!(text, " hinted {hint:?}").unwrap();
    }
    if let Some(cgroup) = task.cgroup {
        write!(text, " in cgroup {}", cgroup.0).unwrap();
    }
    if !cpus.is_empty() {
        write!(text, " on CPUs {cpus}").unwrap();
    }
    text
}

fn amount_text(amount: &Amount) -> String {
    match amount.spread {
        Span::ZERO => amount.base.to_string(),
        spread => format!("{} +- {spread}", amount.base),
    }
}

fn step_text(step: &Step) -> String {
    match step {
        Step::Run(amount) => format!("run {}", amount_text(amount)),
        Step::RunFor(span) => format!("run for {span}"),
        Step::Sleep(amount) => format!("sleep {}", amount_text(amount)),
        Step::SleepDeferrable(amount) => format!("sleep deferrable {}", amount_text(amount)),
        Step::Timer { timer, period, mode } => {
            let mode = if *mode == TimerMode::Absolute { " absolute" } else { "" };
            format!("timer {} every {period}{mode}", timer.0)
        }
        Step::Lock(id) => format!("lock {}", id.0),
        Step::Unlock(id) => format!("unlock {}", id.0),
        Step::Wait { condition, mutex } => format!("wait {} mutex {}", condition.0, mutex.0),
        Step::Signal(id) => format!("signal {}", id.0),
        Step::Broadcast(id) => format!("broadcast {}", id.0),
        Step::Sync { condition, mutex } => format!("sync {} mutex {}", condition.0, mutex.0),
        Step::Barrier(id) => format!("barrier {}", id.0),
        Step::SpinBarrier { barrier, patience: None } => format!("spin at barrier {}", barrier.0),
        Step::SpinBarrier { barrier, patience: Some(span) } => {
            format!("spin at barrier {} for {span}", barrier.0)
        }
        Step::Raise(id) => format!("raise {}", id.0),
        Step::Lower(id) => format!("lower {}", id.0),
        Step::Yield => "yield".to_owned(),
        Step::Fork(task) => format!("fork task {task}"),
        Step::Nice(nice) => format!("nice {nice}"),
        Step::Affinity(cpus) if cpus.is_empty() => "any CPU".to_owned(),
        Step::Affinity(cpus) => format!("on CPUs {cpus}"),
        Step::Loop { to, times: None, slot } => format!("loop to {to} for ever (slot {slot})"),
        Step::Loop { to, times: Some(times), slot } => format!("loop to {to}, {times} times (slot {slot})"),
        Step::Count => "count".to_owned(),
        Step::Spawn(task) => format!("spawn task {task}"),
        Step::Exec => "exec".to_owned(),
        Step::Setsid => "setsid".to_owned(),
        Step::AutogroupNice(nice) => format!("autogroup nice {nice}"),
        Step::WaitChild => "wait for a child".to_owned(),
        Step::Write(pages) => format!("write {pages} pages"),
        Step::Touch(bytes) => format!("touch {bytes} bytes"),
        Step::Send { channel, bytes } => format!("send {bytes} to {}", channel.0),
        Step::Receive { channel, bytes } => format!("receive {bytes} from {}", channel.0),
        Step::Post { semaphore, sync } => format!("post {} {sync}", semaphore.0),
        Step::Await(semaphore) => format!("await {}", semaphore.0),
        Step::Play => "play".into(),
        Step::Syscall => "syscall".to_owned(),
        Step::Begin => "begin".to_owned(),
        Step::Policy(policy) => format!("policy {policy:?}"),
        Step::MigrateDisable => "migrate disable".to_owned(),
        Step::MigrateEnable => "migrate enable".to_owned(),
        Step::Accompany(number) => format!("accompany {number}"),
        Step::Cgroup(act) => format!("{act:?}"),
    }
}
