//! The first time through a recording: how the machine was when it began, and what the recording holds at all.
//!
//! A recording has only changes. So its first switch shows who ran on a CPU at the beginning, be it seconds later,
//! or by any other record where there is none. A task that is switched in before anybody woke it had been waiting since the beginning, or
//! its wakeup is missing: it is taken to have waited only where its CPU never idled before, and for no longer than [`LONGEST_WAIT_NS`]. A CPU
//! without any record is unknown, and so is what a CPU did before its buffer begins, where older records were
//! overwritten. Where a recording has no wakeups, or lost some, who is switched in may have slept a moment before.

use crate::ReadError;
use crate::line::{Clock, Line, whole};
use crate::record_cache::{Keeping, RecordCache};
use crate::sched_record::{Name, PID_LIMIT, SchedEvent, SchedRecord, Who};
use crate::source::Records;
use crate::woken_asleep::WokenAsleep;
use keel_abi::{CpuId, CpuSet, Span};
use std::collections::{BTreeMap, BTreeSet};

/// A task that nobody woke before it ran has waited for so long at most: a longer wait would be a finding, of which
/// nobody saw the beginning.
const LONGEST_WAIT_NS: u64 = 1_000_000_000;
/// Time may run backwards by this, as clocks of several CPUs make it.
const JITTER: Span = Span::from_ms(1);
/// Tasks of which this is remembered.
const MOST_UNWOKEN: usize = 1 << 20;

/// What a recording holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    /// The time of the first and the last record.
    pub(crate) begins: u64,
    pub(crate) ends: u64,
    /// The CPUs that wrote something.
    pub(crate) cpus: BTreeMap<u32, Cpu>,
    /// One more than the highest CPU that is spoken of.
    pub(crate) cpu_limit: u32,
    /// The numbers of the switches by which tasks left that had been woken already ([`WokenAsleep`]).
    pub(crate) going: Vec<u64>,
    /// Tasks that waited when the recording began, and where.
    pub(crate) waiting: BTreeMap<u32, (u32, Who)>,
    /// When each CPU that idled first did.
    idled: BTreeMap<u32, u64>,
    /// Tasks that nobody had woken when they first showed, where, and when.
    unwoken: Vec<(u64, u32, Who)>,
    /// CPUs that came or went, by their thread that sees to it.
    pub(crate) changed: CpuSet,
    /// It records when CPUs come and go.
    pub(crate) has_hotplug: bool,
    /// `sched_switch` events.
    pub(crate) switches: u64,
    /// It has `sched_wakeup` events.
    pub(crate) has_wakeups: bool,
    /// Wakeups, however they were recorded.
    pub(crate) wakeups: u64,
    /// Events that were lost.
    pub(crate) lost: u64,
    /// Records of any kind.
    pub(crate) records: u64,
    /// What time did.
    pub(crate) clock: Clock,
    /// Records about CPUs or tasks that cannot be.
    pub(crate) impossible: u64,
    /// CPUs of which it is known how they began, and those of which only the pid is known of who ran.
    settled: CpuSet,
    nameless: CpuSet,
}

/// What the first record of a CPU says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cpu {
    /// When it was written.
    pub(crate) at: u64,
    /// Who ran; none where unknown.
    pub(crate) ran: Option<Who>,
    /// When a switch showed that.
    pub(crate) switched: Option<u64>,
    /// What came before was overwritten.
    pub(crate) begins_late: bool,
}

impl Survey {
    /// Reads `source` to its end. Gives its records, too, where they are not too many.
    pub(crate) fn of(source: &mut dyn Records) -> Result<(Self, Option<RecordCache>), ReadError> {
        let mut survey = Self { begins: u64::MAX, ..Self::default() };
        let (mut known, mut going) = (Known::default(), WokenAsleep::default());
        let (mut line, mut keeping) = (Line::new(source, false), Keeping::new());
        while let Some(mut seen) = line.next_as_is()? {
            keeping.put(&seen);
            whole(&mut seen, false);
            survey.take(&seen, &mut known);
            if line.wakeups() == 0 {
                going.take(survey.records, &seen);
            }
        }
        (survey.clock, survey.impossible) = (line.clock(), line.impossible());
        survey.settle();
        survey.has_wakeups = line.wakeups() > 0;
        survey.going = if survey.has_wakeups { Vec::new() } else { going.found() };
        Ok((survey, keeping.kept()))
    }

