//! Keeps the records of a recording after the first pass through [`line`](crate::line), in little memory (about ten
//! bytes each), so that most recordings need not be read twice.
//!
//! A record is stored as its difference from the expected one: times relative to the record before, the running task
//! from the CPU's last switch, names from the last one seen for the pid. The expectation is the same when records are
//! stored and when they are replayed. Beyond [`MOST`] bytes nothing is kept, and the file is read again.

use crate::line::whole;
use crate::sched_record::{Name, SchedEvent, SchedRecord, Who};
use keel_abi::cpuset::MAX_CPUS;
use keel_trace::Why;

/// The maximum number of bytes that are kept.
const MOST: usize = 128 << 20;
/// The number of pids whose names are remembered. Pids with the same index replace each other's.
const PLACES: usize = 1 << 12;

/// Bits besides a record's kind.
const KIND: u8 = 15;
const INTERRUPT: u8 = 1 << 4;
const LOST: u8 = 1 << 5;
/// The running task is the expected one, so it is not stored.
const EXPECTED: u8 = 1 << 6;
const UNREPORTED: u8 = 1 << 7;

const WHYS: [Why; 5] = [Why::WasIdle, Why::Preempted, Why::Yielded, Why::Blocked, Why::Exited];

/// The expected content of the next record.
#[derive(Clone, Debug)]
struct Expected {
    at: u64,
    /// The running task of each CPU.
    running: Vec<u32>,
    tasks: Vec<Who>,
}

impl Expected {
    fn new() -> Self {
        Self { at: 0, running: vec![0; MAX_CPUS as usize], tasks: vec![Who::default(); PLACES] }
    }

    #[inline]
    fn task(&mut self, pid: u32) -> &mut Who {
        &mut self.tasks[pid as usize % PLACES]
    }

    #[inline]
    fn pass(&mut self, seen: &SchedRecord) {
        self.at = seen.at;
        if let SchedEvent::Switch { next, .. } = seen.what {
            self.running[seen.cpu as usize % MAX_CPUS as usize] = next.pid;
        }
    }

    #[inline]
    fn runs(&self, cpu: u32) -> u32 {
        self.running[cpu as usize % MAX_CPUS as usize]
    }
}

/// Stores records one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Keeping {
    bytes: Vec<u8>,
    expected: Expected,
    most: usize,
    is_too_much: bool,
}

/// All records.
#[derive(Clone, Debug)]
pub(crate) struct RecordCache(Vec<u8>);

impl Keeping {
    /// Creates an empty cache.
    pub(crate) fn new() -> Self {
        Self::with_room(MOST)
    }

    fn with_room(most: usize) -> Self {
        Self { bytes: Vec::new(), expected: Expected::new(), most, is_too_much: false }
    }

    /// Returns all records, or `None` if there were too many.
    pub(crate) fn kept(self) -> Option<RecordCache> {
        (!self.is_too_much).then_some(RecordCache(self.bytes))
    }

    /// Stores a record.
    #[inline]
    pub(crate) fn put(&mut self, seen: &SchedRecord) {
        if self.is_too_much {
            return;
        }
        if self.bytes.len() >= self.most {
            self.is_too_much = true;
            self.bytes = Vec::new();
            return;
        }
        self.head(seen);
        match seen.what {
            SchedEvent::Switch { prev, why, next } => {
                self.who(prev);
                self.bytes.push(WHYS.iter().position(|&of| of == why).unwrap_or(0) as u8);
                self.who(next);
            }
            SchedEvent::Waking { task, target }
            | SchedEvent::Wakeup { task, target }
            | SchedEvent::WakeupNew { task, target } => {
                self.who(task);
                self.number(target.into());
            }
            SchedEvent::Woken { task, target, waker, waker_cpu } => {
                self.who(task);
                [target, waker, waker_cpu].into_iter().for_each(|number| self.number(number.into()));
            }
            SchedEvent::Migrate { task, from, to } => {
                self.who(task);
                self.number(from.into());
                self.number(to.into());
            }
            SchedEvent::Forked { child: task } | SchedEvent::Named { task } => self.who(task),
            SchedEvent::Online { target, up } => self.number(u64::from(target) << 1 | u64::from(up)),
            SchedEvent::BeginsHere | SchedEvent::Other => {}
        }
        self.expected.pass(seen);
    }

