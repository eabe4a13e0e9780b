//! What the kernel's functions give, type by type.

use super::Do::{Delete, Lookup, Peek, Pop, Push, Update, Walk};
use super::Gives::{Entries, Out, Value};
use super::kinds::{
    ARRAY, EXIST, HASH, LOCK, LRU_HASH, LRU_PERCPU_HASH, NOEXIST, PERCPU_ARRAY, PERCPU_HASH, QUEUE, STACK,
};
use super::{Bench, Errno, MAP, MapDef, OK, check, def, err};
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, MapKey, World};

#[test]
fn array() {
    check(
        def(ARRAY, 4, 8, 3),
        &[
            (Lookup(0, 0), Value(Some(0))),
            (Lookup(3, 0), Value(None)),
            (Lookup(u64::from(u32::MAX), 0), Value(None)),
            (Update(2, 7, 0, 0), OK),
            (Update(2, 8, EXIST, 1), OK),
            (Update(2, 9, LOCK, 1), OK),
            (Lookup(2, 3), Value(Some(9))),
            (Update(3, 1, 0, 0), err(Errno::E2BIG)),
            (Update(3, 1, NOEXIST, 0), err(Errno::E2BIG)),
            (Update(0, 1, NOEXIST, 0), err(Errno::EEXIST)),
            (Update(0, 1, 3, 0), err(Errno::EINVAL)),
            (Update(0, 1, 8, 0), err(Errno::EINVAL)),
            (Delete(0), err(Errno::EINVAL)),
            (Push(1, 0), err(Errno::EOPNOTSUPP)),
            (Walk, Entries(vec![(0, 0), (1, 0), (2, 9)])),
        ],
    );
}

#[test]
fn values_without_a_lock_are_not_updated_under_it() {
    for kind in [ARRAY, HASH] {
        let map = MapDef { has_lock: false, ..def(kind, if kind == ARRAY { 4 } else { 8 }, 8, 3) };
        check(map, &[(Update(0, 1, LOCK, 0), err(Errno::EINVAL)), (Update(0, 1, 0, 0), OK)]);
    }
}

#[test]
fn an_update_copies_no_pointer_to_an_object() {
    for kind in [ARRAY, HASH] {
        let map = MapDef { kptrs: vec![0], ..def(kind, if kind == ARRAY { 4 } else { 8 }, 8, 3) };
        check(map, &[(Update(0, 7, 0, 0), OK), (Lookup(0, 0), Value(Some(0)))]);
    }
}

#[test]
fn per_cpu_array() {
    check(
        def(PERCPU_ARRAY, 4, 4, 2),
        &[
            (Update(1, 7, 0, 0), OK),
            (Update(1, 8, 0, 3), OK),
            (Lookup(1, 0), Value(Some(7))),
            (Lookup(1, 1), Value(Some(0))),
            (Lookup(1, 3), Value(Some(8))),
            (Lookup(1, 4), Value(None)),
            (Update(1, 8, 0, 4), err(Errno::EINVAL)),
            (Update(2, 8, 0, 0), err(Errno::E2BIG)),
            (Delete(1), err(Errno::EINVAL)),
            (Walk, Entries(vec![(0, 0), (1, 7)])),
        ],
    );
}

#[test]
fn hash() {
    check(
        def(HASH, 8, 8, 2),
        &[
            (Lookup(5, 0), Value(None)),
            (Update(5, 50, EXIST, 0), err(Errno::ENOENT)),
            (Update(5, 50, NOEXIST, 0), OK),
            (Update(5, 51, NOEXIST, 0), err(Errno::EEXIST)),
            (Update(5, 51, 3, 0), err(Errno::EINVAL)),
            (Update(6, 60, LOCK | NOEXIST, 0), OK),
            (Update(7, 70, 0, 0), err(Errno::E2BIG)),
            (Update(7, 70, EXIST, 0), err(Errno::ENOENT)),
            (Update(5, 52, 0, 2), OK),
            (Update(5, 53, EXIST, 2), OK),
            (Lookup(5, 1), Value(Some(53))),
            (Delete(7), err(Errno::ENOENT)),
            (Delete(6), OK),
            (Delete(6), err(Errno::ENOENT)),
            (Update(7, 70, 0, 0), OK),
            (Update(8, 80, 0, 0), err(Errno::E2BIG)),
            (Update(7, 70, 0, 4), err(Errno::EINVAL)),
        ],
    );
}

