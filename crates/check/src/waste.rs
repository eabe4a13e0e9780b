//! Wasted cores: a CPU idles while a task that may run there waits.
//!
//! **The measure.** At each instant, the largest number of idle CPUs that could each have run a different waiting task,
//! subject to affinity (a maximum matching; with unrestricted tasks simply the smaller of the two numbers). Its
//! integral over time is exactly the waste, in core-seconds.
//!
//! **Episodes.** The matching says which CPUs are wasted; an episode lasts as long as one CPU stays wasted, no matter
//! which tasks wait. Each nanosecond of waste belongs to exactly one episode.
//!
//! **Blame.** Each nanosecond belongs to the place where the task waited at that moment, and to the decision that had
//! put it there. A decision that moves the task in the middle of its wait divides the time; the decision that ends the
//! wait is to blame for none of it.
//!
//! **Transients.** Some waste is unavoidable for any scheduler: a CPU that has been notified of work needs a moment to
//! begin. The part of an episode within [`PENDING`] of a kick to its CPU, or of an insert into its local queue, is
//! transient; so is an episode of which less than [`SHORT`] remains. The rest is waste.
//!
//! **Exceptions.** A throttled task does not wait for a CPU, and a CPU that idles on purpose can't run a task. Nor can
//! a CPU run a task whose group has used up its limit there, that is, while one of the group's tasks is throttled on
//! it.

mod episode;
mod follow;
mod groups;
mod may;
mod moves;
mod task;
mod words;

use crate::conduct::{Awake, Conduct, Limits, Scene, Slots};
use crate::cpus::{Cpus, Integral};
use crate::figures::Figures;
use crate::finding::{Finding, shared};
use crate::matching::Matching;
use crate::origin::Act;
use crate::place::{Queue, local_cpu};
use episode::{Longest, Open, Pending};
pub use groups::{Groups, How, MOST_NAMES, MOST_NOTED, MOST_TASKS, Waiters, Wakers};
use groups::{Note, Tally};
use keel_abi::{CpuId, DsqId, Instant, Span};
use keel_trace::{Class, Event, Meta, Sink, What};
use task::Part;
pub(crate) use task::Row;
use words::finding;

/// An episode shorter than this, without pending parts, is a transient.
pub const SHORT: Span = Span::from_us(10);

/// How long a kick or an insert excuses its CPU: longer than an interrupt and the slowest exit from idle, shorter than
/// a tick.
pub const PENDING: Span = Span::from_us(200);

/// Receives every episode when it ends; used to draw pictures.
pub trait Observer {
    /// `cpu` idled from `start` to `end` while a task waited; not called for transients.
    fn wasted(&mut self, cpu: CpuId, start: Instant, end: Instant);
}

impl Observer for () {
    fn wasted(&mut self, _: CpuId, _: Instant, _: Instant) {}
}

/// The check's result for a whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Core time wasted, without transients.
    pub wasted: Span,
    /// Core time wasted in transients.
    pub transient: Span,
    /// `wasted` as a share of the time that CPUs were online, 0 to 1.
    pub share: f64,
    /// The number of episodes in `wasted`.
    pub episodes: u64,
    /// The longest of them, longest first; at most the requested number.
    pub findings: Vec<Finding>,
    /// The workload had so many different affinities that some tasks were left out: `wasted` is a lower bound.
    pub lower_bound: bool,
    /// Which cores idled, which tasks waited where, and how they had come there.
    pub groups: Groups,
}

#[derive(Clone, Debug, Default)]
struct Cpu {
    pending: Pending,
    open: Option<Open>,
    /// The latest parts of the open episode, which are not in `notes` yet.
    parts: Vec<Part>,
    /// The tasks that it could run in the open episode, up to a bound.
    notes: Vec<Note>,
}

/// Listens to a run and finds wasted cores.
#[derive(Clone, Debug)]
pub struct WastedCores<O = ()> {
    waste: Waste<O>,
    conduct: Conduct,
}

/// The check itself; its caller tracks where tasks wait and by which decision ([`Scene`]).
#[derive(Clone, Debug)]
pub(crate) struct Waste<O = ()> {
    observer: O,
    now: Instant,
    cpus: Cpus<Cpu>,
    online: Integral,
    matching: Matching,
    longest: Longest,
    wasted: Span,
    transient: Span,
    episodes: u64,
    tally: Tally,
}

