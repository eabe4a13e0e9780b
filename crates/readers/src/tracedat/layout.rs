//! Reads the layout of a trace.dat file.
//!
//! Version 6 has everything in sequence: the layout of events, options, and the places of each CPU's pages. Version 7
//! has sections, and lists of options with their places; the last list is written last.

use super::FORMAT;
use super::compress::{Compression, chunk};
use super::cpu::{Clock, Cpu, Pages};
use super::page::Head;
use crate::ReadError;
use crate::formats::{Headers, Sections, u32_at, u64_at};
use crate::source::{Damage, Facts};
use keel_abi::cpuset::MAX_CPUS;
use std::collections::BTreeMap;
use std::io::{BufReader, Read, Seek, SeekFrom};

/// The longest section, when unpacked, that is read as a whole.
const LONGEST: usize = 64 << 20;
/// The maximum number of options, and lists of them.
const MOST_OPTIONS: u32 = 1 << 16;
const MOST_LISTS: u32 = 64;
/// The maximum memory for the chunks of all CPUs, in bytes.
const CHUNKS: usize = 64 << 20;
/// The minimum memory for the chunks of one CPU, in bytes.
const CHUNK: usize = 64 << 10;
/// The size of a count of chunks, in bytes.
const COUNT: u64 = 4;
/// The largest page.
const LARGEST_PAGE: u32 = 1 << 20;

/// Options and sections (`TRACECMD_OPTION_*`).
mod id {
    pub(super) const DONE: u16 = 0;
    pub(super) const CPUSTAT: u16 = 2;
    pub(super) const BUFFER: u16 = 3;
    pub(super) const TRACECLOCK: u16 = 4;
    pub(super) const UNAME: u16 = 5;
    pub(super) const CPUCOUNT: u16 = 8;
    pub(super) const TSC2NSEC: u16 = 14;
    pub(super) const HEADER_INFO: u16 = 16;
    pub(super) const FTRACE_EVENTS: u16 = 17;
    pub(super) const EVENT_FORMATS: u16 = 18;
}

/// A section is compressed.
const COMPRESSED: u16 = 1;

/// A file's parts.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) headers: Headers,
    pub(super) facts: Facts,
    pages: Option<Pages>,
    compression: Option<Compression>,
    clock: String,
    conversion: Option<Clock>,
    /// A CPU, the offset of its pages, and their size in bytes.
    cpus: Vec<(u32, u64, u64)>,
}

fn damaged(at: u64, what: &'static str) -> ReadError {
    ReadError::Damaged { format: FORMAT, at, what }
}

impl Layout {
    /// Reads the header of `file`, and everything that it refers to.
    pub(super) fn read<R: Read + Seek>(file: &mut R, damage: &mut Damage) -> Result<Self, ReadError> {
        let mut from = Sections { from: BufReader::new(&mut *file), order: crate::formats::Order::Little };
        let headers = Headers::begin(&mut from).ok_or_else(|| damaged(0, "its head makes no sense"))?;
        let version = headers.version;
        let mut layout = Self {
            headers,
            facts: Facts::default(),
            pages: None,
            compression: None,
            clock: String::new(),
            conversion: None,
            cpus: Vec::new(),
        };
        match version {
            6 => layout.version_6(&mut from)?,
            7 => {
                let name = from.text().zip(from.text()).map(|(name, _version)| name);
                let options = from.u64();
                let (Some(name), Some(options)) = (name, options) else {
                    return Err(damaged(0, "its head is cut off"));
                };
                drop(from);
                layout.compression = compression(&name)?;
                layout.version_7(file, options, damage)?;
            }
            other => {
                let reported =
                    format!("this trace.dat file has version {other}; keel reads versions 6 and 7");
                return Err(ReadError::Unsupported(reported));
            }
        }
        layout.apart(damage);
        layout.finish()
    }

