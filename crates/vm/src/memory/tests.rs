//! The region, its allocator and its lines against their rules.

use super::{BASE, Region};
use keel_abi::bpf::Ea;
use keel_abi::lines::{LineCosts, Transfers};
use keel_abi::{CpuId, Topology};

fn costs() -> Transfers {
    let costs =
        LineCosts { smt_ps: 1, llc_ps: 10, node_ps: 100, hop_ps: 1000, more_hops_ps: 500, memory_ps: 7 };
    Transfers::new(Topology::regular(2, 2, 2, 2), costs)
}

fn region() -> Region {
    Region::new(1 << 30, true, costs()).expect("a gigabyte of address space")
}

#[test]
fn an_object_is_zeroed_bounded_and_charged() {
    let mut region = region();
    let at = region.alloc(100).unwrap();
    region.store(at, 8, 7);
    assert_eq!(region.load(at, 4), 7);
    assert_eq!(region.touch_ps(at, 100, CpuId(0), true), 14);
    region.free(at);
    assert_eq!(region.alloc(65), Some(at));
    assert_eq!(region.load(at, 8), 0);
    assert_eq!(region.load(Ea(BASE - 1), 1), 0);
    assert_eq!(region.stray().loads, 1);
}
