//! Judges whether our ratios are in the order of the published ones, by Spearman's rank correlation over the claims of
//! one or several experiments. If cells of a table miss their bands, it shows whether the table's shape is right.

use super::ClaimVerdict;

/// A trend, judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Spearman's rank correlation, -1 to 1; `None` if fewer than three cells were measured or all are equal.
    pub rank_correlation: Option<f64>,
    /// The required minimum.
    pub least: f64,
    /// The number of cells that were measured.
    pub cells: usize,
}

impl Trend {
    /// Computes the trend over claims with ratios.
    pub(super) fn over(claims: &[ClaimVerdict], least: f64) -> Self {
        let cells = pairs(claims);
        Self { rank_correlation: rank_correlation(&cells), least, cells: cells.len() }
    }

    /// Returns whether the trend is as claimed.
    pub fn holds(self) -> bool {
        self.rank_correlation.is_some_and(|rho| rho >= self.least)
    }
}

/// Returns the published ratio and ours for each claim about two arms that was measured.
fn pairs(claims: &[ClaimVerdict]) -> Vec<(f64, f64)> {
    let compares = claims.iter().filter(|claim| claim.to.is_some());
    compares.filter_map(|claim| Some((claim.published, claim.ours?))).collect()
}

/// Returns Spearman's rank correlation, which is Pearson's of the ranks. Equal values share the mean of their ranks.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let [a, b] =
        [|pair: &(f64, f64)| pair.0, |pair: &(f64, f64)| pair.1].map(|of| ranks(pairs.iter().map(of)));
    let middle = (pairs.len() as f64 + 1.0) / 2.0;
    let product =
        |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - middle) * (y - middle)).sum::<f64>();
    let scale = (product(&a, &a) * product(&b, &b)).sqrt();
    (scale > 0.0).then(|| product(&a, &b) / scale)
}

fn ranks(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = values.collect();
    let count =
        |is: fn(&f64, &f64) -> bool, value: &f64| values.iter().filter(|other| is(other, value)).count();
    let rank = |value: &f64| {
        let (less, same) = (count(|a, b| a < b, value), count(|a, b| a == b, value));
        less as f64 + (same as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_alone_count() {
        let check = |pairs: &[(f64, f64)], expected: Option<f64>| {
            let got = rank_correlation(pairs);
            let close = got.zip(expected).is_some_and(|(got, expected)| (got - expected).abs() < 1e-9);
            assert!(close || got == expected, "{pairs:?}: {got:?}");
        };
        check(&[(1.0, 10.0), (2.0, 11.0), (5.0, 900.0)], Some(1.0));
        check(&[(1.0, 3.0), (2.0, 2.0), (5.0, 1.0)], Some(-1.0));
        // Ranks 1, 2, 3, 4 and 1, 3, 2, 4: 1 - 6 x 2 / (4 x 15).
        check(&[(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 4.0)], Some(0.8));
        // Two share ranks 1 and 2.
        check(&[(1.0, 7.0), (2.0, 7.0), (3.0, 9.0)], Some(0.75_f64.sqrt()));
        check(&[(1.0, 1.0), (2.0, 2.0)], None);
        check(&[(1.0, 4.0), (2.0, 4.0), (3.0, 4.0)], None);
    }
}
