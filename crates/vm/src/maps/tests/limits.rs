//! What is refused, and what the maps show besides their entries.

use super::kinds::{
    ARRAY, CGRP_STORAGE, HASH, LRU_HASH, NAMES, NO_PREALLOC, PERCPU_ARRAY, PERCPU_HASH, QUEUE, STACK,
    TASK_STORAGE,
};
use super::{MAP, MapDef, MapError, MapId, Region, def, world_of};
use crate::maps::features::SERVED;
use keel_abi::bpf::{Ea, MapInfo, World};
use keel_abi::{CpuId, Topology};

fn check(map: MapDef, expected: &str) {
    let given = match world_of(&[map], false) {
        Ok(_) => "possible".to_owned(),
        Err(error) => error.to_string(),
    };
    assert_eq!(given, expected);
}

#[test]
fn types_of_later_days_are_refused_by_name() {
    let types = [(13, "HASH_OF_MAPS"), (30, "BLOOM_FILTER")];
    for (kind, name) in types {
        let text = format!("map `m` is of type BPF_MAP_TYPE_{name}, which is not supported");
        check(def(kind, 4, 4, 1), &text);
    }
    check(def(9999, 4, 4, 1), "map `m` is of type 9999, which is not supported");
}

#[test]
fn exactly_the_kinds_that_are_listed_can_be_made() {
    for kind in 1..NAMES.len() as u32 {
        let unknown = match world_of(&[def(kind, 4, 4, 1)], false) {
            Err(error) => error.to_string().ends_with("which is not supported"),
            Ok(_) => false,
        };
        assert_eq!(unknown, !SERVED.contains(&kind), "{}", NAMES[kind as usize]);
    }
}

#[test]
fn what_the_kernel_refuses_is_refused() {
    let why = |map, text: &str| check(map, &format!("map `m` is not possible: {text}"));
    why(def(ARRAY, 8, 8, 1), "the key of an array has 4 bytes");
    why(def(ARRAY, 4, 0, 1), "its value has no bytes");
    why(def(ARRAY, 4, 8, 0), "max_entries is 0");
    why(def(ARRAY, 4, 1 << 31, 1), "its value has more than 2 GiB");
    why(MapDef { initial: vec![1; 9], ..def(ARRAY, 4, 8, 1) }, "its contents exceed its value");
    why(def(PERCPU_ARRAY, 4, 32769, 1), "a per-CPU value has at most 32 KiB");
    why(def(HASH, 0, 8, 1), "its key has no bytes");
    why(def(HASH, 8, 0, 1), "its value has no bytes");
    why(def(HASH, 8, 8, 0), "max_entries is 0");
    why(def(HASH, 8, 4 << 20, 1), "its key and value exceed 4 MiB");
    why(MapDef { flags: NO_PREALLOC, ..def(LRU_HASH, 8, 8, 1) }, "an LRU map is always preallocated");
    why(def(QUEUE, 4, 8, 1), "a queue or stack has no key");
    why(def(STACK, 0, 8, 0), "max_entries is 0");
    why(def(TASK_STORAGE, 4, 8, 0), "local storage needs BPF_F_NO_PREALLOC");
    let storage = |kind, size, entries| MapDef { flags: NO_PREALLOC, ..def(kind, 4, size, entries) };
    why(storage(TASK_STORAGE, 8, 1), "max_entries of local storage must be 0");
    why(storage(CGRP_STORAGE, 0, 0), "its value has no bytes");
    why(storage(CGRP_STORAGE, 65536, 0), "a value of local storage has less than 64 KiB");
    check(MapDef { flags: NO_PREALLOC | 1 << 10, ..def(HASH, 8, 8, 1) }, "possible");
}

#[test]
fn absurd_sizes_are_refused_with_what_they_need() {
    let needs = |map, bytes: u64| {
        check(map, &format!("map `m` needs {bytes} bytes, more than is available"));
    };
    needs(def(ARRAY, 4, (1 << 31) - 1, u32::MAX), (1 << 31) * u64::from(u32::MAX));
    needs(def(PERCPU_ARRAY, 4, 8, u32::MAX), ((1 << 35) - 8u64).next_multiple_of(64) * 4);
    needs(def(HASH, 8, 8, u32::MAX), 64 * (u64::from(u32::MAX) + 4));
    needs(def(PERCPU_HASH, 8, 32768, 1 << 20), 4 << 35);
    needs(def(QUEUE, 0, 1 << 20, 1 << 20), (1 << 20) * ((1 << 20) + 1));
    check(def(HASH, 8, 8, 10_000_000), "possible");
    let many: Vec<MapDef> = (0..10).map(|_| def(ARRAY, 4, 1 << 30, 8)).collect();
    let error = world_of(&many, false).err().unwrap().to_string();
    assert_eq!(error, "map `m` needs 8589934592 bytes, more than is available");
    let constants = MapDef { read_only: true, ..def(ARRAY, 4, 1 << 30, 8) };
    assert!(world_of(&[constants], false).is_err());
}

