//! All checks at once: one sink that listens to a run, one judgement at its end.

mod ahead;

use crate::conduct::{Conduct, Limits};
use crate::figures::{Figures, Summary};
use crate::finding::{Finding, Kind, shared};
use crate::longest::Sums;
use crate::looked_at::{DecisionLog, LookedAt};
use crate::waste::{Verdict, Waste, follow};
use ahead::{AHEAD, AT_ONCE};
use keel_abi::{Instant, Span, TaskId};
use keel_trace::{Class, Event, Meta, Sink, TaskInfo, Unknown, What};

/// How many findings of each kind are kept.
pub const KEPT: usize = 20;

/// All checks, listening.
///
/// In this order, so that `waste` has the judge's address: calls of rare code need both, and one register has them.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Judge {
    waste: Waste,
    figures: Figures,
    conduct: Conduct,
    decisions: DecisionLog,
    limits: Limits,
    unknown: Unknown,
}

/// The results of all checks for a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// The run in numbers.
    pub summary: Summary,
    /// Wasted cores.
    pub waste: Verdict,
    /// The longest findings of each kind, in the order of [`Kind::ALL`].
    pub findings: Vec<Finding>,
    /// What the decisions around each finding looked at; empty if the stream has no policy events.
    pub looked_at: Vec<Vec<LookedAt>>,
    /// The number of findings of each kind, kept or not.
    pub found: Vec<(Kind, u64)>,
    /// How many of these a program itself is to blame for, not the scheduler.
    pub of_programs: u64,
    /// The others of each kind, summed, in the order of [`Kind::ALL`].
    pub sums: Vec<(Kind, Sums)>,
    /// What the stream does not record.
    pub unknown: Unknown,
    /// The kinds that depend on that, unless a limit asked for them anyway.
    pub unsure: Vec<Kind>,
}

impl Default for Judge {
    fn default() -> Self {
        Self::new(Figures::new())
    }
}

impl Judge {
    /// All checks, with these figures (with or without the scheduler's own costs).
    pub fn new(figures: Figures) -> Self {
        Self::with(figures, Limits::default())
    }

    /// Like `new`, within these limits.
    pub fn with(figures: Figures, limits: Limits) -> Self {
        let (waste, conduct) = (Waste::observed(KEPT, ()), Conduct::new(limits, KEPT));
        Self {
            figures,
            waste,
            conduct,
            decisions: DecisionLog::default(),
            limits,
            unknown: Unknown::default(),
        }
    }

    /// The judgement, which takes what was heard: the judge is as new afterwards. Call it at the end.
    pub fn judgement(&mut self) -> Judgement {
        std::mem::replace(self, Self::with(Figures::new(), self.limits)).into_judgement()
    }

    fn into_judgement(mut self) -> Judgement {
        let unsure = self.unsure();
        let waste = self.waste.verdict(self.conduct.scene());
        // Free what is no longer needed before the next part grows.
        drop(self.waste);
        let mut findings = waste.findings.clone();
        let mut found = vec![(Kind::WastedCore, waste.episodes)];
        let longest = waste.findings.first().map_or(Span::ZERO, |worst| worst.duration);
        let wasted = Sums { count: waste.episodes, total: waste.wasted, longest };
        let mut sums = vec![(Kind::WastedCore, wasted)];
        let mut of_programs = 0;
        let rows = self.conduct.scene().take_figures();
        for of_kind in self.conduct.into_findings() {
            findings.extend(of_kind.findings);
            found.push((of_kind.kind, of_kind.count));
            of_programs += of_kind.of_programs;
            sums.push((of_kind.kind, of_kind.sums));
        }
        let summary = self.figures.into_summary_with(rows);
        let unknown = self.unknown;
        let looked_at = findings.iter().map(|found| self.decisions.around(found)).collect();
        Judgement { summary, waste, findings, looked_at, found, of_programs, sums, unknown, unsure }
    }

    fn unsure(&self) -> Vec<Kind> {
        let is_asked = |kind: Kind| {
            self.limits.assume_unrestricted || (kind == Kind::LongDelay && self.limits.delay.is_some())
        };
        Kind::ALL.into_iter().filter(|kind| kind.rests_on(self.unknown) && !is_asked(*kind)).collect()
    }
}

