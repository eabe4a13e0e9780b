//! The costs of a scheduler's decisions: instructions and time of its callbacks, one row per kind. A wakeup is a
//! `select_cpu` together with the following `enqueue` of the same task.
//!
//! A scheduler whose decisions cost the same however many tasks wait is O(1); [`exponent`] measures how its costs grow.

use crate::histogram::{Histogram, Spread};
use keel_abi::scx::Op;
use keel_abi::{Instant, Span, TaskId};
use keel_trace::{Class, Event, Meta, Sink, What};
use std::collections::BTreeMap;

/// The cost of one kind of decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionCost {
    /// The kind: a callback's name in `struct sched_ext_ops`, or `wakeup`.
    pub name: &'static str,
    /// The number of calls.
    pub calls: u64,
    /// BPF instructions per call.
    pub instructions: Spread<u64>,
    /// Time per call: instructions, kfuncs and helpers, cache lines and waiting for locks.
    pub time: Spread<Span>,
    /// The mean time per call: it includes the rare long calls that a median leaves out.
    pub mean: Span,
}

/// The costs of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    instructions: Histogram,
    time: Histogram,
    took: Span,
}

/// The cost of one call: time and instructions.
pub(crate) type Call = (Span, u64);

impl Row {
    pub(crate) fn record(&mut self, (took, instructions): Call) {
        self.time.record(took);
        self.took += took;
        self.instructions.record_value(instructions);
    }

    pub(crate) fn calls(&self) -> u64 {
        self.time.count()
    }

    /// Its costs under this name; `None` if there was no call.
    pub(crate) fn cost(&self, name: &'static str) -> Option<DecisionCost> {
        let Self { instructions, time, took } = self;
        let calls = time.count();
        let (instructions, time) = (instructions.values(), time.spans());
        let mean = Span::from_ns(took.as_ns() / calls.max(1));
        (calls > 0).then_some(DecisionCost { name, calls, instructions, time, mean })
    }
}

/// Listens to a run and keeps the costs of its scheduler's callbacks.
#[derive(Clone, Debug)]
pub struct Decisions {
    from: Instant,
    rows: Vec<Row>,
    wakeups: Row,
    /// Instructions of all callbacks.
    instructions: u64,
    /// The cost of `select_cpu` for tasks that have not been enqueued since.
    waking: BTreeMap<TaskId, Call>,
}

impl Decisions {
    /// Leaves out calls that ended before `from`: the beginning of a run.
    pub fn since(from: Instant) -> Self {
        let rows = vec![Row::default(); Op::ALL.len()];
        Self { from, rows, wakeups: Row::default(), instructions: 0, waking: BTreeMap::new() }
    }

    /// The kinds that were called, in the order of [`Op::ALL`], and wakeups.
    pub fn costs(&self) -> Vec<DecisionCost> {
        let called = Op::ALL.iter().zip(&self.rows).filter_map(|(op, row)| row.cost(op.name()));
        called.chain(self.wakeups.cost("wakeup")).collect()
    }

    /// The time of all callbacks divided by the number of dispatches: the time to choose the next task once, with
    /// everything that is done for it in between. `None` if there was no dispatch.
    pub fn together(&self) -> Option<Span> {
        let took: u64 = self.rows.iter().map(|row| row.took.as_ns()).sum();
        took.checked_div(self.calls(Op::Dispatch)).map(Span::from_ns)
    }

    /// The number of calls of this callback.
    pub fn calls(&self, op: Op) -> u64 {
        self.rows[op as usize].calls()
    }

    /// The number of wakeups.
    pub fn wakeups(&self) -> u64 {
        self.wakeups.calls()
    }

    /// Instructions of all callbacks.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    fn add(&mut self, op: Op, task: TaskId, (took, instructions): Call) {
        self.instructions += instructions;
        self.rows[op as usize].record((took, instructions));
        match op {
            Op::SelectCpu => {
                self.waking.insert(task, (took, instructions));
            }
            Op::Enqueue => {
                if let Some(before) = self.waking.remove(&task) {
                    self.wakeups.record((before.0 + took, before.1 + instructions));
                }
            }
            _ => {}
        }
    }
}

