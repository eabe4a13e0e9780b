//! Writes large files of every kind for `./x bench --recordings`, which measures how fast they are read:
//! `KEEL_LARGE=FOLDER KEEL_EVENTS=N cargo test -p keel-readers -- --ignored large`.

use crate::formats::Order;
use crate::make::perf::{features, head, rounds};
use crate::make::tracedat::{head_6, pages};
use crate::make::{DatShape, PerfShape, Shape, TextShape, text};
use crate::sched_record::{Name, SchedEvent, SchedRecord, Who};
use keel_trace::{Why, Writer};
use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::Path;

/// The number of CPUs.
const CPUS: u32 = 4;
/// Records in memory at a time, and records per perf round.
const BATCH: u64 = 100_000;
const ROUND: usize = 100_000;
const EVENTS: Shape = Shape { order: Order::Little, long: 8, far_names: false };

/// Tasks that take turns on four CPUs: a wakeup and a switch each time.
struct Turns {
    turn: u64,
    left: u64,
    running: [u32; CPUS as usize],
    next: u32,
}

impl Turns {
    fn new(events: u64) -> Self {
        Self { turn: 0, left: events / 2, running: [1, 2, 3, 4], next: 5 }
    }

    fn take(&mut self, records: &mut Vec<SchedRecord>) {
        let who = |pid: u32| Who { pid, name: Name::new(format!("task-{pid}").as_bytes()), prio: Some(120) };
        let cpu = (self.turn % u64::from(CPUS)) as u32;
        let ran = &mut self.running[cpu as usize];
        let (at, prev, comes) = (1_000_000_000 + self.turn * 2000, who(*ran), who(self.next));
        let seen =
            |at, what| SchedRecord { at, cpu, lost: 0, current: Some(prev.pid), interrupt: false, what };
        records.push(seen(at, SchedEvent::Waking { task: comes, target: cpu }));
        records.push(seen(at + 1000, SchedEvent::Switch { prev, why: Why::Blocked, next: comes }));
        *ran = self.next;
        self.next = if self.next == 400 { 5 } else { self.next + 1 };
        (self.turn, self.left) = (self.turn + 1, self.left - 1);
    }
}

/// This many at once.
impl Iterator for Turns {
    type Item = Vec<SchedRecord>;

    fn next(&mut self) -> Option<Vec<SchedRecord>> {
        let mut records = Vec::new();
        for _ in 0..self.left.min(BATCH / 2) {
            self.take(&mut records);
        }
        (!records.is_empty()).then_some(records)
    }
}

/// Writes a part and returns its length.
fn put(to: &mut impl Write, bytes: &[u8]) -> u64 {
    to.write_all(bytes).expect("the disk takes it");
    bytes.len() as u64
}

fn again(to: &mut BufWriter<File>, bytes: &[u8]) {
    to.rewind().expect("a file can be rewound");
    put(to, bytes);
    to.flush().expect("the disk takes it");
}

fn perf_data(events: u64, to: &mut BufWriter<File>) {
    let shape = PerfShape { events: EVENTS, pipe: false, compressed: false, round: ROUND };
    let begins = put(to, &head(0, &shape).bytes);
    let length: u64 = Turns::new(events).map(|records| put(to, &rounds(&records, shape).bytes)).sum();
    put(to, &features(begins + length, &shape).bytes);
    again(to, &head(length, &shape).bytes);
}

fn trace_dat(events: u64, to: &mut BufWriter<File>) {
    let shape = DatShape { events: EVENTS, packing: None, page: 4096 };
    put(to, &head_6(&[0; CPUS as usize], &shape).bytes);
    let of_cpu = |cpu| Turns::new(events).map(move |records| pages(&records, cpu, &shape));
    let sizes: Vec<u64> = (0..CPUS).map(|cpu| of_cpu(cpu).map(|pages| put(to, &pages)).sum()).collect();
    again(to, &head_6(&sizes, &shape).bytes);
}

fn text_of(events: u64, to: &mut BufWriter<File>) {
    let head = text(&[], TextShape::Ftrace);
    put(to, &head);
    for records in Turns::new(events) {
        put(to, &text(&records, TextShape::Ftrace)[head.len()..]);
    }
}

/// Converts a recording to Evenkeel's own trace format.
fn own(from: &Path, to: &mut BufWriter<File>) {
    let mut writer = Writer::new(to);
    crate::read(File::open(from).expect("it was written"), &mut writer).expect("it can be read");
    writer.finish().expect("the disk takes it");
}

#[test]
#[ignore = "writes gigabytes"]
fn large_files_are_written() {
    let folder = std::env::var("KEEL_LARGE").expect("KEEL_LARGE names a folder");
    let events = std::env::var("KEEL_EVENTS").map_or(1_000_000, |n| n.parse().expect("a number"));
    let path = |name: &str| Path::new(&folder).join(name);
    let write = |name: &str, fill: &dyn Fn(&mut BufWriter<File>)| {
        let mut to = BufWriter::new(File::create(path(name)).expect("it can be made"));
        fill(&mut to);
        to.flush().expect("the disk takes it");
    };
    write("large.perf", &|to| perf_data(events, to));
    write("large.dat", &|to| trace_dat(events, to));
    write("large.txt", &|to| text_of(events, to));
    write("large.trc", &|to| own(&path("large.perf"), to));
}
