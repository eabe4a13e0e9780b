//! Makes the load of a group's entity follow that of the group's queue, when tasks join or leave the queue
//! (`update_tg_cfs_util()`, `update_tg_cfs_runnable()`, `update_tg_cfs_load()`). The functions are pure.

use crate::state::fair::pelt::{Average, LEAST_DIVIDER, ONE};

/// Updates `entity`, whose weight is `weight`, and the queue `above` that it counts in. `below` is the group's queue,
/// with the sum of the weights there; `changed` is the difference between the load sums of the tasks that came and
/// went.
pub(super) fn follow(
    entity: &mut Average,
    weight: u64,
    above: &mut Average,
    below: (&Average, u64),
    changed: i64,
) {
    let divider = above.divider();
    let (below, below_weight) = below;
    if entity.util != below.util {
        let sum = below.util * divider;
        shift(&mut above.util, &mut above.util_sum, (entity.util, below.util), (entity.util_sum, sum));
        (entity.util, entity.util_sum) = (below.util, sum);
    }
    if entity.runnable != below.runnable {
        let sum = below.runnable * divider;
        let sums = (entity.runnable_sum, sum);
        shift(&mut above.runnable, &mut above.runnable_sum, (entity.runnable, below.runnable), sums);
        (entity.runnable, entity.runnable_sum) = (below.runnable, sum);
    }
    if changed == 0 {
        return;
    }
    let runnable = if changed > 0 {
        (entity.load_sum + changed.unsigned_abs()).min(divider)
    } else {
        // How much of the time the group is runnable is estimated by the mean of the remaining tasks.
        let mean = below.load_sum.checked_div(below_weight).unwrap_or(0);
        entity.load_sum.min(mean)
    };
    let sum = runnable.max(entity.util_sum / ONE);
    let load = weight * sum / divider;
    if load == entity.load {
        return;
    }
    let sums = (weight * entity.load_sum, weight * sum);
    shift(&mut above.load, &mut above.load_sum, (entity.load, load), sums);
    (entity.load, entity.load_sum) = (load, sum);
}

/// Replaces one part of an average and of its sum by another value.
fn shift(average: &mut u64, sum: &mut u64, averages: (u64, u64), sums: (u64, u64)) {
    *average = (*average + averages.1).saturating_sub(averages.0);
    *sum = (*sum + sums.1).saturating_sub(sums.0).max(*average * LEAST_DIVIDER);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn average(load: u64, util: u64) -> Average {
        let mut average = Average { load, util, runnable: util, ..Average::default() };
        let divider = average.divider();
        (average.load_sum, average.util_sum) = (divider, util * divider);
        average.runnable_sum = average.util_sum;
        average
    }

    /// `update_tg_cfs_util()`.
    #[test]
    fn utilization_goes_up_with_the_queue_below() {
        let check = |entity, below, above, expected| {
            let (mut entity, mut above) = (average(0, entity), average(0, above));
            follow(&mut entity, 1024, &mut above, (&average(0, below), 0), 0);
            assert_eq!((entity.util, above.util, above.runnable), (below, expected, expected));
            assert_eq!(above.util_sum, expected * above.divider());
        };
        check(100, 300, 500, 700);
        check(300, 100, 500, 300);
        check(300, 0, 200, 0);
    }

    /// `update_tg_cfs_load()`.
    #[test]
    fn load_follows_what_the_group_wants_to_run() {
        let check = |before: u64, changed, below_weight: u64, expected| {
            let mut above = average(2048, 0);
            let divider = above.divider();
            above.load_sum = 2048 * divider;
            let mut entity = Average { load: before, load_sum: before * divider / 1024, ..average(0, 0) };
            let below = Average { load_sum: below_weight * divider / 2, ..average(0, 0) };
            follow(&mut entity, 1024, &mut above, (&below, below_weight), changed);
            assert_eq!((entity.load, above.load), (expected, 2048 + expected - before), "{before} {changed}");
        };
        let half = (LEAST_DIVIDER / 2) as i64;
        check(0, half, 1024, 512);
        // At most all of the time.
        check(1024, half, 1024, 1024);
        // The remaining tasks want half of the time.
        check(1024, -half, 2048, 512);
        check(512, -half, 2048, 512);
        check(1024, -half, 0, 0);
    }
}
