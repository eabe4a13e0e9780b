//! Writes a stream as a file, with 3 to 8 bytes per event.
//!
//! A sink cannot fail, so the first error is kept, nothing is written after it, and [`Writer::finish`] returns it. Only
//! a file with its end record is complete.

mod policy;
mod record;
mod request;

use crate::format::{
    EXITS, GROUP_IDLE, GROUP_SESSION, MAGIC, MAX_TEXT, Memory, NO_AFFINITY, NO_THROTTLING, SAME_CPU,
    SAME_TIME, VERSION, index_in, kind, more, number_of, put_number, zigzag,
};
use crate::{Class, Event, GroupInfo, Meta, Sink, TaskInfo, WriteError};
use keel_abi::cgroup::{Bandwidth, QUOTA_NONE};
use keel_abi::{CpuId, CpuSet, Instant, Noise, TaskId, Topology};
use record::{AT_ONCE, Batch};
use std::io::{self, Write};

/// The number of bytes that are gathered before they are written.
const BUFFER: usize = 64 * 1024;

/// Writes the events it receives.
pub struct Writer<W> {
    out: W,
    wants: Class,
    buffer: Vec<u8>,
    /// Records that are not in the buffer yet.
    batch: Batch,
    memory: Memory,
    checksum: crc32fast::Hasher,
    records: u64,
    ended: bool,
    failed: Option<io::Error>,
}

impl Writer<Vec<u8>> {
    /// Packs a part of a stream in memory, without a file's first bytes: [`Reader::part`](crate::Reader::part) reads
    /// it.
    pub(crate) fn part() -> Self {
        Self::beginning(Vec::new(), Class::ALL, Vec::new())
    }

    /// Returns the number of bytes so far.
    pub(crate) fn bytes(&self) -> usize {
        self.out.len() + self.buffer.len()
    }
}

impl<W: Write> Writer<W> {
    /// Creates a writer of all events to `out`, which needs no buffer of its own.
    pub fn new(out: W) -> Self {
        Self::of_classes(out, Class::ALL)
    }

