//! Judges whether the tasks of an arm are in the published order.

use super::{ClaimVerdict, Standing, empty, values};
use crate::model::{Claim, Experiment, ORDER_LEAST, Published, mean};
use crate::outcome::ArmFigures;

/// Judges by the mean counts of the runs. The value is the share of pairs that are in the published order.
pub(super) fn judge(experiment: &Experiment, claim: &Claim, arms: &[ArmFigures]) -> ClaimVerdict {
    let mut verdict = ClaimVerdict { published: 1.0, ..empty(claim) };
    let Published::Samples { of: published, .. } = &claim.published else { return verdict };
    let of_task = |name: &String| {
        let one = Claim { tasks: vec![name.clone()], ..claim.clone() };
        values(&experiment.arms[claim.of].label, &one, &arms[claim.of]).map(|values| mean(&values))
    };
    let ours: Vec<f64> = match claim.tasks.iter().map(of_task).collect() {
        Ok(ours) => ours,
        Err(why) => return ClaimVerdict { why, ..verdict },
    };
    let pairs = pairs(published);
    let wrong: Vec<_> = pairs.iter().filter(|&&(more, less)| ours[more] <= ours[less]).collect();
    let share = 1.0 - wrong.len() as f64 / pairs.len().max(1) as f64;
    (verdict.ours, verdict.spread) = (Some(share), None);
    verdict.holds.band = Some(wrong.is_empty());
    verdict.standing = if wrong.is_empty() { Standing::Reproduced } else { Standing::NotReached };
    verdict.why = match wrong.first() {
        None => format!("all of {} pairs of tasks are in order", pairs.len()),
        Some(&&(more, less)) => {
            let (a, b) = (&claim.tasks[more], &claim.tasks[less]);
            format!("{} of {} pairs are not in order, such as {a} and {b}", wrong.len(), pairs.len())
        }
    };
    verdict
}

/// Returns the pairs whose published counts imply an order, the greater count first.
fn pairs(published: &[f64]) -> Vec<(usize, usize)> {
    let all = (0..published.len()).flat_map(|a| (0..published.len()).map(move |b| (a, b)));
    all.filter(|&(a, b)| published[a] >= 2.0 * published[b] && published[a] >= published[b] + ORDER_LEAST)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::pairs;

    #[test]
    fn close_counts_imply_no_order() {
        assert_eq!(pairs(&[1937.0, 1865.0, 352.0, 159.0, 4.0, 1.0]).len(), 4 * 2 + 1 + 2 + 2);
        assert_eq!(pairs(&[3.0, 1.0, 0.0]), []);
        assert_eq!(pairs(&[0.0, 10.0]), [(1, 0)]);
    }
}
