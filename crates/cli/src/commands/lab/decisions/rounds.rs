//! Measures the cost of the dispatches that end a round of all waiting tasks, in which arrays are swapped or all
//! counters recalculated. The scheduler's own counter identifies them; a scheduler without one has no figure.

use super::{HOGS_NICE, MOST_INSTRUCTIONS, arrival, in_charge, spec};
use crate::failure::Failure;
use crate::interrupt;
use crate::lab::Lab;
use keel_abi::scx::{ExitKind, Op};
use keel_abi::{Instant, Span};
use keel_check::{CountedCalls, DecisionCost};
use keel_lab::SchedulerSource;
use keel_lab::machines::Machine;
use keel_lab::watch::{Counted, declares, run_counted};
use keel_trace::{Class, Event, Meta, Sink, What};

/// The length of a turn at the hogs' nice value under `goodness` and `o1`; under `ule` it is a fifth longer.
const TURN: Span = Span::from_ms(10);
/// The maximum number of rounds. Each allows for decisions that take as long as a turn.
const ROUNDS: u64 = 3;
/// The kernel's watchdog doesn't let a task wait longer than this, so a longer round has no end to measure.
const WATCHDOG: Span = Span::from_s(30);
/// How many dispatches that end a round are enough.
const ENOUGH: u64 = 32;
/// The maximum number of dispatches once one of them has ended a round.
const MOST_DISPATCHES: u64 = 50_000;
/// The interval at which the counters are read. It is shorter than the time between two dispatches on a CPU.
const STEP: Span = Span::from_us(20);

/// Schedulers' per-CPU counters, with the work that the dispatches they count do.
const COUNTERS: [(&str, &str); 4] = [
    ("array_switches", "array switch"),
    ("balances", "balancing"),
    ("queue_switches", "queue switch"),
    ("recalculations", "recalculation"),
];

/// Measures their cost with this many tasks. Returns `None` if the scheduler does not count them or a round takes too
/// long. The result is empty if a signal stopped the run.
pub(super) fn ends(
    lab: &Lab,
    scheduler: &SchedulerSource,
    machine: &Machine,
    tasks: u32,
) -> Result<Option<Vec<DecisionCost>>, Failure> {
    let turns = u64::from(tasks.div_ceil(machine.topology.cpus()));
    if TURN * turns > WATCHDOG {
        return Ok(Some(Vec::new()));
    }
    let arrived = arrival(tasks);
    let longest = TURN * (2 * ROUNDS * (turns + 10));
    let spec = spec(lab, scheduler, machine, &format!("hogs:{tasks}:{HOGS_NICE}"), arrived + longest)?;
    let mut known = None;
    for (counter, reported) in COUNTERS {
        if declares(&spec, counter).map_err(Failure::from_lab)? {
            known = Some((counter, reported));
        }
    }
    let Some((counter, reported)) = known else { return Ok(Some(Vec::new())) };
    let from = Instant::ZERO + arrived;
    let mut ends = RoundEnds { calls: CountedCalls::of(Op::Dispatch, from), dispatches: 0, instructions: 0 };
    let outcome =
        run_counted(&spec, counter, from, STEP, &mut ends, &interrupt::stop()).map_err(Failure::from_lab)?;
    if outcome.stopped {
        return Ok(None);
    }
    if outcome.exit != ExitKind::ErrorStall {
        in_charge(scheduler, &spec, &outcome)?;
    }
    Ok(Some(ends.calls.cost(reported).into_iter().collect()))
}

/// Collects the calls in which the counter increased, until there are enough.
struct RoundEnds {
    calls: CountedCalls,
    dispatches: u64,
    instructions: u64,
}

impl Sink for RoundEnds {
    fn wants(&self) -> Class {
        self.calls.wants()
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            if let What::Callback { op, insns, .. } = event.what {
                self.dispatches += u64::from(op == Op::Dispatch);
                self.instructions += u64::from(insns);
            }
        }
        self.calls.events(events);
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.calls.meta(at, meta);
    }
}

impl Counted for RoundEnds {
    fn counts(&mut self, counts: &[u64]) -> bool {
        self.calls.read(counts);
        let spent = self.dispatches >= MOST_DISPATCHES || self.instructions >= MOST_INSTRUCTIONS;
        self.calls.calls() < if spent { 1 } else { ENOUGH }
    }
}
