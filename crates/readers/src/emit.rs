//! The second pass over a recording: passes its records to the [`Story`], which makes the stream from them.
//!
//! One thing is added to the records that the kernel always does: if a task is put on the runqueue of an idle CPU, that
//! CPU is notified (`wakeup_preempt()`), and has a moment to leave its idle state.

use crate::ReadError;
use crate::own_cpu;
use crate::sched_record::{Name, SchedEvent, SchedRecord, Who};
use crate::source::Facts;
use crate::survey::Survey;
use keel_abi::{CpuId, CpuSet, Pid, Topology};
use keel_trace::story::{Counts, Doing, Key, Raw, RawWhat, Story, TaskRecord};
use keel_trace::{Meta, Sink, Unknown, Why};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::iter::Peekable;

/// Nice 0 as the kernel's priority.
const NICE_0: i32 = 120;
/// The priorities of tasks that have a nice value.
const NICES: std::ops::Range<i32> = 100..140;

/// The number of tasks whose last reported states are remembered. Tasks with the same index replace each other's.
const PLACES: usize = 1 << 10;

/// The longest text of the machine or the command, in characters.
const LONGEST: usize = 300;

/// The last reported state of a task.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Known {
    name: Name,
    nice: i8,
    /// The kernel's `p->prio`, including inherited priorities.
    prio: Option<i32>,
}

struct Emitter<'a> {
    story: Story,
    known: FxHashMap<u32, Known>,
    /// The last task emitted at each index, so that an unchanged task, the usual case, is not emitted again.
    settled: Vec<Who>,
    sink: &'a mut dyn Sink,
    /// CPUs about which nothing is known yet, and whether they appear later.
    unknown: BTreeMap<u32, bool>,
    /// The number of records so far, and the switches that are also wakeups.
    records: u64,
    going: Peekable<std::slice::Iter<'a, u64>>,
    /// For a running task, who woke it: the waker, its CPU, and the chosen CPU.
    wakers: FxHashMap<u32, (u32, u32, u32)>,
}

/// Passes the stream of `records` to `sink`. `survey` has the state at its beginning.
pub(crate) fn emit(
    mut records: impl FnMut() -> Result<Option<SchedRecord>, ReadError>,
    facts: &Facts,
    survey: &Survey,
    sink: &mut dyn Sink,
) -> Result<Counts, ReadError> {
    let topology = topology(facts, survey.cpu_limit);
    let cpus = topology.cpus();
    let mut teller = Emitter {
        story: Story::new(survey.begins, cpus),
        known: FxHashMap::default(),
        settled: vec![Who::default(); PLACES],
        sink,
        unknown: BTreeMap::new(),
        records: 0,
        going: survey.going.iter().peekable(),
        wakers: FxHashMap::default(),
    };
    let scheduler = facts
        .release
        .as_ref()
        .map_or_else(|| "Linux".to_owned(), |release| format!("Linux {release:.LONGEST$}"));
    // This is untrusted text of any length.
    let command = facts.command.as_ref().map(|command| command.chars().take(LONGEST).collect());
    let workload = command.unwrap_or_else(|| "all that ran".to_owned());
    teller.say(&Meta::Start { topology, scheduler, workload, unit: String::new() });
    // No kernel event reports either of these.
    teller.say(&Meta::Unknown(Unknown { affinity: true, throttling: true }));
    teller.say(&Meta::Clock { ns: survey.begins });
    teller.open(facts, survey, cpus);
    while let Some(seen) = records()? {
        teller.take(&seen);
    }
    Ok(teller.end(survey.ends))
}

/// Returns the machine's topology, as far as it is known.
fn topology(facts: &Facts, seen: u32) -> Topology {
    let cpus = facts.cpus.max(seen).max(1);
    match &facts.topology {
        Some(topology) if topology.cpus() >= cpus => topology.clone(),
        _ => Topology::flat(cpus),
    }
}

