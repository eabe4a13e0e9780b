//! Produces a stream on one thread and consumes it on another, in the same order.
//!
//! Reading a recording and judging it take about the same time, so they run in parallel. Batches go through a short
//! queue, so memory stays bounded; the faster side waits.

use crate::{Class, Event, Meta, Sink};
use keel_abi::Instant;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// The number of events that are passed on in one batch.
const BATCH: usize = 8192;
/// The maximum number of batches on their way.
const QUEUE: usize = 4;

/// A part of a stream that is on its way.
enum Part {
    Events(Vec<Event>),
    Meta(Instant, Box<Meta>),
}

/// Runs `make` on its own thread; `sink` receives its stream here, as if `make` had called it. Returns the result of
/// `make`.
pub fn relayed<T: Send>(sink: &mut dyn Sink, make: impl FnOnce(&mut dyn Sink) -> T + Send) -> T {
    let wants = sink.wants();
    let (to, from) = sync_channel(QUEUE);
    let (back, empty) = sync_channel(QUEUE + 2);
    thread::scope(|scope| {
        let making = scope.spawn(move || {
            let mut relay = Relay { wants, to, empty, batch: Vec::with_capacity(BATCH) };
            let made = make(&mut relay);
            relay.flush();
            made
        });
        receive(sink, from, &back);
        making.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Passes on batches as they arrive, and returns the emptied ones. If `sink` panics, nothing more is received, and the
/// producer does not wait.
fn receive(sink: &mut dyn Sink, from: Receiver<Part>, back: &SyncSender<Vec<Event>>) {
    for part in from {
        match part {
            Part::Events(mut events) => {
                sink.events(&events);
                events.clear();
                // A batch that is no longer needed is freed.
                let _ = back.try_send(events);
            }
            Part::Meta(at, meta) => sink.meta(at, &meta),
        }
    }
}

/// The producer's end.
struct Relay {
    wants: Class,
    to: SyncSender<Part>,
    empty: Receiver<Vec<Event>>,
    batch: Vec<Event>,
}

impl Relay {
    fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let next = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH));
        let batch = std::mem::replace(&mut self.batch, next);
        self.send(Part::Events(batch));
    }

    fn send(&self, part: Part) {
        // If the receiver is gone, it has panicked. The rest is then not needed, and the panic continues when this
        // ends.
        let _ = self.to.send(part);
    }
}

impl Sink for Relay {
    fn wants(&self) -> Class {
        self.wants
    }

    fn events(&mut self, events: &[Event]) {
        self.batch.extend_from_slice(events);
        if self.batch.len() >= BATCH {
            self.flush();
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.flush();
        self.send(Part::Meta(at, Box::new(meta.clone())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::What;
    use keel_abi::CpuId;
    use proptest::prelude::*;

    /// Records the events it receives, one at a time.
    #[derive(Default, PartialEq, Debug)]
    struct Received(Vec<(Instant, Result<Event, Meta>)>);

    impl Sink for Received {
        fn wants(&self) -> Class {
            Class::CORE
        }

        fn events(&mut self, events: &[Event]) {
            self.0.extend(events.iter().map(|event| (event.at, Ok(*event))));
        }

        fn meta(&mut self, at: Instant, meta: &Meta) {
            self.0.push((at, Err(meta.clone())));
        }
    }

    /// Emits this many events and an end, repeatedly.
    fn emit(sink: &mut dyn Sink, parts: &[usize]) -> usize {
        assert_eq!(sink.wants(), Class::CORE);
        let mut at = Instant::ZERO;
        for &events in parts {
            let event = |n: usize| Event {
                at: Instant::from_ns(n as u64),
                cpu: CpuId(0),
                what: What::Lost { events: n as u32 },
            };
            sink.events(&(0..events).map(event).collect::<Vec<_>>());
            at = Instant::from_ns(events as u64);
            sink.meta(at, &Meta::End);
        }
        sink.events(&[Event { at, cpu: CpuId(1), what: What::Bypass { on: true } }]);
        parts.len()
    }

    proptest! {
        #[test]
        fn events_arrive_in_order(parts in prop::collection::vec(0..3 * BATCH, 0..12)) {
            let (mut here, mut there) = (Received::default(), Received::default());
            emit(&mut here, &parts);
            prop_assert_eq!(relayed(&mut there, |sink| emit(sink, &parts)), parts.len());
            prop_assert!(here == there);
        }
    }

    /// Panics at the first event that it receives.
    struct Breaks;

    impl Sink for Breaks {
        fn wants(&self) -> Class {
            Class::CORE
        }

        fn events(&mut self, _: &[Event]) {
            panic!("it breaks");
        }

        fn meta(&mut self, _: Instant, _: &Meta) {}
    }

    #[test]
    #[should_panic(expected = "it breaks")]
    fn a_panic_of_the_sink_propagates() {
        relayed(&mut Breaks, |sink| emit(sink, &[BATCH; 20]));
    }

    #[test]
    #[should_panic(expected = "no more")]
    fn a_panic_of_the_maker_propagates() {
        relayed(&mut Received::default(), |sink| {
            emit(sink, &[5]);
            panic!("no more");
        });
    }
}