    /// Returns the CPUs' parts, ready to be read.
    pub(super) fn cpus(&self) -> Vec<Cpu> {
        let cpu =
            |&(number, offset, size): &(u32, u64, u64)| Some(Cpu::new(number, self.pages?, offset, size));
        self.cpus.iter().filter_map(cpu).collect()
    }

    fn version_6<R: Read>(&mut self, from: &mut Sections<R>) -> Result<(), ReadError> {
        let cut = || damaged(0, "the description of its events is cut off or makes no sense");
        self.headers.page_head = from.page_head().ok_or_else(cut)?;
        from.events(&mut self.headers.decoder).ok_or_else(cut)?;
        from.skip_rest(true).ok_or_else(cut)?;
        let count = from.u32().filter(|&cpus| cpus <= MAX_CPUS).ok_or_else(cut)?;
        self.facts.cpus = count;
        let mut word: [u8; 10] = from.array().ok_or_else(cut)?;
        if &word == b"options  \0" {
            for _ in 0..MOST_OPTIONS {
                let option = from.u16().ok_or_else(cut)?;
                if option == id::DONE {
                    break;
                }
                let size = from.u32().ok_or_else(cut)?;
                let reported = from.bytes(size.into(), LONGEST as u64).ok_or_else(cut)?;
                self.option(option, &reported);
            }
            word = from.array().ok_or_else(cut)?;
        }
        if &word != b"flyrecord\0" {
            return Err(ReadError::Unsupported(
                "this trace.dat file contains no ring buffers: record with trace-cmd record -e sched"
                    .to_owned(),
            ));
        }
        for cpu in 0..count {
            let (offset, size) = from.u64().zip(from.u64()).ok_or_else(cut)?;
            self.cpus.push((cpu, offset, size));
        }
        self.pages(self.headers.page, false);
        Ok(())
    }

    fn version_7<R: Read + Seek>(
        &mut self,
        file: &mut R,
        options: u64,
        damage: &mut Damage,
    ) -> Result<(), ReadError> {
        let mut at = options;
        // One of each is enough, even if a list has several.
        let mut wanted = BTreeMap::new();
        let mut buffer: Option<Buffer> = None;
        for list in 0..MOST_LISTS {
            let Some(bytes) = self.section(file, at, id::DONE)? else {
                if list == 0 {
                    return Err(damaged(at, "its list of sections, which trace-cmd writes last, is missing"));
                }
                damage.end(at, "a list of sections is cut off or makes no sense");
                break;
            };
            at = 0;
            for (option, reported) in self.options(&bytes) {
                let place = u64_at(reported, 0, self.headers.order);
                match (option, place) {
                    (id::DONE, Some(next)) => at = next,
                    (id::BUFFER, Some(_)) => {
                        // Instances may contain the same events again: the largest one counts.
                        let other = self.buffer(reported);
                        let more = other.as_ref().map(Buffer::size) > buffer.as_ref().map(Buffer::size);
                        buffer = if more { other } else { buffer };
                    }
                    (id::HEADER_INFO | id::FTRACE_EVENTS | id::EVENT_FORMATS, Some(place)) => {
                        wanted.insert(option, place);
                    }
                    _ => self.option(option, reported),
                }
            }
            if at == 0 {
                break;
            }
        }
        for (section, place) in wanted {
            if self.learn(file, section, place)?.is_none() {
                damage.end(place, "a description of events is cut off or makes no sense");
            }
        }
        self.choose(file, buffer)
    }

    /// Takes this buffer's pages.
    fn choose<R: Read + Seek>(&mut self, file: &mut R, buffer: Option<Buffer>) -> Result<(), ReadError> {
        let Some(buffer) = buffer else {
            return Err(ReadError::Unsupported(
                "this trace.dat file contains no ring buffers: record with trace-cmd record -e sched"
                    .to_owned(),
            ));
        };
        let is_packed =
            self.header(file, buffer.section)?.is_some_and(|(_, flags, _)| flags & COMPRESSED != 0);
        self.clock = buffer.clock;
        self.cpus = buffer.cpus;
        if is_packed {
            // trace-cmd's sizes don't include the count of chunks before them.
            self.cpus.iter_mut().for_each(|(_, _, size)| *size = size.saturating_add(COUNT));
        }
        self.pages(buffer.page, is_packed);
        Ok(())
    }

