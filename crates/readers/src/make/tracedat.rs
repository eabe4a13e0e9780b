//! Writes trace.dat as trace-cmd does.

use super::{Bytes, Shape};
use crate::formats::Order;
use crate::sched_record::SchedRecord;

/// How version 7 is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Zlib,
    Zstd,
}

/// The variant to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DatShape {
    pub(crate) events: Shape,
    /// For version 7; otherwise it is 6.
    pub(crate) packing: Option<Packing>,
    pub(crate) page: usize,
}

const CPUS: u32 = 4;

/// Returns a whole file.
pub(crate) fn tracedat(records: &[SchedRecord], shape: DatShape) -> Vec<u8> {
    let cpus: Vec<Vec<u8>> = (0..CPUS).map(|cpu| pages(records, cpu, &shape)).collect();
    match shape.packing {
        None => version_6(&cpus, &shape),
        Some(packing) => version_7(&cpus, &shape, packing),
    }
}

fn begin(shape: &DatShape, version: &[u8]) -> Bytes {
    let mut to = Bytes::new(shape.events.order);
    to.raw(b"\x17\x08\x44tracing").raw(version).u8(u8::from(shape.events.order == Order::Big)).u8(8);
    to.u32(shape.page as u32);
    to
}

fn version_6(cpus: &[Vec<u8>], shape: &DatShape) -> Vec<u8> {
    let sizes: Vec<u64> = cpus.iter().map(|pages| pages.len() as u64).collect();
    let mut to = head_6(&sizes, shape);
    for pages in cpus {
        to.raw(pages);
    }
    to.bytes
}

/// Everything before each CPU's pages, which have these sizes.
pub(crate) fn head_6(sizes: &[u64], shape: &DatShape) -> Bytes {
    let mut to = begin(shape, b"6\0");
    heads(&mut to, shape.events.long);
    descriptions(&mut to, &shape.events);
    to.u32(0).u32(0).u64(0).u32(sizes.len() as u32);
    to.raw(b"options  \0").u16(5).u32(24).raw(b"Linux nobody 7.2.13 x86\0").u16(0).raw(b"flyrecord\0");
    let mut at = to.bytes.len() as u64 + sizes.len() as u64 * 16;
    for &size in sizes {
        to.u64(at).u64(size);
        at += size;
    }
    to
}

fn version_7(cpus: &[Vec<u8>], shape: &DatShape, packing: Packing) -> Vec<u8> {
    let order = shape.events.order;
    let mut to = begin(shape, b"7\0");
    to.raw(match packing {
        Packing::None => b"none\0\0".as_slice(),
        Packing::Zlib => b"zlib\x001\0",
        Packing::Zstd => b"zstd\x001\0",
    });
    let patch = to.bytes.len();
    to.u64(0);
    let mut head = Bytes::new(order);
    heads(&mut head, shape.events.long);
    let mut formats = Bytes::new(order);
    systems(&mut formats, &shape.events);
    let mut options = Bytes::new(order);
    for (id, content) in [(16, head), (18, formats)] {
        options.u16(id).u32(8).u64(to.bytes.len() as u64);
        section(&mut to, id, packing, &content.bytes);
    }
    options.u16(5).u32(24).raw(b"Linux nobody 7.2.13 x86\0").u16(8).u32(4).u32(CPUS);
    let buffer = to.bytes.len() as u64;
    to.u16(3).u16(u16::from(packing != Packing::None)).u32(0).u64(0);
    let mut reported = Bytes::new(order);
    reported.u64(buffer).raw(b"\0mono\0").u32(shape.page as u32).u32(CPUS);
    for (cpu, pages) in cpus.iter().enumerate() {
        let at = to.bytes.len() as u64;
        if packing == Packing::None {
            to.raw(pages);
        } else {
            let chunks: Vec<&[u8]> = pages.chunks(shape.page * 3).collect();
            to.u32(chunks.len() as u32);
            chunks.iter().for_each(|chunk| packed(&mut to, packing, chunk));
        }
        // trace-cmd leaves the count of chunks out of the size.
        let count = if packing == Packing::None { 0 } else { 4 };
        reported.u32(cpu as u32).u64(at).u64(to.bytes.len() as u64 - at - count);
    }
    // The buffer is in a second list.
    let second = to.bytes.len() as u64;
    let mut list = Bytes::new(order);
    list.u16(3).u32(reported.bytes.len() as u32).raw(&reported.bytes).u16(0).u32(8).u64(0);
    section(&mut to, 0, packing, &list.bytes);
    let first = to.bytes.len() as u64;
    options.u16(0).u32(8).u64(second);
    section(&mut to, 0, packing, &options.bytes);
    let place = Bytes::new(order).u64(first).bytes.clone();
    to.bytes[patch..patch + 8].copy_from_slice(&place);
    to.bytes
}

