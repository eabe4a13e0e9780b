//! In which order CPUs do what they do at nearly the same time.
//!
//! A simulated run has one order: that of virtual time, which follows from costs. On real hardware, a cache miss, an
//! interrupt or a hypervisor sometimes delays a CPU, and another one is faster. An [`Order`] determines where that
//! happens: a callback that is about to do something visible to others is delayed for a window of time in which
//! something is due elsewhere. So every such order can occur on real CPUs.

use crate::scx::Op;
use crate::{CpuId, Instant, Span};

/// In place of a call's number.
pub const NO_CALL: u32 = u32::MAX;

/// A callback that may go on, or let others pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Which moment it has come to.
    pub at: Instant,
    /// Its CPU.
    pub cpu: CpuId,
    /// Which callback.
    pub op: Op,
    /// The number of the call that it is about to make ([`crate::bpf::Engine::place`]); [`NO_CALL`] for an atomic instruction.
    pub call: u32,
    /// The CPU that would go first; `None` for a timer.
    pub other: Option<CpuId>,
    /// When that is due.
    pub other_at: Instant,
}

/// A call that others can see, or an atomic instruction, at the moment when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which moment.
    pub at: Instant,
    /// Its CPU.
    pub cpu: CpuId,
    /// In which callback.
    pub op: Op,
    /// As [`Point::call`].
    pub call: u32,
}

/// Who decides. The same answers give the same run.
pub trait Order: Send {
    /// For how long a callback is held up. There is a choice where an event elsewhere is due within that.
    fn window(&self) -> Span;

    /// Is the callback to be held up? Asked once for each point, in the order of the run.
    fn holds(&mut self, point: Point) -> bool;

    /// A callback makes a step. Told for each one, in the order of the run.
    fn passes(&mut self, _step: Step) {}
}

/// An order as data: points at which callbacks are held up, counted from 0, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holds {
    /// As [`Order::window`].
    pub window: Span,
    /// The points.
    pub points: Vec<u64>,
}

impl Holds {
    /// The order that these describe.
    pub fn order(&self) -> Box<dyn Order> {
        Box::new(Replayed { holds: self.clone(), next: 0 })
    }
}

struct Replayed {
    holds: Holds,
    next: u64,
}

impl Order for Replayed {
    fn window(&self) -> Span {
        self.holds.window
    }

    fn holds(&mut self, _: Point) -> bool {
        let this = self.next;
        self.next += 1;
        self.holds.points.binary_search(&this).is_ok()
    }
}