/// Shows an event to both, with what [`Conduct::slots`] found for it: usually `conduct`, which tracks for both what
/// tasks do and how they came to their places, comes last. But a task has to be awake before it can wait for a core.
#[inline(always)]
pub(crate) fn follow<O: Observer>(
    waste: &mut Waste<O>,
    conduct: &mut Conduct,
    mut figures: Option<&mut Figures>,
    at: Instant,
    cpu: CpuId,
    what: What,
    slots: Slots,
) {
    if let What::Switch { prev, why, next } = what {
        let switch = (prev, why, next);
        let ran = match &mut figures {
            Some(figures) => figures.turns(conduct.scene(), at, cpu, switch),
            None => None,
        };
        if prev != next {
            let turn = conduct.turns(at, cpu, slots, next);
            waste.switch(conduct.scene(), at, cpu, slots, (prev, why), turn);
            let odd = |scene: &mut Scene, slot| waste.sleeps_oddly(scene, at, slot);
            match (figures, ran) {
                (Some(figures), Some(ran)) => {
                    conduct.switches_with(figures, at, cpu, slots, switch, ran, odd)
                }
                _ => conduct.switches(at, cpu, slots, (prev, why), odd),
            }
        }
        return;
    }
    if let What::Queued { dsq, .. } = what {
        return enters(waste, conduct, at, cpu, dsq, slots);
    }
    if let What::Pulled { from, to, .. } = what {
        waste.moves(conduct.scene(), at, slots);
        waste.pending(conduct.scene(), at, to);
        return conduct.pulled(at, cpu, slots.near_task(), from, to);
    }
    let mut wakee = match figures {
        Some(figures) => figures.event(conduct.scene(), at, what),
        None => None,
    };
    waste.event(conduct.scene(), at, cpu, what, slots);
    let woken = conduct.event(at, cpu, what, slots, &mut wakee);
    if let Some(wakee) = wakee {
        conduct.scene().wakes_apart(at, wakee);
    }
    if let Some(woken) = woken {
        waste.woken(conduct.scene(), at, woken, what);
    }
    if let What::Woken { target, inserted: true, .. } = what {
        waste.pending(conduct.scene(), at, target);
        if woken.is_none() {
            conduct.enters(at, cpu, slots.near_task(), |_| Queue::of(target));
        }
    }
}

/// [`follow`] for a task that enters a queue. Which one is looked at once.
#[inline(always)]
fn enters<O: Observer>(
    waste: &mut Waste<O>,
    conduct: &mut Conduct,
    at: Instant,
    by: CpuId,
    dsq: DsqId,
    slots: Slots,
) {
    match local_cpu(dsq) {
        Some(cpu) => {
            waste.pending(conduct.scene(), at, cpu);
            waste.moves(conduct.scene(), at, slots);
            conduct.enters(at, by, slots.near_task(), |_| Queue::of(cpu));
        }
        None => {
            waste.moves(conduct.scene(), at, slots);
            match Queue::of_scheduler(dsq) {
                Some(queue) => conduct.enters(at, by, slots.near_task(), |_| queue),
                None => conduct.enters_built_in(at, by, slots.near_task(), dsq),
            }
        }
    }
}

impl WastedCores {
    /// Keeps the `keep` longest episodes.
    pub fn new(keep: usize) -> Self {
        Self::observed(keep, ())
    }
}

impl<O: Observer> WastedCores<O> {
    /// Passes `observer` each episode.
    pub fn observed(keep: usize, observer: O) -> Self {
        Self { waste: Waste::observed(keep, observer), conduct: Conduct::new(Limits::default(), 0) }
    }

    /// The observer.
    pub fn observer(&mut self) -> &mut O {
        &mut self.waste.observer
    }

    /// Returns whether `cpu` idles while a task that may run there waits, even if other CPUs also idle for that task.
    pub fn is_passed_over(&self, cpu: CpuId) -> bool {
        self.waste.matching.could_run(cpu)
    }

    /// Ends every open episode and returns the verdict. Call this once, at the end.
    pub fn verdict(&mut self) -> Verdict {
        self.waste.verdict(self.conduct.scene())
    }
}

impl<O: Observer> Waste<O> {
    /// Requests what is kept of the task in `slot`.
    #[inline(always)]
    pub(crate) fn fetch(&self, slot: u32) {
        self.matching.fetch(slot);
    }

    /// Keeps the `keep` longest episodes, and passes `observer` each.
    pub(crate) fn observed(keep: usize, observer: O) -> Self {
        Self {
            observer,
            now: Instant::ZERO,
            cpus: Cpus::default(),
            online: Integral::default(),
            matching: Matching::default(),
            longest: Longest::new(keep),
            wasted: Span::ZERO,
            transient: Span::ZERO,
            episodes: 0,
            tally: Tally::default(),
        }
    }

