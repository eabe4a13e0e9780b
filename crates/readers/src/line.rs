//! Puts a recording's records in order and completes its wakeups: a short queue in which records wait for the pieces
//! that belong to them.
//!
//! The kernel reports a wakeup in pieces: `sched_waking` by the waker, `sched_migrate_task` if another CPU is chosen,
//! `sched_wakeup` when the task is on a runqueue. `perf sched record` keeps only the first two. So a waking waits here
//! for the following pieces, and becomes one [`SchedEvent::Woken`], at the time of the last piece if the recording has
//! it. That piece may take long, if a CPU carries out wakeups that others left to it.
//!
//! Time never runs backwards after this queue: a record that would be too early gets the time of the one before it, and
//! is counted. A record that is far ahead of its neighbours on both sides has a damaged time stamp, and is left out.

use crate::ReadError;
use crate::sched_record::{PID_LIMIT, SchedEvent, SchedRecord, Who};
use crate::source::Records;
use keel_abi::Span;
use keel_abi::cpuset::MAX_CPUS;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// How long a waking waits for its other pieces.
const WAIT_NS: u64 = 1_000_000;
/// The maximum number of records in the queue.
const MOST: usize = 1 << 15;
/// A record that is further ahead than this must be confirmed by the next record: no machine is quiet for that long.
const LEAP_NS: u64 = 60_000_000_000;
/// The maximum number of wakers that are remembered.
const WAKERS: usize = 1 << 16;

/// Anomalies of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// The number of records with an earlier time than the one before them.
    pub(crate) backwards: u64,
    /// The largest step backwards.
    pub(crate) furthest: Span,
    /// The number of records that were left out because of an invalid time.
    pub(crate) wild: u64,
    /// The number of gaps of more than a minute in which no CPU wrote anything.
    pub(crate) leaps: u64,
    /// The longest gap.
    pub(crate) longest: Span,
}

/// A reported waking.
#[derive(Clone, Copy, Debug)]
struct Waking {
    /// Its place in the order of all records.
    number: u64,
    by: u32,
    cpu: u32,
}

/// Queued records.
pub(crate) struct Line<'a> {
    source: &'a mut dyn Records,
    queue: VecDeque<SchedRecord>,
    /// The number of the queue's first record.
    first: u64,
    wakings: FxHashMap<u32, Waking>,
    /// A record that is far ahead.
    suspect: Option<SchedRecord>,
    /// What followed it.
    then: Option<SchedRecord>,
    reached: u64,
    begun: bool,
    over: bool,
    clock: Clock,
    impossible: u64,
    /// Whether the recording contains `sched_wakeup`. If so, a waking alone is not a wakeup.
    has_wakeups: bool,
    wakeups: u64,
}

impl<'a> Line<'a> {
    /// Creates a queue for the records of a source. `has_wakeups` is whether it contains `sched_wakeup`, if known.
    pub(crate) fn new(source: &'a mut dyn Records, has_wakeups: bool) -> Self {
        Self {
            source,
            has_wakeups,
            wakeups: 0,
            queue: VecDeque::new(),
            first: 0,
            wakings: FxHashMap::default(),
            suspect: None,
            then: None,
            reached: 0,
            begun: false,
            over: false,
            clock: Clock::default(),
            impossible: 0,
        }
    }

    /// Returns the anomalies of time so far.
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// Returns the number of records that were left out because they name an impossible CPU or task.
    pub(crate) fn impossible(&self) -> u64 {
        self.impossible
    }

    /// Returns the number of `sched_wakeup` records.
    pub(crate) fn wakeups(&self) -> u64 {
        self.wakeups
    }

