//! What a run's events reveal about its states: lengths of queues, idle CPUs, waits and runs, callbacks, each in
//! buckets of powers of two.

use crate::seen::Feature;
use keel_abi::{CpuId, Instant, Stop, TaskId};
use keel_trace::{Class, Event, Meta, Sink, What, Why};
use std::collections::BTreeSet;

/// Instructions that take as long as an event.
const INSNS: u64 = 64;
/// The number of CPUs that are distinguished in idle masks.
const MASKED: u32 = 6;

/// Listens to a run.
#[derive(Debug)]
pub struct States {
    seen: BTreeSet<u32>,
    /// Who runs on each CPU, since when.
    running: Vec<(TaskId, Instant)>,
    /// Since when each task has waited, if it waits.
    waits: Vec<Option<Instant>>,
    waiting: u32,
    /// The last callback of each CPU.
    last_op: Vec<u32>,
    events_left: u64,
    stop: Stop,
}

/// The kind of state: the high bits of its number.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Of {
    Queue = 1,
    Load,
    Idle,
    Wait,
    Run,
    Callback,
    Callbacks,
    Kick,
    Placed,
    LockWait,
    Bypass,
    Held,
}

impl States {
    /// Requests a stop after this many events, so that no run takes forever. 64 instructions count as one event.
    pub fn new(most_events: u64, stop: Stop) -> Self {
        Self {
            seen: BTreeSet::new(),
            running: Vec::new(),
            waits: Vec::new(),
            waiting: 0,
            last_op: Vec::new(),
            events_left: most_events,
            stop,
        }
    }

    /// Returns the states seen.
    pub fn features(&self) -> impl Iterator<Item = Feature> + '_ {
        self.seen.iter().map(|&state| Feature::State(state))
    }

    fn note(&mut self, of: Of, what: u32) {
        self.seen.insert((of as u32) << 16 | what & 0xffff);
    }

    fn runs_on(&mut self, cpu: CpuId) -> &mut (TaskId, Instant) {
        let at = cpu.index();
        if self.running.len() <= at {
            self.running.resize(at + 1, (TaskId::IDLE, Instant::ZERO));
            self.last_op.resize(at + 1, 0);
        }
        &mut self.running[at]
    }

    fn begins_to_wait(&mut self, task: TaskId, at: Instant) {
        let index = task.0 as usize;
        if self.waits.len() <= index {
            self.waits.resize(index + 1, None);
        }
        if self.waits[index].replace(at).is_none() {
            self.waiting += 1;
        }
    }

    fn ends_wait(&mut self, task: TaskId) -> Option<Instant> {
        let since = self.waits.get_mut(task.0 as usize)?.take()?;
        self.waiting -= 1;
        Some(since)
    }

    fn switches(&mut self, event: &Event, prev: TaskId, why: Why, next: TaskId) {
        let (_, since) = *self.runs_on(event.cpu);
        let ran = bucket(event.at.since(since).as_ns());
        self.note(Of::Run, (why as u32) << 8 | ran);
        if !prev.is_idle() && matches!(why, Why::Preempted | Why::Yielded) {
            self.begins_to_wait(prev, event.at);
        }
        if !next.is_idle()
            && let Some(since) = self.ends_wait(next)
        {
            self.note(Of::Wait, bucket(event.at.since(since).as_ns()));
        }
        *self.runs_on(event.cpu) = (next, event.at);
        let idle = self.running.iter().filter(|(task, _)| task.is_idle()).count() as u64;
        self.note(Of::Load, bucket(idle) << 8 | bucket(u64::from(self.waiting)));
        let mask = self.running.iter().take(MASKED as usize).enumerate();
        let mask = mask.fold(0, |mask, (cpu, (task, _))| mask | u32::from(task.is_idle()) << cpu);
        self.note(Of::Idle, bucket(self.running.len() as u64) << MASKED | mask);
    }

    fn event(&mut self, event: &Event) {
        match event.what {
            What::Switch { prev, why, next } => self.switches(event, prev, why, next),
            What::Wakeup { task, .. } | What::Fork { child: task, .. } => self.begins_to_wait(task, event.at),
            What::Exit { task } => drop(self.ends_wait(task)),
            What::Queued { dsq, len, .. } => {
                let kind = if dsq.0 >> 62 != 0 { (dsq.0 >> 62) as u32 } else { 4 + (dsq.0 % 4) as u32 };
                self.note(Of::Queue, kind << 8 | bucket(u64::from(len)));
            }
            What::Held { .. } => self.note(Of::Held, 0),
            What::Callback { op, insns, .. } => {
                let op = op as u32;
                self.note(Of::Callback, op << 8 | bucket(u64::from(insns)));
                self.runs_on(event.cpu);
                let last = std::mem::replace(&mut self.last_op[event.cpu.index()], op);
                self.note(Of::Callbacks, last << 8 | op);
            }
            What::Kick { target, flags } => {
                let idle = self.runs_on(target).0.is_idle();
                self.note(Of::Kick, (flags as u32) << 1 & 0xff | u32::from(idle));
            }
            What::Placed { prev, chosen, by, idle, .. } => {
                self.note(Of::Placed, (by as u32) << 2 | u32::from(prev == chosen) << 1 | u32::from(idle));
            }
            What::LockWait { waited, .. } => self.note(Of::LockWait, bucket(waited.as_ns())),
            What::Bypass { on } => self.note(Of::Bypass, u32::from(on)),
            _ => {}
        }
    }
}

/// Returns the power of two, or 0 for 0.
fn bucket(n: u64) -> u32 {
    n.checked_ilog2().map_or(0, |log2| log2 + 1)
}

impl Sink for States {
    fn wants(&self) -> Class {
        Class::CORE.with(Class::DECISIONS).with(Class::QUEUES).with(Class::COSTS).with(Class::LOCKS)
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            self.event(event);
        }
        let insns = |event: &Event| match event.what {
            What::Callback { insns, .. } => u64::from(insns) / INSNS,
            _ => 0,
        };
        let work = events.len() as u64 + events.iter().map(insns).sum::<u64>();
        self.events_left = self.events_left.saturating_sub(work);
        if self.events_left == 0 {
            self.stop.ask();
        }
    }

    fn meta(&mut self, _: Instant, _: &Meta) {}
}
