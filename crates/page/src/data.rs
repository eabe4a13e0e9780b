//! Makes a run's data in the page: a small head in JSON, and chunks of compressed bytes that the browser unpacks when
//! it shows them.

use crate::moments::Moment;
use crate::pack::deflate;
use crate::page::Page;
use crate::tiles::{self, levels};
use keel_abi::{CpuId, Topology};
use keel_profile::View;
use keel_report::picture::Caption;
use keel_report::run::TaskReport;
use keel_report::{RunReport, verdict};
use serde::Serialize;

/// The number of tasks with figures in the page: those that ran or waited longest.
const TASKS: usize = 4000;

/// What is known about a run besides its events.
#[derive(Debug)]
pub struct Facts<'a> {
    /// Its judgement.
    pub report: &'a RunReport,
    /// Problems of the recording, and what it lacks.
    pub notes: &'a [String],
    /// The run's name among others on the page.
    pub name: String,
    /// Where the scheduler's time went, if the run was profiled.
    pub profile: Option<&'a View>,
}

/// A run's data.
#[derive(Debug)]
pub struct RunData {
    /// Small, and needed at once.
    pub(crate) head: Head,
    /// Compressed.
    pub(crate) chunks: Vec<Vec<u8>>,
}

/// The part that the viewer reads first. docs/reference/report.md describes the fields.
#[derive(Debug, Serialize)]
pub(crate) struct Head {
    version: u32,
    pub(crate) name: String,
    /// Which cores idled and why, or the verdict if none did.
    pub(crate) title: String,
    /// The verdict, if it is not the title.
    pub(crate) verdict: String,
    subtitle: String,
    start_ns: u64,
    duration_ns: u64,
    /// CPU, core, cache, node, in the order of the rows.
    cpus: Vec<[u32; 4]>,
    report: serde_json::Value,
    notes: Vec<String>,
    levels: Vec<LevelHead>,
    lives: Lives,
    detail: Vec<DetailHead>,
    detail_events: u64,
    episodes: usize,
    episodes_left_out: u64,
    moments: usize,
    moments_heard: u64,
    names: usize,
    names_left_out: u64,
    tasks: usize,
    delays: usize,
    /// `None` for a run without a profile.
    profile: Option<usize>,
}

#[derive(Debug, Serialize)]
struct LevelHead {
    bucket_ns: u64,
    buckets: usize,
    tile: usize,
    chunks: Vec<usize>,
}

#[derive(Debug, Serialize)]
struct Lives {
    bucket_ns: u64,
    chunk: usize,
}

#[derive(Debug, Serialize)]
struct DetailHead {
    from: u64,
    to: u64,
    events: u32,
    chunk: usize,
}

#[derive(Default)]
struct Chunks(Vec<Vec<u8>>);

impl Chunks {
    fn packed(&mut self, bytes: Vec<u8>) -> usize {
        self.0.push(bytes);
        self.0.len() - 1
    }

    fn raw(&mut self, bytes: &[u8]) -> usize {
        self.packed(deflate(bytes))
    }

    fn json(&mut self, value: &impl Serialize) -> usize {
        self.raw(&json(value))
    }

    fn level(&mut self, level: tiles::Level) -> LevelHead {
        let tiles::Level { bucket_ns, buckets, tile, tiles } = level;
        LevelHead { bucket_ns, buckets, tile, chunks: tiles.iter().map(|bytes| self.raw(bytes)).collect() }
    }
}

impl RunData {
    pub(crate) fn new(mut page: Page, facts: &Facts<'_>) -> Option<Self> {
        let topology = page.topology.take()?;
        let rows = rows(&topology);
        let mut chunks = Chunks::default();
        let ids: Vec<CpuId> = rows.iter().map(|row| CpuId(row[0])).collect();
        let levels = levels(&mut page.sums.grid, page.now, &ids);
        let levels = levels.into_iter().map(|level| chunks.level(level)).collect();
        let lives =
            Lives { bucket_ns: page.sums.lives.bucket_ns(), chunk: chunks.raw(&page.sums.lives.pack()) };
        let (kept, detail_events) = page.detail.finish(page.now);
        let detail = kept.into_iter().map(|chunk| DetailHead {
            from: chunk.from,
            to: chunk.to,
            events: chunk.events,
            chunk: chunks.packed(chunk.bytes),
        });
        let detail = detail.collect();
        let (episodes_left_out, moments_heard) = (page.episodes.left_out, page.moments.received());
        let names_left_out = page.names.left_out;
        let moments: Vec<Moment> = page.moments.kept().map(Moment::of).collect();
        let caption = Caption::of(facts.report);
        let (title, verdict) = verdict::lines(facts.report);
        let head = Head {
            version: 1,
            name: facts.name.clone(),
            title,
            verdict,
            subtitle: caption.subtitle,
            start_ns: page.start,
            duration_ns: page.now,
            cpus: rows,
            report: summary(facts.report),
            notes: facts.notes.to_vec(),
            levels,
            lives,
            detail,
            detail_events,
            episodes: chunks.raw(&page.episodes.pack()),
            episodes_left_out,
            moments: chunks.json(&moments),
            moments_heard,
            names: chunks.json(&page.names.finish()),
            names_left_out,
            tasks: chunks.json(&tasks(facts.report)),
            delays: chunks.json(&page.sums.delays.finish()),
            profile: facts.profile.map(|view| chunks.json(view)),
        };
        Some(Self { head, chunks: chunks.0 })
    }

    /// Returns its size in the page, in bytes.
    pub fn size(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len().div_ceil(3) * 4).sum::<usize>() + json(&self.head).len()
    }
}

/// Serialises a value as JSON. The serialised types have only string keys.
pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("string keys alone")
}

/// Returns the CPUs by node, cache and core, in the order of the rows.
fn rows(topology: &Topology) -> Vec<[u32; 4]> {
    let place = |cpu: CpuId| {
        let place = topology.place(cpu);
        [cpu.0, place.core.0, place.llc.0, place.node.0]
    };
    let mut rows: Vec<[u32; 4]> = topology.iter().map(place).collect();
    rows.sort_by_key(|&[cpu, core, llc, node]| (node, llc, core, cpu));
    rows
}

/// Returns the judgement without its tasks, of which there are many.
fn summary(report: &RunReport) -> serde_json::Value {
    let mut value = serde_json::to_value(report).expect("string keys alone");
    if let Some(fields) = value.as_object_mut() {
        fields.remove("tasks");
        fields.remove("wall_ns");
        fields.remove("peak_rss_bytes");
    }
    value
}

fn tasks(report: &RunReport) -> Vec<&TaskReport> {
    let mut tasks: Vec<&TaskReport> = report.tasks.iter().collect();
    tasks.sort_by_key(|task| std::cmp::Reverse(task.cpu_ns.saturating_add(task.wait_ns)));
    tasks.truncate(TASKS);
    tasks
}
