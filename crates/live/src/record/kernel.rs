//! The kernel's half: loads the programs, makes a ring buffer a CPU, reads them.

use super::RecordError;
use super::raw;
use crate::host::Host;
use crate::{maps, programs, ready, words};
use keel_abi::CpuId;
use keel_trace::story::{Merge, Raw, RawWhat, Told};
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

/// What `sched_yield()` is in the kernel, from its beginning to its end.
const YIELD: &str = "do_sched_yield";
/// The programs that watch it.
const YIELD_PROGRAMS: [&str; 2] = ["on_yield", "after_yield"];
/// The program that hears of idle CPUs that are told of work, and a function that kernels with that tracepoint have.
const KICK_PROGRAM: &str = "on_kick";
const KICK: &str = "__probestub_sched_set_need_resched_tp";
/// The program that hears of inherited priorities, and a function that kernels with that tracepoint have.
const INHERIT_PROGRAM: &str = "on_inherit";
const INHERIT: &str = "__probestub_sched_pi_setprio";
/// What tells who runs and who waits where.
const CORE_PROGRAMS: [&str; 6] = ["on_switch", "on_waking", "on_wakeup", "on_fork", "on_migrate", SNAPSHOT];
/// The program that lists the tasks.
const SNAPSHOT: &str = "snapshot";

/// The reader is woken when such a part of a ring has filled.
const PORTIONS: u32 = 4;

/// Records that are read from one ring before the next one gets its turn.
const TURN: usize = 1 << 16;

/// The programs in the kernel, at work or at rest.
pub(crate) struct Kernel {
    object: Object,
    links: Vec<Link>,
    rings: Vec<Ring>,
    /// Ready when a ring has filled by another portion.
    filled: OwnedFd,
    inbox: Rc<RefCell<Vec<Raw>>>,
    words: u32,
}

/// One CPU's ring buffer.
struct Ring {
    buffer: RingBuffer<'static>,
    map: MapHandle,
}

impl Kernel {
    /// Loads the programs, with `bytes` for each CPU's records: a power of two, of whole pages. They rest.
    pub(crate) fn load(host: &Host, cpus: u32, bytes: u32, extent: Extent) -> Result<Self, RecordError> {
        let words = cpus.div_ceil(64);
        let object = load(host, cpus, Sizes { words, portion_log2: (bytes / PORTIONS).ilog2() }, extent)?;
        let inbox = Rc::new(RefCell::new(Vec::new()));
        let rings =
            (0..cpus).map(|cpu| ring(&object, CpuId(cpu), bytes, &inbox)).collect::<Result<Vec<_>, _>>()?;
        let filled =
            watch(&rings).map_err(|e| RecordError::Failed(format!("buffers cannot be watched: {e}")))?;
        Ok(Self { object, links: Vec::new(), rings, filled, inbox, words })
    }

    /// From now on everything is recorded.
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

    /// The programs that run in whatever context they are called in.
    pub(crate) fn programs(&self) -> impl Iterator<Item = ProgramMut<'_>> {
        self.object.progs_mut().filter(|program| program.name() != SNAPSHOT && program.autoload())
    }

    /// Every task, and what it does.
    pub(super) fn snapshot(&self) -> Result<Vec<Told>, RecordError> {
        let failed = |why: String| RecordError::Failed(format!("the tasks cannot be listed: {why}"));
        let program = self.object.progs_mut().find(|program| program.name() == SNAPSHOT);
        let program = program.ok_or_else(|| failed("there is no such program".to_owned()))?;
        let link = program.attach_iter_with_opts(IterOpts::None).map_err(|e| failed(e.to_string()))?;
        let mut bytes = Vec::new();
        let mut tasks = Iter::new(&link).map_err(|e| failed(e.to_string()))?;
        tasks.read_to_end(&mut bytes).map_err(|e| failed(e.to_string()))?;
        let record = |bytes: &[u8]| match raw::read(CpuId(0), bytes)?.what {
            RawWhat::Told(told) => Some(*told),
            _ => None,
        };
        Ok(bytes.chunks_exact(raw::snapshot_bytes(self.words)).filter_map(record).collect())
    }

    /// Reads what the rings hold, a bounded number of records of each; tells until when nothing is left in them, where
    /// that is earlier than now.
    pub(super) fn drain(&self, merge: &mut Merge) -> Result<Option<u64>, RecordError> {
        // What is read now need not be told of once more; where this fails it is, and no more than that.
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut told = Vec::with_capacity(self.rings.len());
        epoll::wait(&self.filled, spare_capacity(&mut told), Some(&now)).ok();
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

    /// What tells that a ring has filled, for other rings to join.
    pub(super) fn alarm(&self) -> &OwnedFd {
        &self.filled
    }

    /// Ready to be read when a ring has filled by another portion.
    pub(super) fn filled(&self) -> BorrowedFd<'_> {
        self.filled.as_fd()
    }

    /// Records no more.
    pub(super) fn detach(&mut self) {
        self.links.clear();
    }

    /// What was lost after the last record of each CPU. It is told once.
    pub(super) fn lost(&self) -> Vec<(CpuId, u32)> {
        let (map, key) = (self.object.maps().find(|map| map.name() == "lost"), 0u32.to_ne_bytes());
        let counts = map.as_ref().and_then(|map| map.lookup_percpu(&key, MapFlags::ANY).ok().flatten());
        if let (Some(map), Some(counts)) = (map, &counts) {
            let none = vec![0u64.to_ne_bytes().to_vec(); counts.len()];
            // Where this fails it is told twice, and no recording is taken for better than it is.
            map.update_percpu(&key, &none, MapFlags::ANY).ok();
        }
        let number = |bytes: &Vec<u8>| bytes.as_slice().try_into().map_or(0, u64::from_ne_bytes);
        let cpus = (0..).map(CpuId).zip(counts.unwrap_or_default());
        let cpus = cpus.map(|(cpu, bytes)| (cpu, u32::try_from(number(&bytes)).unwrap_or(u32::MAX)));
        cpus.filter(|&(_, lost)| lost > 0).collect()
    }
}

