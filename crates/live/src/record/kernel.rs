//! Handles the kernel's half: loads the programs, creates a ring buffer per CPU, and reads them.

use super::RecordError;
use super::optional::{self, DECISIONS, OPTIONAL, Optional, PIPES, QUOTA_PROGRAM, TIMER_PROGRAM};
use super::raw;
use crate::host::Host;
use crate::{libbpf_log, maps, programs, ready};
use keel_abi::CpuId;
use keel_object::btf::Btf;
use keel_trace::Unknown;
use keel_trace::story::{Key, Merge, Raw, RawWhat, TaskRecord};
use libbpf_rs::libbpf_sys::bpf_map_create_opts;
use libbpf_rs::{
    Iter, IterOpts, Link, MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder, OpenObject,
    ProgramMut, RingBuffer, RingBufferBuilder,
};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::time::Timespec;
use std::cell::RefCell;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// The programs that record which tasks run and wait, and where.
const CORE_PROGRAMS: [&str; 6] = ["on_switch", "on_waking", "on_wakeup", "on_fork", "on_migrate", SNAPSHOT];
/// The program that lists the tasks.
const SNAPSHOT: &str = "snapshot";

/// The reader is woken when this part of a ring has filled.
const PORTIONS: u32 = 4;

/// The maximum number of records that are read from one ring before the next ring has its turn.
const TURN: usize = 1 << 16;

/// The programs in the kernel, attached or detached.
pub(crate) struct Kernel {
    object: Object,
    links: Vec<Link>,
    rings: Vec<Ring>,
    /// Ready when another part of a ring has filled.
    filled: OwnedFd,
    inbox: Rc<RefCell<Vec<Raw>>>,
    cpus: u32,
    words: u32,
    unknown: Unknown,
    extent: Extent,
}

/// Every task, and which tasks are throttled.
pub(super) struct Snapshot {
    pub(super) tasks: Vec<TaskRecord>,
    pub(super) throttled: Vec<Key>,
}

/// One CPU's ring buffer.
struct Ring {
    buffer: RingBuffer<'static>,
    map: MapHandle,
}

impl Kernel {
    /// Loads the programs, with `bytes` for each CPU's records: a power of two, in whole pages. They are not attached
    /// yet.
    pub(crate) fn load(host: &Host, cpus: u32, bytes: u32, extent: Extent) -> Result<Self, RecordError> {
        let words = cpus.div_ceil(64);
        let (object, unknown) =
            load(host, cpus, Sizes { words, portion_log2: (bytes / PORTIONS).ilog2() }, extent)?;
        let inbox = Rc::new(RefCell::new(Vec::new()));
        let rings = (0..cpus)
            .map(|cpu| ring(&object, (CpuId(cpu), cpus), bytes, &inbox))
            .collect::<Result<Vec<_>, _>>()?;
        let filled =
            watch(&rings).map_err(|e| RecordError::Failed(format!("buffers cannot be watched: {e}")))?;
        Ok(Self { object, links: Vec::new(), rings, filled, inbox, cpus, words, unknown, extent })
    }

    /// Records everything from now on.
    pub(crate) fn attach(&mut self) -> Result<(), RecordError> {
        for program in self.object.progs_mut() {
            let name = program.name().to_string_lossy().into_owned();
            if name == SNAPSHOT || !program.autoload() {
                continue;
            }
            let link = program.attach().map_err(|e| RecordError::Refused(format!("{name}: {e}")))?;
            self.links.push(link);
        }
        Ok(())
    }

