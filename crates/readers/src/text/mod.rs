//! Reads the text that ftrace (`/sys/kernel/tracing/trace`), `trace-cmd report` and `perf script` print, with one line
//! per event.
//!
//! Lines differ in what precedes the event's name ([`head`]) and, for some events, in how the event is worded
//! ([`body`]). Any other line is a comment, or is counted if it looks like an event.

mod body;
mod head;
mod keys;
#[cfg(test)]
mod tests;

use crate::ReadError;
use crate::ahead::Ahead;
use crate::sched_record::{SchedEvent, SchedRecord};
use crate::source::{Damage, Facts, Records, Source};
use head::Head;
use keel_abi::cpuset::MAX_CPUS;
use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;

/// Longer lines are not events.
const LONGEST: usize = 16 * 1024;

/// Returns whether it contains a line with an event, or the header of such a text.
pub(crate) fn is(first: &[u8]) -> bool {
    first.split(|&byte| byte == b'\n').any(|line| {
        line.starts_with(b"# tracer: ") || head::read(line).is_some_and(|(_, event, _)| event.len() < 64)
    })
}

/// Text, read line by line.
pub(crate) struct Text<R> {
    from: Ahead<R>,
    lines: u64,
    facts: Facts,
    damage: Damage,
    /// Lost events of a CPU that are not attached to a record yet.
    lost: BTreeMap<u32, u64>,
    /// CPUs whose buffers begin here.
    begins: Vec<u32>,
    /// A record that waits for the remark about the beginning of its CPU's buffer.
    pending: Option<SchedRecord>,
    last_at: u64,
    /// Whether the previous line belonged to a stack, which may have arbitrary lines.
    in_stack: bool,
}

impl<R: Read> Text<R> {
    /// Reads text from its beginning.
    pub(crate) fn open(from: R) -> Self {
        Self {
            from: Ahead::new(from),
            lines: 0,
            facts: Facts::default(),
            damage: Damage { lines: true, ..Damage::default() },
            lost: BTreeMap::new(),
            begins: Vec::new(),
            pending: None,
            last_at: 0,
            in_stack: false,
        }
    }

    /// Takes the next line, without its newline. Returns `None` at the end of the file.
    #[inline]
    fn next_line(&mut self) -> Result<Option<Range<usize>>, ReadError> {
        self.lines += 1;
        let mut line = match memchr::memchr(b'\n', self.from.there()) {
            Some(end) if end < LONGEST => self.from.pass(end + 1),
            _ => match self.far_line()? {
                Some(line) => line,
                None => return Ok(None),
            },
        };
        while self.from.passed(line.clone()).last().is_some_and(|byte| b"\r\n".contains(byte)) {
            line.end -= 1;
        }
        Ok(Some(line))
    }

    /// Takes the next line if its end has not been read yet. A line that is too long is dropped.
    #[cold]
    fn far_line(&mut self) -> Result<Option<Range<usize>>, ReadError> {
        let there = self.from.want(LONGEST)?;
        let there = &there[..there.len().min(LONGEST)];
        match memchr::memchr(b'\n', there).map_or(there.len(), |end| end + 1) {
            0 => return Ok(None),
            length if length < LONGEST || there.ends_with(b"\n") => return Ok(Some(self.from.pass(length))),
            _ => self.damage.skip(self.lines, "a line is longer than any event's"),
        }
        loop {
            let there = self.from.want(1)?;
            let (length, end) = (there.len(), memchr::memchr(b'\n', there));
            self.from.pass(end.map_or(length, |end| end + 1));
            if end.is_some() || length == 0 {
                return Ok(Some(0..0));
            }
        }
    }

    fn event(&mut self, head: &Head, what: SchedEvent) -> SchedRecord {
        self.last_at = head.at;
        let lost = if self.lost.is_empty() { 0 } else { self.lost.remove(&head.cpu).unwrap_or(0) };
        let current = Some(head.pid);
        SchedRecord { at: head.at, cpu: head.cpu, lost, current, interrupt: head.interrupt, what }
    }

    /// A line that is not an event.
    #[cold]
    fn other(&mut self, line: Range<usize>) {
        let line = self.from.passed(line);
        if let Some(parse) = Remark::read(line) {
            match parse {
                Remark::Cpus(cpus) => self.facts.cpus = self.facts.cpus.max(cpus),
                Remark::Written { overwritten, cpus } => {
                    self.facts.overwritten |= overwritten;
                    self.facts.cpus = self.facts.cpus.max(cpus);
                }
                Remark::Lost(Some(cpu), lost) => {
                    let sum = self.lost.entry(cpu).or_default();
                    *sum = sum.saturating_add(lost);
                }
                Remark::Lost(None, lost) => self.facts.lost = self.facts.lost.saturating_add(lost),
                Remark::Begins(cpu) if !self.begins.contains(&cpu) => self.begins.push(cpu),
                Remark::Begins(_) | Remark::Nothing => {}
            }
            self.in_stack = false;
        } else if line.iter().all(u8::is_ascii_whitespace) {
            self.in_stack = false;
        } else if head::is_stack(line) {
            self.in_stack = true;
        } else if !(self.in_stack && line[0].is_ascii_whitespace()) {
            self.damage.skip(self.lines, "this is not an event");
        }
    }
}

