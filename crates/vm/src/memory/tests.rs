//! The region, its allocator and its lines against their rules.

use super::{BASE, HUGE_BYTES, InvalidAccesses, PAGE_BYTES, Region, ReserveError};
use keel_abi::bpf::Ea;
use keel_abi::lines::{Line, LineCosts, Transfers};
use keel_abi::{CpuId, Topology};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn transfers() -> Transfers {
    let costs = LineCosts {
        smt_ps: 1,
        llc_ps: 10,
        node_ps: 100,
        hop_ps: 1000,
        more_hops_ps: 500,
        memory_ps: 7,
        ..LineCosts::default()
    };
    Transfers::new(Topology::regular(2, 2, 2, 2), costs)
}

fn region(checked: bool) -> Region {
    Region::new(8 << 30, checked, transfers()).expect("eight gigabytes of address space")
}

/// Bytes of this process that are in memory.
fn resident() -> u64 {
    let statm = text_of("/proc/self/statm");
    let pages: u64 = statm.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("statm has two numbers");
    pages * PAGE_BYTES
}

#[expect(clippy::disallowed_methods, reason = "a test that measures this process")]
fn text_of(path: &str) -> String {
    std::fs::read_to_string(path).expect("Linux reports the process size")
}

#[test]
fn a_request_for_memory_changes_nothing_anywhere() {
    let mut region = region(false);
    let at = region.alloc(100).unwrap();
    for at in [at.0, BASE, BASE + region.high_water(), BASE - 1, 0, u64::MAX] {
        let before = region.line(Ea(at));
        region.fetch(Ea(at), &[0, 64, 511, 512]);
        assert_eq!(region.line(Ea(at)), before);
    }
    assert_eq!(region.invalid(), InvalidAccesses::default());
}

#[test]
fn accesses_are_bounded_at_every_edge() {
    let mut region = region(false);
    let at = region.alloc(100).unwrap();
    let end = BASE + region.high_water();
    // A size class has 128 bytes for these 100.
    assert_eq!(end, at.0 + 128);
    let check = |region: &mut Region, at: u64, len: u64, readable: bool, writable: bool| {
        assert_eq!(region.slice(Ea(at), len).is_some(), readable, "read {len} at {at:#x}");
        assert_eq!(region.slice_mut(Ea(at), len).is_some(), writable, "write {len} at {at:#x}");
        if !readable {
            assert_eq!(region.touch_ps(Ea(at), len, CpuId(0), true), 0);
            assert_eq!(region.line(Ea(at)), Line::default());
        }
    };
    check(&mut region, end - 8, 8, true, true);
    check(&mut region, end - 7, 8, false, false);
    check(&mut region, end, 0, true, true);
    check(&mut region, end, 1, false, false);
    check(&mut region, BASE, 8, true, false);
    for wild in [0, 1, BASE - 1, BASE - 8, u64::MAX, u64::MAX - 7, BASE + (4 << 30), i64::MAX as u64] {
        check(&mut region, wild, 8, false, false);
        check(&mut region, wild, u64::MAX, false, false);
        check(&mut region, wild, 0u64.wrapping_sub(wild), false, false);
    }
    check(&mut region, at.0, u64::MAX, false, false);
    check(&mut region, at.0, u64::MAX - at.0 + 1, false, false);
}

#[test]
fn integers_are_little_endian_and_invalid_accesses_are_counted() {
    let mut region = region(false);
    let at = region.alloc(16).unwrap();
    region.store(at, 8, 0x0102_0304_0506_0708);
    let loads: Vec<u64> = (1..=8).map(|len| region.load(at, len)).collect();
    let expected = (1..=8).map(|len| 0x0102_0304_0506_0708 & u64::MAX >> (64 - 8 * len));
    assert_eq!(loads, expected.collect::<Vec<_>>());
    for len in 1..=8 {
        region.store(at, 8, 0);
        region.store(at.offset(1), len, u64::MAX);
        assert_eq!(region.load(at, 8), (u64::MAX >> (64 - 8 * len)) << 8, "{len} bytes");
    }
    assert_eq!((region.load(Ea(BASE - 1), 2), region.load(Ea(u64::MAX), 8)), (0, 0));
    region.store(Ea(BASE + region.high_water() - 3), 4, 1);
    assert_eq!(region.invalid(), InvalidAccesses { loads: 2, stores: 1, frees: 0 });
}