    /// Returns the programs that run in the context of other code.
    pub(crate) fn programs(&self) -> impl Iterator<Item = ProgramMut<'_>> {
        self.object.progs_mut().filter(|program| program.name() != SNAPSHOT && program.autoload())
    }

    /// Returns the functions of this kernel that cannot be traced, and what is therefore not recorded.
    pub(super) fn missing(&self) -> Vec<String> {
        let loaded =
            |name: &str| self.object.progs_mut().any(|program| program.name() == name && program.autoload());
        optional::missing(self.extent.extras(), loaded).collect()
    }

    /// Returns what its records lack.
    pub(super) fn unknown(&self) -> Unknown {
        self.unknown
    }

    /// Returns every task and its state.
    pub(super) fn snapshot(&self) -> Result<Snapshot, RecordError> {
        let failed = |why: String| RecordError::Failed(format!("the tasks cannot be listed: {why}"));
        let program = self.object.progs_mut().find(|program| program.name() == SNAPSHOT);
        let program = program.ok_or_else(|| failed("there is no such program".to_owned()))?;
        let link = program.attach_iter_with_opts(IterOpts::None).map_err(|e| failed(e.to_string()))?;
        let mut bytes = Vec::new();
        let mut tasks = Iter::new(&link).map_err(|e| failed(e.to_string()))?;
        tasks.read_to_end(&mut bytes).map_err(|e| failed(e.to_string()))?;
        let mut snapshot = Snapshot { tasks: Vec::new(), throttled: Vec::new() };
        for record in bytes.chunks_exact(raw::snapshot_bytes(self.words)) {
            let Some(RawWhat::Task(task_record)) = raw::read(CpuId(0), self.cpus, record).map(|raw| raw.what)
            else {
                continue;
            };
            snapshot.throttled.extend(raw::is_kept_off(record).then_some(task_record.task));
            snapshot.tasks.push(*task_record);
        }
        Ok(snapshot)
    }

    /// Reads the contents of the rings, a limited number of records from each. Returns the time up to which they are
    /// empty, if it is earlier than now.
    pub(super) fn drain(&self, merge: &mut Merge) -> Result<Option<u64>, RecordError> {
        // What is read now need not wake the reader again. If this fails, it does, which is harmless.
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut task_record = Vec::with_capacity(self.rings.len());
        epoll::wait(&self.filled, spare_capacity(&mut task_record), Some(&now)).ok();
        let mut complete: Option<u64> = None;
        for ring in &self.rings {
            let read = ring.buffer.consume_raw_n(TURN);
            let read = usize::try_from(read)
                .map_err(|_| RecordError::Failed(format!("a buffer cannot be read: error {}", -read)))?;
            let mut inbox = self.inbox.borrow_mut();
            if let Some(last) = inbox.last().filter(|_| read >= TURN) {
                complete = Some(complete.map_or(last.at, |at| at.min(last.at)));
            }
            inbox.drain(..).for_each(|raw| merge.push(raw));
        }
        Ok(complete)
    }

    /// Returns the descriptor that signals that a ring has filled. Other rings can be added to it.
    pub(super) fn alarm(&self) -> &OwnedFd {
        &self.filled
    }

    /// Returns a descriptor that becomes readable when another part of a ring has filled.
    pub(super) fn filled(&self) -> BorrowedFd<'_> {
        self.filled.as_fd()
    }

    /// Stops recording.
    pub(super) fn detach(&mut self) {
        self.links.clear();
    }

    /// Returns the records lost after the last record of each CPU. Reported once.
    pub(super) fn lost(&self) -> Vec<(CpuId, u32)> {
        let (map, key) = (self.object.maps().find(|map| map.name() == "lost"), 0u32.to_ne_bytes());
        let counts = map.as_ref().and_then(|map| map.lookup_percpu(&key, MapFlags::ANY).ok().flatten());
        if let (Some(map), Some(counts)) = (map, &counts) {
            let none = vec![0u64.to_ne_bytes().to_vec(); counts.len()];
            // If this fails, they are reported twice, and no recording appears better than it is.
            map.update_percpu(&key, &none, MapFlags::ANY).ok();
        }
        let number = |bytes: &Vec<u8>| bytes.as_slice().try_into().map_or(0, u64::from_ne_bytes);
        let cpus = (0..).map(CpuId).zip(counts.unwrap_or_default());
        let cpus = cpus.map(|(cpu, bytes)| (cpu, u32::try_from(number(&bytes)).unwrap_or(u32::MAX)));
        cpus.filter(|&(_, lost)| lost > 0).collect()
    }
}

/// The programs' constants, set before they are loaded.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    words: u32,
    portion_log2: u32,
}

/// What to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) events: Events,
    /// Whether to also record the decisions of Linux's own fair class.
    pub(crate) decisions: bool,
    /// Whether to also record transfers through pipes.
    pub(crate) pipes: bool,
}