#[test]
fn an_updated_hash_element_moves_and_its_old_value_stays_for_a_while() {
    let mut bench = Bench::new(def(HASH, 8, 8, 2));
    bench.update(5, 50, 0, 1).unwrap();
    let old = bench.address(5, 0).unwrap();
    bench.update(5, 51, 0, 1).unwrap();
    let new = bench.address(5, 0).unwrap();
    assert_ne!(old, new);
    assert_eq!((bench.word(old), bench.word(new)), (50, 51));
    // The old element is what the same CPU has to spare; under a lock nothing moves.
    bench.update(5, 52, LOCK, 1).unwrap();
    assert_eq!(bench.address(5, 0), Some(new));
    bench.update(5, 53, 0, 1).unwrap();
    assert_eq!(bench.address(5, 0), Some(old));
}

#[test]
fn lru_hash() {
    check(
        def(LRU_HASH, 8, 8, 3),
        &[
            (Update(1, 10, 0, 0), OK),
            (Update(2, 20, 0, 0), OK),
            (Update(3, 30, 0, 0), OK),
            (Lookup(1, 0), Value(Some(10))),
            // Of 2, 3 and 1 in the order of their last use, 2 goes.
            (Update(4, 40, 0, 0), OK),
            (Lookup(2, 0), Value(None)),
            (Update(3, 31, 0, 0), OK),
            (Update(5, 50, NOEXIST, 0), OK),
            (Lookup(1, 0), Value(None)),
            (Update(1, 10, EXIST, 0), err(Errno::ENOENT)),
            (Update(3, 10, NOEXIST, 0), err(Errno::EEXIST)),
            (Delete(4), OK),
            (Update(6, 60, 0, 0), OK),
            (Lookup(3, 0), Value(Some(31))),
            (Lookup(5, 0), Value(Some(50))),
            (Lookup(6, 0), Value(Some(60))),
        ],
    );
}

#[test]
fn per_cpu_hash() {
    for kind in [PERCPU_HASH, LRU_PERCPU_HASH] {
        check(
            def(kind, 8, 8, 1),
            &[
                (Update(5, 50, 0, 1), OK),
                (Update(5, 52, 0, 2), OK),
                (Lookup(5, 0), Value(Some(0))),
                (Lookup(5, 1), Value(Some(50))),
                (Lookup(5, 2), Value(Some(52))),
                (Lookup(5, 4), Value(None)),
                (Walk, Entries(vec![(5, 0)])),
                (Delete(5), OK),
                // What CPU 1 had must not show under another key.
                (Update(6, 60, 0, 0), OK),
                (Lookup(6, 1), Value(Some(0))),
                (Update(7, 70, 0, 0), if kind == PERCPU_HASH { err(Errno::E2BIG) } else { OK }),
            ],
        );
    }
}

#[test]
fn queue() {
    check(
        def(QUEUE, 0, 8, 2),
        &[
            (Pop, Out(Err(Errno::ENOENT))),
            (Peek, Out(Err(Errno::ENOENT))),
            (Push(1, 0), OK),
            (Push(2, 0), OK),
            (Push(3, 0), err(Errno::E2BIG)),
            (Push(3, NOEXIST), err(Errno::EINVAL)),
            (Push(3, LOCK), err(Errno::EINVAL)),
            (Push(3, EXIST), OK),
            (Peek, Out(Ok(2))),
            (Pop, Out(Ok(2))),
            (Push(4, 0), OK),
            (Pop, Out(Ok(3))),
            (Pop, Out(Ok(4))),
            (Pop, Out(Err(Errno::ENOENT))),
            (Update(0, 0, 0, 0), err(Errno::EINVAL)),
            (Delete(0), err(Errno::EINVAL)),
            (Lookup(0, 0), Value(None)),
            (Walk, Entries(vec![])),
        ],
    );
}