#[test]
fn what_is_read_only_is_placed_first_and_not_written() {
    let mut region = region(true);
    let constant = region.place_read_only(10).unwrap();
    assert_eq!(constant, Ea(BASE + PAGE_BYTES));
    region.slice_mut_anyway(constant, 2).unwrap().copy_from_slice(&[1, 2]);
    assert_eq!(region.place_read_only(10), Some(constant.offset(64)));
    let object = region.alloc(8).unwrap();
    assert_eq!(region.slice(constant, 3), Some(&[1, 2, 0][..]));
    assert!(region.slice_mut(constant, 1).is_none());
    assert!(region.is_live(constant, 10, false) && !region.is_live(constant, 10, true));
    assert!(!region.is_live(constant, 11, false));
    assert!(region.is_live(object, 8, true) && !region.is_live(object, 9, false));
    assert!(!region.is_live(Ea(BASE), 1, false));
    region.free(object);
    assert!(!region.is_live(object, 8, false));
}

#[test]
fn wrong_frees_are_counted_and_change_nothing() {
    let mut region = region(false);
    let constant = region.place_read_only(8).unwrap();
    let (small, large) = (region.alloc(48).unwrap(), region.alloc(100_000).unwrap());
    let area = region.reserve(8192).unwrap();
    let (freed, freed_large) = (region.alloc(48).unwrap(), region.alloc(100_000).unwrap());
    region.free(freed);
    region.free(freed_large);
    let middle = [small.offset(8), large.offset(4096), area.offset(8)];
    let wrong = [Ea::NULL, Ea(BASE), Ea(u64::MAX), constant, area, freed, freed_large, small.offset(960)];
    for at in wrong.into_iter().chain(middle) {
        region.free(at);
    }
    assert_eq!(region.invalid().frees, 11);
    assert_eq!((region.alloc(48), region.alloc(100_000)), (Some(freed), Some(freed_large)));
    assert_ne!(region.alloc(48), Some(freed));
}

#[test]
fn a_full_region_says_so() {
    let mut region = Region::new(4 << 20, false, transfers()).unwrap();
    assert_eq!(region.reserve(u64::MAX), None);
    assert_eq!(region.alloc(u64::MAX), None);
    assert_eq!(region.place(u64::MAX - 4096, 64), None);
    let areas = (0..).map_while(|_| region.reserve(64 << 10)).count();
    assert_eq!(areas, 32);
    let objects = (0..).map_while(|_| region.alloc(1000)).count();
    assert_eq!(objects, 31 * 64);
    assert!(region.alloc(8).is_none());
    assert!(Region::new(1 << 46, false, transfers()).map(|r| r.capacity()).is_ok_and(|c| c == 1 << 46));
}

#[test]
fn a_large_address_space_that_the_host_refuses_is_an_error() {
    let regions: Result<Vec<Region>, _> = (0..4).map(|_| Region::new(1 << 46, false, transfers())).collect();
    let text = regions.err().expect("a process has 47 bits of addresses").to_string();
    assert!(
        text.starts_with("each run reserves") && text.contains("raise the limit with ulimit -v"),
        "{text}"
    );
}

#[test]
fn reserved_space_costs_no_memory_until_touched() {
    let mut region = Region::new(64 << 30, false, transfers()).unwrap();
    // Other tests of this process allocate memory, too. What reserving must not cost is gigabytes.
    let before = resident();
    let area = region.reserve(32 << 30).unwrap();
    assert_eq!(area.0 % HUGE_BYTES, 0);
    let grown = resident().saturating_sub(before);
    assert!(grown < 256 << 20, "{grown} bytes for nothing");
    region.store(area.offset(16 << 30), 8, 1);
    assert_eq!(region.touch_ps(area.offset(31 << 30), 8, CpuId(3), false), 7);
    let grown = resident().saturating_sub(before);
    assert!(grown < 256 << 20, "{grown} bytes for two words");
}

