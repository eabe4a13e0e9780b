//! Reads Perfetto traces: what `traced`, `tracebox` and `keel sim --perfetto` write.
//!
//! A trace is a list of packets of any kind, with bundles of ftrace events scattered among them. [`packets`] finds the
//! bundles of each CPU, [`bundle`] turns them into records, and [`messages`] describes the encoding. This module merges
//! the CPUs by time, with at most one bundle per CPU in memory.

mod bundle;
mod messages;
mod packets;

pub(crate) use packets::is;

use crate::ReadError;
use crate::sched_record::SchedRecord;
use crate::source::{Damage, Facts, Records, Source};
use bundle::Cpu;
use packets::{Index, Packets, Place};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{Read, Seek};

/// A Perfetto trace.
pub(crate) struct Perfetto<R> {
    file: R,
    packets: Packets,
    facts: Facts,
    damage: Damage,
    cpus: Vec<Merged>,
    /// When each CPU's next record was written, and the CPU.
    next: BinaryHeap<Reverse<(u64, usize)>>,
}

/// A CPU's part of the trace.
#[derive(Debug)]
struct Merged {
    cpu: Cpu,
    /// The bundles that have not been read yet.
    bundles: VecDeque<Place>,
    records: VecDeque<SchedRecord>,
}

impl<R: Read + Seek> Perfetto<R> {
    /// Finds all bundles.
    pub(crate) fn open(mut file: R) -> Result<Self, ReadError> {
        let mut damage = Damage::default();
        let index = Index::read(&mut file, &mut damage)?;
        let merged = |bundles: Vec<Place>| Merged {
            cpu: Cpu::default(),
            bundles: bundles.into(),
            records: VecDeque::new(),
        };
        let mut this = Self {
            file,
            packets: Packets::default(),
            facts: Facts { begins_with_switch: true, ..index.facts },
            damage,
            cpus: index.bundles.into_iter().map(merged).collect(),
            next: BinaryHeap::new(),
        };
        for n in 0..this.cpus.len() {
            this.advance(n)?;
        }
        Ok(this)
    }

    /// Queues the next record of CPU `n`, if it has one.
    fn advance(&mut self, n: usize) -> Result<(), ReadError> {
        let cpu = &mut self.cpus[n];
        while cpu.records.is_empty()
            && let Some(place) = cpu.bundles.pop_front()
        {
            let opened = cpu.cpu.open(n as u32, self.packets.get(&mut self.file, place)?);
            opened.skipped.iter().for_each(|why| self.damage.skip(place.at, why));
            cpu.records = opened.records;
        }
        if let Some(record) = cpu.records.front() {
            self.next.push(Reverse((record.at, n)));
        }
        Ok(())
    }
}

impl<R: Read + Seek> Records for Perfetto<R> {
    fn next(&mut self) -> Result<Option<SchedRecord>, ReadError> {
        let Some(Reverse((_, n))) = self.next.pop() else { return Ok(None) };
        let record = self.cpus[n].records.pop_front();
        self.advance(n)?;
        Ok(record)
    }
}

impl<R: Read + Seek> Source for Perfetto<R> {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn damage(&self) -> &Damage {
        &self.damage
    }
}
