//! What a decision of the scheduler costs: instructions and time of its callbacks, one row a kind.
//!
//! A scheduler whose decisions cost the same however many tasks wait is O(1); [`exponent`] tells
//! how its costs grow.

use crate::histogram::{Histogram, Spread};
use keel_abi::scx::Op;
use keel_abi::{Instant, Span};
use keel_trace::{Class, Event, Meta, Sink, What};

/// What one kind of callback cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionCost {
    /// Which kind.
    pub op: Op,
    /// How many calls there were.
    pub calls: u64,
    /// BPF instructions a call.
    pub instructions: Spread<u64>,
    /// Time a call: instructions, kfuncs and helpers, cache lines and waiting for locks.
    pub time: Spread<Span>,
}

#[derive(Clone, Debug, Default)]
struct Row {
    instructions: Histogram,
    time: Histogram,
}

/// Listens to a run and keeps what its scheduler's callbacks cost.
#[derive(Clone, Debug)]
pub struct Decisions {
    from: Instant,
    rows: Vec<Row>,
}

impl Decisions {
    /// Leaves out what ended before `from`: a run's beginning.
    pub fn since(from: Instant) -> Self {
        Self { from, rows: vec![Row::default(); Op::ALL.len()] }
    }

    /// The kinds that were called, in the order of [`Op::ALL`].
    pub fn costs(&self) -> Vec<DecisionCost> {
        let called = Op::ALL.iter().zip(&self.rows).filter(|(_, row)| row.time.count() > 0);
        called.map(|(&op, row)| cost(op, row)).collect()
    }
}

fn cost(op: Op, Row { instructions, time }: &Row) -> DecisionCost {
    DecisionCost { op, calls: time.count(), instructions: instructions.values(), time: time.spans() }
}

impl Sink for Decisions {
    fn wants(&self) -> Class {
        Class::COSTS
    }

    fn events(&mut self, events: &[Event]) {
        for event in events.iter().filter(|event| event.at >= self.from) {
            if let What::Callback { op, took, insns, .. } = event.what {
                let row = &mut self.rows[op as usize];
                row.time.record(took);
                row.instructions.record_value(insns.into());
            }
        }
    }

    fn meta(&mut self, _: Instant, _: &Meta) {}
}

/// The exponent `e` with which a cost grows, `cost ~ size^e`: the slope of a straight line through
/// the logarithms (least squares). 0 for what costs the same at any size, 1 for what grows in
/// proportion; none for fewer than two sizes. Sizes and costs are above 0.
pub fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let points: Vec<(f64, f64)> = points.iter().map(|(size, cost)| (size.ln(), cost.ln())).collect();
    let mean = |pick: fn(&(f64, f64)) -> f64| points.iter().map(pick).sum::<f64>() / points.len() as f64;
    let (size, cost) = (mean(|p| p.0), mean(|p| p.1));
    let spread: f64 = points.iter().map(|p| (p.0 - size).powi(2)).sum();
    let together: f64 = points.iter().map(|p| (p.0 - size) * (p.1 - cost)).sum();
    (spread > 0.0).then(|| together / spread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::{CpuId, TaskId};

    fn callback(at_us: u64, op: Op, took_ns: u64, insns: u32) -> Event {
        let what = What::Callback { op, task: TaskId::IDLE, took: Span::from_ns(took_ns), insns };
        Event { at: Instant::ZERO + Span::from_us(at_us), cpu: CpuId(0), what }
    }

    #[test]
    fn costs_are_kept_by_kind_from_the_moment_asked_for() {
        let mut decisions = Decisions::since(Instant::ZERO + Span::from_us(10));
        decisions.events(&[callback(9, Op::Tick, 77, 77), callback(10, Op::Enqueue, 100, 20)]);
        decisions.events(&[callback(11, Op::Dispatch, 50, 8), callback(12, Op::Enqueue, 200, 30)]);
        let ns = Span::from_ns;
        let enqueue = DecisionCost {
            op: Op::Enqueue,
            calls: 2,
            instructions: Spread { p50: 20, p99: 30, max: 30 },
            time: Spread { p50: ns(100), p99: ns(200), max: ns(200) },
        };
        let costs = decisions.costs();
        assert_eq!(costs.iter().map(|cost| cost.op).collect::<Vec<_>>(), [Op::Enqueue, Op::Dispatch]);
        assert_eq!(costs[0], enqueue);
    }

    #[test]
    fn the_exponent_is_the_slope_of_the_logarithms() {
        let check = |cost: fn(f64) -> f64, expected: f64| {
            let points: Vec<_> = [10.0, 100.0, 1e5].into_iter().map(|n| (n, cost(n))).collect();
            let got = exponent(&points).unwrap();
            assert!((got - expected).abs() < 1e-9, "{got}, not {expected}");
        };
        check(|_| 42.0, 0.0);
        check(|n| 3.0 * n, 1.0);
        check(|n| 0.5 * n * n, 2.0);
        assert_eq!(exponent(&[(10.0, 1.0)]), None);
        assert_eq!(exponent(&[(10.0, 1.0), (10.0, 2.0)]), None);
    }
}
