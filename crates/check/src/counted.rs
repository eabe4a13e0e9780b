//! Which calls of a callback did what one of the scheduler's counters counts, such as dispatches that swapped the
//! arrays.
//!
//! The per-CPU counter is read at intervals. The calls that ended since the last reading did it if the counter has
//! risen by their number, and did not if it has not risen. If that is not conclusive (one of two calls; a call that may
//! have begun before the first reading), the calls are left out.

use crate::decisions::{Call, DecisionCost, Row};
use keel_abi::scx::Op;
use keel_abi::{CpuId, Instant};
use keel_trace::{Class, Event, Meta, Sink, What};

/// The state of one CPU.
#[derive(Clone, Debug, Default)]
struct Cpu {
    /// Calls that ended since the counter was last read.
    ended: Vec<Call>,
    /// The counter, up to the last rise that an ended call accounts for.
    accounted: u64,
    /// The call in progress may already have raised the counter before.
    doubtful: bool,
}

/// Listens to a run and keeps the costs of the calls in which a counter rose.
#[derive(Clone, Debug)]
pub struct CountedCalls {
    op: Op,
    from: Instant,
    cpus: Vec<Cpu>,
    began: bool,
    rose: Row,
    unclear: u64,
}

impl CountedCalls {
    /// Tracks this kind of callback, from the first reading after this moment.
    pub fn of(op: Op, from: Instant) -> Self {
        Self { op, from, cpus: Vec::new(), began: false, rose: Row::default(), unclear: 0 }
    }

    /// The costs of the calls in which the counter rose, under this name; `None` if there were none.
    pub fn cost(&self, name: &'static str) -> Option<DecisionCost> {
        self.rose.cost(name)
    }

    /// The number of calls for which it is unknown whether the counter rose.
    pub fn unclear(&self) -> u64 {
        self.unclear
    }

    /// The counter of each CPU at this moment, when all events before it have arrived.
    pub fn read(&mut self, counts: &[u64]) {
        if self.cpus.len() < counts.len() {
            self.cpus.resize(counts.len(), Cpu::default());
        }
        let began = std::mem::replace(&mut self.began, true);
        for (cpu, &count) in self.cpus.iter_mut().zip(counts) {
            let calls = std::mem::take(&mut cpu.ended);
            if !began {
                (cpu.accounted, cpu.doubtful) = (count, true);
                continue;
            }
            let ended = calls.len() as u64;
            let rose = count - cpu.accounted;
            if ended == 0 || (rose == 0 && !cpu.doubtful) {
                continue;
            }
            cpu.accounted = count;
            let clear = rose == ended && !cpu.doubtful;
            // It rose more often than calls ended: the next call may also have raised it.
            cpu.doubtful = rose > ended;
            match clear {
                true => calls.into_iter().for_each(|call| self.rose.record(call)),
                false => self.unclear += ended,
            }
        }
    }

    /// The number of calls in which the counter rose.
    pub fn calls(&self) -> u64 {
        self.rose.calls()
    }
}

impl Sink for CountedCalls {
    fn wants(&self) -> Class {
        Class::COSTS
    }

    fn events(&mut self, events: &[Event]) {
        for event in events.iter().filter(|event| event.at >= self.from) {
            match event.what {
                What::Callback { op, took, insns, .. } if op == self.op => {
                    let CpuId(cpu) = event.cpu;
                    if self.cpus.len() <= cpu as usize {
                        self.cpus.resize(cpu as usize + 1, Cpu::default());
                    }
                    self.cpus[cpu as usize].ended.push((took, insns.into()));
                }
                _ => {}
            }
        }
    }

    fn meta(&mut self, _: Instant, _: &Meta) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::{Span, TaskId};

    fn dispatch(cpu: u32, took_ns: u64) -> Event {
        let what =
            What::Callback { op: Op::Dispatch, task: TaskId::IDLE, took: Span::from_ns(took_ns), insns: 9 };
        Event { at: Instant::from_ns(100), cpu: CpuId(cpu), what }
    }

    /// Reads, then for each step lets calls end on CPU 0 and reads again: calls in which it rose, and unclear
    /// ones.
    fn check(steps: &[(&[u64], u64)], expected: (u64, u64)) {
        let mut calls = CountedCalls::of(Op::Dispatch, Instant::from_ns(100));
        calls.read(&[5, 0]);
        // The call in progress has ended.
        calls.events(&[dispatch(0, 1)]);
        calls.read(&[5, 0]);
        for (ended, count) in steps {
            calls.events(&ended.iter().map(|&took_ns| dispatch(0, took_ns)).collect::<Vec<_>>());
            calls.read(&[5 + count, 0]);
        }
        assert_eq!((calls.calls(), calls.unclear() - 1), expected, "{steps:?}");
    }

    #[test]
    fn a_call_is_counted_by_the_rise_during_it() {
        check(&[(&[10], 0), (&[10], 0)], (0, 0));
        check(&[(&[10], 1), (&[10], 1)], (1, 0));
        // It rises before the call ends.
        check(&[(&[], 1), (&[10], 1), (&[10], 1)], (1, 0));
        check(&[(&[10, 10], 2), (&[], 2)], (2, 0));
        // One of two.
        check(&[(&[10, 10], 1), (&[10], 1), (&[10], 2)], (1, 2));
        // Twice in one call, or in the next.
        check(&[(&[10], 2), (&[10], 2), (&[10], 2)], (0, 2));
    }

    #[test]
    fn what_began_before_the_first_reading_is_set_aside() {
        let mut calls = CountedCalls::of(Op::Dispatch, Instant::from_ns(50));
        calls.read(&[3]);
        calls.events(&[dispatch(0, 10)]);
        calls.read(&[4]);
        assert_eq!((calls.calls(), calls.unclear()), (0, 1));
        calls.events(&[dispatch(0, 20), Event { at: Instant::from_ns(49), ..dispatch(0, 30) }]);
        calls.read(&[5]);
        let cost = calls.cost("array switch").unwrap();
        assert_eq!((cost.name, cost.calls, cost.time.max), ("array switch", 1, Span::from_ns(20)));
    }
}
