//! What the numbers in a generator's name may be, in words: `TASKS is 1 to 1,000,000, NICE -20 to 19`.
//!
//! Each generator checks its own numbers; a test holds what is said here against what is accepted.

/// What one number may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// As the generator's form calls it.
    pub(crate) name: &'static str,
    /// The least.
    pub(crate) least: i64,
    /// The most.
    pub(crate) most: i64,
}

/// The number `name` is `least` to `most`.
pub(crate) const fn limit(name: &'static str, least: i64, most: i64) -> Limit {
    Limit { name, least, most }
}

/// How nice tasks may be.
pub(crate) const NICE: Limit = limit("NICE", -20, 19);

/// All limits of a generator as a clause, and what else holds; empty where it takes no numbers.
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

/// A number as people read it: 1,000,000.
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