    /// Like [`WastedCores::verdict`].
    pub(crate) fn verdict(&mut self, scene: &mut Scene) -> Verdict {
        let at = self.now;
        for cpu in (0..self.cpus.len()).map(CpuId) {
            self.close(scene, at, cpu);
        }
        let machine = self.online.at(at);
        let share = match machine {
            Span::ZERO => 0.0,
            machine => self.wasted.as_s_f64() / machine.as_s_f64(),
        };
        Verdict {
            wasted: self.wasted,
            transient: self.transient,
            share,
            episodes: self.episodes,
            findings: self.longest.iter().map(|past| finding(past, &self.tally)).collect(),
            lower_bound: self.matching.left_out(),
            groups: self.tally.groups(),
        }
    }

    /// An event other than a switch, or that a task enters a queue. The scene still shows the moment before it.
    #[inline(always)]
    pub(crate) fn event(&mut self, scene: &mut Scene, at: Instant, cpu: CpuId, what: What, slots: Slots) {
        match what {
            What::Exit { .. } => self.exit(scene, at, slots),
            What::Migrate { .. } | What::Placed { .. } | What::Held { .. } | What::Woken { .. } => {
                return self.moves(scene, at, slots);
            }
            What::Kick { target, .. } => return self.pending(scene, at, target),
            What::Online { target, up } => self.online(scene, at, target, up),
            What::Throttled { on, group, .. } => self.throttled(scene, (at, cpu), slots, on, group),
            What::Reserved { target, on } => self.reserved(scene, target, on),
            _ => return,
        }
        self.followed(scene, at);
    }

    /// A task has been woken or created by this event.
    #[inline(always)]
    fn woken(&mut self, scene: &mut Scene, at: Instant, woken: Awake, what: What) {
        match what {
            What::Wakeup { waker, .. } | What::Woken { waker, .. } => {
                self.wake(scene, at, woken, Act::Woken, waker)
            }
            What::Fork { parent, .. } => self.wake(scene, at, woken, Act::Forked, parent),
            _ => return,
        }
        self.followed(scene, at);
    }

    /// Updates the episodes if the matching has changed.
    #[inline(always)]
    fn followed(&mut self, scene: &mut Scene, at: Instant) {
        if self.matching.changed() {
            self.follow(scene, at);
        }
    }

    /// The stream has come to `at`.
    pub(crate) fn passed(&mut self, at: Instant) {
        self.now = at;
    }

    fn started(&mut self, at: Instant, cpus: u32) {
        self.cpus.grow(cpus);
        self.online.add(at, i64::from(cpus));
        self.matching = Matching::new(cpus);
        (0..cpus).for_each(|cpu| self.matching.idle(CpuId(cpu)));
    }
}

impl Waste {
    /// The events that it listens to.
    pub(crate) fn wants() -> Class {
        Class::CORE.with(Class::DECISIONS).with(Class::PLACES)
    }
}

impl<O: Observer> Waste<O> {
    pub(crate) fn meta(&mut self, scene: &mut Scene, at: Instant, meta: &Meta) {
        self.now = at;
        match meta {
            Meta::Start { topology, .. } => {
                self.tally.topology = Some(topology.clone());
                self.started(at, topology.cpus());
            }
            Meta::Task(info) => self.about(scene, at, info, &shared(&info.name)),
            Meta::Clock { .. }
            | Meta::Chance { .. }
            | Meta::Queue { .. }
            | Meta::Member { .. }
            | Meta::Asks { .. }
            | Meta::Group(_)
            | Meta::Scheduled { .. } => {}
            Meta::Unknown(_) | Meta::SchedulerExit { .. } | Meta::Policy(_) | Meta::End => {}
        }
    }
}

impl<O: Observer> Sink for WastedCores<O> {
    fn wants(&self) -> Class {
        Waste::wants()
    }

    fn events(&mut self, events: &[Event]) {
        let mut rest = events;
        while !rest.is_empty() {
            let (part, later) = rest.split_at(self.conduct.until_due(rest));
            for &Event { at, cpu, what } in part {
                let slots = self.conduct.slots(what);
                follow(&mut self.waste, &mut self.conduct, None, at, cpu, what, slots);
            }
            if let Some(last) = part.last() {
                self.waste.passed(last.at);
                self.conduct.passed(last.at);
            }
            rest = later;
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.waste.meta(self.conduct.scene(), at, meta);
        self.conduct.meta(at, meta);
    }
}

#[cfg(test)]
mod tests;
