//! Records what this kernel schedules, as the same kind of stream of events that a simulated run emits.
//!
//! Programs in the kernel write records into one ring buffer per CPU (crates/live/bpf/record.bpf.c). Here they are
//! merged by time and become consistent events, so that the same checks can read them. Records that did not fit into a
//! ring are counted and reported at their place ([`What::Lost`]).
//!
//! [`What::Lost`]: keel_trace::What::Lost

mod decisions;
mod error;
pub(crate) mod kernel;
mod optional;
pub(crate) mod raw;

pub use error::RecordError;

use crate::host::Host;
use crate::machine;
use crate::ready;
use decisions::Decisions;
use keel_abi::{CpuId, CpuSet, Span, Topology};
use keel_trace::story::{self, Key, Merge, Raw, RawWhat, Story};
use keel_trace::{Meta, Sink, Unknown};
use kernel::{Events, Extent, Kernel};
use rustix::time::{ClockId, clock_gettime};
use std::os::fd::BorrowedFd;

/// The maximum time between a record's timestamp and its arrival, except on CPUs that are stopped meanwhile, as virtual
/// ones may be.
const SLACK_NS: u64 = 50_000_000;

/// The default memory for all rings, in bytes.
const RINGS_BYTES: u32 = 256 << 20;
/// The smallest and the largest default ring, in bytes.
const RING_BYTES: std::ops::RangeInclusive<u32> = 64 << 10..=4 << 20;

/// How a recording ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Its length.
    pub duration: Span,
    /// The number of events.
    pub events: u64,
    /// The number of events that are missing because the rings were full.
    pub lost: u64,
    /// The number of tasks that did something.
    pub tasks: u32,
    /// The number of events that arrived too late for their place and got a later timestamp.
    pub late: u64,
    /// The number of inferred switches, which no record shows. They put tasks where later events expect them.
    pub made_up: u64,
    /// The number of decisions that the scheduler reported.
    pub decisions: u64,
}

/// A running recording. Call [`drain`](Self::drain) regularly and whenever [`filled`](Self::filled) is ready, and
/// [`finish`](Self::finish) at the end. If you drop it, the kernel's half is removed too.
pub struct Recorder {
    kernel: Kernel,
    decisions: Option<Decisions>,
    merge: Merge,
    story: Story,
    start: u64,
}

/// What to record in addition to running and waiting tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// Whether to record what Linux's own fair class considers.
    pub decisions: bool,
    /// Whether to record transfers through pipes.
    pub pipes: bool,
}

/// The subject of a recording.
pub(crate) struct Scene<'a> {
    pub(crate) topology: &'a Topology,
    pub(crate) online: &'a CpuSet,
    pub(crate) scheduler: String,
    pub(crate) workload: String,
}

impl Recorder {
    /// Starts recording with rings of at least `ring_bytes` per CPU, and passes the machine and its tasks to `sink`.
    /// `workload` is the stream's name for what it records.
    ///
    /// # Errors
    /// The kernel or this process's capabilities do not allow it.
    pub fn begin(
        host: &Host,
        workload: &str,
        ring_bytes: Option<u32>,
        beside: Beside,
        sink: &mut dyn Sink,
    ) -> Result<Self, RecordError> {
        permitted(host)?;
        let facts = machine::facts(host);
        let cpus = facts.topology.cpus();
        let Beside { decisions, pipes } = beside;
        let extent = Extent { events: Events::All, decisions, pipes };
        let kernel = Kernel::load(host, cpus, ring_size(ring_bytes, cpus), extent)?;
        let scene = Scene {
            topology: &facts.topology,
            online: &facts.online,
            scheduler: scheduler(host),
            workload: workload.to_owned(),
        };
        let mut recorder = Self::with(kernel, scene, sink)?;
        recorder.decisions = Some(Decisions::new(cpus));
        Ok(recorder)
    }