impl Sink for Decisions {
    fn wants(&self) -> Class {
        Class::COSTS
    }

    fn events(&mut self, events: &[Event]) {
        let from = self.from;
        for event in events.iter().filter(|event| event.at >= from) {
            if let What::Callback { op, task, took, insns } = event.what {
                self.add(op, task, (took, insns.into()));
            }
        }
    }

    fn meta(&mut self, _: Instant, _: &Meta) {}
}

/// The exponent `e` with which a cost grows, `cost ~ size^e`: the slope of a straight line through the logarithms
/// (least squares). It is 0 if the cost is the same at any size, 1 if it grows in proportion, and `None` for fewer than
/// two sizes. Sizes and costs must be above 0.
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
    use keel_abi::CpuId;

    fn callback(at_us: u64, op: Op, took_ns: u64, insns: u32) -> Event {
        of_task(TaskId::IDLE, at_us, op, took_ns, insns)
    }

    fn of_task(task: TaskId, at_us: u64, op: Op, took_ns: u64, insns: u32) -> Event {
        let what = What::Callback { op, task, took: Span::from_ns(took_ns), insns };
        Event { at: Instant::ZERO + Span::from_us(at_us), cpu: CpuId(0), what }
    }

    #[test]
    fn costs_are_kept_by_kind_from_the_moment_asked_for() {
        let mut decisions = Decisions::since(Instant::ZERO + Span::from_us(10));
        decisions.events(&[callback(9, Op::Tick, 77, 77), callback(10, Op::Enqueue, 100, 20)]);
        decisions.events(&[callback(11, Op::Dispatch, 50, 8), callback(12, Op::Enqueue, 200, 30)]);
        let ns = Span::from_ns;
        let enqueue = DecisionCost {
            name: "enqueue",
            calls: 2,
            instructions: Spread { p50: 20, p99: 30, max: 30 },
            time: Spread { p50: ns(100), p99: ns(200), max: ns(200) },
            mean: ns(150),
        };
        let costs = decisions.costs();
        assert_eq!(costs.iter().map(|cost| cost.name).collect::<Vec<_>>(), ["enqueue", "dispatch"]);
        assert_eq!(costs[0], enqueue);
    }

    #[test]
    fn together_is_the_time_of_all_callbacks_for_each_dispatch() {
        let mut decisions = Decisions::since(Instant::ZERO);
        decisions.events(&[of_task(TaskId(1), 1, Op::SelectCpu, 100, 10), callback(2, Op::Tick, 1_000, 50)]);
        assert_eq!(decisions.together(), None, "nobody chose who runs next");
        decisions.events(&[callback(3, Op::Dispatch, 40, 5), callback(4, Op::Dispatch, 60, 5)]);
        decisions.events(&[of_task(TaskId(1), 5, Op::Enqueue, 300, 7)]);
        // The wakeup is reported in addition to its two callbacks, and is not counted again.
        assert_eq!((decisions.wakeups(), decisions.calls(Op::Dispatch)), (1, 2));
        assert_eq!((decisions.together(), decisions.instructions()), (Some(Span::from_ns(750)), 77));
    }

    #[test]
    fn a_wakeup_is_the_choice_of_a_cpu_and_the_queueing_after_it() {
        let (a, b) = (TaskId(1), TaskId(2));
        let mut decisions = Decisions::since(Instant::ZERO);
        decisions.events(&[
            of_task(a, 1, Op::SelectCpu, 100, 10),
            of_task(b, 1, Op::SelectCpu, 1_000, 50),
            of_task(a, 2, Op::Enqueue, 20, 3),
            of_task(a, 3, Op::Enqueue, 7_000, 700),
            of_task(b, 4, Op::SelectCpu, 2_000, 60),
            of_task(b, 4, Op::Enqueue, 30, 4),
        ]);
        let costs = decisions.costs();
        let wakeup = costs.iter().find(|cost| cost.name == "wakeup").unwrap();
        assert_eq!((wakeup.calls, wakeup.instructions.max), (2, 64));
        assert_eq!((wakeup.time.p50, wakeup.time.max), (Span::from_ns(120), Span::from_ns(2_030)));
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
