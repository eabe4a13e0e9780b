//! Reads a file as a stream, in fixed memory, and trusts nothing in it.
//!
//! A reader guarantees what sinks rely on: the start comes first and only once, instants never decrease, the machine
//! has the CPUs, and task numbers stay within reach of the number of records. Damage that still looks like records is
//! detected by the checksum at the end, at the latest. So use the results only if the reader reaches the end without an
//! error.

mod policy;
mod request;

use crate::format::{
    CHOOSERS, EXITS, GROUP_IDLE, GROUP_SESSION, KIND, MAGIC, MAX_NODES, Memory, NO_AFFINITY, NO_THROTTLING,
    OLDEST, SAME_CPU, SAME_PREV, SAME_TIME, TIMERS, VERSION, WHYS, kind, more, unzigzag,
};
use crate::input::Input;
use crate::{
    Act, Call, Event, GroupInfo, Lock, Meta, Piping, Sink, Source, TaskInfo, TraceError, Unknown, What,
};
use keel_abi::cgroup::{Bandwidth, QUOTA_NONE};
use keel_abi::cpuset::MAX_CPUS;
use keel_abi::scx::Op;
use keel_abi::tape::Room;
use keel_abi::topology::Place;
use keel_abi::{CoreId, CpuId, CpuSet, DsqId, Instant, LlcId, NodeId, Noise, Pid, Span, TaskId, Topology};
use std::io::Read;

/// Task numbers in a file must be below this plus the number of records so far.
const TASK_REACH: u64 = 1 << 16;

/// The number of events that are passed on in one batch.
const BATCH: usize = 1024;

/// One element of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// Something happened.
    Event(Event),
    /// A rarer fact, and when it was reported.
    Meta(Instant, Meta),
}

/// Reads a stream from a file.
pub struct Reader<R> {
    input: Input<R>,
    memory: Memory,
    /// The number of CPUs of the machine; 0 before the start.
    cpus: u32,
    /// The version of the file's format.
    version: u8,
    /// Task numbers must be below this plus the number of records so far.
    reach: u64,
    records: u64,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Checks the file's first bytes. `from` needs no buffer of its own.
    pub fn new(from: R) -> Result<Self, TraceError> {
        let mut input = Input::new(from);
        for &expected in MAGIC {
            if input.byte_or_end()? != Some(expected) {
                return Err(TraceError::Foreign);
            }
        }
        match input.byte()? {
            version @ OLDEST..=VERSION => Ok(Self::with(input, version, 0, TASK_REACH)),
            other => Err(TraceError::Version(other)),
        }
    }

    /// Reads a part that [`Writer::part`](crate::Writer::part) packed, from a machine with this many CPUs. A part has
    /// no start, and arbitrary task numbers.
    pub(crate) fn part(from: R, cpus: u32) -> Self {
        Self::with(Input::new(from), VERSION, cpus, u64::from(u32::MAX))
    }

    fn with(input: Input<R>, version: u8, cpus: u32, reach: u64) -> Self {
        Self { input, memory: Memory::default(), cpus, version, reach, records: 0, ended: false }
    }

    /// Reads to the end and passes everything to `sink`. After an error, discard what `sink` received.
    pub fn pump(&mut self, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let mut batch = Vec::with_capacity(BATCH);
        while let Some(item) = self.next_item()? {
            match item {
                Item::Event(event) => batch.push(event),
                Item::Meta(at, meta) => {
                    sink.events(&batch);
                    batch.clear();
                    sink.meta(at, &meta);
                }
            }
            if batch.len() == BATCH {
                sink.events(&batch);
                batch.clear();
            }
        }
        Ok(())
    }

