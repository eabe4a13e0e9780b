//! Maps in maps.

use super::kinds::{ARRAY, ARRAY_OF_MAPS, HASH, INNER_MAP, QUEUE};
use super::{Errno, MAP, MapDef, VmWorld, def, world_of};
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, MapId, World};

/// A map of three maps like `inner`, which follows it.
fn outer(inner: MapDef, values: Vec<(u32, u32)>) -> Vec<MapDef> {
    let outer = MapDef { inner: Some(1), values, has_lock: false, ..def(ARRAY_OF_MAPS, 4, 4, 3) };
    vec![outer, inner]
}

fn lookup(world: &mut VmWorld, map: MapId, index: u32) -> Option<Ea> {
    let key = world.alloc(4).unwrap();
    world.put(key, &index.to_le_bytes());
    world.map_lookup(map, key, CpuId(0))
}

fn inner(world: &mut VmWorld, index: u32) -> Option<MapId> {
    lookup(world, MAP, index).map(|handle| world.map_at(handle).expect("it leads to a map"))
}

#[test]
fn user_space_puts_maps_in_that_are_like_the_template() {
    let mut world = world_of(&outer(def(ARRAY, 4, 8, 2), vec![(2, 1)]), false).unwrap();
    assert_eq!([0, 1, 2, 3].map(|index| inner(&mut world, index)), [None, None, Some(MapId(1)), None]);
    let (maps, region) = world.maps_mut();
    let added = maps.add_inner(region, MAP, 0, 0).unwrap();
    assert_eq!(maps.add_inner(region, MAP, 3, 0), Err(Errno::E2BIG));
    assert_eq!(maps.add_inner(region, MAP, 0, 5), Err(Errno::EINVAL), "arrays are as long as the template");
    assert_eq!(maps.add_inner(region, added, 0, 0), Err(Errno::EINVAL), "it is not a map of maps");
    assert_eq!(inner(&mut world, 0), Some(added));
    assert_eq!(world.maps().inner_at(MAP, 0).unwrap().1.max_entries, 2);
    let own = lookup(&mut world, added, 1).unwrap();
    world.put(own, &[7]);
    let other = lookup(&mut world, MapId(1), 1).unwrap();
    assert_eq!(world.slice(other, 1), Some(&[0][..]), "each has values of its own");
    assert_eq!(lookup(&mut world, added, 2), None);
}

#[test]
fn maps_that_are_there_are_put_in_and_taken_out() {
    let mut world = world_of(&outer(def(ARRAY, 4, 8, 2), vec![(2, 1)]), false).unwrap();
    let (maps, _) = world.maps_mut();
    assert_eq!(maps.put_inner(MAP, 0, MapId(1)), Ok(()));
    assert_eq!(maps.put_inner(MAP, 3, MapId(1)), Err(Errno::E2BIG));
    assert_eq!(maps.put_inner(MAP, 0, MapId(9)), Err(Errno::EINVAL), "there is no such map");
    assert_eq!(maps.put_inner(MAP, 0, MAP), Err(Errno::EINVAL), "it is not like the template");
    assert_eq!(maps.put_inner(MapId(1), 0, MapId(1)), Err(Errno::EINVAL), "it is not a map of maps");
    assert!(maps.take_inner(MAP, 2) && !maps.take_inner(MAP, 2) && !maps.take_inner(MapId(1), 0));
    assert_eq!([0, 2].map(|index| inner(&mut world, index)), [Some(MapId(1)), None]);
}

#[test]
fn other_kinds_may_have_other_lengths() {
    let free = MapDef { flags: INNER_MAP, ..def(ARRAY, 4, 8, 2) };
    for (template, possible) in [(def(ARRAY, 4, 8, 2), false), (free, true), (def(HASH, 4, 8, 2), true)] {
        let mut world = world_of(&outer(template, Vec::new()), false).unwrap();
        let (maps, region) = world.maps_mut();
        assert_eq!(maps.add_inner(region, MAP, 0, 5).is_ok(), possible);
    }
}

#[test]
fn there_is_an_end_to_maps() {
    let mut world = world_of(&outer(def(QUEUE, 0, 8, 2), Vec::new()), false).unwrap();
    let (maps, region) = world.maps_mut();
    for _ in 0..super::super::nested::LEAST_ADDED {
        maps.add_inner(region, MAP, 0, 0).unwrap();
    }
    assert_eq!(maps.add_inner(region, MAP, 0, 0), Err(Errno::ENOMEM));
}

#[test]
fn bad_maps_of_maps_are_refused() {
    let check = |maps: Vec<MapDef>, why: &str| {
        let error = world_of(&maps, false).err().map(|error| error.to_string());
        assert_eq!(error, Some(format!("map `m` is not possible: {why}")));
    };
    check(outer(def(ARRAY, 4, 8, 2), vec![(3, 1)]), "it names more maps than it has entries");
    check(outer(def(ARRAY, 4, 8, 2), vec![(0, 0)]), "a map in it is not like its template");
    let mut other_value = outer(def(HASH, 4, 8, 2), vec![(0, 2)]);
    other_value.push(def(HASH, 4, 16, 2));
    check(other_value, "a map in it is not like its template");
    check(vec![def(ARRAY_OF_MAPS, 4, 4, 3)], "a map of maps needs a template of its inner maps");
}
