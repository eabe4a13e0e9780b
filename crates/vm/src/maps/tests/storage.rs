//! Local storage of tasks and cgroups.

use super::kinds::{CGRP_STORAGE, NO_PREALLOC, TASK_STORAGE};
use super::{MapId, def, world_of};
use crate::memory::VmWorld;
use keel_abi::bpf::Owner::{Cgroup, Task};
use keel_abi::bpf::{Ea, Errno, World};
use keel_object::model::MapDef;

const TASKS: MapId = MapId(0);
const OTHERS: MapId = MapId(1);
const CGROUPS: MapId = MapId(2);

fn storage(kind: u32, value_size: u32) -> MapDef {
    MapDef { flags: NO_PREALLOC, ..def(kind, 4, value_size, 0) }
}

fn world() -> VmWorld {
    let maps = [storage(TASK_STORAGE, 24), storage(TASK_STORAGE, 256), storage(CGRP_STORAGE, 8)];
    world_of(&maps, false).unwrap()
}

#[test]
fn a_value_is_made_when_asked_for_and_zeroed() {
    let mut world = world();
    let init = world.alloc(24).unwrap();
    world.put(init, &[7; 24]);
    assert_eq!(world.storage_get(TASKS, Task(5), false, Ea::NULL), None);
    let at = world.storage_get(TASKS, Task(5), true, init).unwrap();
    assert_eq!(world.slice(at, 24), Some(&[7; 24][..]));
    assert_eq!(world.storage_get(TASKS, Task(5), true, Ea::NULL), Some(at));
    assert_eq!(world.storage_get(TASKS, Task(5), false, Ea::NULL), Some(at));
    assert_eq!(world.slice(at, 24), Some(&[7; 24][..]));
    assert_eq!(world.storage_delete(TASKS, Task(5)), Ok(()));
    assert_eq!(world.storage_delete(TASKS, Task(5)), Err(Errno::ENOENT));
    assert_eq!(world.storage_get(TASKS, Task(5), false, Ea::NULL), None);
    let again = world.storage_get(TASKS, Task(5), true, Ea::NULL).unwrap();
    assert_eq!(world.slice(again, 24), Some(&[0; 24][..]));
}

#[test]
fn owners_share_neither_bytes_nor_lines() {
    let mut world = world();
    let ids = [0, 1, 2, 63, 64, 1023, 1024, 1025, 3071, 3072, 100_000, (1 << 20) - 1, 1 << 20];
    let mut spans = Vec::new();
    for id in ids {
        for (map, size) in [(TASKS, 24), (OTHERS, 256)] {
            let at = world.storage_get(map, Task(id), true, Ea::NULL).unwrap();
            assert_eq!(at.0 % 8, 0);
            assert_eq!(world.slice(at, size), Some(&vec![0; size as usize][..]));
            world.slice_mut(at, size).unwrap().fill(0xff);
            spans.push((at.0 / 64, (at.0 + size - 1) / 64));
        }
    }
    spans.sort_unstable();
    assert!(spans.windows(2).all(|w| w[0].1 < w[1].0), "{spans:?}");
}

#[test]
fn a_forgotten_owner_has_nothing_left_anywhere_and_others_keep_theirs() {
    let mut world = world();
    let make = |world: &mut VmWorld, map, owner| world.storage_get(map, owner, true, Ea::NULL).is_some();
    assert!(make(&mut world, TASKS, Task(3)) && make(&mut world, OTHERS, Task(3)));
    assert!(make(&mut world, CGROUPS, Cgroup(3)) && make(&mut world, TASKS, Task(4)));
    world.storage_forget(Task(3));
    world.storage_forget(Task(1_000_000));
    let left = [(TASKS, Task(3)), (OTHERS, Task(3)), (CGROUPS, Cgroup(3)), (TASKS, Task(4))];
    let left = left.map(|(map, owner)| world.storage_get(map, owner, false, Ea::NULL).is_some());
    assert_eq!(left, [false, false, true, true]);
    world.storage_forget(Cgroup(3));
    assert_eq!(world.storage_get(CGROUPS, Cgroup(3), false, Ea::NULL), None);
}

#[test]
fn the_wrong_owner_or_map_has_nothing() {
    let mut world = world_of(&[storage(TASK_STORAGE, 8), def(super::kinds::ARRAY, 4, 8, 1)], false).unwrap();
    assert_eq!(world.storage_get(TASKS, Cgroup(1), true, Ea::NULL), None);
    assert_eq!(world.storage_delete(TASKS, Cgroup(1)), Err(Errno::EINVAL));
    assert_eq!(world.storage_get(MapId(1), Task(1), true, Ea::NULL), None);
    assert_eq!(world.storage_get(MapId(7), Task(1), true, Ea::NULL), None);
    assert_eq!(world.storage_get(TASKS, Task(u32::MAX), true, Ea::NULL), None);
    assert_eq!(world.storage_get(TASKS, Task(1), true, Ea(1)), None);
    assert_eq!(world.storage_get(TASKS, Task(1), false, Ea::NULL), None);
}

#[test]
fn a_value_is_where_it_was_in_every_run() {
    let run = |checked| {
        let maps = [storage(TASK_STORAGE, 24), storage(TASK_STORAGE, 256)];
        let mut world = world_of(&maps, checked).unwrap();
        let mut get = |map, id| world.storage_get(map, Task(id), true, Ea::NULL).unwrap();
        [get(TASKS, 3), get(OTHERS, 5000), get(TASKS, 20_000), get(OTHERS, 0)]
    };
    assert_eq!(run(false), run(true));
    assert_eq!(run(false), run(false));
}