    /// Like [`Reader::pump`], but if a file is truncated or damaged, passes on everything before that, with an end, and
    /// returns the error. No checksum covers these events.
    ///
    /// # Errors
    /// Not even the start could be read, or the host cannot read the file.
    pub fn pump_what_is_left(&mut self, sink: &mut dyn Sink) -> Result<Option<TraceError>, TraceError> {
        let (mut batch, mut last) = (Vec::with_capacity(BATCH), Instant::ZERO);
        let wrong = loop {
            match self.next_item() {
                Ok(Some(Item::Event(event))) => {
                    last = event.at;
                    batch.push(event);
                }
                Ok(Some(Item::Meta(at, meta))) => {
                    last = at;
                    sink.events(&batch);
                    batch.clear();
                    sink.meta(at, &meta);
                }
                Ok(None) => return Ok(None),
                Err(wrong) => break wrong,
            }
            if batch.len() == BATCH {
                sink.events(&batch);
                batch.clear();
            }
        };
        self.ended = true;
        match wrong {
            TraceError::Truncated { .. } | TraceError::Damaged { .. } if self.records > 0 => {
                sink.events(&batch);
                sink.meta(last, &Meta::End);
                Ok(Some(wrong))
            }
            wrong => Err(wrong),
        }
    }

    /// Returns the next element, or `None` after the end.
    pub fn next_item(&mut self) -> Result<Option<Item>, TraceError> {
        if self.ended {
            return Ok(None);
        }
        self.input.mark();
        let first = self.input.byte()?;
        if first & SAME_TIME == 0 {
            let passed = self.input.number()?;
            let at = self.memory.at.checked_add(passed);
            self.memory.at = at.ok_or_else(|| self.input.damaged("the time overflows"))?;
        }
        if first & SAME_CPU == 0 {
            let cpus = u64::from(self.cpus.max(1));
            self.memory.cpu =
                CpuId(self.input.below(cpus, "it names a CPU that the machine does not have")? as u32);
        }
        let at = Instant::from_ns(self.memory.at);
        let kind = first & KIND;
        if (kind == kind::START) != (self.cpus == 0) {
            return Err(self.input.damaged("the start is not the first record, or not the only one"));
        }
        if first & SAME_PREV != 0 && kind as usize >= WHYS.len() {
            return Err(self.input.damaged("a record has a switch's flag"));
        }
        let item = match kind {
            kind::START..=kind::END | kind::POLICY => Item::Meta(at, self.meta(kind)?),
            kind::MORE => self.more(at)?,
            _ => {
                let what = self.what(kind, first & SAME_PREV != 0)?;
                Item::Event(Event { at, cpu: self.memory.cpu, what })
            }
        };
        self.records += 1;
        Ok(Some(item))
    }

    #[inline]
    fn task(&mut self) -> Result<TaskId, TraceError> {
        self.input.task((self.reach + self.records).min(u64::from(u32::MAX) - 1))
    }

    #[inline]
    fn target(&mut self) -> Result<CpuId, TraceError> {
        let distance = unzigzag(self.input.number()?);
        let cpu = distance.checked_add(i64::from(self.memory.cpu.0));
        let cpu = cpu.filter(|cpu| (0..i64::from(self.cpus)).contains(cpu));
        cpu.map(|cpu| CpuId(cpu as u32))
            .ok_or_else(|| self.input.damaged("it names a CPU that the machine does not have"))
    }

    fn dsq(&mut self) -> Result<DsqId, TraceError> {
        Ok(DsqId(self.input.number()?.rotate_right(2)))
    }

    fn span(&mut self) -> Result<Span, TraceError> {
        Ok(Span::from_ns(self.input.number()?))
    }

    fn one_of<T: Copy>(&self, table: &[T], index: u8, what: &'static str) -> Result<T, TraceError> {
        table.get(index as usize).copied().ok_or_else(|| self.input.damaged(what))
    }