    /// Returns the next record.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<SchedRecord>, ReadError> {
        let mut seen = self.next_as_is()?;
        if let Some(seen) = &mut seen {
            whole(seen, self.has_wakeups);
        }
        Ok(seen)
    }

    /// Returns the next record, before a waking without further pieces is completed ([`whole`]).
    #[inline]
    pub(crate) fn next_as_is(&mut self) -> Result<Option<SchedRecord>, ReadError> {
        loop {
            let ripe = self.queue.len() >= MOST
                || self.queue.front().is_some_and(|front| self.over || self.reached - front.at > WAIT_NS);
            if ripe && let Some(seen) = self.queue.pop_front() {
                self.first += 1;
                return Ok(Some(seen));
            }
            if self.over {
                return Ok(None);
            }
            let is_usual = self.begun && self.suspect.is_none() && self.then.is_none();
            let seen = if is_usual { self.usual()? } else { self.in_time()? };
            match seen {
                Some(seen) => self.push(seen),
                None => self.over = true,
            }
        }
    }

    /// Returns the next record, if no earlier one awaits confirmation.
    #[inline]
    fn usual(&mut self) -> Result<Option<SchedRecord>, ReadError> {
        let Some(mut seen) = self.source.next()? else { return Ok(None) };
        if !Self::can_be(&mut seen) {
            self.impossible += 1;
            return self.in_time();
        }
        if seen.at >= self.reached && seen.at - self.reached <= LEAP_NS {
            self.reached = seen.at;
            return Ok(Some(seen));
        }
        self.then = Some(seen);
        self.in_time()
    }

    /// Returns the next valid record, in order of time.
    #[cold]
    fn in_time(&mut self) -> Result<Option<SchedRecord>, ReadError> {
        loop {
            let Some(seen) = self.possible()? else {
                // The last record is neither contradicted nor confirmed.
                return Ok(self.suspect.take().map(|ahead| self.wild(ahead)));
            };
            if let Some(ahead) = self.suspect.take() {
                let borne_out = seen.at.abs_diff(ahead.at) <= LEAP_NS;
                self.then = Some(seen);
                return Ok(Some(match borne_out {
                    true => {
                        self.leap(ahead.at);
                        self.arrive(ahead)
                    }
                    false => self.wild(ahead),
                }));
            }
            if self.begun && seen.at.saturating_sub(self.reached) > LEAP_NS {
                self.suspect = Some(seen);
                continue;
            }
            if !self.begun {
                return Ok(Some(self.begin(seen)?));
            }
            return Ok(Some(self.arrive(seen)));
        }
    }

    /// Returns the first record. If it is far ahead of the second, time begins with the second.
    fn begin(&mut self, first: SchedRecord) -> Result<SchedRecord, ReadError> {
        self.begun = true;
        self.reached = first.at;
        self.then = self.possible()?;
        let Some(second) = self.then.filter(|second| first.at.saturating_sub(second.at) > LEAP_NS) else {
            return Ok(first);
        };
        self.reached = second.at;
        Ok(self.wild(first))
    }

    /// Removes everything from a record with an invalid time except the number of lost events before it.
    fn wild(&mut self, seen: SchedRecord) -> SchedRecord {
        self.clock.wild += 1;
        SchedRecord { at: self.reached, current: None, what: SchedEvent::Other, ..seen }
    }

    fn leap(&mut self, to: u64) {
        self.clock.leaps += 1;
        self.clock.longest = self.clock.longest.max(Span::from_ns(to - self.reached));
    }

    fn arrive(&mut self, mut seen: SchedRecord) -> SchedRecord {
        let back = self.reached.saturating_sub(seen.at);
        if back > 0 {
            self.clock.backwards += 1;
            self.clock.furthest = self.clock.furthest.max(Span::from_ns(back));
            seen.at = self.reached;
        }
        self.reached = seen.at;
        seen
    }

    /// Returns the next record with possible CPUs and tasks.
    fn possible(&mut self) -> Result<Option<SchedRecord>, ReadError> {
        if let Some(seen) = self.then.take() {
            return Ok(Some(seen));
        }
        while let Some(mut seen) = self.source.next()? {
            if Self::can_be(&mut seen) {
                return Ok(Some(seen));
            }
            self.impossible += 1;
        }
        Ok(None)
    }

    /// Returns whether its CPUs and tasks are possible. Removes an impossible current task.
    #[inline]
    fn can_be(seen: &mut SchedRecord) -> bool {
        let cpu = seen.cpu.max(seen.what.highest_cpu());
        seen.current = seen.current.filter(|&pid| pid < PID_LIMIT);
        cpu < MAX_CPUS && seen.what.pids().iter().all(|&pid| pid < PID_LIMIT)
    }

    #[inline]
    fn push(&mut self, mut seen: SchedRecord) {
        let number = self.first + self.queue.len() as u64;
        match seen.what {
            SchedEvent::Waking { task, .. } => {
                if self.wakings.len() >= WAKERS {
                    self.wakings.clear();
                }
                self.wakings.insert(task.pid, Waking { number, by: waker(&seen), cpu: seen.cpu });
            }
            SchedEvent::Wakeup { task, target } => {
                self.wakeups += 1;
                let (by, cpu) = match self.wakings.remove(&task.pid) {
                    Some(waking) => {
                        if let Some(before) = self.queued(waking.number) {
                            before.what = SchedEvent::Other;
                        }
                        (waking.by, waking.cpu)
                    }
                    None => (waker(&seen), seen.cpu),
                };
                seen.what = SchedEvent::Woken { task, target, waker: by, waker_cpu: cpu };
            }
            SchedEvent::Migrate { task, to, .. } => self.place(&mut seen, task, to),
            _ => {}
        }
        self.queue.push_back(seen);
    }

    /// Handles a migration. A migration by the waker between a waking and its wakeup is the choice of a CPU, not a move
    /// from one runqueue to another.
    fn place(&mut self, seen: &mut SchedRecord, task: Who, to: u32) {
        let Some(&waking) = self.wakings.get(&task.pid) else { return };
        if waking.cpu != seen.cpu {
            return;
        }
        if let Some(SchedRecord { what: SchedEvent::Waking { target, .. }, .. }) = self.queued(waking.number)
        {
            *target = to;
            seen.what = SchedEvent::Other;
        }
    }

    fn queued(&mut self, number: u64) -> Option<&mut SchedRecord> {
        let place = number.checked_sub(self.first)?;
        self.queue.get_mut(usize::try_from(place).ok()?)
    }
}

/// Completes a waking without further pieces: it is the whole wakeup, unless the recording also has the last piece.
#[inline]
pub(crate) fn whole(seen: &mut SchedRecord, has_wakeups: bool) {
    if let SchedEvent::Waking { task, target } = seen.what {
        seen.what = match has_wakeups {
            true => SchedEvent::Other,
            false => SchedEvent::Woken { task, target, waker: waker(seen), waker_cpu: seen.cpu },
        };
    }
}

/// Returns the task that acts in a record: 0 if an interrupt does.
fn waker(seen: &SchedRecord) -> u32 {
    if seen.interrupt { 0 } else { seen.current.unwrap_or(0) }
}

#[cfg(test)]
mod tests;
