//! Sinks that combine others, and a sink that ignores everything.

use crate::{Class, Event, Meta, Sink};
use keel_abi::Instant;

/// Ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSink;

impl Sink for NullSink {
    fn wants(&self) -> Class {
        Class::NONE
    }

    fn events(&mut self, _: &[Event]) {}

    fn meta(&mut self, _: Instant, _: &Meta) {}
}

/// Passes events and facts to `sink` in order. Each fact has the number of events before it.
pub fn pass_on(sink: &mut dyn Sink, events: &[Event], facts: impl Iterator<Item = (usize, Instant, Meta)>) {
    let mut passed = 0;
    for (before, at, meta) in facts {
        if before > passed {
            sink.events(&events[passed..before]);
            passed = before;
        }
        sink.meta(at, &meta);
    }
    if passed < events.len() {
        sink.events(&events[passed..]);
    }
}

/// Passes a stream to several sinks. Each gets only the events that it wants, whatever the others want, so that no
/// sink's result depends on the others.
#[derive(Default)]
pub struct Fanout<'a> {
    sinks: Vec<(Class, &'a mut dyn Sink)>,
    wants: Class,
    some: Vec<Event>,
}

impl<'a> Fanout<'a> {
    /// Creates a fanout without sinks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a sink.
    #[must_use]
    pub fn with(mut self, sink: &'a mut dyn Sink) -> Self {
        self.wants = self.wants.with(sink.wants());
        self.sinks.push((sink.wants(), sink));
        self
    }
}

impl Sink for Fanout<'_> {
    fn wants(&self) -> Class {
        self.wants
    }

    fn events(&mut self, events: &[Event]) {
        for (wants, sink) in &mut self.sinks {
            if wants.has(self.wants) {
                sink.events(events);
                continue;
            }
            self.some.clear();
            self.some.extend(events.iter().filter(|event| wants.has(event.what.class())));
            if !self.some.is_empty() {
                sink.events(&self.some);
            }
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        let receivers = self.sinks.iter_mut().filter(|(wants, _)| wants.has(meta.class()));
        receivers.for_each(|(_, sink)| sink.meta(at, meta));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Wants(Class, usize);

    impl Sink for Wants {
        fn wants(&self) -> Class {
            self.0
        }
        fn events(&mut self, events: &[Event]) {
            self.1 += events.len();
        }
        fn meta(&mut self, _: Instant, _: &Meta) {
            self.1 += 1;
        }
    }

    #[test]
    fn each_sink_of_a_fanout_gets_what_it_wants() {
        let (mut a, mut b) = (Wants(Class::CORE, 0), Wants(Class::COSTS, 0));
        let mut fanout = Fanout::new().with(&mut a).with(&mut b);
        assert_eq!(fanout.wants(), Class::CORE.with(Class::COSTS));
        fanout.meta(Instant::ZERO, &Meta::End);
        let what = crate::What::Bypass { on: true };
        fanout.events(&[Event { at: Instant::ZERO, cpu: keel_abi::CpuId(0), what }]);
        assert_eq!((a.1, b.1), (2, 1), "only one of them gets core events");
        assert_eq!(NullSink.wants(), Class::NONE);
    }
}
