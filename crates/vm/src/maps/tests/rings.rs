//! Ring buffers as programs and user space use them together.

use super::kinds::{ARRAY, RINGBUF, USER_RINGBUF};
use super::{Ea, Errno, MAP, MapDef, VmWorld, def, world_of};
use keel_abi::bpf::{RingCount, World};
use proptest::prelude::*;

/// Bytes of the smallest ring.
const RING: u64 = 4096;

fn ring(kind: u32) -> VmWorld {
    world_of(&[def(kind, 0, 0, RING as u32)], true).expect("the map is possible")
}

fn reserve(world: &mut VmWorld, byte: u8, len: u64) -> Option<Ea> {
    let at = world.ring_reserve(MAP, len)?;
    world.slice_mut(at, len).expect("the record is in the world").fill(byte);
    Some(at)
}

fn write(world: &mut VmWorld, byte: u8, len: u64) -> bool {
    reserve(world, byte, len).is_some_and(|at| world.ring_commit(at, false).is_some())
}

fn take(world: &mut VmWorld, most: usize) -> Vec<Vec<u8>> {
    world.take_records(MAP, most).expect("it is a ring buffer")
}

#[test]
fn records_come_out_in_the_order_of_their_reservation() {
    let mut world = ring(RINGBUF);
    let [first, second, third] = [1, 2, 3].map(|byte| reserve(&mut world, byte, 3).unwrap());
    assert!(world.ring_commit(second, false).is_some() && world.ring_commit(third, true).is_some());
    assert_eq!(take(&mut world, 9), [] as [Vec<u8>; 0], "the first is still being written");
    assert!(world.ring_commit(first, false).is_some());
    assert!(write(&mut world, 4, 0));
    assert_eq!(take(&mut world, 1), [vec![1; 3]], "no more than asked for");
    assert_eq!(take(&mut world, 9), [vec![2; 3], vec![]], "without the one that was discarded");
    assert_eq!(world.ring_count(MAP, RingCount::Available), Some(0));
}

#[test]
fn what_was_not_reserved_is_not_submitted() {
    let mut world = ring(RINGBUF);
    let at = reserve(&mut world, 1, 8).unwrap();
    for wrong in [Ea::NULL, at.offset(8), at.offset(1), at.offset(RING), Ea(u64::MAX)] {
        assert!(world.ring_commit(wrong, false).is_none(), "{wrong:?}");
    }
    assert!(world.ring_commit(at, false).is_some());
    assert!(world.ring_commit(at, false).is_none(), "nor twice");
}

#[test]
fn a_record_in_the_works_holds_up_the_producers_behind_it() {
    let mut world = ring(RINGBUF);
    let slow = reserve(&mut world, 1, 1000).unwrap();
    assert!(write(&mut world, 2, 1000) && write(&mut world, 3, 1000));
    assert!(!write(&mut world, 4, 1080), "1088 bytes with the header, of which 1072 are left");
    assert!(write(&mut world, 4, 1000));
    assert!(world.ring_commit(slow, false).is_some());
    assert_eq!(take(&mut world, 2).len(), 2);
    assert!(write(&mut world, 5, 2000));
}

#[test]
fn bad_ring_buffers_are_refused() {
    let check = |map: MapDef, why: &str| {
        let error = world_of(&[map], false).err().map(|error| error.to_string());
        assert_eq!(error, Some(format!("map `m` {why}")));
    };
    check(def(RINGBUF, 0, 8, 4096), "is not possible: a ring buffer has neither key nor value");
    check(def(RINGBUF, 0, 0, 0), "is not possible: max_entries is 0");
    check(def(USER_RINGBUF, 0, 0, u32::MAX), "is not possible: a ring buffer has at most 2 GiB");
    let flags = |kind, flags| MapDef { flags, ..def(kind, 0, 0, 4096) };
    check(flags(USER_RINGBUF, 1), "is not possible: it has flags that ring buffers do not take");
    let overwrites = "is of type BPF_MAP_TYPE_RINGBUF with BPF_F_RB_OVERWRITE, which is not supported";
    check(flags(RINGBUF, 1 << 19), overwrites);
}