    #[inline]
    fn head(&mut self, seen: &SchedRecord) {
        let mut head = kind(&seen.what);
        head |= if seen.interrupt { INTERRUPT } else { 0 };
        head |= if seen.lost > 0 { LOST } else { 0 };
        head |= match seen.current {
            None => UNREPORTED,
            Some(pid) if pid == self.expected.runs(seen.cpu) => EXPECTED,
            Some(_) => 0,
        };
        self.bytes.push(head);
        self.number(folded(seen.at.wrapping_sub(self.expected.at).cast_signed()));
        self.number(seen.cpu.into());
        if seen.lost > 0 {
            self.number(seen.lost);
        }
        if let (Some(pid), 0) = (seen.current, head & EXPECTED) {
            self.number(pid.into());
        }
    }

    #[inline]
    fn who(&mut self, who: Who) {
        let known = self.expected.task(who.pid);
        let is_known = *known == who;
        self.number(u64::from(who.pid) << 1 | u64::from(is_known));
        if !is_known {
            *self.expected.task(who.pid) = who;
            self.bytes.extend_from_slice(who.name.bytes());
            self.number(who.prio.map_or(0, |prio| folded(prio.into()) + 1));
        }
    }

    #[inline]
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}

impl RecordCache {
    /// Replays the records. By now it is known whether the recording has `sched_wakeup`.
    pub(crate) fn again(&self, has_wakeups: bool) -> Again<'_> {
        Again { bytes: &self.0, expected: Expected::new(), has_wakeups }
    }
}

/// Replays records one after the other.
pub(crate) struct Again<'a> {
    bytes: &'a [u8],
    expected: Expected,
    has_wakeups: bool,
}

impl Iterator for Again<'_> {
    type Item = SchedRecord;

    #[inline]
    fn next(&mut self) -> Option<SchedRecord> {
        let mut seen = self.as_was()?;
        whole(&mut seen, self.has_wakeups);
        Some(seen)
    }
}

impl Again<'_> {
    #[inline]
    fn as_was(&mut self) -> Option<SchedRecord> {
        let (&head, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        let at = self.expected.at.wrapping_add_signed(unfolded(self.number()));
        let cpu = self.small();
        let lost = if head & LOST != 0 { self.number() } else { 0 };
        let current = match head & (EXPECTED | UNREPORTED) {
            UNREPORTED => None,
            0 => Some(self.small()),
            _ => Some(self.expected.runs(cpu)),
        };
        let what = self.what(head & KIND);
        let seen = SchedRecord { at, cpu, lost, current, interrupt: head & INTERRUPT != 0, what };
        self.expected.pass(&seen);
        Some(seen)
    }

    #[inline]
    fn what(&mut self, kind: u8) -> SchedEvent {
        match kind {
            0 => {
                let (prev, why, next) = (self.who(), self.byte(), self.who());
                SchedEvent::Switch { prev, why: WHYS[usize::from(why) % WHYS.len()], next }
            }
            1 => SchedEvent::Waking { task: self.who(), target: self.small() },
            2 => SchedEvent::Wakeup { task: self.who(), target: self.small() },
            3 => SchedEvent::Woken {
                task: self.who(),
                target: self.small(),
                waker: self.small(),
                waker_cpu: self.small(),
            },
            4 => SchedEvent::WakeupNew { task: self.who(), target: self.small() },
            5 => SchedEvent::Forked { child: self.who() },
            6 => SchedEvent::Migrate { task: self.who(), from: self.small(), to: self.small() },
            7 => SchedEvent::Named { task: self.who() },
            8 => {
                let reported = self.small();
                SchedEvent::Online { target: reported >> 1, up: reported & 1 != 0 }
            }
            9 => SchedEvent::BeginsHere,
            _ => SchedEvent::Other,
        }
    }

    #[inline]
    fn who(&mut self) -> Who {
        let reported = self.number();
        let pid = (reported >> 1) as u32;
        if reported & 1 != 0 {
            return *self.expected.task(pid);
        }
        let (name, rest) = self.bytes.split_first_chunk::<16>().expect("it was put in");
        self.bytes = rest;
        let name = Name::new(name);
        let prio = self.number().checked_sub(1).map(|prio| unfolded(prio) as i32);
        let who = Who { pid, name, prio };
        *self.expected.task(pid) = who;
        who
    }

    #[inline]
    fn byte(&mut self) -> u8 {
        let (&byte, rest) = self.bytes.split_first().expect("it was put in");
        self.bytes = rest;
        byte
    }

    #[inline]
    fn small(&mut self) -> u32 {
        self.number() as u32
    }

    #[inline]
    fn number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte();
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        number
    }
}

