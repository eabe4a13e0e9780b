//! Converts records and streams from and to lines, for tests. Tasks are capital letters; `-` is an idle task.

use super::raw::{Doing, GroupRecord, Key, Raw, RawWhat, TaskRecord};
use crate::policy::Kind;
use crate::{Call, Class, Event, GroupInfo, Meta, Piping, Policy, Sink, Source, TaskInfo, What, Why};
use keel_abi::tape::Room;
use keel_abi::{CpuId, CpuSet, Instant, Pid, TaskId};
use std::fmt::Write;

/// Returns a task's address: the code of its letter.
fn key(word: &str) -> Key {
    Key(if word == "-" { 0 } else { word.as_bytes()[0].into() })
}

fn number<T: std::str::FromStr>(word: &str) -> T {
    word.parse().unwrap_or_else(|_| panic!("{word} is no number"))
}

fn cpu(word: &str) -> CpuId {
    CpuId(number(word))
}

/// Parses lines such as `TIME CPU switch A blocked B`. If one begins with `!N`, N records were lost before it.
pub(crate) fn records(lines: &str) -> Vec<Raw> {
    lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(record).collect()
}

fn record(line: &str) -> Raw {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (lost, words) = match words[0].strip_prefix('!') {
        Some(lost) => (number(lost), &words[1..]),
        None => (0, &words[..]),
    };
    let (at, here) = (number(words[0]), cpu(words[1]));
    let what = match words[2..] {
        ["switch", prev, how, next] => {
            RawWhat::Switch { cpu: here, prev: key(prev), why: why(how), next: key(next), prio: None }
        }
        ["switch", prev, how, next, prio] => RawWhat::Switch {
            cpu: here,
            prev: key(prev),
            why: why(how),
            next: key(next),
            prio: Some(number(prio)),
        },
        ["inherits", task, prio] => RawWhat::Priority { task: key(task), prio: number(prio) },
        ["wakeup", task, target, waker] => {
            let waited = None;
            RawWhat::Wakeup { cpu: here, task: key(task), target: cpu(target), waker: key(waker), waited }
        }
        ["wakeup", task, target, waker, call, source] => {
            let call = Call::ALL.into_iter().find(|it| it.name() == call);
            let source = Source::ALL.into_iter().find(|it| format!("{it:?}").to_lowercase() == source);
            let waited = call.zip(source);
            RawWhat::Wakeup { cpu: here, task: key(task), target: cpu(target), waker: key(waker), waited }
        }
        ["fork", child, target, parent] => {
            RawWhat::Fork { cpu: here, child: key(child), target: cpu(target), parent: key(parent) }
        }
        ["migrate", task, from, to] => {
            RawWhat::Migrate { cpu: here, task: key(task), from: cpu(from), to: cpu(to) }
        }
        ["stopped", target] => RawWhat::Stopped { target: cpu(target) },
        [how @ ("writes" | "read"), task, pipe, bytes] => RawWhat::Piped {
            cpu: here,
            task: key(task),
            pipe: Key(number(pipe)),
            bytes: number(bytes),
            room: Room::Pages(16),
            how: if how == "writes" { Piping::Write } else { Piping::Read },
        },
        ["decision", chosen] => RawWhat::Decision(Box::new(decision(here, cpu(chosen)))),
        ["kick", target] => RawWhat::Kick { cpu: here, target: cpu(target) },
        ["online", target, up] => RawWhat::Online { cpu: here, target: cpu(target), up: up == "up" },
        ["throttled", task, on] => throttled(here, key(task), on, Key(0)),
        ["throttled", task, on, group] => {
            throttled(here, key(task), on, Key(group.parse().expect("a group")))
        }
        ["reserved", target, on] => RawWhat::Reserved { cpu: here, target: cpu(target), on: on == "on" },
        ["task", task, pid, name] => RawWhat::Task(Box::new(task_record(task, pid, name, false, None))),
        ["first", task, pid, name] => RawWhat::Task(Box::new(task_record(task, pid, name, true, None))),
        ["ranks", task, pid, name, prio, weight] => {
            let task_record = task_record(task, pid, name, false, None);
            RawWhat::Task(Box::new(TaskRecord {
                prio: Some(number(prio)),
                weight: number(weight),
                ..task_record
            }))
        }
        ["in", task, pid, name, policy, group] => RawWhat::Task(Box::new(TaskRecord {
            scheduled: Some((number(policy), Key(number(group)))),
            ..task_record(task, pid, name, false, None)
        })),
        ["group", group, parent, weight] => RawWhat::Group(Box::new(GroupRecord {
            key: Key(number(group)),
            id: 1,
            parent: Key(number(parent)),
            info: GroupInfo { weight: number(weight), ..GroupInfo::default() },
        })),
        _ => panic!("{line} is no record"),
    };
    Raw { at, writer: here, lost, what }
}

