//! Arenas: what is refused, and what the region knows of their pages. `tests/bpf/arena.bpf.c` has the kfuncs' rules.

use super::kinds::{ARENA, MMAPABLE, NO_USER_CONV};
use super::{MAP, MapDef, def, world_of};
use crate::maps::{kernel_address, user_half};
use crate::memory::{PAGE_BYTES, VmWorld};
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, Errno, World};
use keel_abi::lines::Line;

const START: u64 = 1 << 44;

fn arena(pages: u32) -> MapDef {
    MapDef { flags: MMAPABLE, extra: START, ..def(ARENA, 0, 0, pages) }
}

fn kernel(user: Ea) -> Ea {
    Ea(kernel_address(user.0))
}

#[test]
fn what_the_kernel_refuses_is_refused() {
    let check = |map: MapDef, expected: &str| {
        let given = world_of(&[map], false).err().map_or("possible".to_owned(), |e| e.to_string());
        assert_eq!(given.trim_start_matches("map `m` is not possible: "), expected);
    };
    check(arena(1 << 20), "possible");
    check(arena((1 << 20) + 1), "an arena has at most 4 GiB");
    check(arena(0), "max_entries is 0");
    check(MapDef { key_size: 4, ..arena(1) }, "an arena has neither key nor value");
    check(MapDef { flags: 0, ..arena(1) }, "an arena needs BPF_F_MMAPABLE");
    check(MapDef { flags: MMAPABLE | 1, ..arena(1) }, "it has flags that arenas do not take");
    check(MapDef { extra: START + 8, ..arena(1) }, "map_extra is no address of a page");
    check(MapDef { extra: START - PAGE_BYTES, ..arena(1) }, "possible");
    check(MapDef { extra: START - PAGE_BYTES, ..arena(2) }, "it crosses a multiple of 4 GiB");
    check(MapDef { extra: 0u64.wrapping_sub(PAGE_BYTES), ..arena(2) }, "it crosses a multiple of 4 GiB");
    let initial = vec![1; PAGE_BYTES as usize + 1];
    check(MapDef { initial: initial.clone(), ..arena(2) }, "possible");
    check(MapDef { initial, ..arena(1) }, "map `m` needs 4097 bytes, more than is available");
}

#[test]
fn pages_hold_something_between_allocation_and_release() {
    let check = |world: &mut VmWorld| {
        let at = world.arena_alloc(MAP, Ea::NULL, 2).unwrap();
        let here = kernel(at);
        assert_eq!(world.slice(here, 2 * PAGE_BYTES), Some(&[0; 2 * PAGE_BYTES as usize][..]));
        assert!(world.slice(here, 2 * PAGE_BYTES + 1).is_none(), "the page behind");
        assert!(world.slice(Ea(here.0 - 1), 1).is_none(), "the guard, or the page before");
        assert!(world.region().is_live(Ea(here.0 + PAGE_BYTES - 4), 8, true), "pages are no limits");
        world.put(Ea(here.0 + 100), &[7; 4]);
        world.touch_ps(here, 8, CpuId(1), true);
        assert_eq!(world.region().line(here).sharers, 1 << 1);
        assert_eq!(world.arena_free(MAP, at, 1), 1);
        assert_eq!(world.arena_free(MAP, at, 2), 1, "one was given back already");
        assert!(!world.region().is_live(here, 1, false));
        world.touch_ps(here, 8, CpuId(3), true);
        assert_eq!(world.arena_alloc(MAP, at, 1), Some(at));
        assert_eq!(world.slice(here, PAGE_BYTES), Some(&[0; PAGE_BYTES as usize][..]));
        assert_eq!(world.region().line(here), Line::default(), "nobody holds a line of a new page");
        assert_eq!(world.arena_free(MAP, at, 1), 1);
    };
    for checked in [false, true] {
        check(&mut world_of(&[arena(8)], checked).unwrap());
        // The first page's low half need not be 0.
        check(&mut world_of(&[MapDef { extra: START + 5 * PAGE_BYTES, ..arena(8) }], checked).unwrap());
        check(&mut world_of(&[MapDef { extra: START - 8 * PAGE_BYTES, ..arena(8) }], checked).unwrap());
        check(&mut world_of(&[MapDef { extra: 0, ..arena(8) }], checked).unwrap());
    }
}