impl Judge {
    /// Runs all checks in one pass. The kind of event is matched once: each frequent kind has its own copy of all
    /// checks, from which the compiler has removed everything that doesn't concern it.
    #[inline(always)]
    fn event(&mut self, event: &Event) {
        match event.what {
            What::Switch { prev, next, .. } if prev == next => self.pass_rarely(event),
            What::Switch { .. } => self.pass(event),
            What::Woken { .. } => self.pass(event),
            What::Queued { .. } => self.pass(event),
            What::Held { .. } => self.pass(event),
            What::Pulled { .. } => self.pass(event),
            What::Wakeup { .. } | What::Placed { .. } | What::Migrate { .. } => self.event_apart(event),
            What::Count { task, units } => self.count(task, units),
            What::LockWait { .. } => self.lock_wait(event),
            What::LockWaits { .. } => self.pass_rarely(event),
            What::Fork { .. }
            | What::Exit { .. }
            | What::Unqueued { .. }
            | What::Kick { .. }
            | What::Callback { .. }
            | What::Online { .. }
            | What::Bypass { .. }
            | What::Priority { .. }
            | What::Throttled { .. }
            | What::Reserved { .. }
            | What::Awaits { .. }
            | What::Worked { .. }
            | What::Acts { .. }
            | What::Waited { .. }
            | What::Piped { .. }
            | What::Lost { .. } => self.pass_rarely(event),
        }
    }

    /// Like `event` for kinds that are frequent in streams which are not in brief ([`Class::BRIEF`]). They would take
    /// registers from the others. Each kind is matched once more, so that `pass` is compiled for it alone.
    #[inline(never)]
    fn event_apart(&mut self, event: &Event) {
        match event.what {
            What::Wakeup { .. } => self.pass(event),
            What::Placed { .. } => self.pass(event),
            What::Migrate { .. } => self.pass(event),
            _ => self.pass_rarely(event),
        }
    }

    /// Like `event` for what a task has done, which concerns its figures alone: nearly every task has some at the end.
    #[inline(never)]
    fn count(&mut self, task: TaskId, units: u32) {
        self.figures.counts(self.conduct.scene(), task, units);
    }

    /// Like `event` for long waits for locks, which are frequent if many CPUs want one. No other kind comes here.
    #[inline(never)]
    fn lock_wait(&mut self, event: &Event) {
        match event.what {
            What::LockWait { .. } => self.pass(event),
            _ => self.pass_rarely(event),
        }
    }

    #[inline(always)]
    fn judge(&mut self, events: &[Event]) {
        let mut to_fetch = if self.conduct.has_many_tasks() { events } else { &[] };
        let at_once = if to_fetch.is_empty() { events.len() } else { AT_ONCE };
        to_fetch = self.fetch_rows(to_fetch, AHEAD);
        let mut coming = events;
        while !coming.is_empty() {
            to_fetch = self.fetch_rows(to_fetch, AT_ONCE);
            let (now, later) = coming.split_at(coming.len().min(at_once));
            for event in now {
                self.event(event);
            }
            coming = later;
        }
    }

    #[inline(always)]
    fn pass(&mut self, event: &Event) {
        let Event { at, cpu, what } = *event;
        let slots = self.conduct.slots(what);
        follow(&mut self.waste, &mut self.conduct, Some(&mut self.figures), at, cpu, what, slots);
    }

    /// What a task is: all checks share its name.
    fn about(&mut self, at: Instant, info: &TaskInfo) {
        let name = shared(&info.name);
        let scene = self.conduct.scene();
        scene.meets(info.task);
        self.figures.about(scene, at, info, &name);
        self.waste.about(self.conduct.scene(), at, info, &name);
        self.conduct.about(at, info, &name);
    }

    #[cold]
    #[inline(never)]
    fn pass_rarely(&mut self, event: &Event) {
        self.pass(event);
    }
}

impl Sink for Judge {
    fn wants(&self) -> Class {
        let all = self.figures.wants().with(Waste::wants()).with(self.conduct.wants());
        all.with(self.decisions.wants()).in_brief()
    }

    fn events(&mut self, events: &[Event]) {
        let mut rest = events;
        while !rest.is_empty() {
            let (part, later) = rest.split_at(self.conduct.until_due(rest));
            self.judge(part);
            if let Some(last) = part.last() {
                self.figures.passed(last.at);
                self.waste.passed(last.at);
                self.conduct.passed(last.at);
            }
            rest = later;
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.decisions.meta(at, meta);
        if let Meta::Task(info) = meta {
            return self.about(at, info);
        }
        self.figures.meta(at, meta);
        self.waste.meta(self.conduct.scene(), at, meta);
        self.conduct.meta(at, meta);
        if let Meta::Unknown(unknown) = meta {
            self.unknown = *unknown;
        }
    }
}
