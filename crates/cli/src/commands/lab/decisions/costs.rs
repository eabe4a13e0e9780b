//! Measures the cost of every callback in one situation, until there are enough calls.

use super::{HOGS_NICE, MOST_INSTRUCTIONS, arrival, in_charge, spec};
use crate::failure::Failure;
use crate::interrupt;
use crate::lab::Lab;
use keel_abi::scx::Op;
use keel_abi::{Instant, Span};
use keel_check::{DecisionCost, Decisions};
use keel_lab::SchedulerSource;
use keel_lab::machines::Machine;
use keel_lab::watch::{Listener, run_until_enough};
use keel_trace::{Class, Event, Meta, Sink};

/// The number of decisions of one kind that is enough for a median.
const ENOUGH: u64 = 2_000;
/// The minimum time, unless there are [`MOST_DISPATCHES`] before: some schedulers do extra work once per second, which
/// the mean must include and no median shows.
const SHORTEST: Span = Span::from_s(1);
/// The maximum number of dispatches, however rare other calls are.
const MOST_DISPATCHES: u64 = 50_000;
/// Decisions are measured over a multiple of this time: periodic load balancing happens every 200 ms, so a mean over a
/// fraction of that would include too much or too little of it.
const STEP: Span = Span::from_ms(200);
/// The maximum distance of the last event from a step's end. It is bounded because every busy CPU ticks.
const TICKS: Span = Span::from_ms(50);
/// The maximum time.
const LONGEST: Span = Span::from_s(10);
/// Tasks per CPU: two hogs and one that sleeps and wakes.
pub(super) const TASKS_A_CPU: u32 = 3;

/// The cost of each callback, and of all of them together per dispatch; `None` if a signal stopped the run.
type Costs = Option<(Vec<DecisionCost>, Option<Span>)>;

/// Measures with this many tasks that are always runnable, and 16 that wake a thousand times per second.
pub(super) fn of_crowd(
    lab: &Lab,
    scheduler: &SchedulerSource,
    machine: &Machine,
    tasks: u32,
) -> Result<Costs, Failure> {
    let workload = format!("crowd:1+hogs:{}:{HOGS_NICE}", tasks - 1);
    measure(lab, scheduler, machine, &workload, tasks)
}

/// Measures with the same load on each CPU: two tasks that are always runnable, and one that wakes 50 to 400 times per
/// second and takes 2 % of the CPU.
pub(super) fn of_machine(
    lab: &Lab,
    scheduler: &SchedulerSource,
    machine: &Machine,
) -> Result<Costs, Failure> {
    let cpus = machine.topology.cpus();
    let workload = format!("hogs:{}:{HOGS_NICE}+mix:{cpus}:2", 2 * cpus);
    measure(lab, scheduler, machine, &workload, TASKS_A_CPU * cpus)
}

fn measure(
    lab: &Lab,
    scheduler: &SchedulerSource,
    machine: &Machine,
    workload: &str,
    tasks: u32,
) -> Result<Costs, Failure> {
    let arrived = arrival(tasks);
    let spec = spec(lab, scheduler, machine, workload, arrived + LONGEST)?;
    let from = Instant::ZERO + arrived;
    let mut collector =
        Collector { received: Decisions::since(from), now: Instant::ZERO, long_enough: from + SHORTEST };
    let outcome =
        run_until_enough(&spec, from, STEP, &mut collector, &interrupt::stop()).map_err(Failure::from_lab)?;
    if outcome.stopped {
        return Ok(None);
    }
    in_charge(scheduler, &spec, &outcome)?;
    Ok(Some((collector.received.costs(), collector.received.together())))
}

/// Collects decisions until there are enough.
struct Collector {
    received: Decisions,
    /// The instant of the last decision.
    now: Instant,
    long_enough: Instant,
}

impl Sink for Collector {
    fn wants(&self) -> Class {
        self.received.wants()
    }

    fn events(&mut self, events: &[Event]) {
        self.now = events.last().map_or(self.now, |event| event.at);
        self.received.events(events);
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.received.meta(at, meta);
    }
}

impl Listener for Collector {
    fn enough(&self) -> bool {
        let received = &self.received;
        let dispatches = received.calls(Op::Dispatch);
        let long_enough = self.now + TICKS >= self.long_enough;
        (dispatches.min(received.wakeups()) >= ENOUGH && long_enough)
            || dispatches >= MOST_DISPATCHES
            || received.instructions() >= MOST_INSTRUCTIONS
    }
}