#[test]
fn other_maps_have_no_records() {
    let mut world = world_of(&[def(ARRAY, 4, 8, 1)], false).unwrap();
    assert_eq!(world.ring_reserve(MAP, 8), None);
    assert_eq!(world.take_records(MAP, 1), None);
    assert_eq!(world.put_record(MAP, &[1]), Err(Errno::EINVAL));
    assert_eq!(world.ring_count(MAP, RingCount::Size), None);
}

#[test]
fn user_space_fills_its_ring_to_the_last_byte() {
    let mut world = ring(USER_RINGBUF);
    assert_eq!(world.put_record(MAP, &[0; 4089]), Err(Errno::E2BIG));
    assert_eq!(world.put_record(MAP, &[0; 4000]), Ok(()));
    assert_eq!(world.put_record(MAP, &[0; 81]), Err(Errno::ENOSPC));
    assert_eq!(world.put_record(MAP, &[0; 80]), Ok(()));
    assert_eq!(world.put_record(MAP, &[]), Err(Errno::ENOSPC));
}

/// A record of the program's own pages: header and footprint.
fn written(header: u32, len: usize) -> Vec<u8> {
    let mut bytes = vec![7; (len + 8).next_multiple_of(8)];
    bytes[..4].copy_from_slice(&header.to_le_bytes());
    bytes
}

#[test]
fn what_user_space_writes_to_its_pages_is_not_believed() {
    const BUSY: u32 = 1 << 31;
    const DISCARD: u32 = 1 << 30;
    let check = |producer: u64, bytes: &[u8], expected: Result<u64, Errno>| {
        let mut world = ring(USER_RINGBUF);
        world.ring_written(MAP, producer, bytes);
        let (maps, region) = world.maps_mut();
        assert_eq!(maps.peek_record(region, MAP).map(|(_, len)| len), expected, "{producer}");
    };
    check(0, &[], Err(Errno::ENOENT));
    check(24, &written(16, 16), Ok(16));
    check(24, &written(16 | BUSY, 16), Err(Errno::ENOENT));
    check(24, &written(16 | DISCARD, 16), Err(Errno::EAGAIN));
    check(20, &written(16, 16), Err(Errno::EINVAL));
    check(16, &written(16, 16), Err(Errno::EINVAL));
    check(1 << 40, &written(5000, 4088), Err(Errno::E2BIG));
    check(!7, &written(BUSY - 1, 4088), Err(Errno::E2BIG));
}

#[test]
fn a_record_of_user_space_that_wraps_is_in_one_piece() {
    let mut world = ring(USER_RINGBUF);
    world.ring_written(MAP, 4088, &written(4080, 4080));
    world.maps_mut().0.release_record(MAP, 4080);
    assert_eq!(world.ring_consumed(MAP), Some(4088));
    let record: Vec<u8> = [&written(24, 0)[..8], &[1, 2, 3, 4, 5, 6, 7, 8].repeat(3)].concat();
    world.ring_written(MAP, 4088 + 32, &record);
    let (maps, region) = world.maps_mut();
    let (at, len) = maps.peek_record(region, MAP).unwrap();
    assert_eq!(world.slice(at, len), Some(&record[8..]));
}

proptest! {
    #[test]
    fn a_ring_is_a_queue_of_so_many_bytes(steps in proptest::collection::vec((0u64..1500, 0u8..4), 1..200)) {
        let mut world = ring(RINGBUF);
        let mut model = std::collections::VecDeque::new();
        let mut used = 0;
        for (number, (len, what)) in steps.into_iter().enumerate() {
            let footprint = (len + 8).next_multiple_of(8);
            if what == 0 {
                let taken = take(&mut world, 2);
                let expected: Vec<Vec<u8>> = (0..2).filter_map(|_| model.pop_front()).collect();
                used -= expected.iter().map(|record| (record.len() as u64 + 8).next_multiple_of(8)).sum::<u64>();
                prop_assert_eq!(taken, expected);
                continue;
            }
            let byte = number as u8;
            let fits = used + footprint < RING;
            prop_assert_eq!(write(&mut world, byte, len), fits);
            if fits {
                used += footprint;
                model.push_back(vec![byte; len as usize]);
            }
        }
    }
}
