//! Reads trace.dat, versions 6 and 7: what `trace-cmd record` writes.
//!
//! It contains each CPU's ring buffer as the kernel provides it, page by page. [`layout`] finds the pages and the event
//! formats, [`compress`] decompresses, [`cpu`] reads one CPU's pages and [`page`] the events of one page. This module
//! merges the CPUs by time, with at most one page, or one compressed chunk of pages, per CPU in memory.

mod compress;
mod cpu;
mod layout;
mod page;

use crate::ReadError;
use crate::formats::Decoder;
use crate::sched_record::{SchedEvent, SchedRecord};
use crate::source::{Damage, Facts, Records, Source};
use cpu::{Cpu, Entry};
use layout::Layout;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{Read, Seek};

/// This format's name.
const FORMAT: &str = "trace.dat";

/// A trace.dat file.
pub(crate) struct TraceDat<R> {
    file: R,
    decoder: Decoder,
    facts: Facts,
    damage: Damage,
    cpus: Vec<Cpu>,
    /// The next event of each CPU, by its time.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    entries: Vec<Option<Entry>>,
    /// A record that waits for information about the beginning of its CPU's buffer.
    pending: Option<SchedRecord>,
}

impl<R: Read + Seek> TraceDat<R> {
    /// Reads the file's head.
    pub(crate) fn open(mut file: R) -> Result<Self, ReadError> {
        let mut damage = Damage::default();
        let layout = Layout::read(&mut file, &mut damage)?;
        if !layout.headers.decoder.knows_switches() {
            return Err(ReadError::Unsupported(
                "this trace.dat file does not describe sched_switch: it was recorded without scheduler events, or is \
                 damaged"
                    .to_owned(),
            ));
        }
        let cpus: Vec<Cpu> = layout.cpus();
        let entries = vec![None; cpus.len()];
        let mut this = Self {
            file,
            decoder: layout.headers.decoder,
            facts: layout.facts,
            damage,
            cpus,
            next: BinaryHeap::new(),
            entries,
            pending: None,
        };
        for n in 0..this.cpus.len() {
            this.advance(n)?;
        }
        Ok(this)
    }

    /// Fetches the next event of a CPU.
    fn advance(&mut self, n: usize) -> Result<(), ReadError> {
        let entry = self.cpus[n].next(&mut self.file, &mut self.damage)?;
        if let Some(entry) = &entry {
            self.next.push(Reverse((entry.at, n)));
        }
        self.entries[n] = entry;
        Ok(())
    }

    fn seen(&mut self, n: usize, entry: Entry) -> SchedRecord {
        let cpu = self.cpus[n].number;
        let decoded = self.cpus[n].bytes(&entry).and_then(|bytes| self.decoder.decode(bytes));
        let mut seen = SchedRecord {
            at: entry.at,
            cpu,
            lost: entry.lost,
            current: None,
            interrupt: false,
            what: SchedEvent::Other,
        };
        match decoded {
            None => self.damage.unknown += 1,
            Some(decoded) => {
                (seen.current, seen.interrupt) = (decoded.current, decoded.interrupt);
                match decoded.what {
                    Some(what) => seen.what = what,
                    None => self.damage.skip(self.cpus[n].place(), "an event does not fit its description"),
                }
            }
        }
        seen
    }
}

impl<R: Read + Seek> Records for TraceDat<R> {
    fn next(&mut self) -> Result<Option<SchedRecord>, ReadError> {
        if let Some(seen) = self.pending.take() {
            return Ok(Some(seen));
        }
        let Some(Reverse((_, n))) = self.next.pop() else { return Ok(None) };
        let Some(entry) = self.entries[n].take() else { return Ok(None) };
        let seen = self.seen(n, entry);
        self.advance(n)?;
        if entry.begins && entry.lost > 0 {
            self.pending = Some(seen);
            return Ok(Some(SchedRecord { lost: 0, current: None, what: SchedEvent::BeginsHere, ..seen }));
        }
        Ok(Some(seen))
    }
}

impl<R: Read + Seek> Source for TraceDat<R> {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn damage(&self) -> &Damage {
        &self.damage
    }
}
