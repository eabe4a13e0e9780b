//! The effect of seeds on a figure: Student's t for two samples with a common variance.
//!
//! Chance causes a difference of means above [`noise`] once in a hundred times.

/// The 99th percentile of the t distribution by degrees of freedom, from 1, as in any table.
#[expect(clippy::approx_constant, reason = "2.718 is a quantile here, and no e")]
const T: [f64; 30] = [
    31.82, 6.965, 4.541, 3.747, 3.365, 3.143, 2.998, 2.896, 2.821, 2.764, 2.718, 2.681, 2.650, 2.624, 2.602,
    2.583, 2.567, 2.552, 2.539, 2.528, 2.518, 2.508, 2.500, 2.492, 2.485, 2.479, 2.473, 2.467, 2.462, 2.457,
];

/// Returns the mean, or 0 for no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the maximum difference of the means of two samples by chance, 99 times out of 100. If each sample is a
/// single value, this is unknown, and 0 is returned.
pub fn noise(one: &[f64], other: &[f64]) -> f64 {
    let degrees = (one.len() + other.len()).saturating_sub(2);
    if degrees == 0 || one.is_empty() || other.is_empty() {
        return 0.0;
    }
    let variance = (squares(one) + squares(other)) / degrees as f64;
    let t = T[degrees.min(T.len()) - 1];
    t * (variance * (1.0 / one.len() as f64 + 1.0 / other.len() as f64)).sqrt()
}

/// Returns the sum of the squared differences from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_as_by_hand() {
        let check = |one: &[f64], other: &[f64], expected: f64| {
            let found = noise(one, other);
            assert!((found - expected).abs() < 1e-3, "{one:?} {other:?}: {found}");
        };
        check(&[1.0], &[2.0], 0.0);
        check(&[1.0, 1.0], &[2.0, 2.0], 0.0);
        // Variance 1 each, 4 degrees of freedom: 3.747 * sqrt(2/3).
        check(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 3.0594);
        // One value beside three: 6.965 * sqrt(1 + 1/3).
        check(&[1.0, 2.0, 3.0], &[9.0], 8.0425);
        check(&[], &[1.0, 2.0], 0.0);
    }
}
