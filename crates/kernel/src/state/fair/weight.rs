//! The weights of nice values, and the conversion to virtual time (`sched_prio_to_weight[]`, `__calc_delta()`).

use keel_abi::task::Policy;

/// The weight of nice 0, which is the unit of virtual time (`NICE_0_LOAD`).
const NICE_0_WEIGHT: u64 = 1024;

/// The weight of a SCHED_IDLE task (`WEIGHT_IDLEPRIO`).
const IDLE_WEIGHT: i64 = 3;

/// The minimum weight of a group on a CPU (`MIN_SHARES`).
pub(crate) const LEAST_WEIGHT: i64 = 2;

/// Returns the weight of a group with this `cpu.weight` (`sched_weight_from_cgroup()`). With `cpu.idle`, it is that of
/// a SCHED_IDLE task.
pub(crate) fn group_weight(cpu_weight: u32, is_idle: bool) -> i64 {
    /// `CGROUP_WEIGHT_DFL`.
    const DEFAULT: i64 = 100;
    match is_idle {
        true => IDLE_WEIGHT,
        false => (i64::from(cpu_weight) * NICE_0_WEIGHT as i64 + DEFAULT / 2) / DEFAULT,
    }
}

/// Returns the weight of a task (`set_load_weight()`).
pub(crate) fn weight_of(policy: Policy, nice: i8) -> i64 {
    match policy {
        Policy::Idle => IDLE_WEIGHT,
        _ => i64::from(keel_abi::scx::load_weight_of_nice(nice)),
    }
}

/// Returns 2^32 divided by the weight (`sched_prio_to_wmult[]`).
fn inverse(weight: u64) -> u64 {
    match weight {
        3 => 1_431_655_765,
        _ => ((1 << 32) + weight / 2) / weight,
    }
}

/// Converts runtime in nanoseconds to virtual time of a task with this weight, with the kernel's rounding
/// (`calc_delta_fair()`).
pub(super) fn scaled(ns: u64, weight: i64) -> i64 {
    let weight = weight.unsigned_abs();
    if weight == NICE_0_WEIGHT {
        return ns as i64;
    }
    let (mut factor, mut shift) = (NICE_0_WEIGHT * inverse(weight), 32);
    while factor >> 32 != 0 {
        factor >>= 1;
        shift -= 1;
    }
    i64::try_from((u128::from(ns) * u128::from(factor)) >> shift).unwrap_or(i64::MAX / 4)
}

/// Returns the runtime in which a task of this weight advances by `virtual_ns` of virtual time (`hrtick_start_fair()`).
pub(crate) fn run_time(virtual_ns: i64, weight: i64) -> u64 {
    (i128::from(virtual_ns) * i128::from(weight) / i128::from(NICE_0_WEIGHT)).max(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_the_kernels() {
        let check = |policy, nice, expected| assert_eq!(weight_of(policy, nice), expected);
        check(Policy::Other, 0, 1024);
        check(Policy::Batch, -20, 88_761);
        check(Policy::Ext, 19, 15);
        check(Policy::Idle, -20, 3);
    }

    /// `sched_weight_from_cgroup()`.
    #[test]
    fn groups_weigh_as_nice_0_by_default() {
        let check =
            |cpu_weight, expected| assert_eq!(group_weight(cpu_weight, false), expected, "{cpu_weight}");
        check(100, 1024);
        check(1, 10);
        check(50, 512);
        check(10_000, 102_400);
    }

    #[test]
    fn inverse_weights_are_the_kernels() {
        let check = |nice, expected| {
            let weight = weight_of(Policy::Other, nice).unsigned_abs();
            assert_eq!(inverse(weight), expected, "nice {nice}");
        };
        check(-20, 48_388);
        check(-19, 59_856);
        check(-10, 449_829);
        check(-1, 3_363_326);
        check(0, 4_194_304);
        check(1, 5_237_765);
        check(5, 12_820_798);
        check(10, 39_045_157);
        check(15, 119_304_647);
        check(19, 286_331_153);
    }

    #[test]
    fn time_is_scaled_with_the_kernels_rounding() {
        // Computed by hand: the factor 1024 * inverse is halved until it fits in 32 bits, and then applied.
        let check = |ns, weight, expected| assert_eq!(scaled(ns, weight), expected, "{ns} by {weight}");
        check(1_000_000, 1024, 1_000_000);
        check(1_000_000, 335, 3_056_716);
        check(1_000_000, 88_761, 11_536);
        check(1_000_000, 15, 68_266_666);
        check(2_800_000, 3, 955_733_333);
        check(0, 15, 0);
    }
}