fn kind(what: &SchedEvent) -> u8 {
    match what {
        SchedEvent::Switch { .. } => 0,
        SchedEvent::Waking { .. } => 1,
        SchedEvent::Wakeup { .. } => 2,
        SchedEvent::Woken { .. } => 3,
        SchedEvent::WakeupNew { .. } => 4,
        SchedEvent::Forked { .. } => 5,
        SchedEvent::Migrate { .. } => 6,
        SchedEvent::Named { .. } => 7,
        SchedEvent::Online { .. } => 8,
        SchedEvent::BeginsHere => 9,
        SchedEvent::Other => 10,
    }
}

/// Maps small numbers of either sign to small unsigned ones.
fn folded(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

fn unfolded(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::make::any_records;
    use crate::sched_record::PID_LIMIT;
    use proptest::prelude::*;

    fn again(records: &[SchedRecord]) -> Vec<SchedRecord> {
        let mut keeping = Keeping::new();
        records.iter().for_each(|seen| keeping.put(seen));
        let kept = keeping.kept().expect("they are few");
        let mut again = kept.again(false);
        std::iter::from_fn(|| again.as_was()).collect()
    }

    proptest! {
        #[test]
        fn what_is_put_in_is_taken_out(
            mut records in any_records(8, 200),
            odd in prop::collection::vec((any::<u64>(), any::<u64>(), any::<Option<i32>>(), 0..PID_LIMIT), 200),
        ) {
            for (n, (seen, (at, lost, prio, pid))) in records.iter_mut().zip(odd).enumerate() {
                match n % 8 {
                    0 => (seen.at, seen.lost) = (at, lost),
                    1 => seen.current = None,
                    2 => seen.current = Some(pid),
                    3 => seen.what = SchedEvent::Named { task: Who { pid, name: Name::new(b"sixteen letters!"), prio } },
                    4 => seen.what = SchedEvent::Online { target: pid % MAX_CPUS, up: n % 16 == 4 },
                    5 => seen.what = SchedEvent::BeginsHere,
                    _ => {}
                }
            }
            prop_assert_eq!(again(&records), records);
        }
    }

    #[test]
    fn too_many_are_not_kept() {
        let seen =
            SchedRecord { at: 7, cpu: 1, lost: 0, current: None, interrupt: false, what: SchedEvent::Other };
        let mut keeping = Keeping::with_room(100);
        (0..10).for_each(|_| keeping.put(&seen));
        assert!(keeping.clone().kept().is_some());
        (0..100).for_each(|_| keeping.put(&seen));
        assert_eq!(keeping.bytes.capacity(), 0);
        assert!(keeping.kept().is_none());
    }
}
