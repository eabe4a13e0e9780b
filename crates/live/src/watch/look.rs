//! Samples all CPUs, through crates/live/bpf/look.bpf.c.

use super::WatchError;
use crate::record::raw;
use crate::{libbpf_log, maps, programs};
use keel_abi::{CpuId, CpuSet};
use keel_trace::story::{RawWhat, TaskRecord};
use libbpf_rs::{Object, ObjectBuilder, ProgramInput, RingBuffer, RingBufferBuilder};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The program.
const LOOK: &str = "look";
/// Its ring.
const REPORTS: &str = "reports";
/// The kind of record for an idle CPU.
const IDLE: u8 = 10;
/// The size of `struct look`, in bytes.
const RESULT: usize = 24;

/// A sample of all CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The number of online CPUs.
    pub online: u32,
    /// The number of CPUs that idled.
    pub idle: u32,
    /// The number of tasks that waited for a CPU, as counted by the kernel's runqueues, including bound ones.
    pub waiting: u32,
    /// The number of waiting tasks that did not fit into the ring.
    pub left_out: u32,
    /// The number of tasks that were examined: 0 unless CPUs idled while tasks waited.
    pub tasks: u64,
    /// In that case, the CPUs that idled, and how often each had switched tasks so far. A CPU that idles in two samples
    /// and has not switched between them has idled all the time.
    pub switches: BTreeMap<CpuId, u64>,
    /// In that case, the waiting tasks except bound ones: those that may use only one CPU because of their affinity or
    /// a migration-disabled section, and those whose group has no CPU time left.
    pub tasks_waiting: Vec<TaskRecord>,
}

impl Look {
    /// Returns the CPUs that idled while tasks waited.
    pub fn idle_cpus(&self) -> CpuSet {
        self.switches.keys().copied().collect()
    }

    /// Returns those of `cpus`, which idled in an earlier sample, that have idled ever since.
    pub fn idle_since(&self, earlier: &Self, cpus: &CpuSet) -> CpuSet {
        let idled =
            |cpu: &CpuId| self.switches.get(cpu).is_some_and(|now| earlier.switches.get(cpu) == Some(now));
        cpus.iter().filter(idled).collect()
    }

    /// Parses the program's result.
    fn of(result: &[u8; RESULT]) -> Self {
        let number =
            |at: usize| u32::from_ne_bytes([result[at], result[at + 1], result[at + 2], result[at + 3]]);
        let (tasks, _) = result[16..].as_chunks();
        let tasks = tasks.first().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        let (online, idle, waiting, left_out) = (number(0), number(4), number(8), number(12));
        Self { online, idle, waiting, left_out, tasks, ..Self::default() }
    }

    /// Adds a record.
    fn receive(&mut self, bytes: &[u8]) {
        // A sample contains no decisions, and only these need the number of CPUs.
        let task = || raw::read(CpuId(0), 0, bytes).map(|raw| raw.what);
        if let Some((cpu, switches)) = idle(bytes) {
            self.switches.insert(cpu, switches);
        } else if let Some(RawWhat::Task(task_record)) = task() {
            self.tasks_waiting.push(*task_record);
        }
    }
}

/// Parses a record of an idle CPU: `struct idle`.
fn idle(bytes: &[u8]) -> Option<(CpuId, u64)> {
    let (cpu, kind) = (bytes.get(20..22)?, bytes.get(22)?);
    let switches = bytes.get(24..32)?.try_into().ok()?;
    (*kind == IDLE)
        .then(|| (CpuId(u16::from_ne_bytes([cpu[0], cpu[1]]).into()), u64::from_ne_bytes(switches)))
}

/// The loaded program.
pub(super) struct Eye {
    object: Object,
    ring: RingBuffer<'static>,
    inbox: Rc<RefCell<Vec<Vec<u8>>>>,
}