impl Extent {
    /// Returns the optional programs, in addition to those that the events need.
    fn extras(self) -> impl Iterator<Item = &'static Optional> {
        let decisions = DECISIONS.iter().filter(move |_| self.decisions);
        decisions.chain(PIPES.iter().filter(move |_| self.pipes))
    }
}

/// Which events to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Events {
    /// All that the kernel allows.
    All,
    /// Only running and waiting tasks. The programs are then attached and detached quickly.
    Core,
}

/// Loads the programs, as many as this kernel accepts. Also returns what they cannot record.
fn load(host: &Host, cpus: u32, sizes: Sizes, extent: Extent) -> Result<(Object, Unknown), RecordError> {
    let types = ready::kernel_types(host).ok_or(RecordError::NoBtf)?;
    let is_there = |optional: &&Optional| is_there(&types, optional);
    let mut optional: Vec<&Optional> = match extent.events {
        Events::All => OPTIONAL.iter().filter(is_there).collect(),
        Events::Core => Vec::new(),
    };
    optional.extend(extent.extras().filter(is_there));
    let attempt = |optional: &[&Optional]| {
        let (object, said) = libbpf_log::listen(|| {
            let open = open(cpus, sizes, extent.events, optional).map_err(|e| e.to_string())?;
            open.load().map_err(|e| e.to_string())
        });
        object.map_err(|error| libbpf_log::refusal(&said, &error).to_string())
    };
    loop {
        let why = match attempt(&optional) {
            Ok(object) => return Ok((object, unknown(&types))),
            Err(why) => why,
        };
        tracing::info!(programs = optional.len(), why, "the programs are refused");
        // A function with a type is not always traceable. The least needed programs are dropped first.
        let rank = |optional: &Optional| (is_extra(optional.program), optional.watches);
        let Some(last) = optional.iter().map(|optional| rank(optional)).max() else {
            return Err(RecordError::Refused(why));
        };
        optional.retain(|optional| rank(optional) != last);
    }
}

/// Returns whether a kernel with these types has what the program needs.
fn is_there(types: &Btf, optional: &Optional) -> bool {
    let lists_tasks = optional.program != QUOTA_PROGRAM || !unknown(types).throttling;
    types.function(optional.needs).is_some() && lists_tasks
}

/// Returns what no program can record on a kernel with these types. Before 6.18, kernels throttle queues, not tasks.
fn unknown(types: &Btf) -> Unknown {
    Unknown { affinity: false, throttling: types.field("task_struct", "throttled").is_none() }
}

fn open(cpus: u32, sizes: Sizes, events: Events, optional: &[&Optional]) -> libbpf_rs::Result<OpenObject> {
    let mut object = ObjectBuilder::default().name("keel_record")?.open_memory(programs::object("record"))?;
    if let Some(mut map) = maps::open_map(&mut object, ".rodata")
        && let Some([words, portion_log2, sees_timers]) =
            map.initial_value_mut().and_then(|bytes| bytes.as_chunks_mut().0.first_chunk_mut())
    {
        *words = sizes.words.to_ne_bytes();
        *portion_log2 = sizes.portion_log2.to_ne_bytes();
        let sees = optional.iter().any(|optional| optional.program == TIMER_PROGRAM);
        *sees_timers = u32::from(sees).to_ne_bytes();
    }
    if let Some(mut map) = maps::open_map(&mut object, "rings") {
        map.set_max_entries(cpus)?;
    }
    for mut program in object.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        let wanted = optional.iter().find(|optional| optional.program == name);
        program.set_autoload(wanted.is_some() || is_always_there(&name, events));
        if let Some(wanted) = wanted.filter(|wanted| wanted.watches) {
            program.set_attach_target(0, Some(wanted.needs.to_owned()))?;
        }
    }
    Ok(object)
}

/// Returns whether every kernel accepts the program, for these events.
fn is_always_there(program: &str, events: Events) -> bool {
    match events {
        Events::All => {
            OPTIONAL.iter().chain(&DECISIONS).chain(&PIPES).all(|optional| optional.program != program)
        }
        Events::Core => CORE_PROGRAMS.contains(&program),
    }
}

/// Returns whether only a recording of decisions or pipes uses the program.
fn is_extra(program: &str) -> bool {
    DECISIONS.iter().chain(&PIPES).any(|optional| optional.program == program)
}