#[test]
fn global_data_has_its_first_contents_and_an_address() {
    let data = MapDef { name: ".data".into(), initial: vec![1, 2, 3], ..def(ARRAY, 4, 5, 1) };
    let rodata =
        MapDef { name: ".rodata".into(), initial: vec![9; 4], read_only: true, ..def(ARRAY, 4, 4, 1) };
    let mut world = world_of(&[data, rodata, def(HASH, 4, 4, 1)], true).unwrap();
    let (data, rodata, hash) = (MapId(0), MapId(1), MapId(2));
    assert_eq!(world.read_variable(data, 0, 5), Some(&[1, 2, 3, 0, 0][..]));
    assert_eq!(world.read_variable(data, 1, 5), None);
    assert_eq!(world.read_variable(data, u32::MAX, u32::MAX), None);
    assert_eq!(world.read_variable(hash, 0, 1), None);
    let at = world.map_value_address(data, 0).unwrap();
    assert_eq!(world.map_value_address(data, 4), Some(at.offset(4)));
    assert_eq!(world.map_value_address(data, 5), None);
    assert_eq!(world.map_value_address(hash, 0), None);
    let constant = world.map_value_address(rodata, 0).unwrap();
    assert!(world.slice_mut(at, 5).is_some() && world.slice_mut(constant, 1).is_none());
    assert!(world.region().is_live(constant, 4, false) && !world.region().is_live(constant, 4, true));
    assert!(world.write_variable(rodata, 1, &[5]) && !world.write_variable(rodata, 4, &[5]));
    assert_eq!(world.slice(constant, 4), Some(&[9, 5, 9, 9][..]));
    let key = world.alloc(4).unwrap();
    assert!(world.map_update(rodata, key, at, 0, CpuId(0)).is_err());
}

#[test]
fn a_handle_leads_to_its_map_and_nothing_else_does() {
    let world = world_of(&[def(ARRAY, 4, 8, 1), def(HASH, 8, 16, 2)], true).unwrap();
    let info = MapInfo { kind: HASH, key_size: 8, value_size: 16, max_entries: 2 };
    assert_eq!(world.map_info(MapId(1)), info);
    for map in [MapId(0), MapId(1)] {
        let handle = world.map_handle(map);
        assert_eq!(world.map_at(handle), Some(map));
        assert!(world.slice(handle, 64).is_some_and(|s| s.iter().all(|&b| b == 0)));
        assert_eq!(world.map_at(handle.offset(8)), None);
    }
    let beyond = world.map_handle(MapId(1)).offset(256);
    for wild in [Ea::NULL, Ea(u64::MAX), beyond, world.map_value_address(MAP, 0).unwrap()] {
        assert_eq!(world.map_at(wild), None);
    }
}

#[test]
fn cpus_share_no_line_of_their_own_values() {
    for kind in [PERCPU_ARRAY, PERCPU_HASH] {
        let mut bench = super::Bench::new(def(kind, 4, 4, 3));
        let mut lines = Vec::new();
        for cpu in 0..super::CPUS {
            bench.update(2, 1, 0, cpu).unwrap();
            lines.push(bench.address(2, cpu).unwrap().0 / 64);
        }
        lines.dedup();
        assert_eq!(lines.len(), super::CPUS as usize);
    }
}

#[test]
fn an_error_of_a_map_is_an_error_of_the_world() {
    let transfers = keel_abi::lines::Transfers::new(Topology::flat(1), Default::default());
    let mut region = Region::new(1 << 30, false, transfers).unwrap();
    let error = super::super::Maps::new(&[def(30, 0, 8, 4096)], 1, &mut region).err();
    let kind = "BPF_MAP_TYPE_BLOOM_FILTER".into();
    assert_eq!(error, Some(MapError::Unsupported { map: "m".into(), kind }));
}