impl Eye {
    /// Loads it for a machine with this many CPUs.
    pub(super) fn open(cpus: u32) -> Result<Self, WatchError> {
        let (object, said) = libbpf_log::listen(|| load(cpus).map_err(|e| e.to_string()));
        let object = object.map_err(|e| WatchError::Refused(libbpf_log::refusal(&said, &e).to_string()))?;
        let inbox: Rc<RefCell<Vec<Vec<u8>>>> = Rc::default();
        let ring = ring(&object, &inbox).map_err(WatchError::Failed)?;
        Ok(Self { object, ring, inbox })
    }

    /// Takes a sample.
    pub(super) fn look(&self) -> Result<Look, WatchError> {
        let program = self.object.progs_mut().find(|program| program.name() == LOOK);
        let program = program.ok_or_else(|| WatchError::Failed("there is no such program".to_owned()))?;
        let mut result = [0; RESULT];
        let input = ProgramInput { context_in: Some(&mut result), ..ProgramInput::default() };
        program.test_run(input).map_err(|e| WatchError::Failed(e.to_string()))?;
        self.ring.consume().map_err(|e| WatchError::Failed(e.to_string()))?;
        let mut look = Look::of(&result);
        self.inbox.borrow_mut().drain(..).for_each(|bytes| look.receive(&bytes));
        Ok(look)
    }
}

fn load(cpus: u32) -> libbpf_rs::Result<Object> {
    let mut object = ObjectBuilder::default().name("keel_look")?.open_memory(programs::object("look"))?;
    if let Some(mut map) = maps::open_map(&mut object, ".rodata")
        && let Some([machine, words]) =
            map.initial_value_mut().and_then(|bytes| bytes.as_chunks_mut().0.first_chunk_mut())
    {
        *machine = cpus.to_ne_bytes();
        *words = cpus.div_ceil(64).to_ne_bytes();
    }
    object.load()
}

fn ring(object: &Object, inbox: &Rc<RefCell<Vec<Vec<u8>>>>) -> Result<RingBuffer<'static>, String> {
    let map = maps::handle(object, REPORTS)?;
    let inbox = Rc::clone(inbox);
    let mut builder = RingBufferBuilder::new();
    let take = move |bytes: &[u8]| {
        inbox.borrow_mut().push(bytes.to_vec());
        0
    };
    builder.add(&map, take).map_err(|e| e.to_string())?;
    builder.build().map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `struct idle`, as C lays it out.
    fn idle_record(cpu: u16, switches: u64) -> Vec<u8> {
        let mut bytes = vec![0; 20];
        bytes.extend(cpu.to_ne_bytes());
        bytes.extend([IDLE, 0]);
        bytes.extend(switches.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_look_is_read() {
        let mut result = [0; RESULT];
        for (at, number) in [8u32, 2, 5, 1, 300, 0].into_iter().enumerate() {
            result[at * 4..at * 4 + 4].copy_from_slice(&number.to_ne_bytes());
        }
        let mut look = Look::of(&result);
        assert_eq!((look.online, look.idle, look.waiting, look.left_out), (8, 2, 5, 1));
        assert_eq!(look.tasks, 300);
        look.receive(&idle_record(7, 99));
        look.receive(&idle_record(300, 1));
        look.receive(b"junk");
        assert_eq!(look.switches, BTreeMap::from([(CpuId(7), 99), (CpuId(300), 1)]));
        assert!(look.tasks_waiting.is_empty());
    }

    #[test]
    fn a_cpu_idles_on_as_long_as_it_does_not_switch() {
        let look = |idle: &[(u32, u64)]| Look {
            switches: idle.iter().map(|&(cpu, switches)| (CpuId(cpu), switches)).collect(),
            ..Look::default()
        };
        let check = |first: &[(u32, u64)], then: &[(u32, u64)], expected: &str| {
            let first = look(first);
            assert_eq!(look(then).idle_since(&first, &first.idle_cpus()).to_string(), expected);
        };
        check(&[(1, 5), (2, 6)], &[(1, 5), (2, 6)], "1-2");
        check(&[(1, 5), (2, 6)], &[(1, 7), (2, 6)], "2");
        check(&[(1, 5), (2, 6)], &[(1, 5), (3, 1)], "1");
        check(&[(1, 5)], &[], "");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            Look::default().receive(&bytes);
        }
    }
}
