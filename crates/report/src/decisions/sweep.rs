//! The measurements along one axis: costs by callback and size, and the exponents with which they grow.

use super::{Axis, Size};
use crate::run::SpreadReport;
use keel_abi::Span;
use keel_check::DecisionCost;
use keel_check::decisions::exponent;
use serde::Serialize;

/// The measurements along one axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SweepReport {
    /// The callbacks and the kinds distinguished within them, in the order in which they were first seen.
    pub callbacks: Vec<CallbackReport>,
    /// All callbacks together.
    pub together: TogetherReport,
}

/// One kind of callback.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallbackReport {
    /// Its name in `struct sched_ext_ops`; `wakeup`, which is `select_cpu` and the `enqueue` after it; or a dispatch in
    /// which one of the scheduler's counters increased: `array switch`, `recalculation`.
    pub callback: String,
    /// Its cost at each size.
    pub sizes: Vec<SizeReport>,
    /// The exponent with which its median time grows along the axis; absent if it was called at only one size.
    pub exponent: Option<f64>,
}

/// The cost of one kind of callback at one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeReport {
    /// The size.
    #[serde(flatten)]
    pub size: Size,
    /// How often it was called.
    pub calls: u64,
    /// BPF instructions per call.
    pub instructions: SpreadReport,
    /// Time per call.
    pub time_ns: SpreadReport,
    /// The time of all calls divided by their number.
    pub mean_ns: u64,
}

/// The time of all callbacks divided by the number of dispatches.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TogetherReport {
    /// The times at each size.
    pub sizes: Vec<TogetherSize>,
    /// The exponent with which it grows along the axis; absent if there is only one size.
    pub exponent: Option<f64>,
}

/// All callbacks together at one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TogetherSize {
    /// The size.
    #[serde(flatten)]
    pub size: Size,
    /// Their time per dispatch.
    pub mean_ns: u64,
}

impl SweepReport {
    pub(super) fn add(&mut self, axis: Axis, size: Size, costs: &[DecisionCost], together: Option<Span>) {
        for cost in costs {
            let callback = self.callback(cost.name);
            callback.sizes.push(SizeReport {
                size,
                calls: cost.calls,
                instructions: cost.instructions.into(),
                time_ns: cost.time.into(),
                mean_ns: cost.mean.as_ns(),
            });
            let points = callback.sizes.iter().map(|at| point(axis, at.size, at.time_ns.p50));
            callback.exponent = exponent(&points.collect::<Vec<_>>());
        }
        if let Some(mean) = together {
            let sizes = &mut self.together.sizes;
            sizes.push(TogetherSize { size, mean_ns: mean.as_ns() });
            let points = sizes.iter().map(|at| point(axis, at.size, at.mean_ns));
            self.together.exponent = exponent(&points.collect::<Vec<_>>());
        }
    }

    fn callback(&mut self, name: &str) -> &mut CallbackReport {
        let known = self.callbacks.iter().position(|callback| callback.callback == name);
        let at = known.unwrap_or_else(|| {
            let callback = name.to_owned();
            self.callbacks.push(CallbackReport { callback, sizes: Vec::new(), exponent: None });
            self.callbacks.len() - 1
        });
        &mut self.callbacks[at]
    }
}

/// Returns the size along the axis, and the time in nanoseconds.
fn point(axis: Axis, size: Size, ns: u64) -> (f64, f64) {
    (f64::from(size.along(axis)), ns.max(1) as f64)
}