/// What the programs are told before they are loaded.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    words: u32,
    portion_log2: u32,
}

/// How much is to be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All that the kernel lets us.
    All,
    /// Who runs and who waits where, alone: programs are attached and detached in a moment then.
    Core,
}

/// What not every kernel lets us watch.
#[derive(Clone, Copy, Debug)]
struct Optional {
    extent: Extent,
    yields: bool,
    kicks: bool,
    inherits: bool,
}

impl Optional {
    fn has(self, program: &str) -> bool {
        match program {
            KICK_PROGRAM => self.kicks,
            INHERIT_PROGRAM => self.inherits,
            _ if YIELD_PROGRAMS.contains(&program) => self.yields,
            _ if self.extent == Extent::Core => CORE_PROGRAMS.contains(&program),
            _ => true,
        }
    }
}

/// The loaded programs, as many of them as this kernel takes.
fn load(host: &Host, cpus: u32, sizes: Sizes, extent: Extent) -> Result<Object, RecordError> {
    let types = ready::kernel_types(host).ok_or(RecordError::NoBtf)?;
    let has = |name: &str| types.functions().any(|function| function.name == name);
    let is_all = extent == Extent::All;
    let [yields, kicks, inherits] = [YIELD, KICK, INHERIT].map(|name| is_all && has(name));
    let all = Optional { extent, yields, kicks, inherits };
    let attempt = |optional| {
        let (object, said) = words::listen(|| {
            let open = open(cpus, sizes, optional).map_err(|e| e.to_string())?;
            open.load().map_err(|e| e.to_string())
        });
        object.map_err(|error| words::refusal(&said, &error).to_string())
    };
    // That a function has a type does not mean that it can be watched.
    let none = Optional { yields: false, kicks: false, inherits: false, ..all };
    let attempts = [all, Optional { yields: false, ..all }, none];
    let mut refused = String::new();
    for optional in attempts {
        match attempt(optional) {
            Ok(object) => return Ok(object),
            Err(why) => {
                tracing::info!(?optional, why, "the programs are refused");
                refused = why;
            }
        }
    }
    Err(RecordError::Refused(refused))
}

fn open(cpus: u32, sizes: Sizes, optional: Optional) -> libbpf_rs::Result<OpenObject> {
    let mut object = ObjectBuilder::default().name("keel_record")?.open_memory(programs::object("record"))?;
    if let Some(mut map) = maps::open_map(&mut object, ".rodata")
        && let Some([words, portion_log2]) =
            map.initial_value_mut().and_then(|bytes| bytes.as_chunks_mut().0.first_chunk_mut())
    {
        *words = sizes.words.to_ne_bytes();
        *portion_log2 = sizes.portion_log2.to_ne_bytes();
    }
    if let Some(mut map) = maps::open_map(&mut object, "rings") {
        map.set_max_entries(cpus)?;
    }
    for mut program in object.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        program.set_autoload(optional.has(&name));
        if YIELD_PROGRAMS.contains(&name.as_str()) && optional.yields {
            program.set_attach_target(0, Some(YIELD.to_owned()))?;
        }
    }
    Ok(object)
}

/// Tells when the programs wake the reader of any ring: once for each time.
fn watch(rings: &[Ring]) -> rustix::io::Result<OwnedFd> {
    let filled = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for ring in rings {
        let when = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&filled, ring.map.as_fd(), epoll::EventData::new_u64(0), when)?;
    }
    Ok(filled)
}

/// Makes a CPU's ring and puts it in its place.
fn ring(object: &Object, cpu: CpuId, bytes: u32, inbox: &Rc<RefCell<Vec<Raw>>>) -> Result<Ring, RecordError> {
    let failed = |e: libbpf_rs::Error| {
        RecordError::Failed(format!("CPU {cpu}'s buffer of {} KiB cannot be made: {e}", bytes >> 10))
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
        inbox.borrow_mut().extend(raw::read(cpu, bytes));
        0
    };
    builder.add(&map, take).map_err(failed)?;
    let buffer = builder.build().map_err(failed)?;
    Ok(Ring { buffer, map })
}
