//! Formats numbers for people: digits in groups, three significant figures, no scientific notation.

/// The smallest magnitude that [`figures`] shows: nine decimals, three of them significant.
const LEAST: f64 = 1e-7;

/// Formats a count: `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut shown = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Formats a count with a noun whose plural ends in -s: `1 order`, `1,234 orders`.
pub fn counted(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Formats a number with at least three significant figures: `1,234`, `12.3`, `0.123`, `0.0000123`.
pub fn figures(n: f64) -> String {
    match n.abs() {
        0.0 => "0".to_owned(),
        a if !a.is_finite() => "-".to_owned(),
        a if a >= 100.0 => count(n.round() as u64),
        a if a >= 10.0 => format!("{n:.1}"),
        a if a >= 1.0 => format!("{n:.2}"),
        a if a >= 0.0005 => format!("{n:.3}"),
        a if a < LEAST => "under 0.0000001".to_owned(),
        a => format!("{n:.0$}", (2 - a.log10().floor() as i32) as usize),
    }
}

/// Formats a mean and its spread with the same number of decimals, so that the spread has at least two significant
/// figures: `2,354 ± 181`, `37.25 ± 0.25`.
pub fn with_spread(mean: f64, spread: f64) -> String {
    if spread == 0.0 || !spread.is_finite() {
        return format!("{} ± {}", figures(mean), figures(spread));
    }
    let decimals = (1 - spread.abs().log10().floor() as i32).clamp(0, 9) as usize;
    format!("{} ± {}", fixed(mean, decimals), fixed(spread, decimals))
}

/// Formats `n` with this many decimals. The digits before the point are in groups.
fn fixed(n: f64, decimals: usize) -> String {
    // Rounds half up, as elsewhere. `format!` would round to an even number.
    if decimals == 0 {
        return count(n.round() as u64);
    }
    let plain = format!("{n:.decimals$}");
    let (whole, rest) = plain.split_once('.').unwrap_or((&plain, ""));
    format!("{}.{rest}", whole.parse().map_or_else(|_| whole.to_owned(), count))
}

/// Like [`figures`], but shorter from 10,000 on: `12.3 k`, `1.23 M`, `1.23 G`.
pub fn short(n: f64) -> String {
    // A number that rounds up to the next unit is shown in that unit.
    match n.abs() {
        a if a >= 999.5e6 => format!("{} G", figures(n / 1e9)),
        a if a >= 999.5e3 => format!("{} M", figures(n / 1e6)),
        a if a >= 9_999.5 => format!("{} k", figures(n / 1e3)),
        _ => figures(n),
    }
}

/// Formats a share: `19 %`, `1.9 %`, `0.02 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0 %".to_owned(),
        p if p < 0.01 => "under 0.01 %".to_owned(),
        p if p < 1.0 => format!("{p:.2} %"),
        p if p < 10.0 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// Formats core time, which is time summed over CPUs: `12.3 core-seconds`, `1.47 core-ms` or `14.9 core-µs`.
pub fn core_seconds(ns: u64) -> String {
    match ns {
        1..1_000 => format!("{ns} core-ns"),
        1_000..500_000 => format!("{} core-µs", figures(ns as f64 / 1e3)),
        500_000..100_000_000 => format!("{} core-ms", figures(ns as f64 / 1e6)),
        _ => format!("{} core-seconds", figures(ns as f64 / 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_can_be_narrow() {
        let check = |n: f64, expected: &str| assert_eq!(short(n), expected);
        check(0.0, "0");
        check(9_999.4, "9,999");
        check(10_000.0, "10.0 k");
        check(415_514.0, "416 k");
        check(999_600.0, "1.000 M");
        check(26_992_333.0, "27.0 M");
        check(2e9, "2.00 G");
    }

    #[test]
    fn core_time_has_a_unit_that_fits() {
        let check = |ns: u64, expected: &str| assert_eq!(core_seconds(ns), expected);
        check(0, "0 core-seconds");
        check(60_000_000_000, "60.0 core-seconds");
        check(600_000_000, "0.600 core-seconds");
        check(50_401_000, "50.4 core-ms");
        check(1_470_000, "1.47 core-ms");
        check(440_000, "440 core-µs");
        check(6_000, "6.00 core-µs");
        check(7, "7 core-ns");
    }

    #[test]
    fn counts_are_in_groups_of_three() {
        let check = |n: u64, expected: &str| assert_eq!(count(n), expected);
        check(0, "0");
        check(999, "999");
        check(1000, "1,000");
        check(1_234_567, "1,234,567");
    }

    #[test]
    fn one_thing_has_no_plural() {
        let check = |n: u64, expected: &str| assert_eq!(counted(n, "order"), expected);
        check(0, "0 orders");
        check(1, "1 order");
        check(4156, "4,156 orders");
    }

    #[test]
    fn numbers_have_three_figures_and_no_exponent() {
        let check = |n: f64, expected: &str| assert_eq!(figures(n), expected);
        check(0.0, "0");
        check(6_120_358.0, "6,120,358");
        check(1234.4, "1,234");
        check(12.34, "12.3");
        check(1.234, "1.23");
        check(0.1234, "0.123");
        check(0.00001, "0.0000100");
        check(0.000_000_123_4, "0.000000123");
        check(1e-12, "under 0.0000001");
        check(f64::NAN, "-");
    }

    #[test]
    fn a_mean_has_the_decimals_of_its_spread() {
        let check = |mean: f64, spread: f64, expected: &str| assert_eq!(with_spread(mean, spread), expected);
        check(2354.3, 181.0, "2,354 ± 181");
        check(678.5, 61.5, "679 ± 62");
        check(1576.33, 2.0, "1,576.3 ± 2.0");
        check(37.25, 0.25, "37.25 ± 0.25");
        check(0.046_98, 0.000_056_7, "0.046980 ± 0.000057");
        check(3.41e-6, 5.17e-6, "0.0000034 ± 0.0000052");
        check(2.1, 30.4, "2 ± 30");
        check(1e15, 1e-12, "1,000,000,000,000,000.000000000 ± 0.000000000");
        check(16.0, 0.0, "16.0 ± 0");
    }

    #[test]
    fn shares_are_in_percent() {
        let check = |share: f64, expected: &str| assert_eq!(percent(share), expected);
        check(0.0, "0 %");
        check(0.00001, "under 0.01 %");
        check(0.005, "0.50 %");
        check(0.019, "1.9 %");
        check(0.19, "19 %");
    }
}
