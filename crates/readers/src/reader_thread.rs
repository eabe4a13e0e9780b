//! Reads records on a separate thread while another thread consumes them, in the same order.

use crate::ReadError;
use crate::sched_record::SchedRecord;
use crate::source::Records;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// The number of records per batch.
const BATCH: usize = 4096;
/// The maximum number of batches on their way.
const QUEUE: usize = 4;

/// The reader's end.
pub(crate) struct Sender {
    to: SyncSender<Vec<SchedRecord>>,
    empty: Receiver<Vec<SchedRecord>>,
}

/// The consumer's end, which receives all sent records.
struct Arriving {
    from: Receiver<Vec<SchedRecord>>,
    back: SyncSender<Vec<SchedRecord>>,
    batch: Vec<SchedRecord>,
    next: usize,
}

/// Runs `read`, which sends records, on a separate thread, and `take`, which consumes them, here. Returns both results.
pub(crate) fn read<T: Send, U>(
    read: impl FnOnce(&mut Sender) -> T + Send,
    take: impl FnOnce(&mut dyn Records) -> U,
) -> (T, U) {
    let (to, from) = sync_channel(QUEUE);
    let (back, empty) = sync_channel(QUEUE + 2);
    thread::scope(|scope| {
        let reading = scope.spawn(move || read(&mut Sender { to, empty }));
        let mut arriving = Arriving { from, back, batch: Vec::new(), next: 0 };
        let taken = take(&mut arriving);
        // Records that nobody consumes need not be read.
        drop(arriving);
        (reading.join().unwrap_or_else(|panic| resume_unwind(panic)), taken)
    })
}

impl Sender {
    /// Sends all remaining records, or stops when nobody consumes them any more.
    pub(crate) fn all(&mut self, records: &mut dyn Records) -> Result<(), ReadError> {
        let mut is_over = false;
        while !is_over {
            let mut batch = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(BATCH));
            while batch.len() < BATCH && !is_over {
                match records.next()? {
                    Some(seen) => batch.push(seen),
                    None => is_over = true,
                }
            }
            is_over |= self.to.send(batch).is_err();
        }
        Ok(())
    }
}

impl Arriving {
    /// Gets the next batch. Returns false if there is none.
    fn turn(&mut self) -> bool {
        let Ok(batch) = self.from.recv() else { return false };
        let mut empty = std::mem::replace(&mut self.batch, batch);
        self.next = 0;
        empty.clear();
        // A batch that is no longer needed is freed.
        let _ = self.back.try_send(empty);
        true
    }
}

impl Records for Arriving {
    #[inline]
    fn next(&mut self) -> Result<Option<SchedRecord>, ReadError> {
        while self.next == self.batch.len() {
            if !self.turn() {
                return Ok(None);
            }
        }
        self.next += 1;
        Ok(Some(self.batch[self.next - 1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched_record::SchedEvent;

    /// Counts up to a number, and then fails or ends.
    struct Counts(u64, u64, bool);

    impl Records for Counts {
        fn next(&mut self) -> Result<Option<SchedRecord>, ReadError> {
            if self.0 == self.1 {
                return if self.2 { Err(ReadError::Empty) } else { Ok(None) };
            }
            self.0 += 1;
            let what = SchedEvent::Other;
            Ok(Some(SchedRecord { at: self.0, cpu: 0, lost: 0, current: None, interrupt: false, what }))
        }
    }

    fn all(records: &mut dyn Records) -> Vec<u64> {
        std::iter::from_fn(|| records.next().expect("it was read")).map(|seen| seen.at).collect()
    }

    #[test]
    fn what_is_read_is_taken_in_order() {
        for count in [0, 1, BATCH as u64 - 1, BATCH as u64, 10 * BATCH as u64 + 7] {
            let (read, taken) = read(|to| to.all(&mut Counts(0, count, false)), all);
            assert!(read.is_ok());
            assert!(taken.iter().copied().eq(1..=count), "{count}");
        }
    }

    #[test]
    fn the_caller_gets_the_error_and_the_consumer_an_end() {
        let (read, taken) = read(|to| to.all(&mut Counts(0, 3 * BATCH as u64 + 5, true)), all);
        assert!(matches!(read, Err(ReadError::Empty)));
        assert!(taken.iter().copied().eq(1..=3 * BATCH as u64));
    }

    #[test]
    fn a_consumer_that_stops_ends_the_reading() {
        let (read, first) = read(
            |to| to.all(&mut Counts(0, u64::MAX, false)),
            |records| records.next().expect("it was read").map(|seen| seen.at),
        );
        assert!(read.is_ok());
        assert_eq!(first, Some(1));
    }
}