    #[inline]
    fn what(&mut self, kind: u8, same_prev: bool) -> Result<What, TraceError> {
        Ok(match kind {
            _ if (kind as usize) < WHYS.len() => {
                let running = *self.memory.running(self.memory.cpu);
                let prev = if same_prev { running } else { self.task()? };
                let next = self.task()?;
                let cpu = self.memory.cpu;
                *self.memory.running(cpu) = next;
                What::Switch { prev, why: WHYS[kind as usize], next }
            }
            kind::WAKEUP => What::Wakeup { task: self.task()?, target: self.target()?, waker: self.task()? },
            kind::FORK => What::Fork { child: self.task()?, target: self.target()?, parent: self.task()? },
            kind::EXIT => What::Exit { task: self.task()? },
            kind::MIGRATE => What::Migrate { task: self.task()?, from: self.target()?, to: self.target()? },
            kind::PLACED => {
                let (task, prev, chosen) = (self.task()?, self.target()?, self.target()?);
                let byte = self.input.byte()?;
                let by = self.one_of(&CHOOSERS, byte >> 1, "who chose a CPU is unknown")?;
                What::Placed { task, prev, chosen, by, idle: byte & 1 != 0 }
            }
            kind::QUEUED => What::Queued { task: self.task()?, dsq: self.dsq()?, len: self.number32()? },
            kind::UNQUEUED => What::Unqueued { task: self.task()?, dsq: self.dsq()?, len: self.number32()? },
            kind::HELD => What::Held { task: self.task()? },
            kind::KICK => What::Kick { target: self.target()?, flags: self.input.number()? },
            kind::CALLBACK => {
                let op = self.input.byte()?;
                let op = self.one_of(Op::ALL, op, "a callback is unknown")?;
                What::Callback { op, task: self.task()?, took: self.span()?, insns: self.number32()? }
            }
            kind::WAIT_RUNQUEUE => {
                What::LockWait { lock: Lock::Runqueue(self.target()?), waited: self.span()? }
            }
            kind::WAIT_DSQ => What::LockWait { lock: Lock::Dsq(self.dsq()?), waited: self.span()? },
            kind::WAIT_BPF => What::LockWait { lock: Lock::Bpf(self.input.number()?), waited: self.span()? },
            kind::ONLINE => What::Online { target: self.target()?, up: true },
            kind::OFFLINE => What::Online { target: self.target()?, up: false },
            kind::COUNT => What::Count { task: self.task()?, units: self.number32()? },
            kind::BYPASS_ON => What::Bypass { on: true },
            kind::BYPASS_OFF => What::Bypass { on: false },
            kind::PRIORITY => {
                What::Priority { task: self.task()?, prio: self.prio()?, weight: self.number32()? }
            }
            kind::AWAITS => What::Awaits { task: self.task()?, mutex: self.number32()?, owner: self.task()? },
            kind::LOST => What::Lost { events: self.number32()? },
            _ => return Err(self.input.damaged("a record is of an unknown kind")),
        })
    }

    /// Reads a record whose second byte is its kind.
    fn more(&mut self, at: Instant) -> Result<Item, TraceError> {
        let which = self.input.byte()?;
        let what = match which {
            more::THROTTLED | more::UNTHROTTLED => {
                What::Throttled { task: self.task()?, on: which == more::THROTTLED, group: 0 }
            }
            more::GROUP_THROTTLED | more::GROUP_UNTHROTTLED => {
                let (task, on) = (self.task()?, which == more::GROUP_THROTTLED);
                What::Throttled { task, on, group: self.number32()? }
            }
            more::RESERVED | more::UNRESERVED => {
                What::Reserved { target: self.target()?, on: which == more::RESERVED }
            }
            more::WORKED => {
                What::Worked { task: self.task()?, user: self.span()?, kernel_ps: self.input.number()? }
            }
            more::WAKES..=more::EXITS => What::Acts { task: self.task()?, act: self.act(which, at)? },
            more::WAITED => {
                let (task, byte) = (self.task()?, self.input.byte()?);
                let call =
                    self.one_of(&Call::ALL, byte & 0xf, "the call in which a task waited is unknown")?;
                let source = self.one_of(&Source::ALL, byte >> 4, "what woke a task is unknown")?;
                What::Waited { task, call, source }
            }
            more::PIPED.. if usize::from(which - more::PIPED) < Piping::ALL.len() => What::Piped {
                task: self.task()?,
                pipe: self.number32()?,
                bytes: self.number32()?,
                room: self.room()?,
                how: Piping::ALL[usize::from(which - more::PIPED)],
            },
            more::UNKNOWN => return Ok(Item::Meta(at, Meta::Unknown(self.unknown()?))),
            more::CLOCK => return Ok(Item::Meta(at, Meta::Clock { ns: self.input.number()? })),
            more::CHANCE => {
                let (seed, noise) = (self.input.number()?, self.input.byte()?);
                let noise = self.one_of(&Noise::ALL, noise, "a level of noise is unknown")?;
                return Ok(Item::Meta(at, Meta::Chance { seed, noise }));
            }
            more::MEMBER | more::MEMBER_KTHREAD => {
                let (task, process, session) = (self.task()?, self.number32()?, self.number32()?);
                let kthread = which == more::MEMBER_KTHREAD;
                return Ok(Item::Meta(at, Meta::Member { task, process, session, kthread }));
            }
            more::ASKS | more::ASKS_OUTSIDE => {
                let (task, outside) = (self.task()?, which == more::ASKS_OUTSIDE);
                let request = Box::new(self.request()?);
                return Ok(Item::Meta(at, Meta::Asks { task, outside, request }));
            }
            more::GROUP => return Ok(Item::Meta(at, Meta::Group(Box::new(self.group_info()?)))),
            more::SCHEDULED => {
                let (task, policy, group) = (self.task()?, self.number32()?, self.number32()?);
                return Ok(Item::Meta(at, Meta::Scheduled { task, policy, group }));
            }
            more::QUEUE => {
                let id = DsqId(self.input.number()?);
                return Ok(Item::Meta(at, Meta::Queue { id, name: self.input.text()? }));
            }
            _ => return Err(self.input.damaged("a record is of an unknown kind")),
        };
        Ok(Item::Event(Event { at, cpu: self.memory.cpu, what }))
    }

