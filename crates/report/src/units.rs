//! Numbers as people read them.

/// `1,234,567`.
pub(crate) fn count(n: u64) -> String {
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

/// Three figures or more: `1,234`, `12.3`, `0.123`.
pub(crate) fn figures(n: f64) -> String {
    match n.abs() {
        0.0 => "0".to_owned(),
        a if !a.is_finite() => "-".to_owned(),
        a if a >= 100.0 => count(n.round() as u64),
        a if a >= 10.0 => format!("{n:.1}"),
        a if a >= 1.0 => format!("{n:.2}"),
        a if a >= 0.0005 => format!("{n:.3}"),
        _ => format!("{n:.1e}"),
    }
}

/// A share as `19 %`, `1.9 %`, `0.02 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0 %".to_owned(),
        p if p < 0.01 => "under 0.01 %".to_owned(),
        p if p < 1.0 => format!("{p:.2} %"),
        p if p < 10.0 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// Core time as `12.3 core-seconds`: times of several CPUs, summed.
pub(crate) fn core_seconds(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match ns {
        0 | 500_000.. => format!("{} core-seconds", figures(seconds)),
        // Three figures, down to the nanosecond.
        ns => format!("{seconds:.0$} core-seconds", (11 - ns.ilog10() as usize).min(9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_time_is_in_seconds() {
        let check =
            |ns: u64, expected: &str| assert_eq!(core_seconds(ns), format!("{expected} core-seconds"));
        check(0, "0");
        check(60_000_000_000, "60.0");
        check(600_000_000, "0.600");
        check(50_401_000, "0.050");
        check(440_000, "0.000440");
        check(6_000, "0.00000600");
        check(7, "0.000000007");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0.0, 1234.4, 12.34, 1.234, 0.1234, 0.00001].map(figures),
            ["0", "1,234", "12.3", "1.23", "0.123", "1.0e-5"]
        );
        assert_eq!(
            [0.0, 0.00001, 0.005, 0.019, 0.19].map(percent),
            ["0 %", "under 0.01 %", "0.50 %", "1.9 %", "19 %"]
        );
    }
}
