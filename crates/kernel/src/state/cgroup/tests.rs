//! The cgroup tree: ancestors, orders and references.

use super::*;

/// Returns the root; `/a` with `/a/x` and `/a/y`; `/b`.
fn tree() -> Cgroups {
    let mut tree = Cgroups::default();
    for (place, parent) in [(0, None), (1, Some(0)), (2, Some(0)), (3, Some(1)), (4, Some(1))] {
        let number = tree.add(CgroupId(place), parent.map(Number), None).expect("there is room");
        tree.publish(number);
    }
    tree
}

fn numbers(order: &[Number]) -> Vec<u32> {
    order.iter().map(|number| number.0).collect()
}

#[test]
fn walks_go_by_parent_and_then_by_age() {
    let mut tree = tree();
    assert_eq!(numbers(&tree.pre_order()), [0, 1, 3, 4, 2]);
    assert_eq!(numbers(&tree.post_order()), [3, 4, 1, 2, 0]);
    tree.withdraw(Number(3));
    assert_eq!(numbers(&tree.pre_order()), [0, 1, 4, 2]);
}

#[test]
fn ancestors_are_found_by_level() {
    let tree = tree();
    let check = |of, level, expected: Option<u32>| {
        assert_eq!(tree.ancestor(Number(of), level).map(|number| number.0), expected, "{of} at {level}");
    };
    check(3, 0, Some(0));
    check(3, 1, Some(1));
    check(3, 2, Some(3));
    check(3, 3, None);
    check(0, 0, Some(0));
    check(0, 1, None);
}

#[test]
fn ids_lead_to_live_cgroups_only() {
    let mut tree = tree();
    for number in (0..5).map(Number) {
        assert_eq!(tree.with_kernfs_id(kernfs::kernfs_id(number)), Some(number));
    }
    tree.withdraw(Number(4));
    let dead = kernfs::kernfs_id(Number(4));
    for id in [0, 2, 64, dead, kernfs::kernfs_id(Number(5)), u64::MAX] {
        assert_eq!(tree.with_kernfs_id(id), None, "{id}");
    }
}

#[test]
fn a_removed_cgroup_lives_as_long_as_it_is_referred_to() {
    let mut tree = tree();
    let x = Number(3);
    assert!(tree.try_get(x) && tree.try_get(x));
    tree.withdraw(x);
    assert!(tree.try_get(x), "the kernel has not done with it");
    assert!(!tree.let_go(x), "three refer to it");
    assert!(!tree.put(x));
    assert!(tree.try_get(x), "who is referred to can be referred to once more");
    assert!(!tree.put(x) && !tree.put(x));
    assert!(tree.put(x), "the last one");
    assert!(!tree.try_get(x));
    assert!(!tree.put(x), "one too many does nothing");
}

#[test]
fn cpu_time_stays_where_it_was_used() {
    let mut tree = tree();
    let task = TaskId(0);
    tree.add_task(task, Number(1));
    let check = |tree: &Cgroups, expected: [u64; 5], before: u64| {
        let left: Vec<u64> = tree.used_by_leavers().iter().map(|span| span.as_ns()).collect();
        assert_eq!((&left[..], tree.used_before(task)), (&expected[..], Span::from_ns(before)));
    };
    check(&tree, [0; 5], 0);
    tree.move_task(task, Number(3), Span::from_ns(7));
    check(&tree, [0, 7, 0, 0, 0], 7);
    tree.move_task(task, Number(1), Span::from_ns(10));
    tree.move_task(task, Number(2), Span::from_ns(10));
    check(&tree, [0, 7, 0, 3, 0], 10);
}