    /// Like [`Recorder::begin`], with programs that are already loaded, and without the scheduler's reports of its
    /// decisions.
    pub(crate) fn with(
        mut kernel: Kernel,
        scene: Scene<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Self, RecordError> {
        let Scene { topology, online, scheduler, workload } = scene;
        let cpus = topology.cpus();
        let offline: CpuSet = topology.iter().filter(|&cpu| !online.contains(cpu)).collect();
        kernel.attach()?;
        let start = now();
        let clock = Meta::Clock { ns: start };
        let (merge, story) = (Merge::default(), Story::new(start, cpus));
        let mut recorder = Self { kernel, decisions: None, merge, story, start };
        let start = Meta::Start { topology: topology.clone(), scheduler, workload, unit: String::new() };
        recorder.story.say(&start, sink);
        let unknown = recorder.kernel.unknown();
        if unknown != Unknown::default() {
            recorder.story.say(&Meta::Unknown(unknown), sink);
        }
        recorder.story.say(&clock, sink);
        recorder.open(&offline, sink)?;
        Ok(recorder)
    }

    /// Returns the functions of this kernel that cannot be traced, and what is therefore not recorded.
    pub fn missing(&self) -> Vec<String> {
        self.kernel.missing()
    }

    /// Passes on what happened until a moment ago. Returns false if there is more than it reads at once: call it again.
    ///
    /// # Errors
    /// A ring cannot be read.
    pub fn drain(&mut self, sink: &mut dyn Sink) -> Result<bool, RecordError> {
        let now = now();
        let complete = self.kernel.drain(&mut self.merge)?;
        self.drain_decisions(now);
        let until = complete.map_or(now, |at| at.min(now)).saturating_sub(SLACK_NS);
        self.release(until, sink);
        Ok(complete.is_none())
    }

    /// Returns a descriptor that becomes readable when there is much to [`drain`](Self::drain).
    pub fn filled(&self) -> BorrowedFd<'_> {
        self.kernel.filled()
    }

    /// Ends the recording, and the stream.
    ///
    /// # Errors
    /// A ring cannot be read.
    pub fn finish(self, sink: &mut dyn Sink) -> Result<Recorded, RecordError> {
        self.end(sink).map(|(recorded, _)| recorded)
    }

    /// Like [`finish`](Self::finish), but also returns the programs, detached.
    pub(crate) fn end(mut self, sink: &mut dyn Sink) -> Result<(Recorded, Kernel), RecordError> {
        let end = now();
        self.kernel.detach();
        self.drain_decisions(end);
        // No more records arrive, so this ends.
        while self.kernel.drain(&mut self.merge)?.is_some() {
            self.release(0, sink);
        }
        // While the programs are detached one by one, the record is incomplete.
        self.release(end, sink);
        for (cpu, lost) in self.kernel.lost() {
            self.story.lost(cpu, lost);
        }
        self.story.end(end, sink);
        let counts = self.story.counts();
        let recorded = Recorded {
            duration: Span::from_ns(end - self.start),
            events: counts.events,
            lost: counts.lost,
            tasks: counts.tasks,
            late: self.merge.late(),
            made_up: counts.made_up,
            decisions: counts.decisions,
        };
        Ok((recorded, self.kernel))
    }

    /// Determines the machine's state when the recording began, from the snapshot and the first records.
    fn open(&mut self, offline: &CpuSet, sink: &mut dyn Sink) -> Result<(), RecordError> {
        let snapshot = self.kernel.snapshot()?;
        let seen = now();
        while self.kernel.drain(&mut self.merge)?.is_some_and(|at| at < seen) {}
        self.drain_decisions(seen);
        let mut records = self.merge.release(seen);
        throttled_since(self.start, &snapshot.throttled, &mut records);
        story::open(&mut self.story, self.start, &snapshot.tasks, &records, offline, sink);
        let from = records.partition_point(|raw| raw.at < self.start);
        records[from..].iter().for_each(|raw| self.story.take(raw, sink));
        self.story.flush(sink);
        Ok(())
    }

    /// Reads the scheduler's reports of its decisions so far.
    fn drain_decisions(&mut self, now: u64) {
        if let Some(decisions) = &mut self.decisions {
            decisions.drain(self.start, now, self.kernel.alarm(), &mut self.merge);
        }
    }

    fn release(&mut self, until: u64, sink: &mut dyn Sink) {
        self.merge.release(until).iter().for_each(|raw| self.story.take(raw, sink));
        self.story.flush(sink);
    }
}

/// Adds records for tasks that are throttled in the snapshot: they were throttled from `start` on, unless a record
/// since `start` shows that it began later.
fn throttled_since(start: u64, throttled: &[Key], records: &mut Vec<Raw>) {
    let began_later = |task: Key| {
        let mut reported = records.iter().filter(|raw| raw.at >= start).map(|raw| &raw.what);
        reported.any(|what| matches!(what, RawWhat::Throttled { task: other, .. } if *other == task))
    };
    let from = records.partition_point(|raw| raw.at < start);
    let cpu = CpuId(0);
    let already = throttled.iter().filter(|&&task| !began_later(task)).map(|&task| Raw {
        at: start,
        writer: cpu,
        lost: 0,
        what: RawWhat::Throttled { cpu, task, on: true, group: Key(0) },
    });
    let already: Vec<Raw> = already.collect();
    records.splice(from..from, already);
}

