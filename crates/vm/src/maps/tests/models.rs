//! Random sequences against models that are too simple to be wrong.

use super::kinds::{ARRAY, EXIST, HASH, LOCK, LRU_HASH, LRU_PERCPU_HASH, NOEXIST, PERCPU_HASH, QUEUE, STACK};
use super::{Bench, Errno, def};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

const CAPACITY: usize = 6;

#[derive(Clone, Debug)]
enum Op {
    Update { key: u64, value: u64, flags: u64, cpu: u32 },
    Lookup { key: u64, cpu: u32 },
    Delete { key: u64 },
    Walk,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let (key, cpu) = (|| 0u64..10, || 0u32..super::CPUS);
    let op = prop_oneof![
        4 => (key(), 1..u64::MAX, prop_oneof![4 => Just(0), 3 => 1u64..8], cpu())
            .prop_map(|(key, value, flags, cpu)| Op::Update { key, value, flags, cpu }),
        3 => (key(), cpu()).prop_map(|(key, cpu)| Op::Lookup { key, cpu }),
        2 => key().prop_map(|key| Op::Delete { key }),
        1 => Just(Op::Walk),
    ];
    proptest::collection::vec(op, 1..120)
}

/// Entries in the order of their last use, the newest last; a value per CPU.
struct Model {
    per_cpu: bool,
    lru: bool,
    entries: Vec<(u64, [u64; super::CPUS as usize])>,
}

impl Model {
    fn update(&mut self, key: u64, value: u64, flags: u64, cpu: u32) -> Result<(), Errno> {
        let only = flags & !LOCK;
        // Values of these kinds can have no lock.
        if flags & LOCK != 0 && (self.per_cpu || self.lru) {
            return Err(Errno::EINVAL);
        }
        let known = self.entries.iter().position(|e| e.0 == key);
        match (only, known) {
            (3.., _) => return Err(Errno::EINVAL),
            (NOEXIST, Some(_)) => return Err(Errno::EEXIST),
            (EXIST, None) => return Err(Errno::ENOENT),
            (_, None) if self.entries.len() == CAPACITY && !self.lru => return Err(Errno::E2BIG),
            (_, None) if self.entries.len() == CAPACITY => drop(self.entries.remove(0)),
            _ => (),
        }
        let mut values = known.map_or([0; _], |at| self.entries.remove(at).1);
        match self.per_cpu {
            true => values[cpu as usize] = value,
            false => values = [value; _],
        }
        self.entries.push((key, values));
        Ok(())
    }

    fn lookup(&mut self, key: u64, cpu: u32) -> Option<u64> {
        let at = self.entries.iter().position(|e| e.0 == key)?;
        let entry = self.entries.remove(at);
        self.entries.push(entry);
        Some(entry.1[cpu as usize])
    }

    fn delete(&mut self, key: u64) -> Result<(), Errno> {
        let at = self.entries.iter().position(|e| e.0 == key).ok_or(Errno::ENOENT)?;
        self.entries.remove(at);
        Ok(())
    }

    fn sorted(&self) -> Vec<(u64, u64)> {
        self.entries.iter().map(|e| (e.0, e.1[0])).collect::<BTreeMap<_, _>>().into_iter().collect()
    }
}

fn check_hash(kind: u32, ops: &[Op]) -> Result<(), TestCaseError> {
    let mut bench = Bench::new(def(kind, 8, 8, CAPACITY as u32));
    let per_cpu = matches!(kind, PERCPU_HASH | LRU_PERCPU_HASH);
    let lru = matches!(kind, LRU_HASH | LRU_PERCPU_HASH);
    let mut model = Model { per_cpu, lru, entries: Vec::new() };
    for op in ops {
        match *op {
            Op::Update { key, value, flags, cpu } => {
                let given = bench.update(key, value, flags, cpu);
                prop_assert_eq!(given, model.update(key, value, flags, cpu), "{:?}", op);
            }
            Op::Lookup { key, cpu } => {
                prop_assert_eq!(bench.lookup(key, cpu), model.lookup(key, cpu), "{:?}", op);
            }
            Op::Delete { key } => prop_assert_eq!(bench.delete(key), model.delete(key), "{:?}", op),
            Op::Walk => {
                let mut met = bench.walk();
                met.sort_unstable();
                prop_assert_eq!(met, model.sorted());
            }
        }
    }
    Ok(())
}

fn check_array(ops: &[Op]) -> Result<(), TestCaseError> {
    let mut bench = Bench::new(def(ARRAY, 4, 8, CAPACITY as u32));
    let mut model = [0; CAPACITY];
    for op in ops {
        match *op {
            Op::Update { key, value, flags, cpu } => {
                let expected = match model.get_mut(key as usize) {
                    _ if flags & !LOCK > EXIST => Err(Errno::EINVAL),
                    None => Err(Errno::E2BIG),
                    Some(_) if flags & NOEXIST != 0 => Err(Errno::EEXIST),
                    Some(word) => {
                        *word = value;
                        Ok(())
                    }
                };
                prop_assert_eq!(bench.update(key, value, flags, cpu), expected);
            }
            Op::Lookup { key, cpu } => {
                prop_assert_eq!(bench.lookup(key, cpu), model.get(key as usize).copied());
            }
            Op::Delete { key } => prop_assert_eq!(bench.delete(key), Err(Errno::EINVAL)),
            Op::Walk => prop_assert_eq!(bench.walk(), (0..).zip(model).collect::<Vec<_>>()),
        }
    }
    Ok(())
}

/// Push with or without replacing, pop, peek.
fn check_queue(kind: u32, ops: &[Option<(u64, bool)>]) -> Result<(), TestCaseError> {
    let mut bench = Bench::new(def(kind, 0, 8, CAPACITY as u32));
    let mut model = VecDeque::new();
    for (n, op) in ops.iter().enumerate() {
        match *op {
            Some((value, replace)) => {
                let full = model.len() == CAPACITY;
                let expected = if full && !replace { Err(Errno::E2BIG) } else { Ok(()) };
                prop_assert_eq!(bench.push(value, if replace { EXIST } else { 0 }), expected);
                if full && replace {
                    model.pop_front();
                }
                if expected.is_ok() {
                    model.push_back(value);
                }
            }
            None => {
                let next = if kind == STACK { model.back() } else { model.front() };
                let expected = next.copied().ok_or(Errno::ENOENT);
                prop_assert_eq!(bench.pop(true), expected);
                if n % 3 > 0 {
                    prop_assert_eq!(bench.pop(false), expected);
                    let _ = if kind == STACK { model.pop_back() } else { model.pop_front() };
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hashes_behave_as_a_list(ops in ops()) {
        for kind in [HASH, LRU_HASH, PERCPU_HASH, LRU_PERCPU_HASH] {
            check_hash(kind, &ops)?;
        }
    }

    #[test]
    fn arrays_behave_as_an_array(ops in ops()) {
        check_array(&ops)?;
    }

    #[test]
    fn queues_behave_as_a_deque(ops in proptest::collection::vec(proptest::option::of(any::<(u64, bool)>()), 1..120)) {
        check_queue(QUEUE, &ops)?;
        check_queue(STACK, &ops)?;
    }
}