impl Emitter<'_> {
    fn say(&mut self, meta: &Meta) {
        self.story.say(meta, self.sink);
    }

    /// Describes the machine at the beginning.
    fn open(&mut self, facts: &Facts, survey: &Survey, cpus: u32) {
        for cpu in 0..cpus {
            let late = match survey.cpus.get(&cpu) {
                None => false,
                Some(reported) if reported.begins_late || facts.overwritten => true,
                Some(_) => continue,
            };
            self.unknown.insert(cpu, late);
            self.story.online(CpuId(cpu), CpuId(cpu), false);
        }
        for (cpu, who) in survey.running() {
            if !self.unknown.contains_key(&cpu) {
                self.about(who);
                self.story.runs_already(CpuId(cpu), key(who.pid), self.sink);
            }
        }
        // If something was overwritten, it may have been a wakeup.
        let waited = survey.wakeups > 0 && !self.unknown.values().any(|&late| late);
        for (&pid, &(cpu, who)) in survey.waiting.iter().filter(|_| waited) {
            self.about(who);
            self.story.waits_already(CpuId(cpu), key(pid), self.sink);
        }
    }

    fn take(&mut self, seen: &SchedRecord) {
        self.records += 1;
        self.story.reach(seen.at);
        let cpu = CpuId(seen.cpu);
        if seen.lost > 0 {
            self.story.lost(cpu, u32::try_from(seen.lost).unwrap_or(u32::MAX));
        }
        if self.unknown.get(&seen.cpu) == Some(&true) {
            self.appears(seen);
        }
        match seen.what {
            SchedEvent::Switch { prev, why, next } => {
                self.about(prev);
                self.about(next);
                let why = if prev.pid == 0 { Why::WasIdle } else { why };
                self.raw(
                    seen,
                    RawWhat::Switch { cpu, prev: key(prev.pid), why, next: key(next.pid), prio: None },
                );
                if why == Why::Exited {
                    self.forget(prev.pid);
                }
                let woken = self.wakers.remove(&prev.pid);
                if self.going.next_if_eq(&&self.records).is_some()
                    && let Some((waker, waker_cpu, target)) = woken
                {
                    self.woken(seen, prev.pid, target, waker, waker_cpu);
                }
            }
            SchedEvent::Woken { task, target, waker, waker_cpu } => {
                self.about(task);
                if matches!(self.story.doing(key(task.pid)), Some(Doing::Running(_))) {
                    self.wakers.insert(task.pid, (waker, waker_cpu, target));
                }
                self.woken(seen, task.pid, target, waker, waker_cpu);
            }
            SchedEvent::WakeupNew { task, target } => {
                self.about(task);
                let parent = key(if seen.interrupt { 0 } else { seen.current.unwrap_or(0) });
                self.raw(seen, RawWhat::Fork { cpu, child: key(task.pid), target: CpuId(target), parent });
                self.kick(seen, CpuId(target));
            }
            SchedEvent::Migrate { task, from, to } => {
                self.about(task);
                let (from, to) = (CpuId(from), CpuId(to));
                self.raw(seen, RawWhat::Migrate { cpu, task: key(task.pid), from, to });
                self.kick(seen, to);
            }
            SchedEvent::Forked { child } => {
                self.forget(child.pid);
                self.story.retire(key(child.pid));
                self.about(child);
            }
            SchedEvent::Named { task } => self.about(task),
            SchedEvent::Online { target, up } => {
                self.raw(seen, RawWhat::Online { cpu, target: CpuId(target), up });
            }
            SchedEvent::Waking { .. }
            | SchedEvent::Wakeup { .. }
            | SchedEvent::BeginsHere
            | SchedEvent::Other => {}
        }
    }

    /// Handles the first record of a CPU whose beginning was overwritten.
    fn appears(&mut self, seen: &SchedRecord) {
        self.unknown.remove(&seen.cpu);
        let cpu = CpuId(seen.cpu);
        self.raw(seen, RawWhat::Online { cpu, target: cpu, up: true });
        let ran = match seen.what {
            SchedEvent::Switch { prev, .. } => Some(prev),
            _ => seen.current.map(|pid| Who { pid, ..Who::default() }),
        };
        if let Some(who) = ran.filter(|who| who.pid != 0) {
            self.about(who);
            self.story.runs_already(cpu, key(who.pid), self.sink);
        }
    }

    fn woken(&mut self, seen: &SchedRecord, task: u32, target: u32, waker: u32, waker_cpu: u32) {
        let (cpu, target) = (CpuId(waker_cpu), CpuId(target));
        self.raw(seen, RawWhat::Wakeup { cpu, task: key(task), target, waker: key(waker), waited: None });
        self.kick(seen, target);
    }

    fn raw(&mut self, seen: &SchedRecord, what: RawWhat) {
        let raw = Raw { at: seen.at, writer: CpuId(seen.cpu), lost: 0, what };
        self.story.take(&raw, self.sink);
    }

    /// Emits a task's description, if it is new.
    #[inline]
    fn about(&mut self, who: Who) {
        if who.pid != 0 && self.settled[who.pid as usize % PLACES] != who {
            self.about_another(who);
            self.settled[who.pid as usize % PLACES] = who;
        }
    }

    /// Forgets a task, because another task has its pid from now on.
    fn forget(&mut self, pid: u32) {
        self.known.remove(&pid);
        self.settled[pid as usize % PLACES] = Who::default();
    }

    fn about_another(&mut self, who: Who) {
        let old = self.known.get(&who.pid).copied();
        let nice = who.prio.filter(|prio| NICES.contains(prio)).map(|prio| (prio - NICE_0) as i8);
        // A name may be empty or unknown, but the pid is known.
        let name = old.filter(|_| who.name.is_empty()).map_or(who.name, |old| old.name);
        let prio = who.prio.or(old.and_then(|old| old.prio));
        let now = Known { name, nice: nice.or(old.map(|old| old.nice)).unwrap_or(0), prio };
        if old == Some(now) {
            return;
        }
        self.known.insert(who.pid, now);
        if old.is_none_or(|old| (old.name, old.nice) != (now.name, now.nice)) {
            self.emit(who.pid, now, old.is_none());
        }
        if let Some(prio) = prio.and_then(|prio| i16::try_from(prio).ok()) {
            self.story.priority(key(who.pid), prio);
        }
    }

    fn emit(&mut self, pid: u32, now: Known, first: bool) {
        let name = now.name;
        let name = name.text();
        let cpus = own_cpu::of(&name).into_iter().collect::<CpuSet>();
        // Its weight would depend on its cgroup, which is unknown.
        let (prio, weight, doing) = (None, 0, None);
        let reported = TaskRecord {
            task: key(pid),
            pid: Pid(pid),
            name,
            nice: now.nice,
            prio,
            weight,
            scheduled: None,
            cpus,
            first,
            doing,
        };
        self.story.announce(&reported, self.sink);
    }

    fn kick(&mut self, seen: &SchedRecord, target: CpuId) {
        if self.story.idles(target) {
            self.raw(seen, RawWhat::Kick { cpu: CpuId(seen.cpu), target });
        }
    }

    fn end(mut self, at: u64) -> Counts {
        self.story.end(at, self.sink);
        self.story.counts()
    }
}

fn key(pid: u32) -> Key {
    Key(pid.into())
}