    fn learn<R: Read + Seek>(
        &mut self,
        file: &mut R,
        section: u16,
        place: u64,
    ) -> Result<Option<()>, ReadError> {
        let Some(bytes) = self.section(file, place, section)? else { return Ok(None) };
        let mut from = Sections { from: bytes.as_slice(), order: self.headers.order };
        Ok(match section {
            id::HEADER_INFO => from.page_head().map(|head| self.headers.page_head = head),
            id::FTRACE_EVENTS => {
                from.u32().and_then(|count| from.descriptions(count, &mut self.headers.decoder))
            }
            _ => from.systems(&mut self.headers.decoder),
        })
    }

    /// Returns a section's head at `at`: its id, its flags, its size.
    fn header<R: Read + Seek>(&self, file: &mut R, at: u64) -> Result<Option<(u16, u16, u64)>, ReadError> {
        if at > i64::MAX as u64 {
            return Ok(None);
        }
        file.seek(SeekFrom::Start(at))?;
        let mut from = Sections { from: file, order: self.headers.order };
        let head = (from.u16(), from.u16(), from.u32(), from.u64());
        let (Some(section), Some(flags), Some(_), Some(size)) = head else { return Ok(None) };
        Ok(Some((section, flags, size)))
    }

    /// Returns a section's content, or `None` if it is missing or incomplete.
    fn section<R: Read + Seek>(
        &self,
        file: &mut R,
        at: u64,
        wanted: u16,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let Some((section, flags, size)) = self.header(file, at)? else { return Ok(None) };
        if section != wanted || size > LONGEST as u64 {
            return Ok(None);
        }
        let mut content = file.by_ref().take(size);
        if flags & COMPRESSED != 0 {
            let Some(compression) = self.compression else { return Ok(None) };
            return Ok(chunk(&mut content, compression, self.headers.order, LONGEST)
                .ok()
                .map(|(bytes, _)| bytes));
        }
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64 == size).then_some(bytes))
    }

    /// Splits a list into its options.
    fn options<'a>(&self, bytes: &'a [u8]) -> Vec<(u16, &'a [u8])> {
        let order = self.headers.order;
        let (mut at, mut options) = (0, Vec::new());
        while let (Some(option), Some(size)) =
            (crate::formats::u16_at(bytes, at, order), u32_at(bytes, at + 2, order))
        {
            let Some(reported) = bytes.get(at + 6..).and_then(|rest| rest.get(..size as usize)) else {
                break;
            };
            options.push((option, reported));
            at += 6 + reported.len();
            if option == id::DONE || options.len() >= MOST_OPTIONS as usize {
                break;
            }
        }
        options
    }

    /// Reads a BUFFER option: the places of each CPU's pages.
    fn buffer(&self, reported: &[u8]) -> Option<Buffer> {
        let mut from = Sections { from: reported, order: self.headers.order };
        let section = from.u64()?;
        let (_name, clock) = (from.text()?, from.text()?);
        let (page, count) = (from.u32()?, from.u32().filter(|&cpus| cpus <= MAX_CPUS)?);
        let cpus =
            (0..count).map(|_| Some((from.u32()?, from.u64()?, from.u64()?))).collect::<Option<Vec<_>>>()?;
        Some(Buffer { section, clock, page, cpus })
    }

    /// Reads an option about the machine.
    fn option(&mut self, option: u16, reported: &[u8]) {
        let text =
            || String::from_utf8_lossy(reported.split(|&byte| byte == 0).next().unwrap_or(&[])).into_owned();
        match option {
            // Its second word is the machine's name, which is not needed.
            id::UNAME => self.facts.release = text().split_whitespace().nth(2).map(str::to_owned),
            id::CPUCOUNT => {
                let cpus = u32_at(reported, 0, self.headers.order).filter(|&cpus| cpus <= MAX_CPUS);
                self.facts.cpus = cpus.unwrap_or(self.facts.cpus);
            }
            id::CPUSTAT => {
                let dropped = text()
                    .lines()
                    .find_map(|line| line.strip_prefix("dropped events: ")?.trim().parse().ok());
                self.facts.lost = self.facts.lost.saturating_add(dropped.unwrap_or(0));
            }
            // [local] global counter ...
            id::TRACECLOCK if self.clock.is_empty() => self.clock = text(),
            id::TSC2NSEC => {
                let order = self.headers.order;
                let (mult, shift, offset) =
                    (u32_at(reported, 0, order), u32_at(reported, 4, order), u64_at(reported, 8, order));
                if let (Some(mult), Some(shift @ 0..64), Some(offset)) = (mult, shift, offset) {
                    self.conversion = Some(Clock { mult: mult.into(), shift, offset });
                }
            }
            _ => {}
        }
    }

    fn pages(&mut self, size: u32, is_packed: bool) {
        let Some(head) = Head::of(&self.headers.page_head) else { return };
        if size > LARGEST_PAGE || (size as usize) < head.data_at + 8 {
            return;
        }
        self.pages = Some(Pages {
            order: self.headers.order,
            size: size as usize,
            head,
            compression: self.compression.filter(|_| is_packed),
            chunk: (CHUNKS / self.cpus.len().max(1)).max(CHUNK),
            slack: (CHUNKS / self.cpus.len().max(1)) as u64,
            clock: Clock::NANOSECONDS,
        });
    }

    /// Removes overlaps between two CPUs' pages. Otherwise the same pages would be read once for each CPU.
    fn apart(&mut self, damage: &mut Damage) {
        self.cpus.sort_by_key(|&(_, offset, _)| offset);
        let mut end = 0;
        self.cpus.retain(|&(_, offset, size)| {
            let is_apart = size == 0 || offset >= end;
            if !is_apart {
                damage.skip(offset, "pages of two CPUs are in one place");
            }
            end = end.max(offset.saturating_add(size));
            is_apart
        });
    }

    /// Checks whether everything that has been read is valid.
    fn finish(mut self) -> Result<Self, ReadError> {
        let clock =
            self.clock.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(clock, _)| clock);
        let clock = clock.unwrap_or(&self.clock).to_owned();
        let Some(pages) = &mut self.pages else {
            return Err(damaged(0, "the page header format is missing or invalid"));
        };
        if let Some(conversion) = self.conversion.filter(|_| clock == "x86-tsc" || clock == "tsc2nsec") {
            pages.clock = conversion;
        } else if ["x86-tsc", "counter", "uptime"].contains(&clock.as_str()) {
            return Err(ReadError::Unsupported(format!(
                "this trace.dat file's clock, {clock}, does not count nanoseconds: record with trace-cmd record -C mono"
            )));
        }
        Ok(self)
    }
}

/// One trace instance's pages.
#[derive(Clone, Debug)]
struct Buffer {
    section: u64,
    clock: String,
    page: u32,
    cpus: Vec<(u32, u64, u64)>,
}

impl Buffer {
    fn size(&self) -> u128 {
        self.cpus.iter().map(|&(_, _, size)| u128::from(size)).sum()
    }
}

fn compression(name: &str) -> Result<Option<Compression>, ReadError> {
    match name {
        "none" => Ok(None),
        "zlib" => Ok(Some(Compression::Zlib)),
        "zstd" => Ok(Some(Compression::Zstd)),
        _ => Err(ReadError::Unsupported(
            "this trace.dat file uses an unknown compression: keel reads zlib and zstd".to_owned(),
        )),
    }
}
