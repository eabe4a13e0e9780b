//! Reads the layout of a perf.data file: `struct perf_file_header`, or the short header of a pipe.

use super::FORMAT;
use super::sample::Formats;
use crate::ReadError;
use crate::formats::{Order, u64_at};
use crate::source::Damage;
use std::io::{Read, Seek, SeekFrom};

/// The size of a file's header, in bytes.
const HEAD: usize = 104;
/// The size of a pipe's header, in bytes.
const PIPE_HEAD: u64 = 16;
/// The longest feature, and the most attributes and ids that are read.
const LONGEST_FEATURE: u64 = 64 << 20;
const MOST_ATTRIBUTES: u64 = 1 << 12;
const MOST_IDS: u64 = 1 << 20;

/// The features that are read.
pub(super) mod feature {
    pub(in super::super) const TRACING_DATA: u64 = 1;
    pub(in super::super) const OSRELEASE: u64 = 4;
    pub(in super::super) const NRCPUS: u64 = 7;
    pub(in super::super) const CMDLINE: u64 = 11;
    pub(in super::super) const CPU_TOPOLOGY: u64 = 13;
    pub(in super::super) const NUMA_TOPOLOGY: u64 = 14;
    pub(in super::super) const CACHE: u64 = 20;
    pub(in super::super) const DIR_FORMAT: u64 = 24;
    /// All of them.
    pub(in super::super) const READ: [u64; 8] =
        [TRACING_DATA, OSRELEASE, NRCPUS, CMDLINE, CPU_TOPOLOGY, NUMA_TOPOLOGY, CACHE, DIR_FORMAT];
}

/// A part of the file.
#[derive(Clone, Copy, Debug, Default)]
struct Section {
    offset: u64,
    size: u64,
}

/// A file's head.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) order: Order,
    pub(super) is_pipe: bool,
    /// The offset of the records, and their size in bytes.
    pub(super) data_offset: u64,
    pub(super) data_size: u64,
    attribute_size: u64,
    attributes: Section,
    features: [u64; 4],
}

impl Layout {
    /// Reads the head of `file`.
    pub(super) fn read<R: Read + Seek>(file: &mut R) -> Result<Self, ReadError> {
        let mut head = Vec::new();
        file.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
        let order = if head.starts_with(b"PERFILE2") { Order::Little } else { Order::Big };
        let number = |at: usize| {
            let damaged = ReadError::Damaged { format: FORMAT, at: at as u64, what: "its head is cut off" };
            u64_at(&head, at, order).ok_or(damaged)
        };
        let section = |at: usize| Ok::<_, ReadError>(Section { offset: number(at)?, size: number(at + 8)? });
        if number(8)? == PIPE_HEAD {
            return Ok(Self {
                order,
                is_pipe: true,
                data_offset: PIPE_HEAD,
                data_size: u64::MAX,
                attribute_size: 0,
                attributes: Section::default(),
                features: [0; 4],
            });
        }
        let data = section(40)?;
        let features = [number(72)?, number(80)?, number(88)?, number(96)?];
        Ok(Self {
            order,
            is_pipe: false,
            data_offset: data.offset,
            // perf writes the size last: if it was stopped, there is neither size nor features.
            data_size: if data.size == 0 && features == [0; 4] { u64::MAX } else { data.size },
            attribute_size: number(16)?,
            attributes: section(24)?,
            features,
        })
    }

    /// Returns the useful features; those beyond the file's end count as damage.
    pub(super) fn features<R: Read + Seek>(
        &self,
        file: &mut R,
        damage: &mut Damage,
    ) -> Result<Vec<(u64, Vec<u8>)>, ReadError> {
        let mut read = Vec::new();
        let set = |feature: u64| self.features[(feature / 64) as usize] & 1 << (feature % 64) != 0;
        let Some(mut at) = self.data_offset.checked_add(self.data_size).filter(|_| !self.is_pipe) else {
            return Ok(read);
        };
        for feature in (0..256).filter(|&feature| set(feature)) {
            let entry = bytes(file, at, 16)?;
            let (offset, size) = (u64_at(&entry, 0, self.order), u64_at(&entry, 8, self.order));
            let (Some(offset), Some(size)) = (offset, size) else {
                damage.end(at, "the list of perf's machine information is cut off");
                return Ok(read);
            };
            at += 16;
            if !feature::READ.contains(&feature) || size > LONGEST_FEATURE {
                continue;
            }
            let reported = bytes(file, offset, size)?;
            if (reported.len() as u64) < size {
                damage.end(offset + reported.len() as u64, "perf's machine information is cut off");
            }
            read.push((feature, reported));
        }
        Ok(read)
    }

    /// Describes the sample format of each event to `formats`.
    pub(super) fn attributes<R: Read + Seek>(
        &self,
        file: &mut R,
        formats: &mut Formats,
    ) -> Result<(), ReadError> {
        if self.is_pipe {
            return Ok(());
        }
        let at = self.attributes.offset;
        let damaged = |what| ReadError::Damaged { format: FORMAT, at, what };
        if !(64 + 16..4096).contains(&self.attribute_size) {
            return Err(damaged("its events are of an impossible size"));
        }
        let count = self.attributes.size / self.attribute_size;
        if count == 0 || count > MOST_ATTRIBUTES {
            return Err(damaged("it has no events, or too many"));
        }
        let mut left = MOST_IDS * 8;
        for n in 0..count {
            let attribute = bytes(file, at.saturating_add(n * self.attribute_size), self.attribute_size)?;
            let ids_at = (self.attribute_size - 16) as usize;
            let offset =
                u64_at(&attribute, ids_at, self.order).ok_or_else(|| damaged("its events are cut off"))?;
            let size = u64_at(&attribute, ids_at + 8, self.order).unwrap_or(0).min(left);
            let ids = bytes(file, offset, size)?;
            left -= size;
            formats.learn(&attribute[..ids_at], &ids);
        }
        Ok(())
    }
}

/// Reads up to `size` bytes at `at`: fewer at the file's end.
fn bytes<R: Read + Seek>(file: &mut R, at: u64, size: u64) -> Result<Vec<u8>, ReadError> {
    let mut read = Vec::new();
    // Beyond the end of any file.
    if at > i64::MAX as u64 {
        return Ok(read);
    }
    file.seek(SeekFrom::Start(at))?;
    file.by_ref().take(size).read_to_end(&mut read)?;
    Ok(read)
}
