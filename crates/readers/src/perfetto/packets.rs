//! Reads a trace's packets one after the other, and finds each CPU's bundles of events.
//!
//! A trace is a list of packets, each preceded by its length. A packet may contain other packets in compressed form.

use super::messages::PacketHead;
use crate::ReadError;
use crate::packed::Packing;
use crate::source::{Damage, Facts};
use flate2::read::ZlibDecoder;
use keel_abi::cpuset::MAX_CPUS;
use prost::Message;
use prost::bytes::Bytes;
use prost::encoding::{decode_varint, encoded_len_varint};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

/// Field 1 of `Trace`, with a length: the first byte of each packet.
const PACKET: u8 = 0x0a;
/// The largest packet that is read. A bundle may contain everything that one CPU did.
const LARGEST: u64 = 1 << 30;
/// The maximum size that one compressed packet may unpack to. By Perfetto's own rule it is at most half a MiB.
const UNPACKED: u64 = 64 << 20;
/// The maximum size of a length, in bytes.
const LENGTH: usize = 10;

/// The place of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The packet's first byte in the file, and its length.
    pub(super) at: u64,
    pub(super) length: u32,
    /// The index of the inner packet, if that one contains compressed packets.
    pub(super) inner: Option<u32>,
}

/// The content of a trace.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// By CPU, in the order of the file.
    pub(super) bundles: Vec<Vec<Place>>,
    pub(super) facts: Facts,
}

impl Index {
    /// Reads all packets.
    pub(super) fn read<R: Read + Seek>(file: &mut R, damage: &mut Damage) -> Result<Self, ReadError> {
        let mut index = Self::default();
        file.seek(SeekFrom::Start(0))?;
        let mut from = BufReader::with_capacity(256 << 10, file);
        let mut at = 0;
        loop {
            let head = match head(&mut from)? {
                Head::End => break,
                Head::Wrong(why) => {
                    damage.end(at, why);
                    break;
                }
                Head::Packet { head, length } => {
                    at += head;
                    length
                }
            };
            let mut bytes = Vec::new();
            from.by_ref().take(head).read_to_end(&mut bytes)?;
            if (bytes.len() as u64) < head {
                damage.end(at, "the file is cut off");
                break;
            }
            index.packet(Place { at, length: head as u32, inner: None }, bytes.into(), damage);
            at += head;
        }
        Ok(index)
    }

    fn packet(&mut self, place: Place, bytes: Bytes, damage: &mut Damage) {
        let Ok(head) = PacketHead::decode(bytes) else {
            return damage.skip(place.at, "a packet makes no sense");
        };
        match unpack(&head) {
            None => self.take(place, &head, damage),
            Some(Err(why)) => damage.skip(place.at, why),
            Some(Ok(packets)) => {
                for (inner, packet) in (0..).zip(packets) {
                    match PacketHead::decode(packet) {
                        Ok(head) => self.take(Place { inner: Some(inner), ..place }, &head, damage),
                        Err(_) => damage.skip(place.at, "a packet makes no sense"),
                    }
                }
            }
        }
    }

    fn take(&mut self, place: Place, head: &PacketHead, damage: &mut Damage) {
        if let Some(bundle) = &head.ftrace_events {
            // A number of 0 may be omitted.
            let cpu = bundle.cpu.unwrap_or(0);
            if cpu >= MAX_CPUS {
                return damage.skip(place.at, "there is no such CPU");
            }
            let known = self.bundles.len().max(cpu as usize + 1);
            self.bundles.resize(known, Vec::new());
            self.bundles[cpu as usize].push(place);
        }
        let cpus = head.cpu_info.as_ref().map(|info| info.cpus.len() as u32);
        if let Some(cpus) = cpus.filter(|&cpus| cpus <= MAX_CPUS) {
            self.facts.cpus = self.facts.cpus.max(cpus);
        }
        if let Some(system) = &head.system_info {
            let cpus = system.num_cpus.filter(|&cpus| cpus <= MAX_CPUS).unwrap_or(0);
            self.facts.cpus = self.facts.cpus.max(cpus);
            let release = system.utsname.as_ref().and_then(|name| name.release.as_ref());
            if let Some(release) = release {
                self.facts.release = Some(String::from_utf8_lossy(release).into_owned());
            }
        }
    }
}