#[test]
fn freed_large_objects_are_zeroed_before_reuse() {
    let mut region = region(false);
    let at = region.alloc(70_000).unwrap();
    region.slice_mut(at, 70_000).unwrap().fill(0xff);
    region.free(at);
    let again = region.alloc(70_001).unwrap();
    assert_eq!(again, at);
    assert!(region.slice(again, 70_001).unwrap().iter().all(|&b| b == 0));
}

#[derive(Clone, Debug)]
enum Step {
    Alloc(u64),
    Free(usize),
    Reserve(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (1u64..300).prop_map(Step::Alloc),
        2 => (1u64..200_000).prop_map(Step::Alloc),
        6 => (0usize..100).prop_map(Step::Free),
        1 => (0u64..100_000).prop_map(Step::Reserve),
    ];
    proptest::collection::vec(step, 1..200)
}

/// Runs the steps. Returns the addresses. Objects are filled, so that memory that is not zeroed is noticed.
fn run(steps: &[Step], checked: bool) -> Vec<Ea> {
    let mut region = region(checked);
    let mut objects: BTreeMap<u64, u64> = BTreeMap::new();
    let mut freeable = Vec::new();
    let mut given = Vec::new();
    for step in steps {
        let (at, len) = match *step {
            Step::Free(_) if freeable.is_empty() => continue,
            Step::Free(n) => {
                let at: Ea = freeable.remove(n % freeable.len());
                objects.remove(&at.0);
                region.free(at);
                assert!(!checked || !region.is_live(at, 1, false));
                continue;
            }
            Step::Alloc(len) => (region.alloc(len).unwrap(), len),
            Step::Reserve(len) => (region.reserve(len).unwrap(), len),
        };
        let align = match step {
            Step::Reserve(_) => PAGE_BYTES,
            _ if len >= 64 => 64,
            _ => 8,
        };
        assert_eq!(at.0 % align, 0, "{step:?}");
        assert!(at.0 >= BASE + PAGE_BYTES);
        let below = objects.range(..at.0 + len).next_back().map_or(0, |(start, len)| start + len);
        assert!(below <= at.0, "{step:?} at {at:?} overlaps");
        let bytes = region.slice_mut(at, len).unwrap();
        assert!(bytes.iter().all(|&b| b == 0), "{step:?} is not zeroed");
        bytes.fill(0xa5);
        assert!(region.is_live(at, len, true));
        if matches!(step, Step::Alloc(_)) {
            freeable.push(at);
        }
        objects.insert(at.0, len);
        given.push(at);
    }
    given
}

#[derive(Clone, Debug)]
struct Touch {
    at: u64,
    len: u64,
    cpu: u32,
    write: bool,
}