    /// Reads the capacity of a pipe or a local socket.
    fn room(&mut self) -> Result<Room, TraceError> {
        let number = self.input.number()?;
        let size = u32::try_from(number >> 1).map_err(|_| self.input.damaged("a pipe is too large"))?;
        Ok(if number & 1 == 0 { Room::Pages(size) } else { Room::Memory(size) })
    }

    /// Reads an act of a task, whose kind is the record's second byte.
    fn act(&mut self, which: u8, at: Instant) -> Result<Act, TraceError> {
        Ok(match which {
            more::WAKES | more::WAKES_SYNC => {
                Act::Wakes { wakee: self.task()?, sync: which == more::WAKES_SYNC }
            }
            more::WAITS => Act::Waits,
            more::BEGINS => {
                // It was due earlier.
                let before = self.input.number()?;
                Act::Begins { at: Instant::from_ns(at.as_ns().saturating_sub(before)) }
            }
            more::FORKS_THREAD | more::FORKS_PROCESS => {
                Act::Forks { child: self.task()?, process: which == more::FORKS_PROCESS }
            }
            more::YIELDS => Act::Yields,
            more::EXITS => Act::Exits,
            _ => {
                let ahead = at.as_ns().checked_add(self.input.number()?);
                let until = ahead.ok_or_else(|| self.input.damaged("the time overflows"))?;
                let timer = TIMERS[usize::from(which - more::SLEEPS)];
                Act::Sleeps { until: Instant::from_ns(until), timer }
            }
        })
    }

    fn unknown(&mut self) -> Result<Unknown, TraceError> {
        let bits = self.input.byte()?;
        if bits & !(NO_AFFINITY | NO_THROTTLING) != 0 {
            return Err(self.input.damaged("the flags of what is not recorded are unknown"));
        }
        Ok(Unknown { affinity: bits & NO_AFFINITY != 0, throttling: bits & NO_THROTTLING != 0 })
    }

    fn group_info(&mut self) -> Result<GroupInfo, TraceError> {
        let bits = self.input.byte()?;
        if bits & !(GROUP_IDLE | GROUP_SESSION) != 0 {
            return Err(self.input.damaged("a group is of an unknown kind"));
        }
        let (group, parent) = (self.number32()?, self.number32()?);
        let (name, weight) = (self.input.text()?, self.number32()?);
        let bandwidth = self.bandwidth()?;
        let (idle, session) = (bits & GROUP_IDLE != 0, bits & GROUP_SESSION != 0);
        Ok(GroupInfo { group, parent, name, weight, bandwidth, idle, session })
    }

    fn bandwidth(&mut self) -> Result<Bandwidth, TraceError> {
        let (quota_us, period_us, burst_us) =
            (self.input.number()?, self.input.number()?, self.input.number()?);
        let quota_us = if quota_us == 0 { QUOTA_NONE } else { quota_us };
        Ok(Bandwidth { period_us, quota_us, burst_us })
    }

