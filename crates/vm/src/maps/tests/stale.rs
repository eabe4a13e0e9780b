//! What the checked mode asks: which bytes among a map's elements belong to a key or value that it holds.

use super::kinds::{HASH, NO_PREALLOC, PERCPU_HASH, TASK_STORAGE};
use super::{Bench, MAP, MapDef, def};
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, MapKey, Owner, World};

fn stale(bench: &Bench, at: Ea, len: u64) -> bool {
    bench.world.maps().is_stale(at, len)
}

/// Which of the bytes from `before` before an address to `after` behind it are stale, as runs of equal answers.
fn runs(bench: &Bench, at: Ea, before: u64, after: u64) -> Vec<(bool, u64)> {
    let mut runs: Vec<(bool, u64)> = Vec::new();
    for i in 0..before + after {
        let now = stale(bench, Ea(at.0 - before + i), 1);
        match runs.last_mut() {
            Some((last, count)) if *last == now => *count += 1,
            _ => runs.push((now, 1)),
        }
    }
    runs
}

#[test]
fn of_a_hash_the_keys_and_values_of_elements_that_are_there() {
    let mut bench = Bench::new(def(HASH, 4, 12, 4));
    bench.update(1, 11, 0, 0).unwrap();
    bench.update(2, 22, 0, 0).unwrap();
    let key = bench.put_key(2);
    let value = bench.world.map_lookup(MAP, key, CpuId(0)).unwrap();
    // The first element's value and its padding, a header, the key and its padding, the value and its own, the next.
    let around = [(true, 4), (false, 12), (true, 52), (false, 4), (true, 4), (false, 12), (true, 8)];
    assert_eq!(runs(&bench, value, 12 + 4 + 48 + 8 + 4, 20), around);
    assert!(!stale(&bench, value, 12) && stale(&bench, value, 13) && stale(&bench, Ea(value.0 - 1), 8));
    bench.update(2, 23, 0, 0).unwrap();
    assert!(stale(&bench, value, 1), "another element took its place");
    let key = bench.put_key(2);
    let value = bench.world.map_lookup(MAP, key, CpuId(0)).unwrap();
    assert!(!stale(&bench, value, 8));
    let key = bench.put_key(2);
    bench.world.map_delete(MAP, key).unwrap();
    assert!(stale(&bench, value, 1));
    let elsewhere = bench.value;
    assert!(!stale(&bench, elsewhere, 8) && !stale(&bench, Ea(8), 8) && !stale(&bench, Ea(u64::MAX), 1));
}

#[test]
fn of_a_hash_with_values_a_cpu_each_cpus_own() {
    let mut bench = Bench::new(def(PERCPU_HASH, 4, 12, 3));
    bench.update(1, 11, 0, 0).unwrap();
    let key = bench.put_key(1);
    let values = [0, 1, 3].map(|cpu| bench.world.map_lookup(MAP, key, CpuId(cpu)).unwrap());
    assert!(values.iter().all(|&value| !stale(&bench, value, 12) && stale(&bench, value, 13)));
    let (MapKey::At(own), _) = bench.world.maps().walk(MAP, 0, CpuId(0)).map(|e| (e.key, e.value)).unwrap()
    else {
        panic!("a hash has keys")
    };
    assert!(!stale(&bench, own, 4) && stale(&bench, own, 5));
    let key = bench.put_key(1);
    bench.world.map_delete(MAP, key).unwrap();
    assert!(values.iter().all(|&value| stale(&bench, value, 1)) && stale(&bench, own, 1));
}

#[test]
fn of_local_storage_the_values_of_owners_that_have_one() {
    let mut bench = Bench::new(MapDef { flags: NO_PREALLOC, ..def(TASK_STORAGE, 4, 12, 0) });
    let [first, far] =
        [7, 5000].map(|id| bench.world.storage_get(MAP, Owner::Task(id), true, Ea::NULL).unwrap());
    for (id, value) in [(7, first), (5000, far)] {
        assert!(!stale(&bench, value, 12) && stale(&bench, value, 13));
        bench.world.storage_delete(MAP, Owner::Task(id)).unwrap();
        assert!(stale(&bench, value, 1));
    }
}
