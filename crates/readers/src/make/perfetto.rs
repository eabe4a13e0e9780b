//! Writes Perfetto traces, using only the wire format and the published field numbers.

use crate::sched_record::{SchedEvent, SchedRecord, Who};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use keel_trace::Why;
use std::collections::BTreeMap;
use std::io::Write;

/// How a trace is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerfettoShape {
    /// Switches and wakings in lists.
    pub(crate) compact: bool,
    pub(crate) packing: Option<PacketPacking>,
    /// The number of records between two reads of the CPUs' buffers.
    pub(crate) round: usize,
}

/// How packets are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketPacking {
    Zlib,
    Zstd,
}

/// A message under construction.
#[derive(Default)]
struct Proto(Vec<u8>);

impl Proto {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn number(mut self, field: u64, number: u64) -> Self {
        self.varint(field << 3);
        self.varint(number);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn packed(self, field: u64, numbers: &[u64]) -> Self {
        let mut list = Self::default();
        numbers.iter().for_each(|&number| list.varint(number));
        self.bytes(field, &list.0)
    }
}

/// Returns a whole file.
pub(crate) fn perfetto(records: &[SchedRecord], shape: PerfettoShape) -> Vec<u8> {
    let utsname = Proto::default().bytes(1, b"Linux").bytes(3, b"7.2.0");
    let system = Proto::default().bytes(1, &utsname.0).number(8, 4);
    let clocks = Proto::default().bytes(1, &Proto::default().number(1, 6).number(2, 1).0);
    let mut packets = vec![Proto::default().bytes(6, &clocks.0), Proto::default().bytes(45, &system.0)];
    for round in records.chunks(shape.round) {
        let mut cpus: BTreeMap<u32, Vec<&SchedRecord>> = BTreeMap::new();
        round.iter().for_each(|record| cpus.entry(record.cpu).or_default().push(record));
        for (cpu, records) in cpus {
            packets.push(Proto::default().bytes(1, &bundle(cpu, &records, shape.compact)).number(10, 3));
        }
    }
    let list =
        |packets: &[Proto]| packets.iter().fold(Proto::default(), |list, packet| list.bytes(1, &packet.0));
    let Some(packing) = shape.packing else { return list(&packets).0 };
    packets
        .chunks(3)
        .map(|few| packed(&list(few).0, packing))
        .fold(Proto::default(), |all, few| all.bytes(1, &few.0))
        .0
}

fn packed(packets: &[u8], packing: PacketPacking) -> Proto {
    match packing {
        PacketPacking::Zlib => {
            let mut to = ZlibEncoder::new(Vec::new(), Compression::fast());
            to.write_all(packets).expect("memory can be written");
            Proto::default().bytes(50, &to.finish().expect("memory can be written"))
        }
        PacketPacking::Zstd => {
            let mut packed = vec![0; zstd_safe::compress_bound(packets.len())];
            let length = zstd_safe::compress(&mut packed[..], packets, 3).expect("it fits");
            Proto::default().bytes(133, &packed[..length])
        }
    }
}

fn bundle(cpu: u32, records: &[&SchedRecord], compact: bool) -> Vec<u8> {
    let is_compact = |record: &SchedRecord| {
        compact && matches!(record.what, SchedEvent::Switch { .. } | SchedEvent::Waking { .. })
    };
    let mut bundle = Proto::default().number(1, cpu.into());
    for record in records.iter().filter(|record| !is_compact(record)) {
        bundle = bundle.bytes(2, &event(record).0);
    }
    let listed: Vec<&SchedRecord> = records.iter().copied().filter(|record| is_compact(record)).collect();
    if !listed.is_empty() {
        bundle = bundle.bytes(4, &lists(&listed).0);
    }
    bundle.0
}

fn event(record: &SchedRecord) -> Proto {
    let flags = if record.interrupt { 8 } else { 1 };
    let event =
        Proto::default().number(1, record.at).number(2, record.current.unwrap_or(0).into()).number(5, flags);
    let (field, body) = match record.what {
        SchedEvent::Switch { prev, why, next } => {
            let body = task(Proto::default(), 1, &prev).number(4, state(why));
            (4, task(body, 5, &next))
        }
        SchedEvent::Wakeup { task, target } => (17, wake(&task, target)),
        SchedEvent::Waking { task, target } => (20, wake(&task, target)),
        SchedEvent::WakeupNew { task, target } => (114, wake(&task, target)),
        SchedEvent::Migrate { task: who, from, to } => {
            (491, task(Proto::default(), 1, &who).number(4, from.into()).number(5, to.into()))
        }
        SchedEvent::Forked { child } => {
            let body = Proto::default().bytes(1, b"sh").number(2, 1);
            (239, body.bytes(3, child.name.text().as_bytes()).number(4, child.pid.into()))
        }
        // cpu_idle.
        _ => (13, Proto::default().number(1, 1)),
    };
    event.bytes(field, &body.0)
}

fn task(to: Proto, from: u64, who: &Who) -> Proto {
    let prio = u64::try_from(who.prio.unwrap_or(120)).expect("priorities are positive");
    to.bytes(from, who.name.text().as_bytes()).number(from + 1, who.pid.into()).number(from + 2, prio)
}

fn wake(who: &Who, target: u32) -> Proto {
    task(Proto::default(), 1, who).number(4, 1).number(5, target.into())
}

fn state(why: Why) -> u64 {
    match why {
        Why::Blocked => 1,
        Why::Exited => 0x10,
        _ => 0x100,
    }
}

/// Returns the lists of the compact form: times as differences, names by index.
fn lists(records: &[&SchedRecord]) -> Proto {
    let mut names: Vec<String> = Vec::new();
    let (mut switches, mut wakings) = ([const { Vec::new() }; 5], [const { Vec::new() }; 6]);
    let (mut switched, mut woke) = (0, 0);
    for record in records {
        let (SchedEvent::Switch { next: who, .. } | SchedEvent::Waking { task: who, .. }) = record.what
        else {
            continue;
        };
        let name = who.name.text();
        let index = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        }) as u64;
        let prio = u64::try_from(who.prio.unwrap_or(120)).expect("priorities are positive");
        match record.what {
            SchedEvent::Switch { why, .. } => {
                let row = [record.at - switched, state(why), who.pid.into(), prio, index];
                switches.iter_mut().zip(row).for_each(|(list, number)| list.push(number));
                switched = record.at;
            }
            SchedEvent::Waking { target, .. } => {
                let flags = if record.interrupt { 8 } else { 1 };
                let row = [record.at - woke, who.pid.into(), target.into(), prio, index, flags];
                wakings.iter_mut().zip(row).for_each(|(list, number)| list.push(number));
                woke = record.at;
            }
            _ => {}
        }
    }
    let to = names.iter().fold(Proto::default(), |to, name| to.bytes(5, name.as_bytes()));
    let to = [1, 2, 3, 4, 6].iter().zip(&switches).fold(to, |to, (&field, list)| to.packed(field, list));
    (7..).zip(&wakings).fold(to, |to, (field, list)| to.packed(field, list))
}