/// The next element of a list of packets.
enum Head {
    /// The end of the list.
    End,
    /// A packet of `length` bytes, after `head` bytes.
    Packet { head: u64, length: u64 },
    /// Not a packet.
    Wrong(&'static str),
}

/// Returns the head of the next packet.
fn head(from: &mut impl Read) -> Result<Head, ReadError> {
    let mut bytes = [0; 1 + LENGTH];
    let mut there = 0;
    loop {
        // The last byte of a length is the first below 128.
        if there >= 2 && bytes[there - 1] < 0x80 {
            break;
        }
        if there == bytes.len() {
            return Ok(Head::Wrong("a packet has no length"));
        }
        if from.read(&mut bytes[there..=there])? == 0 {
            return Ok(if there == 0 { Head::End } else { Head::Wrong("the file is cut off") });
        }
        if bytes[0] != PACKET {
            return Ok(Head::Wrong("here begins no packet"));
        }
        there += 1;
    }
    Ok(match decode_varint(&mut &bytes[1..there]) {
        Ok(length) if length <= LARGEST => Head::Packet { head: there as u64, length },
        Ok(_) => Head::Wrong("a packet is larger than a GiB"),
        Err(_) => Head::Wrong("a packet has no length"),
    })
}

/// Returns the inner packets of a packet, if it contains compressed ones.
fn unpack(head: &PacketHead) -> Option<Result<Vec<Bytes>, &'static str>> {
    let mut bytes = Vec::new();
    let is_unpacked = match (&head.compressed_packets, &head.zstd_compressed_packets) {
        (Some(packed), _) => ZlibDecoder::new(&packed[..]).take(UNPACKED).read_to_end(&mut bytes).is_ok(),
        (None, Some(packed)) => Packing::Zstd.unpack(&packed[..], &mut Bounded(&mut bytes)).is_ok(),
        (None, None) => return None,
    };
    Some(match is_unpacked && (bytes.len() as u64) < UNPACKED {
        true => split(&Bytes::from(bytes)),
        false => Err("compressed packets cannot be decompressed"),
    })
}

/// A list of bytes that does not grow beyond [`UNPACKED`].
struct Bounded<'a>(&'a mut Vec<u8>);

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.0.len() + bytes.len()) as u64 > UNPACKED {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the packets of a list.
fn split(bytes: &Bytes) -> Result<Vec<Bytes>, &'static str> {
    let mut packets = Vec::new();
    let mut from = &bytes[..];
    loop {
        let at = bytes.len() - from.len();
        match head(&mut from).map_err(|_| "compressed packets cannot be read")? {
            Head::End => return Ok(packets),
            Head::Wrong(why) => return Err(why),
            Head::Packet { head, length } => {
                let (start, length) = (at + head as usize, length as usize);
                from = from.get(length..).ok_or("compressed packets are cut off")?;
                packets.push(bytes.slice(start..start + length));
            }
        }
    }
}

/// Packets by their places.
#[derive(Debug, Default)]
pub(super) struct Packets {
    /// The last unpacked ones: all CPUs need them at about the same time.
    unpacked: Vec<(u64, Vec<Bytes>)>,
}

/// The number of unpacked packets that are kept.
const KEPT: usize = 8;

impl Packets {
    /// Returns the bytes of a packet that the index has found.
    pub(super) fn get<R: Read + Seek>(&mut self, file: &mut R, place: Place) -> Result<Bytes, ReadError> {
        let Some(inner) = place.inner else { return load(file, place) };
        let kept = self.unpacked.iter().find(|(at, _)| *at == place.at);
        let packets = match kept {
            Some((_, packets)) => packets,
            None => {
                let head = PacketHead::decode(load(file, place)?).unwrap_or_default();
                let packets = unpack(&head).and_then(Result::ok).unwrap_or_default();
                if self.unpacked.len() == KEPT {
                    self.unpacked.remove(0);
                }
                self.unpacked.push((place.at, packets));
                &self.unpacked[self.unpacked.len() - 1].1
            }
        };
        Ok(packets.get(inner as usize).cloned().unwrap_or_default())
    }
}

fn load<R: Read + Seek>(file: &mut R, place: Place) -> Result<Bytes, ReadError> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(place.at))?;
    file.by_ref().take(place.length.into()).read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

/// Returns whether a file with this beginning contains packets. Its first packet must be complete, or continue beyond
/// these bytes.
pub(crate) fn is(first: &[u8]) -> bool {
    let mut from = first;
    match head(&mut from) {
        Ok(Head::Packet { length, .. }) if length > 0 => {
            let within = from.len().min(length as usize);
            is_message(&from[..within], within as u64 == length)
        }
        _ => false,
    }
}

/// Returns whether these are the fields of a packet. Nothing is checked after a field that continues beyond these
/// bytes.
fn is_message(mut from: &[u8], is_whole: bool) -> bool {
    /// Fields of `TracePacket` have numbers below this.
    const FIELDS: u64 = 1000;
    while !from.is_empty() {
        let Ok(key) = decode_varint(&mut from) else { return !is_whole };
        if key >> 3 == 0 || key >> 3 >= FIELDS {
            return false;
        }
        let length = match key & 7 {
            0 => decode_varint(&mut &from[..]).map(|number| encoded_len_varint(number) as u64),
            1 => Ok(8),
            2 => decode_varint(&mut from),
            5 => Ok(4),
            _ => return false,
        };
        let Ok(length) = length else { return !is_whole };
        match usize::try_from(length).ok().and_then(|length| from.get(length..)) {
            Some(rest) => from = rest,
            None => return !is_whole,
        }
    }
    true
}
