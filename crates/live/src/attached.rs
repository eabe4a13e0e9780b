//! An attached scheduler. Only this process holds the link: when it is dropped, or the process dies in any way, the
//! kernel's own scheduler takes over again.

use crate::companion::Companions;
use crate::errors::LiveError;
use crate::exit::{self, ExitReport, Record};
use crate::host::{Host, State};
use crate::kernel_log::KernelLog;
use crate::{maps, plan};
use keel_object::Outline;
use keel_recipe::Action;
use libbpf_rs::{Link, Object};
use std::time::{Duration, Instant};

/// How long the kernel may take to end a scheduler.
const ENDING: Duration = Duration::from_secs(30);
/// How often the kernel's state is polled while it changes.
const LOOK: Duration = Duration::from_millis(20);

/// The parts of [`Attached`].
pub(crate) struct Parts {
    /// The name that the caller used for it.
    pub(crate) name: String,
    pub(crate) link: Link,
    pub(crate) links: Vec<Link>,
    pub(crate) record: Option<Record>,
    pub(crate) log: KernelLog,
    pub(crate) companions: Companions,
}

/// An attached scheduler.
#[derive(Debug)]
pub struct Attached {
    host: Host,
    name: String,
    /// How many schedulers the kernel had attached, including this one.
    seq: Option<u64>,
    object: Object,
    link: Link,
    _links: Vec<Link>,
    record: Option<Record>,
    log: KernelLog,
    companions: Companions,
    counters: Vec<Counter>,
    periodic: Vec<Periodic>,
}

/// A variable that the recipe counts.
#[derive(Debug)]
struct Counter {
    name: String,
    section: String,
    place: (usize, usize),
}

/// A program that runs periodically.
#[derive(Debug)]
struct Periodic {
    program: String,
    args: Vec<u64>,
    every: Duration,
    next: Instant,
}

/// Counts since a scheduler was attached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of tasks that it rejected.
    pub rejected: u64,
    /// The kernel's events, `SCX_EV_*`.
    pub events: Vec<(String, u64)>,
    /// The scheduler's own counters, as named in the recipe.
    pub counters: Vec<(String, u64)>,
}

impl Attached {
    pub(crate) fn new(
        host: &Host,
        outline: &Outline,
        object: Object,
        actions: &[Action],
        parts: Parts,
    ) -> Self {
        let now = Instant::now();
        let counters = actions.iter().filter_map(|action| match action {
            Action::Count { variable } => counter(outline, variable),
            _ => None,
        });
        let periodic = actions.iter().filter_map(|action| match action {
            Action::RunEvery { program, args, every } => {
                let every = Duration::from_nanos(every.as_ns());
                Some(Periodic { program: program.clone(), args: args.clone(), every, next: now + every })
            }
            _ => None,
        });
        Self {
            host: host.clone(),
            name: host.scheduler().unwrap_or(parts.name),
            seq: host.enable_seq(),
            counters: counters.collect(),
            periodic: periodic.collect(),
            object,
            link: parts.link,
            _links: parts.links,
            record: parts.record,
            log: parts.log,
            companions: parts.companions,
        }
    }

    /// Returns its name in the kernel.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether it is still attached.
    pub fn is_in_charge(&self) -> bool {
        self.host.state() == Some(State::Enabled) && self.host.enable_seq() == self.seq
    }

    /// Runs the recipe's periodic programs that are due.
    ///
    /// # Errors
    /// A program or a companion failed.
    pub fn tick(&mut self, now: Instant) -> Result<(), LiveError> {
        self.companions.check()?;
        for periodic in self.periodic.iter_mut().filter(|periodic| periodic.next <= now) {
            plan::run(&self.object, &periodic.program, &periodic.args)?;
            // Missed runs are not repeated.
            periodic.next = (periodic.next + periodic.every).max(now);
        }
        Ok(())
    }

    /// Returns the companions' output since the last call. Untrusted text.
    pub fn lines(&self) -> Vec<String> {
        self.companions.lines()
    }

    /// Returns when [`Attached::tick`] should be called next.
    pub fn next_tick(&self) -> Option<Instant> {
        self.periodic.iter().map(|periodic| periodic.next).min()
    }

    /// Returns its counts.
    pub fn stats(&self) -> Stats {
        let value = |counter: &Counter| {
            (counter.name.clone(), exit::number(&maps::data(&self.object, &counter.section), counter.place))
        };
        Stats {
            rejected: self.host.rejected().unwrap_or(0),
            events: self.host.events(),
            counters: self.counters.iter().map(value).collect(),
        }
    }

    /// Detaches it if it is attached, waits until the kernel is done, and returns how it ended.
    pub fn end(self) -> ExitReport {
        let Self { host, seq, object, link, record, mut log, companions, .. } = self;
        // The kernel ends a scheduler in steps. During these, there is nothing to detach.
        wait(|| host.state() != Some(State::Changing));
        drop(link);
        wait(|| host.state() == Some(State::Disabled) || host.enable_seq() != seq);
        // Not earlier: until then, all tasks wait for the companions.
        drop(companions);
        let report = match &record {
            Some(record) => report(&object, record),
            None => ExitReport::default(),
        };
        report.with_log(log.lines())
    }
}

fn counter(outline: &Outline, name: &str) -> Option<Counter> {
    let variable = outline.object.variable(name).filter(|variable| variable.signed.is_some())?;
    let section = outline.object.maps.get(variable.map as usize)?.name.clone();
    Some(Counter {
        name: name.to_owned(),
        section,
        place: (variable.offset as usize, variable.size as usize),
    })
}

fn report(object: &Object, record: &Record) -> ExitReport {
    let mut report = record.read(&maps::data(object, &record.section));
    if let Some((section, start, len)) = &record.dump {
        report.dump = exit::text(&maps::data(object, section), (*start, *len));
    }
    report
}

/// Waits until a condition holds, with a time limit.
fn wait(done: impl Fn() -> bool) {
    let end = Instant::now() + ENDING;
    while !done() && Instant::now() < end {
        std::thread::sleep(LOOK);
    }
}
