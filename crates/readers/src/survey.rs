//! The first pass over a recording: determines the state of the machine at the beginning, and the recording's content.
//!
//! A recording contains only changes. So a CPU's first switch, even seconds later, shows which task ran there at the
//! beginning. Without a switch, any other record does. A task that is switched in before it was woken had either been
//! waiting since the beginning, or its wakeup is missing. It counts as waiting only if its CPU never idled before, and
//! for at most [`LONGEST_WAIT_NS`]. A CPU without any record is unknown. So is what a CPU did before its buffer begins,
//! if older records were overwritten. If a recording contains no wakeups, or has lost some, a task that is switched in
//! may have been asleep a moment before.

use crate::ReadError;
use crate::line::{Clock, Line, whole};
use crate::record_cache::{Keeping, RecordCache};
use crate::sched_record::{Name, PID_LIMIT, SchedEvent, SchedRecord, Who};
use crate::source::Records;
use crate::woken_asleep::WokenAsleep;
use keel_abi::{CpuId, CpuSet, Span};
use std::collections::{BTreeMap, BTreeSet};

/// The longest assumed wait of a task that ran without a recorded wakeup. A longer wait would be a finding whose
/// beginning is not recorded.
const LONGEST_WAIT_NS: u64 = 1_000_000_000;
/// Time may go backwards by this much, because the clocks of several CPUs differ.
const JITTER: Span = Span::from_ms(1);
/// The maximum number of tasks that are remembered.
const MOST_UNWOKEN: usize = 1 << 20;

/// The result of the first pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    /// The time of the first and the last record.
    pub(crate) begins: u64,
    pub(crate) ends: u64,
    /// The CPUs that wrote something.
    pub(crate) cpus: BTreeMap<u32, Cpu>,
    /// The highest CPU that is mentioned, plus one.
    pub(crate) cpu_limit: u32,
    /// The numbers of switches away from tasks that had already been woken ([`WokenAsleep`]).
    pub(crate) going: Vec<u64>,
    /// Tasks that waited when the recording began, and where.
    pub(crate) waiting: BTreeMap<u32, (u32, Who)>,
    /// When each CPU first idled, if it did.
    idled: BTreeMap<u32, u64>,
    /// Tasks that first appeared without a wakeup, where, and when.
    unwoken: Vec<(u64, u32, Who)>,
    /// CPUs that went online or offline, detected by their hotplug thread.
    pub(crate) changed: CpuSet,
    /// Whether it contains hotplug events.
    pub(crate) has_hotplug: bool,
    /// The number of `sched_switch` events.
    pub(crate) switches: u64,
    /// Whether it contains `sched_wakeup` events.
    pub(crate) has_wakeups: bool,
    /// The number of wakeups, however they were recorded.
    pub(crate) wakeups: u64,
    /// The number of events that were lost.
    pub(crate) lost: u64,
    /// The number of records of any kind.
    pub(crate) records: u64,
    /// Anomalies of time.
    pub(crate) clock: Clock,
    /// The number of records about impossible CPUs or tasks.
    pub(crate) impossible: u64,
    /// CPUs whose initial state is known, and CPUs for which only the running task's pid is known.
    settled: CpuSet,
    nameless: CpuSet,
}

/// A CPU's first record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cpu {
    /// When it was written.
    pub(crate) at: u64,
    /// The running task; `None` if unknown.
    pub(crate) ran: Option<Who>,
    /// When a switch showed that.
    pub(crate) switched: Option<u64>,
    /// Whether earlier records were overwritten.
    pub(crate) begins_late: bool,
}

impl Survey {
    /// Reads `source` to its end. Also returns its records, if they are not too many.
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
        // Names are recorded while the recorder is still preparing, which can take seconds without other records.
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
                    // It idled before, since an unknown time.
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
                // This thread only brings CPUs up or down.
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

    /// Decides which of the tasks without a wakeup had waited since the beginning. No CPU idles while a task waits on
    /// its runqueue, and no task waits for longer than the limit.
    fn settle(&mut self) {
        let idled = std::mem::take(&mut self.idled);
        for (at, cpu, who) in std::mem::take(&mut self.unwoken) {
            let has_idled = idled.get(&cpu).is_some_and(|&idled| idled < at);
            if !has_idled && at.saturating_sub(self.begins) <= LONGEST_WAIT_NS {
                self.waiting.insert(who.pid, (cpu, who));
            }
        }
    }

    /// Returns whether its records are so far out of order that they can't be used. CPUs' clocks differ by less, and
    /// damage is rarer.
    pub(crate) fn has_no_order(&self) -> bool {
        self.clock.furthest > JITTER && self.clock.backwards > (self.records / 20).max(1)
    }

    /// Updates a CPU's initial state, as far as its records show it.
    fn begin(&mut self, seen: &SchedRecord) {
        let number = CpuId(seen.cpu);
        let cpu = self.cpus.entry(seen.cpu).or_insert(Cpu { at: seen.at, ..Cpu::default() });
        cpu.begins_late |= seen.what == SchedEvent::BeginsHere;
        match seen.what {
            // While a recorder starts, other events may be enabled before switches.
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

    /// Returns the tasks that ran when the recording began: each only where it was first seen.
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

    /// Sets the name of a task that ran from the beginning, if only its pid is known so far.
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

/// The pids that were mentioned, one bit each.
#[derive(Default)]
struct Known {
    words: Vec<u64>,
}

impl Known {
    /// Returns whether it is new.
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