    fn prio(&mut self) -> Result<i16, TraceError> {
        let prio = i16::try_from(unzigzag(self.input.number()?)).ok();
        prio.ok_or_else(|| self.input.damaged("a priority is out of range"))
    }

    fn number32(&mut self) -> Result<u32, TraceError> {
        self.input.number32("a number has more than 32 bits")
    }

    fn meta(&mut self, kind: u8) -> Result<Meta, TraceError> {
        match kind {
            kind::START => {
                let topology = self.topology()?;
                self.cpus = topology.cpus();
                let (scheduler, workload) = (self.input.text()?, self.input.text()?);
                Ok(Meta::Start { topology, scheduler, workload, unit: self.input.text()? })
            }
            kind::TASK => self.task_info(),
            kind::SCHEDULER_EXIT => {
                let exit = self.input.byte()?;
                let kind = self.one_of(&EXITS, exit, "a kind of exit is unknown")?;
                Ok(Meta::SchedulerExit { kind, message: self.input.text()? })
            }
            kind::POLICY => Ok(Meta::Policy(Box::new(self.policy()?))),
            _ => self.end(),
        }
    }

    fn task_info(&mut self) -> Result<Meta, TraceError> {
        let task = self.task()?;
        if task.is_idle() {
            return Err(self.input.damaged("a task has no number"));
        }
        let (pid, name) = (Pid(self.number32()?), self.input.text()?);
        let (nice, cpus) = (self.nice()?, self.cpu_set()?);
        Ok(Meta::Task(TaskInfo { task, pid, name, nice, cpus }))
    }

    fn nice(&mut self) -> Result<i8, TraceError> {
        let nice = i8::try_from(unzigzag(self.input.number()?)).ok();
        nice.ok_or_else(|| self.input.damaged("a nice value is out of range"))
    }

    fn cpu_set(&mut self) -> Result<CpuSet, TraceError> {
        let words = self.input.below(u64::from(MAX_CPUS / 64) + 1, "a set of CPUs is too large")?;
        let words = (0..words).map(|_| self.input.number()).collect::<Result<Vec<_>, _>>()?;
        Ok(CpuSet::from_words(&words))
    }

    fn topology(&mut self) -> Result<Topology, TraceError> {
        let cpus = self.input.below(u64::from(MAX_CPUS) + 1, "a machine has too many CPUs")?;
        let nodes = self.input.below(MAX_NODES + 1, "a machine has too many nodes")?;
        if cpus == 0 || nodes == 0 {
            return Err(self.input.damaged("a machine has no CPU or no node"));
        }
        let mut places = Vec::new();
        for _ in 0..cpus {
            let core = CoreId(self.input.below(cpus, "a core is out of range")? as u32);
            let llc = LlcId(self.input.below(cpus, "a cache is out of range")? as u32);
            let node = NodeId(self.input.below(nodes, "a node is out of range")? as u32);
            places.push(Place { core, llc, node });
        }
        let mut hops = Vec::new();
        for a in 0..nodes {
            let row = (0..nodes).map(|_| self.input.byte()).collect::<Result<Vec<u8>, _>>()?;
            if (0..nodes).any(|b| (row[b as usize] == 0) != (a == b)) {
                return Err(self.input.damaged("hops between nodes are 0, or within a node are not"));
            }
            hops.push(row);
        }
        Ok(Topology::new(places, hops))
    }

    fn end(&mut self) -> Result<Meta, TraceError> {
        if self.input.number()? != self.records {
            return Err(self.input.damaged("records are missing or too many"));
        }
        let expected = self.input.checksum();
        let mut reported = [0; 4];
        for byte in &mut reported {
            *byte = self.input.byte()?;
        }
        if u32::from_le_bytes(reported) != expected {
            return Err(self.input.damaged("the checksum does not match"));
        }
        if self.input.byte_or_end()?.is_some() {
            return Err(self.input.damaged("something follows the end"));
        }
        self.ended = true;
        Ok(Meta::End)
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Item, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_item().transpose();
        // Nothing after an error can be trusted.
        self.ended |= matches!(next, Some(Err(_)));
        next
    }
}
