//! Tests every map type against the kernel's rules, and against plain models.

mod arena;
mod limits;
mod models;
mod nested;
mod rings;
mod rules;
mod stale;
mod storage;

use super::{MapError, kinds};
use crate::memory::{Region, VmWorld, WorldConfig, WorldError};
use keel_abi::bpf::{Ea, Errno, MapId, MapKey, World};
use keel_abi::lines::{LineCosts, Transfers};
use keel_abi::{CpuId, Topology};
use keel_object::model::MapDef;

const CPUS: u32 = 4;
const MAP: MapId = MapId(0);

fn def(kind: u32, key_size: u32, value_size: u32, max_entries: u32) -> MapDef {
    let has_lock = matches!(kind, kinds::ARRAY | kinds::HASH);
    MapDef { name: "m".into(), kind, key_size, value_size, max_entries, has_lock, ..MapDef::default() }
}

fn world_of(maps: &[MapDef], checked: bool) -> Result<VmWorld, WorldError> {
    let transfers = Transfers::new(Topology::flat(CPUS), LineCosts::default());
    VmWorld::new(maps, WorldConfig { checked, ..WorldConfig::new(transfers, CPUS) })
}

/// A world with one map, and room for a key and a value in it.
struct Bench {
    world: VmWorld,
    key: Ea,
    value: Ea,
    value_size: usize,
}

impl Bench {
    fn new(map: MapDef) -> Self {
        let mut world = world_of(std::slice::from_ref(&map), false).expect("the map is possible");
        let key = world.alloc(64).expect("room for a key");
        let value = world.alloc(4096).expect("room for a value");
        Self { world, key, value, value_size: map.value_size as usize }
    }

    fn put_key(&mut self, key: u64) -> Ea {
        self.world.put(self.key, &key.to_le_bytes());
        self.key
    }

    fn put_value(&mut self, value: u64) -> Ea {
        self.world.put(self.value, &value.to_le_bytes());
        self.value
    }

    fn update(&mut self, key: u64, value: u64, flags: u64, cpu: u32) -> Result<(), Errno> {
        let (key, value) = (self.put_key(key), self.put_value(value));
        self.world.map_update(MAP, key, value, flags, CpuId(cpu))
    }

    fn address(&mut self, key: u64, cpu: u32) -> Option<Ea> {
        let key = self.put_key(key);
        self.world.map_lookup(MAP, key, CpuId(cpu))
    }

    fn word(&self, at: Ea) -> u64 {
        let bytes = self.world.slice(at, self.value_size.min(8) as u64).expect("values are in the world");
        bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
    }

    fn lookup(&mut self, key: u64, cpu: u32) -> Option<u64> {
        self.address(key, cpu).map(|at| self.word(at))
    }

    fn delete(&mut self, key: u64) -> Result<(), Errno> {
        let key = self.put_key(key);
        self.world.map_delete(MAP, key)
    }

    fn push(&mut self, value: u64, flags: u64) -> Result<(), Errno> {
        let value = self.put_value(value);
        self.world.map_push(MAP, value, flags)
    }

    /// The value that came out; what a failure leaves must be zero.
    fn pop(&mut self, keep: bool) -> Result<u64, Errno> {
        let value = self.put_value(u64::MAX);
        let done = self.world.map_pop(MAP, value, keep);
        let word = self.word(value);
        assert!(done.is_ok() || word == 0, "a failed pop leaves {word:#x}");
        done.map(|()| word)
    }

    /// Keys and values of a whole walk on CPU 0.
    fn walk(&self) -> Vec<(u64, u64)> {
        let (mut from, mut met) = (0, Vec::new());
        while let Some(entry) = self.world.maps().walk(MAP, from, CpuId(0)) {
            let key = match entry.key {
                MapKey::Index(index) => u64::from(index),
                MapKey::At(at) => self.world.u64_at(at),
            };
            met.push((key, self.word(entry.value)));
            assert!(entry.next > from);
            from = entry.next;
        }
        met
    }
}

/// One thing done to a map, and what must come of it. `ok` is `Ok(())`.
#[derive(Clone, Debug)]
enum Do {
    /// Key, value, flags, and the CPU that does it.
    Update(u64, u64, u64, u32),
    Lookup(u64, u32),
    Delete(u64),
    Push(u64, u64),
    Pop,
    Peek,
    Walk,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Gives {
    Done(Result<(), Errno>),
    Value(Option<u64>),
    Out(Result<u64, Errno>),
    Entries(Vec<(u64, u64)>),
}

const OK: Gives = Gives::Done(Ok(()));

const fn err(errno: Errno) -> Gives {
    Gives::Done(Err(errno))
}

/// Does the steps to a fresh map and compares what each gives.
fn check(map: MapDef, steps: &[(Do, Gives)]) {
    let mut bench = Bench::new(map);
    for (n, (step, expected)) in steps.iter().enumerate() {
        let given = match *step {
            Do::Update(key, value, flags, cpu) => Gives::Done(bench.update(key, value, flags, cpu)),
            Do::Lookup(key, cpu) => Gives::Value(bench.lookup(key, cpu)),
            Do::Delete(key) => Gives::Done(bench.delete(key)),
            Do::Push(value, flags) => Gives::Done(bench.push(value, flags)),
            Do::Pop => Gives::Out(bench.pop(false)),
            Do::Peek => Gives::Out(bench.pop(true)),
            Do::Walk => Gives::Entries(bench.walk()),
        };
        assert_eq!(given, *expected, "step {n}: {step:?}");
    }
}
