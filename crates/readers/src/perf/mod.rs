//! Reads perf.data: what `perf record` writes to a file, or through a pipe (`-o -`).
//!
//! The kernel has one buffer per CPU; perf writes out their contents one after the other, and marks the end of each
//! round. A record can be overtaken only by records of the same round and the next, so [`sort`] needs to hold no more.
//! [`layout`] reads the file's header, or the records that replace it in a pipe, [`facts`] what the file says about the
//! machine, [`stream`] yields the records, including compressed ones, and [`sample`] reads the contents of a sample.
//!
//! `perf record --threads` makes a folder: a header, `data`, and for each of its threads a file with only records,
//! `data.N`. [`folder`] merges them.

mod facts;
mod folder;
mod layout;
mod sample;
mod sort;
mod stream;

use crate::ReadError;
use crate::formats::{Decoder, Headers, u32_at, u64_at};
use crate::sched_record::{Name, SchedEvent, SchedRecord, Who};
use crate::source::{Damage, Facts, Records, Source};
use folder::Parts;
use layout::{Layout, feature};
use sample::{Formats, Trailer};
use sort::Rounds;
use std::io::{Read, Seek};
use stream::{Record, kind};

/// This format's name.
const FORMAT: &str = "perf.data";

/// A perf.data file, or a folder of them.
pub(crate) struct Perf<R> {
    parts: Parts<R>,
    state: State,
}

/// What has been read from it.
struct State {
    formats: Formats,
    decoder: Option<Decoder>,
    facts: Facts,
    damage: Damage,
}

impl<R: Read + Seek> Perf<R> {
    /// Reads the file's header. `parts` are the files of records next to it, if it belongs to a folder.
    pub(crate) fn open(mut file: R, mut parts: Vec<R>) -> Result<Self, ReadError> {
        let layout = Layout::read(&mut file)?;
        let mut damage = Damage::default();
        let (mut facts, mut decoder) = (Facts::default(), None);
        for (feature, bytes) in layout.features(&mut file, &mut damage)? {
            match feature {
                feature::DIR_FORMAT => folder::fits(u64_at(&bytes, 0, layout.order), &mut parts)?,
                _ => facts::learn(&mut facts, &mut decoder, layout.order, feature, &bytes),
            }
        }
        facts::shape(&mut facts);
        let mut formats = Formats::new(layout.order);
        layout.attributes(&mut file, &mut formats)?;
        if !layout.is_pipe && decoder.is_none() {
            return Err(ReadError::Unsupported(
                "this perf.data file does not describe its events: it has none (use perf sched record), or its \
                 end, where perf describes them, is cut off"
                    .to_owned(),
            ));
        }
        let parts = Parts::open(file, parts, &layout)?;
        let state = State { formats, decoder, facts, damage };
        Ok(Self { parts, state })
    }
}

impl State {
    fn take(&mut self, record: &Record<'_>, to: &mut Rounds) {
        match record.kind {
            kind::SAMPLE => self.sample(record, to),
            kind::LOST => self.lost(record, to, u64_at(record.body, 8, self.formats.order)),
            kind::LOST_SAMPLES => self.lost(record, to, u64_at(record.body, 0, self.formats.order)),
            kind::COMM => self.named(record, to),
            kind::FINISHED_ROUND => to.finish(),
            kind::HEADER_ATTR => self.formats.learn_piped(record.body),
            kind::HEADER_TRACING_DATA => {
                self.decoder = Headers::of_perf(record.payload).map(|headers| headers.decoder);
            }
            kind::HEADER_FEATURE => {
                let feature = u64_at(record.body, 0, self.formats.order);
                if let (Some(feature), Some(bytes)) = (feature, record.body.get(8..)) {
                    let order = self.formats.order;
                    facts::learn(&mut self.facts, &mut self.decoder, order, feature, bytes);
                }
            }
            _ => {}
        }
    }

    fn sample(&mut self, record: &Record<'_>, to: &mut Rounds) {
        let Some(sample) = self.formats.sample(record.body) else {
            return self.damage.skip(record.at, "a sample has no time, CPU or data, or is too short");
        };
        let Some(decoder) = &self.decoder else {
            return self.damage.unknown += 1;
        };
        let Some(decoded) = decoder.decode(sample.raw) else {
            return self.damage.unknown += 1;
        };
        let Some(what) = decoded.what else {
            return self.damage.skip(record.at, "an event does not fit its description");
        };
        let current = decoded.current.or(sample.tid);
        let (at, cpu, interrupt) = (sample.at, sample.cpu, decoded.interrupt);
        to.push(SchedRecord { at, cpu, lost: 0, current, interrupt, what });
    }

    fn lost(&mut self, record: &Record<'_>, to: &mut Rounds, lost: Option<u64>) {
        let Some(lost) = lost else {
            return self.damage.skip(record.at, "a record of lost events is too short");
        };
        match self.formats.trailer(record.body) {
            Some(Trailer { at, cpu, .. }) if at > 0 => {
                let what = SchedEvent::Other;
                to.push(SchedRecord { at, cpu, lost, current: None, interrupt: false, what });
            }
            _ => self.facts.lost = self.facts.lost.saturating_add(lost),
        }
    }

    /// Handles a task's new name. Those that perf synthesizes at the beginning have no time.
    fn named(&mut self, record: &Record<'_>, to: &mut Rounds) {
        let (Some(tid), Some(trailer)) =
            (u32_at(record.body, 4, self.formats.order), self.formats.trailer(record.body))
        else {
            return;
        };
        let name = record.body.get(8..).map(Name::new).unwrap_or_default();
        if trailer.at > 0 {
            let what = SchedEvent::Named { task: Who { pid: tid, name, prio: None } };
            let (at, cpu) = (trailer.at, trailer.cpu);
            to.push(SchedRecord { at, cpu, lost: 0, current: None, interrupt: false, what });
        }
    }
}

impl<R: Read + Seek> Records for Perf<R> {
    fn next(&mut self) -> Result<Option<SchedRecord>, ReadError> {
        self.parts.next(&mut self.state)
    }
}

impl<R: Read + Seek> Source for Perf<R> {
    fn facts(&self) -> Facts {
        let mut facts = self.state.facts.clone();
        facts::shape(&mut facts);
        facts
    }

    fn damage(&self) -> &Damage {
        &self.state.damage
    }
}
