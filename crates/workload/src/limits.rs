//! Describes the valid ranges of the numbers in a generator's name: `TASKS is 1 to 1,000,000, NICE -20 to 19`.
//!
//! Each generator checks its own numbers. A test compares what they accept with what is described here.

/// The valid range of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// The number's name in the generator's form.
    pub(crate) name: &'static str,
    /// The minimum.
    pub(crate) least: i64,
    /// The maximum.
    pub(crate) most: i64,
}

/// Creates the limit that the number `name` is `least` to `most`.
pub(crate) const fn limit(name: &'static str, least: i64, most: i64) -> Limit {
    Limit { name, least, most }
}

/// The range of nice values.
pub(crate) const NICE: Limit = limit("NICE", -20, 19);

/// Returns all limits of a generator and its further conditions as a clause, which is empty if it takes no numbers.
pub(crate) fn said(limits: &[Limit], beside: &str) -> String {
    let one = |(at, limit): (usize, &Limit)| {
        let is = if at == 0 { " is" } else { "" };
        format!("{}{is} {} to {}", limit.name, grouped(limit.least), grouped(limit.most))
    };
    let all: Vec<String> = limits.iter().enumerate().map(one).collect();
    let beside = (!beside.is_empty()).then(|| beside.to_owned());
    let numbers = (!all.is_empty()).then(|| all.join(", "));
    numbers.into_iter().chain(beside).collect::<Vec<_>>().join("; ")
}

/// Formats a number with digits in groups: 1,000,000.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|g| str::from_utf8(g).ok()).collect();
    format!("{}{}", if number < 0 { "-" } else { "" }, groups.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_a_clause() {
        let check = |limits: &[Limit], beside, expected: &str| assert_eq!(said(limits, beside), expected);
        check(&[], "", "");
        check(&[limit("TASKS", 1, 1_000_000)], "", "TASKS is 1 to 1,000,000");
        check(&[limit("TASKS", 0, 999), NICE], "", "TASKS is 0 to 999, NICE -20 to 19");
        check(&[NICE], "A is less than B", "NICE is -20 to 19; A is less than B");
        check(&[], "A is less than B", "A is less than B");
    }
}