/// An access that begins in a page and ends in the next is judged by its first byte; nothing of it is left there.
#[test]
fn new_pages_are_empty_whatever_was_written_across_their_edge() {
    let mut world = world_of(&[arena(3)], false).unwrap();
    let page = |world: &mut VmWorld, at| world.arena_alloc(MAP, Ea(START + at * PAGE_BYTES), 1).unwrap();
    let edge = |world: &mut VmWorld| {
        // As native code does.
        let raw = world.region().raw();
        let off = kernel_address(START + 2 * PAGE_BYTES - 4) - crate::memory::BASE;
        // SAFETY: the offset is below the high-water mark.
        #[allow(unsafe_code)]
        unsafe {
            raw.base.add(off as usize).cast::<u64>().write_unaligned(u64::MAX);
        }
    };
    let first = page(&mut world, 1);
    edge(&mut world);
    let second = page(&mut world, 2);
    assert_eq!(world.slice(kernel(second), 8), Some(&[0; 8][..]));
    world.arena_free(MAP, second, 1);
    edge(&mut world);
    world.arena_free(MAP, first, 1);
    world.arena_alloc(MAP, first, 2).unwrap();
    assert_eq!(world.slice(kernel(second), 8), Some(&[0; 8][..]));
}

#[test]
fn a_whole_arena_costs_nothing_until_it_is_touched() {
    let mut world = world_of(&[arena(1 << 20)], false).unwrap();
    for _ in 0..20 {
        let at = world.arena_alloc(MAP, Ea::NULL, 1 << 20).unwrap();
        assert_eq!(at, Ea(START));
        world.put(kernel(Ea(START + (1 << 31))), &[7]);
        assert_eq!(world.arena_free(MAP, at, u32::MAX), 1 << 20);
    }
    assert_eq!(world.arena_alloc(MAP, Ea::NULL, (1 << 20) + 1), None);
    let at = world.arena_alloc(MAP, Ea(START + (1 << 31)), 1).unwrap();
    assert_eq!(world.slice(kernel(at), 1), Some(&[0][..]));
}

#[test]
fn variables_lie_in_the_last_pages() {
    let initial: Vec<u8> = (0..5000).map(|i| i as u8).collect();
    let mut world = world_of(&[MapDef { initial: initial.clone(), ..arena(10) }], true).unwrap();
    assert_eq!(world.map_value_address(MAP, 4), Some(Ea(START + 8 * PAGE_BYTES + 4)));
    assert_eq!(world.map_value_address(MAP, 5000), None);
    assert_eq!(world.read_variable(MAP, 0, 5000), Some(&initial[..]));
    assert!(world.write_variable(MAP, 4999, &[9]) && !world.write_variable(MAP, 4999, &[9, 9]));
    assert_eq!(world.slice(kernel(Ea(START + 8 * PAGE_BYTES + 4999)), 2), Some(&[9, 0][..]));
    assert_eq!(world.arena_alloc(MAP, Ea::NULL, 9), None);
    assert_eq!(world.arena_alloc(MAP, Ea::NULL, 8), Some(Ea(START)));
}

#[test]
fn other_maps_are_no_arenas_and_an_arena_has_no_elements() {
    let mut world = world_of(&[def(super::kinds::ARRAY, 4, 8, 1)], false).unwrap();
    assert_eq!(world.arena_alloc(MAP, Ea::NULL, 1), None);
    assert_eq!(world.arena_free(MAP, Ea(START), 1), 0);
    assert_eq!(world.arena_reserve(MAP, Ea(START), 1), Err(Errno::EINVAL));
    let mut world = world_of(&[arena(1)], false).unwrap();
    let key = world.alloc(8).unwrap();
    assert_eq!(world.map_lookup(MAP, key, CpuId(0)), None);
    assert_eq!(world.map_update(MAP, key, key, 0, CpuId(0)), Err(Errno::EOPNOTSUPP));
    assert_eq!(world.map_delete(MAP, key), Err(Errno::EOPNOTSUPP));
    assert_eq!(world.map_push(MAP, key, 0), Err(Errno::EOPNOTSUPP));
}

#[test]
fn casts_to_user_addresses_take_the_high_half_of_the_first() {
    let check = |map: MapDef, expected| assert_eq!(user_half(&map), expected);
    check(arena(1), Some(START));
    check(MapDef { extra: START + 7 * PAGE_BYTES, ..arena(1) }, Some(START));
    check(MapDef { extra: 0, ..arena(1) }, Some(0x7f00 << 32));
    check(MapDef { flags: MMAPABLE | NO_USER_CONV, ..arena(1) }, Some(0));
    check(def(super::kinds::ARRAY, 4, 8, 1), None);
}