fn decision(by: CpuId, chosen: CpuId) -> Policy {
    let considered = [chosen].into_iter().collect();
    Policy { pid: Pid(1), chosen: Some(chosen), considered, ..Policy::of(Kind::Wakeup, by) }
}

fn task_record(task: &str, pid: &str, name: &str, first: bool, doing: Option<Doing>) -> TaskRecord {
    let (pid, name) = (Pid(number(pid)), name.to_owned());
    let cpus = CpuSet::first(4096);
    TaskRecord {
        task: key(task),
        pid,
        name,
        nice: 0,
        prio: None,
        weight: 0,
        scheduled: None,
        cpus,
        first,
        doing,
    }
}

/// Parses lines such as `A 17 name running 2`.
pub(crate) fn snapshot(lines: &str) -> Vec<TaskRecord> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let doing = match words[3..] {
            ["asleep"] => Doing::Asleep,
            ["waiting", on] => Doing::Waiting(cpu(on)),
            ["running", on] => Doing::Running(cpu(on)),
            _ => panic!("{line} is no task"),
        };
        task_record(words[0], words[1], words[2], true, Some(doing))
    };
    lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(line).collect()
}

fn why(word: &str) -> Why {
    let all = [Why::WasIdle, Why::Preempted, Why::Yielded, Why::Blocked, Why::Exited];
    all.into_iter().find(|why| said(*why) == word).unwrap_or_else(|| panic!("nobody leaves {word}"))
}

fn throttled(cpu: CpuId, task: Key, on: &str, group: Key) -> RawWhat {
    RawWhat::Throttled { cpu, task, on: on == "on", group }
}

fn said(why: Why) -> &'static str {
    match why {
        Why::WasIdle => "idle",
        Why::Preempted => "preempted",
        Why::Yielded => "yielded",
        Why::Blocked => "blocked",
        Why::Exited => "exited",
    }
}

/// Collects a stream as lines, one per element. Tasks have the names with which they were announced.
#[derive(Default)]
pub(crate) struct Lines {
    pub(crate) text: String,
    names: Vec<String>,
}

impl Lines {
    fn name(&self, task: TaskId) -> &str {
        if task.is_idle() { "-" } else { self.names.get(task.index()).map_or("nobody", String::as_str) }
    }

    fn event(&self, what: What) -> String {
        let name = |task| self.name(task);
        match what {
            What::Switch { prev, why, next } => format!("switch {} {} {}", name(prev), said(why), name(next)),
            What::Wakeup { task, target, waker } | What::Woken { task, target, waker, .. } => {
                format!("wakeup {} {target} {}", name(task), name(waker))
            }
            What::Fork { child, target, parent } => format!("fork {} {target} {}", name(child), name(parent)),
            What::Exit { task } => format!("exit {}", name(task)),
            What::Migrate { task, from, to } | What::Pulled { task, from, to } => {
                format!("migrate {} {from} {to}", name(task))
            }
            What::Kick { target, .. } => format!("kick {target}"),
            What::Online { target, up } => format!("online {target} {}", if up { "up" } else { "down" }),
            What::Lost { events } => format!("lost {events}"),
            What::Waited { task, call, source } => {
                format!("{} waited in {call:?} for {source:?}", name(task))
            }
            What::Piped { task, pipe, bytes, how, .. } => {
                format!("{} {how:?} {bytes} bytes of pipe {pipe}", name(task))
            }
            What::Priority { task, prio, weight } => format!("{} ranks {prio} {weight}", name(task)),
            What::Throttled { task, on, group } => {
                let group = if group == 0 { String::new() } else { format!(" {group}") };
                format!("throttled {} {}{group}", name(task), if on { "on" } else { "off" })
            }
            What::Reserved { target, on } => format!("reserved {target} {}", if on { "on" } else { "off" }),
            other => format!("{other:?}"),
        }
    }
}

impl Sink for Lines {
    fn wants(&self) -> Class {
        Class::ALL
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            let line = self.event(event.what);
            let _ = writeln!(self.text, "{} {} {line}", event.at.as_ns(), event.cpu);
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        let line = match meta {
            Meta::Task(TaskInfo { task, pid, name, cpus, .. }) => {
                self.names.resize(self.names.len().max(task.index() + 1), String::new());
                self.names[task.index()].clone_from(name);
                format!("task {} {pid} {name} on {} CPUs", task.0, cpus.len())
            }
            Meta::Group(info) => format!("group {} below {} weighs {}", info.group, info.parent, info.weight),
            Meta::Scheduled { task, policy, group } => {
                format!("{} by policy {policy} in group {group}", self.name(*task))
            }
            Meta::Policy(policy) => format!("{} chose {:?}", policy.cpu, policy.chosen),
            other => format!("{other:?}"),
        };
        let _ = writeln!(self.text, "{} {line}", at.as_ns());
    }
}

/// Removes the indentation of lines.
pub(crate) fn trimmed(lines: &str) -> String {
    lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| line.to_owned() + "\n").collect()
}
