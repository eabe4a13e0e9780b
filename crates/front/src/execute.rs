//! Makes one run from its spec, and its report. The judge and other sinks receive its events, and the host's clock
//! measures how long it takes.

use crate::caller::{Caller, work};
use crate::failure::Failure;
use crate::host;
use crate::lab::Lab;
use keel_abi::lines::LineUse;
use keel_abi::{Instant, Span};
use keel_check::{Costs, Judge};
use keel_lab::lines::LinesOf;
use keel_lab::locks::LockOf;
use keel_lab::{Log, Outcome, ProgramEnd, Progress, RunSpec};
use keel_profile::Profile;
use keel_report::{LinesReport, LockReport, Partial, QueueNames, RunFacts, RunReport};
use keel_trace::{Fanout, Sink, relayed};

/// A finished run with its report.
pub struct Executed {
    /// Its figures.
    pub report: RunReport,
    /// What the scheduler printed.
    pub log: Log,
    /// The cost of each of its instructions, if requested.
    pub profile: Option<Box<Profile>>,
    /// How the scheduler's own program ended, if there was one.
    pub program: Option<ProgramEnd>,
}

/// Where a run is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the listener's thread, because other runs use the other CPUs.
    Here,
    /// On its own thread, if the host has a CPU for it.
    Beside,
}

/// Runs a spec to its end or until a signal. `others` receive its events, as the judge does.
pub fn execute(
    lab: &Lab,
    spec: &RunSpec,
    others: Vec<&mut dyn Sink>,
    caller: &dyn Caller,
    place: Place,
) -> Result<Executed, Failure> {
    tracing::info!(scheduler = spec.scheduler.name, seed = spec.seed, "run begins");
    let (mut judge, mut queues) = (Judge::default(), QueueNames::default());
    let begun = std::time::Instant::now();
    let mut sinks = Fanout::new().with(&mut judge).with(&mut queues);
    for other in others {
        sinks = sinks.with(&mut *other);
    }
    let outcome = simulate(lab, spec, sinks, caller, place)?;
    let wall_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    tracing::info!(wall_ns, counters = ?outcome.counters, "run ended");
    Ok(executed(spec, outcome, wall_ns, &mut judge, queues, caller))
}

/// Builds the report of a finished run.
pub(crate) fn executed(
    spec: &RunSpec,
    mut outcome: Outcome,
    wall_ns: u64,
    judge: &mut Judge,
    queues: QueueNames,
    caller: &dyn Caller,
) -> Executed {
    let (log, counted) = (std::mem::take(&mut outcome.printed), outcome.counters);
    let (program, profile) = (outcome.program.take(), outcome.profile.take());
    let lines = std::mem::take(&mut outcome.lines).into_iter().map(lines_of).collect();
    let locks = std::mem::take(&mut outcome.locks).into_iter().map(lock_of).collect();
    let partial = caller
        .stopped_by()
        .filter(|_| outcome.stopped)
        .map(|by| Partial::new(by, outcome.end, Some(spec.duration)));
    if let (Some(order), false) = (&spec.order, outcome.stopped)
        && let Some(unmet) = crate::order::unmet(order, counted.order_points)
    {
        caller.note(&unmet);
    }
    let report = RunReport::new(&facts(spec, outcome, wall_ns, queues), &judge.judgement());
    let bypass_ns = counted.bypass.as_ns();
    let (bad_accesses, restarts) = (counted.bad_accesses, counted.restarts);
    let report = RunReport { partial, bad_accesses, bypass_ns, restarts, lines, locks, ..report };
    Executed { report, log, profile, program }
}

fn lines_of(of: LinesOf) -> LinesReport {
    let ns = |uses: LineUse| uses.stall_ps / 1000;
    LinesReport {
        name: of.name,
        lines: of.lines,
        moves: of.uses.moves,
        stall_ns: ns(of.uses),
        worst_offset: of.worst.map(|(offset, _)| offset),
        worst_ns: of.worst.map(|(_, uses)| ns(uses)),
    }
}

fn lock_of(LockOf { name, uses }: LockOf) -> LockReport {
    LockReport {
        name,
        taken: uses.taken,
        contended: uses.contended,
        wait_ns: uses.wait.as_ns(),
        held_ns: uses.held.as_ns(),
        most_waiters: uses.most_waiters,
    }
}

fn simulate(
    lab: &Lab,
    spec: &RunSpec,
    mut sinks: Fanout<'_>,
    caller: &dyn Caller,
    place: Place,
) -> Result<Outcome, Failure> {
    let mut reached = Span::ZERO;
    let mut progress = |progress: Progress| {
        let now = progress.now.since(Instant::ZERO);
        caller.advance(now.saturating_sub(reached));
        reached = now;
    };
    let stop = caller.stop();
    let _work = work(caller);
    let mut run = |sink: &mut dyn Sink| (lab.run)(spec, sink, &mut progress, &stop);
    let made = match place == Place::Beside && host::has_several_cpus() {
        true => relayed(&mut sinks, run),
        false => run(&mut sinks),
    };
    made.map_err(Failure::from_lab)
}

fn facts(spec: &RunSpec, outcome: Outcome, wall_ns: u64, queues: QueueNames) -> RunFacts {
    let taken = outcome.overhead;
    RunFacts {
        scheduler: spec.scheduler.name.clone(),
        workload: spec.workload.name.clone(),
        machine: spec.machine.name.clone(),
        seed: spec.seed,
        noise: spec.noise,
        wall_ns,
        peak_rss_bytes: host::peak_rss_bytes().unwrap_or(0),
        exit: outcome.exit,
        message: outcome.message,
        place: outcome.place,
        queues,
        costs: Some(Costs {
            callback: taken.callback,
            lock_wait: taken.lock_wait,
            instructions: taken.instructions,
        }),
    }
}