/// Checks that the kernel has BTF, and that this process has the capabilities.
pub(crate) fn permitted(host: &Host) -> Result<(), RecordError> {
    match (host.has("sys/kernel/btf/vmlinux"), ready::has_rights(host)) {
        (false, _) => Err(RecordError::NoBtf),
        (true, false) => Err(RecordError::NoRights),
        (true, true) => Ok(()),
    }
}

/// Returns the current scheduler: the attached one, or else the kernel's own.
pub(crate) fn scheduler(host: &Host) -> String {
    let kernel = || Some(format!("Linux {}", host.text("proc/sys/kernel/osrelease")?));
    host.scheduler().or_else(kernel).unwrap_or_else(|| "Linux".to_owned())
}

/// Returns a ring's size in bytes: a power of two, as the kernel requires, and at least a page.
fn ring_size(asked: Option<u32>, cpus: u32) -> u32 {
    let page = rustix::param::page_size() as u32;
    let size = asked.unwrap_or_else(|| (RINGS_BYTES / cpus).clamp(*RING_BYTES.start(), *RING_BYTES.end()));
    let size = size.clamp(page, 1 << 30);
    match asked {
        Some(_) => size.next_power_of_two(),
        None => 1 << size.ilog2(),
    }
}

/// Returns the clock of the records: the kernel's monotonic nanoseconds.
pub(crate) fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // Time since boot is neither negative nor 500 years.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::fake;

    #[test]
    fn rings_are_powers_of_two_in_bounds() {
        let check = |asked, cpus, expected| assert_eq!(ring_size(asked, cpus), expected, "{asked:?} {cpus}");
        check(None, 1, 4 << 20);
        check(None, 64, 4 << 20);
        check(None, 96, 2 << 20);
        check(None, 4096, 64 << 10);
        check(Some(1), 4, rustix::param::page_size() as u32);
        check(Some(5 << 20), 4, 8 << 20);
        check(Some(u32::MAX), 4, 1 << 30);
    }

    #[test]
    fn a_task_throttled_at_the_snapshot_was_so_from_the_start_unless_a_record_says_otherwise() {
        let reported = |at, task, on| {
            let what = RawWhat::Throttled { cpu: CpuId(0), task: Key(task), on, group: Key(0) };
            Raw { at, writer: CpuId(0), lost: 0, what }
        };
        let check = |throttled: &[u64], records: &[Raw], expected: &[Raw]| {
            let throttled: Vec<Key> = throttled.iter().copied().map(Key).collect();
            let mut records = records.to_vec();
            throttled_since(100, &throttled, &mut records);
            assert_eq!(records, expected);
        };
        check(&[], &[reported(90, 1, true)], &[reported(90, 1, true)]);
        check(&[1], &[], &[reported(100, 1, true)]);
        // Attaching took a while. Earlier events don't count.
        check(
            &[1],
            &[reported(90, 1, false), reported(120, 2, true)],
            &[reported(90, 1, false), reported(100, 1, true), reported(120, 2, true)],
        );
        check(&[1], &[reported(110, 1, true)], &[reported(110, 1, true)]);
    }

    #[test]
    fn missing_requirements_are_reported() {
        let check = |files: &[(&str, &str)], expected| {
            let begun =
                Recorder::begin(&fake(files).1, "", None, Beside::default(), &mut keel_trace::NullSink);
            assert_eq!(begun.err(), Some(expected), "{files:?}");
        };
        check(&[], RecordError::NoBtf);
        let btf = ("sys/kernel/btf/vmlinux", "types");
        check(&[btf, ("proc/self/status", "CapEff:\t0000000000000000\n")], RecordError::NoRights);
        check(&[btf, ("proc/self/status", "CapEff:\t000001ffffffffff\n")], RecordError::NoBtf);
    }

    #[test]
    fn the_scheduler_is_the_attached_one_or_the_kernels() {
        let release = ("proc/sys/kernel/osrelease", "7.2.13\n");
        assert_eq!(scheduler(&fake(&[release]).1), "Linux 7.2.13");
        assert_eq!(scheduler(&fake(&[release, ("sys/kernel/sched_ext/root/ops", "o1\n")]).1), "o1");
    }
}
