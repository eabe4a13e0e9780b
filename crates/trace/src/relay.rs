//! Produces a stream on one thread and consumes it on another, in the same order.
//!
//! Reading a recording and judging it take about the same time, so they run in parallel. Batches go through a short
//! queue, so memory stays bounded; the faster side waits.

use crate::sinks::pass_on;
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
struct Batch {
    events: Vec<Event>,
    /// Each with how many of the events come before it.
    meta: Vec<(usize, Instant, Meta)>,
}

impl Batch {
    fn new() -> Self {
        Self { events: Vec::with_capacity(BATCH), meta: Vec::new() }
    }

    /// Passes its contents on in order, and becomes empty.
    fn pass_on(&mut self, sink: &mut dyn Sink) {
        pass_on(sink, &self.events, self.meta.drain(..));
        self.events.clear();
    }
}

/// Runs `make` on its own thread; `sink` receives its stream here, as if `make` had called it. Returns the result of
/// `make`.
pub fn relayed<T: Send>(sink: &mut dyn Sink, make: impl FnOnce(&mut dyn Sink) -> T + Send) -> T {
    let wants = sink.wants();
    let (to, from) = sync_channel(QUEUE);
    let (back, empty) = sync_channel(QUEUE + 2);
    thread::scope(|scope| {
        let making = scope.spawn(move || {
            let mut relay = Relay { wants, to, empty, batch: Batch::new() };
            let made = make(&mut relay);
            let Relay { to, batch, .. } = relay;
            // As in `go_on`.
            let _ = to.send(batch);
            made
        });
        receive(sink, from, &back);
        making.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Passes on batches as they arrive, and returns the emptied ones. If `sink` panics, nothing more is received, and the
/// producer does not wait.
fn receive(sink: &mut dyn Sink, from: Receiver<Batch>, back: &SyncSender<Batch>) {
    for mut batch in from {
        batch.pass_on(sink);
        // A batch that is no longer needed is freed.
        let _ = back.try_send(batch);
    }
}

/// The producer's end.
struct Relay {
    wants: Class,
    to: SyncSender<Batch>,
    empty: Receiver<Batch>,
    batch: Batch,
}

impl Relay {
    /// Sends what there is, and begins the next batch.
    fn go_on(&mut self) {
        let next = self.empty.try_recv().unwrap_or_else(|_| Batch::new());
        let batch = std::mem::replace(&mut self.batch, next);
        // If the receiver is gone, it has panicked. The rest is then not needed, and the panic continues when this
        // ends.
        let _ = self.to.send(batch);
    }
}

impl Sink for Relay {
    fn wants(&self) -> Class {
        self.wants
    }

    fn events(&mut self, events: &[Event]) {
        self.batch.events.extend_from_slice(events);
        if self.batch.events.len() >= BATCH {
            self.go_on();
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.batch.meta.push((self.batch.events.len(), at, meta.clone()));
        if self.batch.meta.len() >= BATCH {
            self.go_on();
        }
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
