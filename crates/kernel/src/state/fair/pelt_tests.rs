//! Compares averages with the kernel's table and with a geometric series.

use super::*;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn doing(weight: u64, runnable: u64, is_running: bool) -> Doing {
    Doing { weight, runnable, is_running }
}

/// Returns an average after `ns`, starting from zero.
fn after(ns: u64, weight: u64, what: Doing) -> Average {
    let mut average = Average::default();
    for now in (0..=ns).step_by(100_000) {
        if average.count(now, what) {
            average.average(weight);
        }
    }
    average
}

#[test]
fn the_table_is_the_kernels() {
    // runnable_avg_yN_inv[] of kernel/sched/sched-pelt.h.
    let check = |n: usize, expected: u64| assert_eq!(POWERS[n], expected, "y^{n}");
    check(0, 0xffff_ffff);
    check(1, 0xfa83_b2da);
    check(2, 0xf525_7d14);
    check(15, 0xb8fb_af46);
    check(16, 0xb504_f333);
    check(24, 0x9837_f050);
    check(31, 0x82cd_8698);
}

/// `decay_load()`.
#[test]
fn a_value_halves_in_32_periods() {
    let check = |value, periods, expected| assert_eq!(decayed(value, periods), expected, "{value} {periods}");
    check(1024, 0, 1023);
    check(1024, 32, 511);
    check(1024, 64, 255);
    check(1024, 16, 724);
    check(u64::from(u32::MAX), 32 * 63 + 1, 0);
}

/// `LOAD_AVG_MAX` is the sum at which a full period makes up for the decay of one period.
#[test]
fn a_sum_of_full_periods_comes_to_its_most() {
    let mut sum = 0;
    for _ in 0..2000 {
        sum = decayed(sum, 1) + PERIOD;
    }
    assert_eq!(sum, MOST);
}

/// `___update_load_avg()`.
#[test]
fn averages_follow_what_is_done() {
    let check = |ns, what, expected: [u64; 3]| {
        let average = after(ns, 1024, what);
        assert_eq!([average.load, average.runnable, average.util], expected, "{ns} ns {what:?}");
    };
    check(2000 * MS, doing(1, 1, true), [1024, 1024, 1024]);
    check(2000 * MS, doing(1, 1, false), [1024, 1024, 0]);
    // Sums are rounded, so three runnable tasks count for a little more than three times one.
    check(2000 * MS, doing(1, 3, true), [1024, 3073, 1024]);
    check(2000 * MS, doing(0, 1, true), [0, 0, 0]);
    // A half-life is 32 periods of 1.048576 ms.
    check(33_600_000, doing(1, 1, true), [512, 512, 512]);
}

#[test]
fn what_a_queue_loses_its_sums_lose() {
    let task = after(500 * MS, 512, doing(1, 1, true));
    let mut queue = after(500 * MS, 1, doing(1024, 2, true));
    let before = queue;
    queue.add(&task, 512);
    queue.take(task.load, task.runnable, task.util);
    assert_eq!((queue.load, queue.util, queue.runnable), (before.load, before.util, before.runnable));
    queue.take(u64::from(u32::MAX), u64::from(u32::MAX), u64::from(u32::MAX));
    assert_eq!((queue.load, queue.load_sum, queue.util_sum), (0, 0, 0));
}

/// `attach_entity_load_avg()`.
#[test]
fn whoever_moves_keeps_its_averages() {
    let queue = after(777_700_000, 1, doing(3000, 2, true));
    let check = |weight: u64| {
        let mut task = after(60 * MS, weight, doing(1, 1, true));
        let before = task;
        task.settle_in(&queue, weight);
        task.average(weight);
        assert!(task.load.abs_diff(before.load) <= 1 + before.load / 1000, "{} {}", task.load, before.load);
        assert_eq!((task.util, task.last_ns), (before.util, queue.last_ns), "weight {weight}");
    };
    check(1024);
    check(15);
    check(88_761);
}

proptest! {
    /// However time is divided, no average exceeds the actual use, and divisions within a period change nothing.
    #[test]
    fn averages_have_bounds(steps in prop::collection::vec((1u64..5_000_000, any::<bool>()), 1..200)) {
        let mut average = Average::default();
        let mut now = 0;
        for (ns, runs) in steps {
            now += ns;
            let mut whole = average;
            whole.count(now, doing(1, 1, runs));
            average.count(now - ns / 2, doing(1, 1, runs));
            average.count(now, doing(1, 1, runs));
            prop_assert!(average.util_sum.abs_diff(whole.util_sum) <= 4 * ONE, "{average:?} {whole:?}");
            average = whole;
            average.average(1024);
            prop_assert!(average.util <= average.runnable && average.runnable <= ONE, "{average:?}");
            prop_assert!(average.load <= 1024, "{average:?}");
        }
    }
}