/// Parses a line. Returns `None` if it is not an event.
#[inline]
fn parse(line: &[u8]) -> Option<(Head, Result<SchedEvent, &'static str>)> {
    let (head, event, from) = head::read(line)?;
    Some((head, body::read(event, &line[from..])))
}

impl<R: Read> Records for Text<R> {
    fn next(&mut self) -> Result<Option<SchedRecord>, ReadError> {
        if let Some(seen) = self.pending.take() {
            return Ok(Some(seen));
        }
        while let Some(line) = self.next_line()? {
            let seen = match parse(self.from.passed(line.clone())) {
                Some((head, Ok(what))) => {
                    self.in_stack = false;
                    self.event(&head, what)
                }
                Some((_, Err(why))) => {
                    self.damage.skip(self.lines, why);
                    continue;
                }
                None => {
                    self.other(line);
                    continue;
                }
            };
            let Some(place) = self.begins.iter().position(|&cpu| cpu == seen.cpu) else {
                return Ok(Some(seen));
            };
            self.begins.swap_remove(place);
            self.pending = Some(seen);
            return Ok(Some(SchedRecord { lost: 0, current: None, what: SchedEvent::BeginsHere, ..seen }));
        }
        // Events lost at the very end.
        let Some((cpu, lost)) = self.lost.pop_first() else { return Ok(None) };
        let at = self.last_at;
        Ok(Some(SchedRecord { at, cpu, lost, current: None, interrupt: false, what: SchedEvent::Other }))
    }
}

impl<R: Read> Source for Text<R> {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn damage(&self) -> &Damage {
        &self.damage
    }
}

/// The content of a line that is not an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remark {
    /// The number of CPUs.
    Cpus(u32),
    /// Whether records were overwritten, and the number of CPUs.
    Written { overwritten: bool, cpus: u32 },
    /// A CPU, perhaps unknown, lost events.
    Lost(Option<u32>, u64),
    /// A CPU's buffer begins here.
    Begins(u32),
    /// Nothing of interest.
    Nothing,
}

impl Remark {
    fn read(line: &[u8]) -> Option<Self> {
        if let Some((cpu, words)) = head::remark(line) {
            // PERF_RECORD_LOST lost 12, PERF_RECORD_LOST_SAMPLES lost 12
            let lost =
                words.strip_prefix(b"PERF_RECORD_LOST").and_then(|_| memchr::memmem::find(words, b" lost "));
            let lost = lost.and_then(|at| Some(body::small(&words[at + 6..])?.into()));
            return Some(lost.map_or(Self::Nothing, |lost| Self::Lost(cpu, lost)));
        }
        let line = std::str::from_utf8(line).ok()?.trim();
        if let Some(cpus) = line.strip_prefix("cpus=") {
            return cpus.parse().ok().filter(|&cpus| cpus <= MAX_CPUS).map(Self::Cpus);
        }
        if let Some(rest) = line.strip_prefix("CPU:").filter(|_| line.ends_with(']')) {
            // CPU:3 [LOST 12 EVENTS], CPU:3 [12 EVENTS DROPPED]
            let (cpu, rest) = rest.split_once('[')?;
            let lost = rest.split(|c: char| !c.is_ascii_digit()).find(|word| !word.is_empty());
            let cpu = cpu.trim().parse().ok().filter(|&cpu| cpu < MAX_CPUS)?;
            return Some(Self::Lost(Some(cpu), lost.map_or(Some(1), |lost| lost.parse().ok())?));
        }
        if let Some(rest) = line.strip_prefix("##### CPU ") {
            let cpu = rest.split_once(' ')?.0.parse().ok().filter(|&cpu| cpu < MAX_CPUS)?;
            return Some(Self::Begins(cpu));
        }
        if let Some(rest) = line.strip_prefix("# entries-in-buffer/entries-written: ") {
            return Some(Self::written(rest).unwrap_or(Self::Nothing));
        }
        if let Some(rest) = line.strip_prefix("# latency: ").and_then(|rest| rest.split_once('#')) {
            return Some(Self::written(rest.1).unwrap_or(Self::Nothing));
        }
        (line.starts_with('#') || line.starts_with("version = ") || line.starts_with("trace-cmd"))
            .then_some(Self::Nothing)
    }

    /// Parses `476/981   #P:2`.
    fn written(text: &str) -> Option<Self> {
        let (left, rest) = text.split_once('/')?;
        let written = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        let (left, written) = (left.trim().parse::<u64>().ok()?, written.parse::<u64>().ok()?);
        let cpus = rest.split_once("#P:").map(|(_, cpus)| cpus.split(|c: char| !c.is_ascii_digit()).next());
        let cpus =
            cpus.flatten().and_then(|cpus| cpus.parse().ok()).filter(|&cpus| cpus <= MAX_CPUS).unwrap_or(0);
        Some(Self::Written { overwritten: left < written, cpus })
    }
}