#[test]
fn stack() {
    check(
        def(STACK, 0, 8, 2),
        &[
            (Push(1, 0), OK),
            (Push(2, 0), OK),
            (Push(3, 0), err(Errno::E2BIG)),
            (Peek, Out(Ok(2))),
            (Push(3, EXIST), OK),
            (Pop, Out(Ok(3))),
            (Pop, Out(Ok(2))),
            (Pop, Out(Err(Errno::ENOENT))),
            (Peek, Out(Err(Errno::ENOENT))),
        ],
    );
}

#[test]
fn bad_pointers_are_faults_and_change_nothing() {
    for kind in [ARRAY, HASH, LRU_HASH, PERCPU_HASH] {
        let mut bench = Bench::new(def(kind, 4, 8, 4));
        let (key, value) = (bench.put_key(1), bench.put_value(7));
        let before = bench.walk();
        for bad in [Ea::NULL, Ea(u64::MAX), Ea(u64::MAX - 6)] {
            assert_eq!(bench.world.map_lookup(MAP, bad, CpuId(0)), None);
            assert_eq!(bench.world.map_update(MAP, bad, value, 0, CpuId(0)), Err(Errno::EFAULT));
            assert_eq!(bench.world.map_update(MAP, key, bad, 0, CpuId(0)), Err(Errno::EFAULT));
            let code = if kind == ARRAY { Errno::EINVAL } else { Errno::EFAULT };
            assert_eq!(bench.world.map_delete(MAP, bad), Err(code));
        }
        assert_eq!(bench.walk(), before);
    }
    let mut bench = Bench::new(def(QUEUE, 0, 8, 4));
    assert_eq!(bench.world.map_push(MAP, Ea::NULL, 0), Err(Errno::EFAULT));
    bench.push(5, 0).unwrap();
    assert_eq!(bench.world.map_pop(MAP, Ea::NULL, false), Err(Errno::EFAULT));
    assert_eq!(bench.pop(false), Ok(5));
}

#[test]
fn a_program_that_writes_over_keys_harms_only_what_it_sees() {
    for kind in [HASH, LRU_HASH] {
        let mut bench = Bench::new(def(kind, 8, 8, 8));
        for key in 0..8 {
            bench.update(key, key, 0, 0).unwrap();
        }
        let mut from = 0;
        while let Some(entry) = bench.world.maps().walk(MAP, from, CpuId(0)) {
            let MapKey::At(at) = entry.key else { panic!("a hash has its keys in memory") };
            bench.world.put(at, &3u64.to_le_bytes());
            from = entry.next;
        }
        for key in 0..8 {
            assert_eq!(bench.lookup(key, 0), Some(key));
            bench.update(key, key + 1, 0, 0).unwrap();
            bench.delete(key).unwrap();
        }
        assert_eq!(bench.walk(), []);
    }
}

#[test]
fn a_key_may_lie_in_the_element_that_is_written_next() {
    let mut bench = Bench::new(def(HASH, 8, 8, 1));
    bench.update(5, 50, 0, 0).unwrap();
    let value = bench.address(5, 0).unwrap();
    bench.delete(5).unwrap();
    // The freed element's old value, 50, is the key of what replaces it.
    let new = bench.put_value(9);
    bench.world.map_update(MAP, value, new, 0, CpuId(0)).unwrap();
    assert_eq!((bench.lookup(50, 0), bench.lookup(9, 0)), (Some(9), None));
    bench.delete(50).unwrap();
    assert_eq!(bench.walk(), []);
}

#[test]
fn a_walk_ends_whatever_happens_meanwhile() {
    let mut bench = Bench::new(def(HASH, 8, 8, 64));
    for key in 0..32 {
        bench.update(key, key, 0, 0).unwrap();
    }
    let (mut from, mut met) = (0, Vec::new());
    while let Some(entry) = bench.world.maps().walk(MAP, from, CpuId(0)) {
        let key = bench.word(entry.value);
        met.push(key);
        from = entry.next;
        // Deletes itself and its neighbour, writes another one, adds one.
        bench.delete(key).unwrap();
        let _ = bench.delete(key ^ 1);
        bench.update(31, 31, 0, 0).unwrap();
        bench.update(key + 100, key + 100, 0, 0).unwrap();
    }
    assert!(met.len() <= 64 + 4, "{met:?}");
    assert!((0..30).step_by(2).all(|key| met.contains(&key)), "{met:?}");
}