fn section(to: &mut Bytes, id: u16, packing: Packing, content: &[u8]) {
    let mut body = Bytes::new(to.order);
    match packing {
        Packing::None => {
            body.raw(content);
        }
        _ => packed(&mut body, packing, content),
    }
    to.u16(id).u16(u16::from(packing != Packing::None)).u32(0).u64(body.bytes.len() as u64).raw(&body.bytes);
}

fn packed(to: &mut Bytes, packing: Packing, content: &[u8]) {
    let packed = match packing {
        Packing::None => content.to_vec(),
        Packing::Zlib => {
            let mut to = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut to, content).expect("memory takes it");
            to.finish().expect("memory takes it")
        }
        Packing::Zstd => {
            let mut packed = vec![0; content.len() + 1024];
            let length = zstd_safe::compress(&mut packed[..], content, 3).expect("it fits");
            packed.truncate(length);
            packed
        }
    };
    to.u32(packed.len() as u32).u32(content.len() as u32).raw(&packed);
}

/// How pages and events begin.
pub(super) fn heads(to: &mut Bytes, long: usize) {
    let page = format!(
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n\
         \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:{};\tsize:4080;\tsigned:1;\n",
        8 + long
    );
    to.raw(b"header_page\0").u64(page.len() as u64).raw(page.as_bytes());
    to.raw(b"header_event\0").u64(5).raw(b"event");
}

/// ftrace's own events (none), and the scheduler's.
pub(super) fn descriptions(to: &mut Bytes, events: &Shape) {
    to.u32(0);
    systems(to, events);
}

fn systems(to: &mut Bytes, events: &Shape) {
    let texts = events.descriptions();
    to.u32(1).raw(b"sched\0").u32(texts.len() as u32);
    for text in &texts {
        to.u64(text.len() as u64).raw(text.as_bytes());
    }
}

/// Returns a CPU's pages; lost events begin a new page.
pub(crate) fn pages(records: &[SchedRecord], cpu: u32, shape: &DatShape) -> Vec<u8> {
    let mut all = Vec::new();
    let mut page: Option<(u64, u64, u64, Bytes)> = None;
    for seen in records.iter().filter(|seen| seen.cpu == cpu) {
        let mut event = shape.events.record(seen);
        event.resize(event.len().next_multiple_of(4), 0);
        let space = shape.page - 16 - 8;
        let full = |(_, _, _, body): &(u64, u64, u64, Bytes)| body.bytes.len() + event.len() + 16 > space;
        if page.as_ref().is_none_or(full) || seen.lost > 0 {
            page.take().into_iter().for_each(|page| all.extend(finished(page, shape)));
            page = Some((seen.at, seen.at, seen.lost, Bytes::new(shape.events.order)));
        }
        if let Some((_, last, _, body)) = &mut page {
            let delta = seen.at - *last;
            *last = seen.at;
            entry(body, delta, &event, shape.events.order);
        }
    }
    page.into_iter().for_each(|page| all.extend(finished(page, shape)));
    all
}

fn word(order: Order, kind: u32, delta: u64) -> u32 {
    match order {
        Order::Little => kind | (delta as u32) << 5,
        Order::Big => kind << 27 | delta as u32,
    }
}

fn entry(to: &mut Bytes, delta: u64, event: &[u8], order: Order) {
    let small = (1 << 27) - 1;
    if delta > small {
        to.u32(word(order, 30, delta & small)).u32((delta >> 27) as u32);
    }
    let delta = if delta > small { 0 } else { delta };
    match event.len() / 4 {
        words @ 1..=28 => to.u32(word(order, words as u32, delta)),
        _ => to.u32(word(order, 0, delta)).u32(event.len() as u32 + 4),
    };
    to.raw(event);
}

fn finished((time, _, lost, body): (u64, u64, u64, Bytes), shape: &DatShape) -> Vec<u8> {
    let mut to = Bytes::new(shape.events.order);
    let flags = if lost > 0 { 1 << 31 | 1 << 30 } else { 0 };
    to.u64(time);
    let used = body.bytes.len() as u64 | flags;
    if shape.events.long == 4 {
        to.u32(used as u32)
    } else {
        to.u64(used)
    };
    to.raw(&body.bytes);
    if shape.events.long == 4 {
        to.u32(lost as u32)
    } else {
        to.u64(lost)
    };
    to.bytes.resize(shape.page, 0);
    to.bytes
}
