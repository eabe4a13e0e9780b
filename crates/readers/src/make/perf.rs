//! Writes perf.data as perf does.

use super::{Bytes, Shape};
use crate::formats::Order;
use crate::sched_record::SchedRecord;

/// The variant to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerfShape {
    pub(crate) events: Shape,
    pub(crate) pipe: bool,
    pub(crate) compressed: bool,
    /// Records of one round, of every CPU.
    pub(crate) round: usize,
}

/// `PERF_SAMPLE_*`: IP, TID, TIME, CPU, PERIOD, RAW; and for the other event's samples ID before the CPU.
const KINDS: [u64; 2] =
    [1 | 2 | 4 | 0x80 | 0x100 | 0x400 | 0x1_0000, 1 | 2 | 4 | 0x40 | 0x80 | 0x100 | 0x400 | 0x1_0000];

/// Returns a whole file.
pub(crate) fn perf(records: &[SchedRecord], shape: PerfShape) -> Vec<u8> {
    let order = shape.events.order;
    let mut data = Bytes::new(order);
    if shape.pipe {
        for (n, attribute) in attributes(order).iter().enumerate() {
            let mut body = attribute.clone();
            body.extend(Bytes::new(order).u64(n as u64 + 71).bytes.clone());
            record(&mut data, 64, &body);
        }
        let tracing = tracing_data(&shape.events);
        record(&mut data, 66, &Bytes::new(order).u32(tracing.len() as u32).u32(0).bytes.clone());
        data.raw(&tracing).pad(8);
    }
    let rest = rounds(records, shape);
    if shape.compressed {
        let mut packed = vec![0; rest.bytes.len() + 1024];
        let length = zstd_safe::compress(&mut packed[..], &rest.bytes, 3).expect("it fits");
        packed[..length].chunks(4000).for_each(|part| record(&mut data, 81, part));
    } else {
        data.raw(&rest.bytes);
    }
    file(order, data, &shape)
}

/// Records, round by round, each CPU's one after the other.
pub(crate) fn rounds(records: &[SchedRecord], shape: PerfShape) -> Bytes {
    let mut to = Bytes::new(shape.events.order);
    for round in records.chunks(shape.round.max(1)) {
        let mut cpus: Vec<u32> = round.iter().map(|seen| seen.cpu).collect();
        cpus.sort_unstable();
        cpus.dedup();
        for cpu in cpus {
            round.iter().filter(|seen| seen.cpu == cpu).for_each(|seen| sample(&mut to, seen, &shape.events));
        }
        record(&mut to, 68, &[]);
    }
    to
}

fn file(order: Order, data: Bytes, shape: &PerfShape) -> Vec<u8> {
    if shape.pipe {
        let magic = if order == Order::Little { b"PERFILE2" } else { b"2ELIFREP" };
        return Bytes::new(order).raw(magic).u64(16).raw(&data.bytes).bytes.clone();
    }
    let mut file = head(data.bytes.len() as u64, shape);
    file.raw(&data.bytes);
    let features = features(file.bytes.len() as u64, shape);
    file.raw(&features.bytes).bytes.clone()
}

/// Everything before `length` bytes of records.
pub(crate) fn head(length: u64, shape: &PerfShape) -> Bytes {
    let order = shape.events.order;
    let mut file = Bytes::new(order);
    file.raw(if order == Order::Little { b"PERFILE2" } else { b"2ELIFREP" });
    let attributes = attributes(order);
    let (size, count) = (attributes[0].len() as u64 + 16, attributes.len() as u64);
    let (ids_at, attributes_at) = (104, 104 + count * 8);
    let data_at = attributes_at + size * count;
    file.u64(104).u64(size).u64(attributes_at).u64(size * count);
    file.u64(data_at).u64(length).u64(0).u64(0);
    // Tracing data, the release, the CPUs.
    file.u64(1 << 1 | 1 << 4 | 1 << 7).u64(0).u64(0).u64(0);
    for n in 0..count {
        file.u64(71 + n);
    }
    for (n, attribute) in attributes.iter().enumerate() {
        file.raw(attribute).u64(ids_at + n as u64 * 8).u64(8);
    }
    file
}