    fn take(&mut self, seen: &SchedRecord, known: &mut Known) {
        // Names are recorded while the recorder still prepares, which can take seconds in which nobody looks.
        if !matches!(seen.what, SchedEvent::Named { .. }) {
            self.begins = self.begins.min(seen.at);
        }
        self.ends = seen.at;
        self.records += 1;
        self.lost = self.lost.saturating_add(seen.lost);
        self.cpu_limit = self.cpu_limit.max(seen.what.highest_cpu() + 1).max(seen.cpu + 1);
        if !self.settled.contains(CpuId(seen.cpu)) || seen.what == SchedEvent::BeginsHere {
            self.begin(seen);
        }
        match seen.what {
            SchedEvent::Switch { prev, next, .. } => {
                self.switches += 1;
                known.insert(prev.pid);
                if prev.pid == 0 {
                    // It idled before, if nobody knows since when.
                    self.idled.entry(seen.cpu).or_insert(0);
                }
                if next.pid == 0 {
                    self.idled.entry(seen.cpu).or_insert(seen.at);
                }
                if known.insert(next.pid)
                    && next.pid != 0
                    && self.lost == 0
                    && self.unwoken.len() < MOST_UNWOKEN
                {
                    self.unwoken.push((seen.at, seen.cpu, next));
                }
                self.name(prev);
                // The thread that brings a CPU up or down, and does nothing else.
                if next.name.begins(b"cpuhp/") {
                    self.changed.insert(CpuId(seen.cpu));
                }
            }
            SchedEvent::Migrate { task, from, .. }
                if known.insert(task.pid) && self.lost == 0 && self.unwoken.len() < MOST_UNWOKEN =>
            {
                self.unwoken.push((seen.at, from, task));
            }
            SchedEvent::Woken { task, .. } => {
                self.wakeups += 1;
                known.insert(task.pid);
            }
            SchedEvent::Online { .. } => self.has_hotplug = true,
            SchedEvent::WakeupNew { task, .. } | SchedEvent::Forked { child: task } => {
                known.insert(task.pid);
            }
            _ => {}
        }
    }

    /// Who waited since the beginning, of those that nobody had woken: no CPU idles while a task waits in its queue, and no task
    /// waits for so long.
    fn settle(&mut self) {
        let idled = std::mem::take(&mut self.idled);
        for (at, cpu, who) in std::mem::take(&mut self.unwoken) {
            let has_idled = idled.get(&cpu).is_some_and(|&idled| idled < at);
            if !has_idled && at.saturating_sub(self.begins) <= LONGEST_WAIT_NS {
                self.waiting.insert(who.pid, (cpu, who));
            }
        }
    }

    /// Are its records in no order of time, so that nothing can be made of them? Clocks of CPUs differ by less, and damage is rarer.
    pub(crate) fn has_no_order(&self) -> bool {
        self.clock.furthest > JITTER && self.clock.backwards > (self.records / 20).max(1)
    }

    /// How a CPU began, as far as its records have shown.
    fn begin(&mut self, seen: &SchedRecord) {
        let number = CpuId(seen.cpu);
        let cpu = self.cpus.entry(seen.cpu).or_insert(Cpu { at: seen.at, ..Cpu::default() });
        cpu.begins_late |= seen.what == SchedEvent::BeginsHere;
        match seen.what {
            // While a recorder begins, other events may be on before switches are.
            SchedEvent::Switch { prev, .. } if cpu.switched.is_none() => {
                (cpu.ran, cpu.switched) = (Some(prev), Some(seen.at));
                self.settled.insert(number);
            }
            _ if cpu.ran.is_none() => {
                cpu.ran = seen.current.map(|pid| Who { pid, name: Name::default(), prio: None });
            }
            _ => {}
        }
        match cpu.ran.is_some_and(|ran| ran.name.is_empty()) {
            true => self.nameless.insert(number),
            false => self.nameless.remove(number),
        };
    }

    /// Who ran where when the recording began: a task only where it was seen first.
    pub(crate) fn running(&self) -> BTreeMap<u32, Who> {
        let mut reported: Vec<_> = self
            .cpus
            .iter()
            .filter_map(|(&cpu, reported)| Some((cpu, reported.switched, reported.ran?)))
            .collect();
        reported.sort_by_key(|&(cpu, switched, _)| (switched.is_none(), switched, cpu));
        let mut there = BTreeSet::new();
        reported.retain(|&(_, _, who)| who.pid != 0 && there.insert(who.pid));
        reported.into_iter().map(|(cpu, _, who)| (cpu, who)).collect()
    }

    /// The name of one who ran from the beginning, where only its pid is known so far.
    fn name(&mut self, who: Who) {
        if self.nameless.is_empty() || who.name.is_empty() {
            return;
        }
        for number in self.nameless.clone().iter() {
            if let Some(ran) = self.cpus.get_mut(&number.0).and_then(|cpu| cpu.ran.as_mut())
                && ran.pid == who.pid
            {
                *ran = who;
                self.nameless.remove(number);
            }
        }
    }
}

/// The pids that were spoken of: a bit each.
#[derive(Default)]
struct Known {
    words: Vec<u64>,
}

impl Known {
    /// Is it new?
    fn insert(&mut self, pid: u32) -> bool {
        if pid >= PID_LIMIT {
            return false;
        }
        let (word, bit) = (pid as usize / 64, 1 << (pid % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }
}
