//! The order of what CPUs do at nearly the same time.
//!
//! A simulated run has one order: that of virtual time, which follows from costs. On real hardware, a cache miss, an
//! interrupt or a hypervisor sometimes delays a CPU, and another one gets there first. An [`Order`] determines where
//! that happens: a callback that is about to do something visible to others is delayed for a window of time in which
//! something is due elsewhere. So every such order can occur on real CPUs.

use crate::scx::Op;
use crate::{CpuId, Instant, Span};

/// Used instead of a call's number if there is no call.
pub const NO_CALL: u32 = u32::MAX;

/// A point at which a callback may continue or be suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The instant that it has reached.
    pub at: Instant,
    /// Its CPU.
    pub cpu: CpuId,
    /// The callback.
    pub op: Op,
    /// The number of the call that it is about to make ([`crate::bpf::Engine::place`]); [`NO_CALL`] for an atomic
    /// instruction.
    pub call: u32,
    /// The CPU that would go first; `None` for a timer.
    pub other: Option<CpuId>,
    /// When that CPU's event or that timer is due.
    pub other_at: Instant,
}

/// A call whose effect others can see, or an atomic instruction, when it is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The instant.
    pub at: Instant,
    /// Its CPU.
    pub cpu: CpuId,
    /// The callback.
    pub op: Op,
    /// The number of the call, as in [`Point::call`].
    pub call: u32,
}

/// Decides where callbacks are suspended. The same answers give the same run.
pub trait Order: Send {
    /// Returns for how long a callback is suspended. There is a point if an event elsewhere is due within that time.
    fn window(&self) -> Span;

    /// Returns whether the callback is to be suspended. Called once for each point, in the order of the run.
    fn holds(&mut self, point: Point) -> bool;

    /// Called when a callback executes a step, in the order of the run.
    fn passes(&mut self, _step: Step) {}
}

/// An order as data: the points at which callbacks are suspended, counted from 0, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holds {
    /// For how long a callback is suspended.
    pub window: Span,
    /// The points.
    pub points: Vec<u64>,
}

impl Holds {
    /// Returns the order that these describe.
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