/// Everything after the records, which end at `at`.
pub(crate) fn features(at: u64, shape: &PerfShape) -> Bytes {
    features_and(at, shape, &[])
}

/// Like `features`, with more sections after them.
fn features_and(mut at: u64, shape: &PerfShape, more: &[Vec<u8>]) -> Bytes {
    let order = shape.events.order;
    let mut file = Bytes::new(order);
    let release = Bytes::new(order).u32(8).raw(b"7.2.13\0\0").bytes.clone();
    let cpus = Bytes::new(order).u32(4).u32(4).bytes.clone();
    let mut sections = vec![tracing_data(&shape.events), release, cpus];
    sections.extend_from_slice(more);
    at += 16 * sections.len() as u64;
    for section in &sections {
        file.u64(at).u64(section.len() as u64);
        at += section.len() as u64;
    }
    for section in &sections {
        file.raw(section);
    }
    file
}

/// Returns a folder of this version as `perf record --threads` makes it: its head, and a file of records for each CPU.
pub(crate) fn folder(records: &[SchedRecord], shape: PerfShape, version: u64) -> (Vec<u8>, Vec<Vec<u8>>) {
    let order = shape.events.order;
    let mut head = head(0, &shape);
    // HEADER_DIR_FORMAT, the 24th of the 64 bits at 72.
    head.bytes[if order == Order::Little { 75 } else { 76 }] |= 1;
    let directory = Bytes::new(order).u64(version).bytes.clone();
    let features = features_and(head.bytes.len() as u64, &shape, &[directory]);
    head.raw(&features.bytes);
    let cpus = records.iter().map(|seen| seen.cpu + 1).max().unwrap_or(0);
    let of_cpu = |cpu: u32| {
        let mut to = Bytes::new(order);
        records.iter().filter(|seen| seen.cpu == cpu).for_each(|seen| sample(&mut to, seen, &shape.events));
        to.bytes
    };
    (head.bytes, (0..cpus).map(of_cpu).collect())
}

/// Returns two events whose samples look different.
fn attributes(order: Order) -> Vec<Vec<u8>> {
    let all = if order == Order::Little { 1 << 18 } else { 1 << (63 - 18) };
    let attribute = |kinds: u64| {
        let mut to = Bytes::new(order);
        to.u32(2).u32(128).u64(310).u64(1).u64(kinds).u64(4).u64(all);
        to.bytes.resize(128, 0);
        to.bytes
    };
    KINDS.map(attribute).to_vec()
}

fn record(to: &mut Bytes, kind: u32, body: &[u8]) {
    to.u32(kind).u16(0).u16(u16::try_from(8 + body.len()).expect("records are short")).raw(body);
}

fn sample(to: &mut Bytes, seen: &SchedRecord, events: &Shape) {
    let which = (seen.at / 1000 % 2) as usize;
    let tid = seen.current.unwrap_or(0);
    let mut body = Bytes::new(events.order);
    body.u64(71 + which as u64).u64(0xffff).pair(1, tid).u64(seen.at);
    if which == 1 {
        body.u64(72);
    }
    let raw = events.record(seen);
    body.pair(seen.cpu, 0).u64(1).u32(raw.len() as u32).raw(&raw).pad(8);
    record(to, 9, &body.bytes);
}

/// Returns the layout of events.
pub(super) fn tracing_data(events: &Shape) -> Vec<u8> {
    let mut to = Bytes::new(events.order);
    to.raw(b"\x17\x08\x44tracing0.6\0").u8(u8::from(events.order == Order::Big)).u8(8).u32(4096);
    super::tracedat::heads(&mut to, events.long);
    super::tracedat::descriptions(&mut to, events);
    to.u32(0).u32(0).u64(0);
    to.bytes
}
