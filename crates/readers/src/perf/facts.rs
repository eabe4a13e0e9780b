//! Reads information in a perf.data file about the machine on which it was recorded.

use super::layout::feature;
use crate::formats::{Decoder, Headers, Order, Sections};
use crate::source::Facts;
use crate::topology::Parts;
use std::io::Read;

/// The longest text, and the most of one kind.
const LONGEST: u64 = 64 * 1024;
const MOST: u32 = 1 << 16;

/// Reads one feature.
pub(super) fn learn(
    facts: &mut Facts,
    decoder: &mut Option<Decoder>,
    order: Order,
    feature: u64,
    bytes: &[u8],
) {
    let mut from = Sections { from: bytes, order };
    match feature {
        feature::TRACING_DATA => *decoder = Headers::of_perf(bytes).map(|headers| headers.decoder),
        feature::OSRELEASE => facts.release = text(&mut from),
        // The number of CPUs that the machine may have, then of the online ones.
        feature::NRCPUS => {
            facts.cpus = from.u32().filter(|&cpus| cpus <= keel_abi::cpuset::MAX_CPUS).unwrap_or(0)
        }
        feature::CMDLINE => facts.command = texts(&mut from).map(|words| words.join(" ")),
        feature::CPU_TOPOLOGY => {
            let packages = texts(&mut from).unwrap_or_default();
            let cores = texts(&mut from).unwrap_or_default();
            facts.parts.packages = Parts::sets(&packages);
            facts.parts.cores = Parts::sets(&cores);
        }
        feature::NUMA_TOPOLOGY => facts.parts.nodes = Parts::sets(&nodes(&mut from).unwrap_or_default()),
        feature::CACHE => facts.parts.caches = Parts::sets(&caches(&mut from).unwrap_or_default()),
        _ => {}
    }
}

/// Makes the machine's topology from its parts.
pub(super) fn shape(facts: &mut Facts) {
    facts.topology = facts.parts.topology(facts.cpus);
}

/// Reads a text, preceded by its padded length.
fn text<R: Read>(from: &mut Sections<R>) -> Option<String> {
    let length = from.u32()?;
    let bytes = from.bytes(length.into(), LONGEST)?;
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

fn texts<R: Read>(from: &mut Sections<R>) -> Option<Vec<String>> {
    let count = from.u32().filter(|&count| count <= MOST)?;
    (0..count).map(|_| text(from)).collect()
}

/// Reads the CPUs of each node.
fn nodes<R: Read>(from: &mut Sections<R>) -> Option<Vec<String>> {
    let count = from.u32().filter(|&count| count <= MOST)?;
    let node = |_| {
        // Its number, and its total and free memory.
        from.skip(4 + 8 + 8)?;
        text(from)
    };
    (0..count).map(node).collect()
}

/// Reads the CPUs of each last-level cache.
fn caches<R: Read>(from: &mut Sections<R>) -> Option<Vec<String>> {
    let (_version, count) = (from.u32()?, from.u32().filter(|&count| count <= MOST)?);
    let mut last = (0, Vec::new());
    for _ in 0..count {
        let level = from.u32()?;
        // Lines, sets, ways.
        from.skip(12)?;
        let (_kind, _size, cpus) = (text(from)?, text(from)?, text(from)?);
        if level > last.0 {
            last = (level, Vec::new());
        }
        if level == last.0 {
            last.1.push(cpus);
        }
    }
    Some(last.1)
}