/// Sets when the programs wake the reader of any ring: once per call.
fn watch(rings: &[Ring]) -> rustix::io::Result<OwnedFd> {
    let filled = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for ring in rings {
        let when = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&filled, ring.map.as_fd(), epoll::EventData::new_u64(0), when)?;
    }
    Ok(filled)
}

/// Creates a CPU's ring, on a machine with this many CPUs, and puts it into the map.
fn ring(
    object: &Object,
    (cpu, cpus): (CpuId, u32),
    bytes: u32,
    inbox: &Rc<RefCell<Vec<Raw>>>,
) -> Result<Ring, RecordError> {
    let failed = |e: libbpf_rs::Error| {
        RecordError::Failed(format!("CPU {cpu}'s buffer of {} KiB cannot be allocated: {e}", bytes >> 10))
    };
    let sz = size_of::<bpf_map_create_opts>() as _;
    let opts = bpf_map_create_opts { sz, ..bpf_map_create_opts::default() };
    let map = MapHandle::create(MapType::RingBuf, Some("keel_ring"), 0, 0, bytes, &opts).map_err(failed)?;
    let rings = object.maps().find(|map| map.name() == "rings");
    let rings = rings.ok_or_else(|| RecordError::Failed("the object has no map of rings".to_owned()))?;
    let fd = map.as_fd().as_raw_fd().to_ne_bytes();
    rings.update(&cpu.0.to_ne_bytes(), &fd, MapFlags::ANY).map_err(failed)?;
    let inbox = Rc::clone(inbox);
    let mut builder = RingBufferBuilder::new();
    let take = move |bytes: &[u8]| {
        inbox.borrow_mut().extend(raw::read(cpu, cpus, bytes));
        0
    };
    builder.add(&map, take).map_err(failed)?;
    let buffer = builder.build().map_err(failed)?;
    Ok(Ring { buffer, map })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a kernel's types where there are none.
    fn no_types() -> Btf {
        let header: [u32; 5] = [24, 0, 0, 0, 1];
        let start = [0x9f, 0xeb, 1, 0].into_iter();
        let bytes: Vec<u8> = start.chain(header.into_iter().flat_map(u32::to_le_bytes)).chain([0]).collect();
        Btf::parse(&bytes).expect("it is sound")
    }

    /// Returns the types that the programs know: those of a kernel that throttles tasks.
    fn own_types() -> Btf {
        let section = keel_object::btf::btf_section(programs::object("record")).expect("it has types");
        Btf::parse(&section).expect("they are sound")
    }

    #[test]
    fn what_a_kernel_cannot_record_is_known_from_its_types() {
        assert!(unknown(&no_types()).throttling);
        assert_eq!(unknown(&own_types()), Unknown::default());
        assert!(OPTIONAL.iter().all(|optional| !is_there(&no_types(), optional)));
    }

    /// Returns the attach points examined in docs/reference/recording.md, by program.
    fn audited() -> Vec<(&'static str, &'static str)> {
        let text = include_str!("../../../../docs/reference/recording.md");
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | `"));
        rows.filter_map(|(program, rest)| Some((program, rest.split('`').next()?))).collect()
    }

    #[test]
    fn every_attach_point_was_looked_through() {
        let audited = audited();
        for name in ["record", "look"] {
            let object = ObjectBuilder::default().open_memory(programs::object(name)).expect("it is sound");
            for program in object.progs() {
                let name = program.name().to_string_lossy().into_owned();
                let section = program.section().to_string_lossy().into_owned();
                let optional = OPTIONAL.iter().chain(&DECISIONS).chain(&PIPES);
                let watched = optional.clone().find(|optional| optional.program == name && optional.watches);
                let point = match watched {
                    Some(optional) => format!("{} {}", section.trim_start_matches('?'), optional.needs),
                    None => section.trim_start_matches('?').trim_start_matches("tp_btf/").to_owned(),
                };
                assert!(audited.contains(&(name.as_str(), point.as_str())), "{name} at {point}");
                // A program's end requests a reschedule, RCU's softirq and irq_work, so it would trigger itself
                // forever.
                let comes_back =
                    ["need_resched", "softirq", "irq_work"].iter().any(|word| point.contains(word));
                assert!(!comes_back, "{name} at {point}");
            }
        }
    }
}