fn touches() -> impl Strategy<Value = Vec<Touch>> {
    let touch = (0u64..500, 0u64..200, 0u32..16, any::<bool>());
    let touch = touch.prop_map(|(at, len, cpu, write)| Touch { at, len, cpu, write });
    proptest::collection::vec(touch, 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn objects_never_overlap_and_lie_where_they_lay_before(steps in steps()) {
        let first = run(&steps, false);
        prop_assert_eq!(&run(&steps, false), &first);
        prop_assert_eq!(&run(&steps, true), &first);
    }

    #[test]
    fn lines_cost_what_their_rules_say(touches in touches()) {
        let (mut region, transfers) = (region(false), transfers());
        let area = region.alloc(704).unwrap();
        let mut lines = [Line::default(); 11];
        for Touch { at, len, cpu, write } in touches {
            let mut expected = 0;
            for line in &mut lines[(at / 64) as usize..(at + len).div_ceil(64) as usize].iter_mut() {
                // Zero bytes are in no line, even if the empty range begins within one.
                if len > 0 {
                    expected += if write { transfers.write_ps(line, CpuId(cpu)) } else { transfers.read_ps(line, CpuId(cpu)) };
                }
            }
            prop_assert_eq!(region.touch_ps(area.offset(at), len, CpuId(cpu), write), expected);
            let one = if write { transfers.write_ps(&mut lines[(at / 64) as usize], CpuId(cpu)) } else { transfers.read_ps(&mut lines[(at / 64) as usize], CpuId(cpu)) };
            prop_assert_eq!(region.touch_line_ps(area.offset(at), CpuId(cpu), write), one);
            let word = transfers.write_ps(&mut lines[(at / 64) as usize], CpuId(cpu));
            prop_assert_eq!(region.touch_word_ps(area.offset(at & !3), CpuId(cpu)), word);
        }
        for (n, line) in (0..).zip(lines) {
            prop_assert_eq!(region.line(area.offset(n * 64)), line);
        }
    }
}

#[test]
fn elements_that_stand_for_tasks_crowd_each_other() {
    // Elements of two lines of 64 bytes, and a CPU that holds the lines of this many.
    let check = |tasks_held, size: u64, expected: [u64; 6]| {
        let costs = LineCosts { llc_ps: 10, memory_ps: 7, tasks_held, ..LineCosts::default() };
        let transfers = Transfers::new(Topology::regular(1, 1, 2, 1), costs);
        let mut region = Region::new(1 << 30, false, transfers).expect("address space");
        let at = region.reserve(1024).expect("area");
        region.crowd(at, 1024, size).expect("address space");
        let touch = |(offset, cpu)| region.touch_ps(at.offset(offset), 8, CpuId(cpu), true);
        // The second element's lines do not displace each other. The third element's line displaces the first one's.
        let seen = [(0, 0), (128, 0), (192, 0), (256, 0), (0, 0), (256, 1)].map(touch);
        assert_eq!(seen, expected, "{tasks_held} elements of {size} bytes");
    };
    check(0, 128, [7, 7, 7, 7, 0, 10]);
    check(2, 128, [7, 7, 7, 7, 7, 10]);
    check(3, 128, [7, 7, 7, 7, 0, 10]);
    check(2, 100, [7, 7, 7, 7, 0, 10]);
}

#[test]
fn a_line_that_another_cpu_took_leaves_a_place() {
    // Two CPUs, each of which holds the lines of two elements.
    let costs = LineCosts { llc_ps: 10, memory_ps: 7, tasks_held: 2, ..LineCosts::default() };
    let transfers = Transfers::new(Topology::regular(1, 1, 2, 1), costs);
    let mut region = Region::new(1 << 30, false, transfers).expect("address space");
    let at = region.reserve(1024).expect("area");
    region.crowd(at, 1024, 64).expect("address space");
    let mut check = |element: u64, cpu, write, expected| {
        let seen = region.touch_ps(at.offset(64 * element), 8, CpuId(cpu), write);
        assert_eq!(seen, expected, "{element} by {cpu}");
    };
    check(0, 0, false, 7);
    check(1, 0, false, 7);
    check(0, 1, true, 10);
    // These replace 0, and then each other.
    check(2, 0, false, 7);
    check(3, 0, false, 7);
    check(1, 0, false, 0);
    check(2, 0, false, 7);
    // 2 has replaced 1. Now all are held, and the oldest is dropped.
    check(1, 0, false, 7);
    check(2, 0, false, 0);
}

#[test]
fn a_regions_size_is_reported_in_readable_units() {
    let refused = ReserveError { bytes: (37 << 30) / 2, why: "Cannot allocate memory".into() };
    let reported = refused.to_string();
    assert!(reported.contains("18.5 GiB") && reported.contains("ulimit -v"), "{reported}");
}

#[test]
fn a_line_that_came_for_nothing_has_not_moved() {
    let costs = LineCosts { llc_ps: 10, memory_ps: 0, ..LineCosts::default() };
    let mut region =
        Region::new(1 << 20, false, Transfers::new(Topology::regular(1, 1, 2, 1), costs)).unwrap();
    let at = region.alloc(8).unwrap();
    let mut check = |cpu, expected: &[u64]| {
        region.touch_ps(at, 8, CpuId(cpu), true);
        assert_eq!(region.moved().map(|(_, uses)| uses.moves).collect::<Vec<_>>(), expected, "{cpu}");
    };
    check(0, &[]);
    check(1, &[1]);
    check(1, &[1]);
    check(0, &[2]);
}
