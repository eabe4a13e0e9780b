//! Decodes the usual case: a little-endian kernel whose events have all fields in their usual places and sizes. A
//! single check of a record's length then replaces a check of each field.

use super::decode::{Common, Decoded, INTERRUPTS, Plan, States, Task};
use super::field::{Field, Place};
use crate::sched_record::{Name, SchedEvent, Who};

/// The places of a task's pid, name and priority.
#[derive(Clone, Copy, Debug)]
struct Places {
    pid: usize,
    comm: usize,
    prio: usize,
}

/// How to read an event with the usual layout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quick {
    /// The minimum length of a record.
    length: usize,
    flags: usize,
    pid: usize,
    what: What,
}

/// The frequent events.
#[derive(Clone, Copy, Debug)]
enum What {
    Switch { prev: Places, state: usize, states: States, next: Places },
    Waking { task: Places, target: usize },
    Wakeup { task: Places, target: usize },
}

impl Quick {
    /// Creates the decoder for an event of a little-endian kernel. Returns `None` if anything about it is unusual.
    pub(super) fn new(common: &Common, plan: &Plan) -> Option<Self> {
        let mut look = Look { length: 0 };
        let (flags, pid) = (look.place(common.flags?, 1)?, look.number(common.pid?)?);
        let what = match plan {
            Plan::Switch { prev, state, states, next } => What::Switch {
                prev: look.task(prev)?,
                state: look.place(*state, 8)?,
                states: *states,
                next: look.task(next)?,
            },
            Plan::Waking { task, target } => {
                What::Waking { task: look.task(task)?, target: look.number(*target)? }
            }
            Plan::Wakeup { task, target } => {
                What::Wakeup { task: look.task(task)?, target: look.number(*target)? }
            }
            _ => return None,
        };
        Some(Self { length: look.length, flags, pid, what })
    }

    /// Decodes a record. Returns `None` if that takes the general decoder.
    #[inline]
    pub(super) fn decode(&self, record: &[u8]) -> Option<Decoded> {
        // All places used below are before this end.
        let record = record.get(..self.length)?;
        let what = match &self.what {
            What::Switch { prev, state, states, next } => SchedEvent::Switch {
                prev: prev.read(record)?,
                why: states.why(i64::from_le_bytes(bytes(record, *state))),
                next: next.read(record)?,
            },
            What::Waking { task, target } => {
                SchedEvent::Waking { task: task.read(record)?, target: unsigned(record, *target)? }
            }
            What::Wakeup { task, target } => {
                SchedEvent::Wakeup { task: task.read(record)?, target: unsigned(record, *target)? }
            }
        };
        let interrupt = i64::from(record[self.flags]) & INTERRUPTS != 0;
        Some(Decoded { current: Some(unsigned(record, self.pid)?), interrupt, what: Some(what) })
    }
}

impl Places {
    #[inline]
    fn read(&self, record: &[u8]) -> Option<Who> {
        let name = Name::new(&bytes::<16>(record, self.comm));
        let prio = Some(i32::from_le_bytes(bytes(record, self.prio)));
        Some(Who { pid: unsigned(record, self.pid)?, name, prio })
    }
}

/// Checks fields, and tracks how far they reach.
struct Look {
    length: usize,
}

impl Look {
    fn place(&mut self, field: Field, size: usize) -> Option<usize> {
        self.length = self.length.max(field.offset.checked_add(size)?);
        (field.place == Place::Here && field.size == size).then_some(field.offset)
    }

    fn number(&mut self, field: Field) -> Option<usize> {
        if field.signed { self.place(field, 4) } else { None }
    }

    fn task(&mut self, task: &Task) -> Option<Places> {
        let (pid, comm, prio) = (task.pid, task.comm?, task.prio?);
        Some(Places { pid: self.number(pid)?, comm: self.place(comm, 16)?, prio: self.number(prio)? })
    }
}

#[inline]
fn bytes<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&record[at..at + N]);
    bytes
}

/// Reads a non-negative number.
#[inline]
fn unsigned(record: &[u8], at: usize) -> Option<u32> {
    u32::try_from(i32::from_le_bytes(bytes(record, at))).ok()
}
