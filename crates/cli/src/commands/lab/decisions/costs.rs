//! What every callback costs in one situation, until enough of them have been seen.

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

/// Enough decisions of a kind for its median.
const ENOUGH: u64 = 2_000;
/// And for so long at least, where that is no more than [`MOST_DISPATCHES`]: some do once a second what no median has.
const SHORTEST: Span = Span::from_s(1);
/// As many dispatches are enough, however rare something else is.
const MOST_DISPATCHES: u64 = 50_000;
/// The time over which decisions are measured is a multiple of this: the periodic balancing of waiting tasks happens
/// every 200 ms, so a mean over a fraction of that would have too many or too few of them.
const STEP: Span = Span::from_ms(200);
/// The last event is no farther from a step's end: every busy CPU ticks.
const TICKS: Span = Span::from_ms(50);
/// For so long at most.
const LONGEST: Span = Span::from_s(10);
/// Two hogs and one that wakes, for each CPU.
pub(super) const TASKS_A_CPU: u32 = 3;

/// What callbacks cost, and all of them together a dispatch; nothing of a run that a signal stopped.
type Costs = Option<(Vec<DecisionCost>, Option<Span>)>;

/// With so many runnable tasks all the time, beside 16 that wake a thousand times a second.
pub(super) fn of_crowd(
    lab: &Lab,
    scheduler: &SchedulerSource,
    machine: &Machine,
    tasks: u32,
) -> Result<Costs, Failure> {
    let workload = format!("crowd:1+hogs:{}:{HOGS_NICE}", tasks - 1);
    measure(lab, scheduler, machine, &workload, tasks)
}

/// With the same for each CPU: two tasks that want it all the time, and one that wakes 50 to 400 times a second and
/// takes 2 % of it.
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
    /// When the last of them was.
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