    /// Creates a writer of only the events of these classes.
    pub fn of_classes(out: W, wants: Class) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER + 1024);
        buffer.extend(MAGIC);
        buffer.push(VERSION);
        Self::beginning(out, wants, buffer)
    }

    fn beginning(out: W, wants: Class, buffer: Vec<u8>) -> Self {
        Self {
            out,
            wants,
            buffer,
            batch: Batch::new(),
            memory: Memory::default(),
            checksum: crc32fast::Hasher::new(),
            records: 0,
            ended: false,
            failed: None,
        }
    }

    /// Returns whether an error has occurred. Nothing more is written then; [`finish`](Self::finish) returns the error.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Writes the remaining buffer and returns `out`, or the first error. A stream without its end is an error, too.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.flush();
        if self.failed.is_none() {
            self.failed = self.out.flush().err();
        }
        match self.failed {
            Some(error) => Err(WriteError::Io(error)),
            None if !self.ended => Err(WriteError::NoEnd),
            None => Ok(self.out),
        }
    }

    fn flush(&mut self) {
        self.checksum.update(&self.buffer);
        if self.failed.is_none() {
            self.failed = self.out.write_all(&self.buffer).err();
        }
        self.buffer.clear();
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.buffer.push(byte);
    }

    #[inline]
    fn number(&mut self, n: u64) {
        put_number(n, |byte| self.buffer.push(byte));
    }

    #[inline]
    fn task(&mut self, task: TaskId) {
        self.number(number_of(task));
    }

    /// Writes a CPU by its distance from the record's own.
    #[inline]
    fn target(&mut self, cpu: CpuId) {
        self.number(zigzag(i64::from(cpu.0) - i64::from(self.memory.cpu.0)));
    }

    fn text(&mut self, text: &str) {
        let mut end = text.len().min(MAX_TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.number(end as u64);
        self.buffer.extend(&text.as_bytes()[..end]);
    }

    /// Writes the beginning of a record that is not an event's: kind and flags, elapsed time, CPU.
    fn begin(&mut self, at: Instant, cpu: CpuId, kind: u8) {
        let passed = at.since(Instant::from_ns(self.memory.at)).as_ns();
        let same_time = if passed == 0 { SAME_TIME } else { 0 };
        let same_cpu = if cpu == self.memory.cpu { SAME_CPU } else { 0 };
        self.byte(kind | same_time | same_cpu);
        if passed != 0 {
            self.number(passed);
        }
        if same_cpu == 0 {
            self.number(u64::from(cpu.0));
        }
        self.memory.at += passed;
        self.memory.cpu = cpu;
        self.records += 1;
    }

    /// Encodes at most [`AT_ONCE`] events.
    fn few_events(&mut self, events: &[Event]) {
        let Self { batch, memory, wants, .. } = self;
        self.records += match *wants == Class::ALL {
            true => batch.encode(memory, events.iter()),
            false => batch.encode(memory, events.iter().filter(|event| wants.has(event.what.class()))),
        };
        self.buffer.extend_from_slice(self.batch.bytes());
        if self.buffer.len() >= BUFFER {
            self.flush();
        }
    }

    fn more(&mut self, at: Instant, cpu: CpuId, which: u8) {
        self.begin(at, cpu, kind::MORE);
        self.byte(which);
    }

    fn topology(&mut self, topology: &Topology) {
        self.number(u64::from(topology.cpus()));
        self.number(u64::from(topology.nodes()));
        for cpu in topology.iter() {
            let place = topology.place(cpu);
            self.number(u64::from(place.core.0));
            self.number(u64::from(place.llc.0));
            self.number(u64::from(place.node.0));
        }
        let nodes = || (0..topology.nodes()).map(keel_abi::NodeId);
        for (a, b) in nodes().flat_map(|a| nodes().map(move |b| (a, b))) {
            self.byte(topology.hops(a, b));
        }
    }

    fn cpu_set(&mut self, set: &CpuSet) {
        self.number(set.words().len() as u64);
        for &word in set.words() {
            self.number(word);
        }
    }

    fn fact(&mut self, at: Instant, meta: &Meta) {
        let cpu = self.memory.cpu;
        match meta {
            Meta::Start { topology, scheduler, workload, unit } => {
                self.begin(at, cpu, kind::START);
                self.topology(topology);
                [scheduler, workload, unit].into_iter().for_each(|text| self.text(text));
            }
            Meta::Task(TaskInfo { task, pid, name, nice, cpus }) => {
                self.begin(at, cpu, kind::TASK);
                self.task(*task);
                self.number(u64::from(pid.0));
                self.text(name);
                self.number(zigzag(i64::from(*nice)));
                self.cpu_set(cpus);
            }
            Meta::Unknown(unknown) => {
                self.more(at, cpu, more::UNKNOWN);
                let affinity = if unknown.affinity { NO_AFFINITY } else { 0 };
                self.byte(affinity | if unknown.throttling { NO_THROTTLING } else { 0 });
            }
            Meta::Clock { ns } => {
                self.more(at, cpu, more::CLOCK);
                self.number(*ns);
            }
            Meta::Chance { seed, noise } => {
                self.more(at, cpu, more::CHANCE);
                self.number(*seed);
                self.byte(index_in(&Noise::ALL, noise));
            }
            Meta::Member { task, process, session, kthread } => {
                self.more(at, cpu, if *kthread { more::MEMBER_KTHREAD } else { more::MEMBER });
                self.task(*task);
                self.number(u64::from(*process));
                self.number(u64::from(*session));
            }
            Meta::Asks { task, outside, request } => self.request(at, cpu, (*task, *outside), request),
            Meta::Group(group) => self.group(at, cpu, group),
            Meta::Scheduled { task, policy, group } => {
                self.more(at, cpu, more::SCHEDULED);
                self.task(*task);
                self.number(u64::from(*policy));
                self.number(u64::from(*group));
            }
            Meta::Queue { id, name } => {
                self.more(at, cpu, more::QUEUE);
                self.number(id.0);
                self.text(name);
            }
            Meta::SchedulerExit { kind: exit, message } => {
                self.begin(at, cpu, kind::SCHEDULER_EXIT);
                self.byte(index_in(&EXITS, exit));
                self.text(message);
            }
            Meta::Policy(policy) => self.policy(at, policy),
            Meta::End => self.end(at, cpu),
        }
    }

    fn group(&mut self, at: Instant, cpu: CpuId, info: &GroupInfo) {
        self.more(at, cpu, more::GROUP);
        let idle = if info.idle { GROUP_IDLE } else { 0 };
        self.byte(idle | if info.session { GROUP_SESSION } else { 0 });
        self.number(u64::from(info.group));
        self.number(u64::from(info.parent));
        self.text(&info.name);
        self.number(u64::from(info.weight));
        self.bandwidth(info.bandwidth);
    }

    fn bandwidth(&mut self, Bandwidth { period_us, quota_us, burst_us }: Bandwidth) {
        // 0 stands for no limit, because a limit can't be 0.
        self.number(if quota_us == QUOTA_NONE { 0 } else { quota_us });
        self.number(period_us);
        self.number(burst_us);
    }

    /// Writes the end record: the number of records before it, and the checksum of all bytes before it.
    fn end(&mut self, at: Instant, cpu: CpuId) {
        let records = self.records;
        self.begin(at, cpu, kind::END);
        self.number(records);
        self.flush();
        let checksum = self.checksum.clone().finalize();
        self.buffer.extend(checksum.to_le_bytes());
        self.ended = true;
    }
}

impl<W: Write> Sink for Writer<W> {
    fn wants(&self) -> Class {
        self.wants
    }

    fn events(&mut self, events: &[Event]) {
        if !self.ended {
            events.chunks(AT_ONCE).for_each(|events| self.few_events(events));
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        if self.wants.has(meta.class()) && !self.ended {
            self.fact(at, meta);
        }
        if self.buffer.len() >= BUFFER {
            self.flush();
        }
    }
}

#[cfg(test)]
mod tests;
