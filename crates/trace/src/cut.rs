//! Cuts a part out of a stream, as a complete stream.
//!
//! The state at the beginning of the part is emitted first: which CPUs are offline, which tasks run, and, as if they
//! had just arrived, which tasks wait and in which DSQ. Timestamps stay those of the whole trace.

mod state;

pub(crate) use state::State;

use crate::{Class, Event, Meta, Sink};
use keel_abi::Instant;
use std::ops::Range;

/// Passes on the events in a range of time.
pub struct Cut<'a> {
    sink: &'a mut dyn Sink,
    range: Range<Instant>,
    stage: Stage,
    /// The state, until the part begins.
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Before,
    Within,
    After,
}

impl<'a> Cut<'a> {
    /// Passes the events in `range` to `sink`.
    pub fn new(range: Range<Instant>, sink: &'a mut dyn Sink) -> Self {
        Self::since(State::default(), range, sink)
    }

    /// Like [`Cut::new`], for a stream whose missing beginning led to `state`.
    pub(crate) fn since(state: State, range: Range<Instant>, sink: &'a mut dyn Sink) -> Self {
        Self { sink, range, stage: Stage::Before, state }
    }

    /// Returns whether the range has begun. If the stream ended before that, nothing was passed on.
    pub fn has_begun(&self) -> bool {
        self.stage != Stage::Before
    }

    /// Begins or ends the part if it is time for that.
    fn arrive(&mut self, now: Instant) {
        if self.stage == Stage::Before && now >= self.range.start {
            self.stage = Stage::Within;
            self.state.open(self.range.start, self.sink);
        }
        if self.stage == Stage::Within && now >= self.range.end {
            self.stage = Stage::After;
            self.sink.meta(self.range.end, &Meta::End);
        }
    }
}

impl Sink for Cut<'_> {
    fn wants(&self) -> Class {
        let wants = self.sink.wants().with(Class::CORE).with(Class::QUEUES);
        // Units that are done before the cut don't belong to it.
        if wants.has(Class::UNITS) { wants.with(Class::COUNTS) } else { wants }
    }

    fn events(&mut self, events: &[Event]) {
        let wants = self.sink.wants();
        let is_within = self.stage == Stage::Within && events.last().is_some_and(|e| e.at < self.range.end);
        if is_within && wants.has(self.wants()) {
            return self.sink.events(events);
        }
        for event in events {
            self.arrive(event.at);
            match self.stage {
                Stage::Before => self.state.remember(event),
                Stage::Within if wants.has(event.what.class()) => self.sink.events(&[*event]),
                Stage::Within | Stage::After => {}
            }
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.arrive(at);
        match (self.stage, meta) {
            (Stage::Within, Meta::End) => {
                self.stage = Stage::After;
                self.sink.meta(at, meta);
            }
            (Stage::Within, _) if self.sink.wants().has(meta.class()) => self.sink.meta(at, meta),
            (Stage::Before, _) => self.state.note(meta),
            (Stage::Within | Stage::After, _) => {}
        }
    }
}

#[cfg(test)]
mod tests;
