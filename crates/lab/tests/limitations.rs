//! LIMITATIONS.md names every helper and kfunc that is served, and no other as exact.

use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../LIMITATIONS.md");

/// Words in backquotes that look like a helper's or kfunc's name, wildcards apart.
fn named() -> BTreeSet<&'static str> {
    let words = PAGE.split('`').skip(1).step_by(2);
    let is_function = |w: &&str| {
        let start = ["scx_bpf_", "__scx_bpf_", "bpf_"].iter().any(|p| w.starts_with(p));
        start && !w.contains(['*', '('])
    };
    words.filter(is_function).collect()
}

#[test]
fn every_served_function_is_named() {
    let named = named();
    let missing: Vec<_> = keel_kernel::served().filter(|name| !named.contains(name)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "served, but not in LIMITATIONS.md");
}

#[test]
fn what_is_named_and_not_served_is_said_to_be_absent() {
    let served: BTreeSet<_> = keel_kernel::served().collect();
    let others: Vec<_> = named().into_iter().filter(|name| !served.contains(name)).collect();
    let absent = PAGE.split("Absent:").skip(1).map(|part| part.split("\n\n").next().unwrap_or(part));
    let absent: String = absent.collect();
    for name in others {
        assert!(
            absent.contains(name) || name == "bpf_core_field_exists",
            "{name} is neither served nor absent"
        );
    }
}
