//! Parses values of arguments: durations, settings, numbers of CPUs.

use keel_abi::{Span, SpanError};

/// Parses a duration such as `10s`, `1.5ms`, `250us` or `2m`, greater than zero and at most a year.
pub fn duration(text: &str) -> Result<Span, String> {
    match text.strip_prefix('-') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
            Err("it cannot be negative".to_owned())
        }
        // The next option was taken as this one's value.
        Some(_) => Err(SpanError::BadNumber.to_string()),
        None => text.parse().map_err(|wrong: SpanError| wrong.to_string()),
    }
}

/// Parses `NAME=VALUE`.
pub fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if is_variable(name) && !value.is_empty() => Ok((name.into(), value.into())),
        _ => Err("write NAME=VALUE with the name of a global variable, as in slice_ns=5000000".into()),
    }
}

/// Returns whether this could name a variable in C, or part of a struct or array: `a.b[2]`.
fn is_variable(name: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || "_.[]".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let check = |text, expected: Option<u64>| {
            assert_eq!(duration(text).ok().map(Span::as_ns), expected, "{text}");
        };
        check("10s", Some(10_000_000_000));
        check("1.5ms", Some(1_500_000));
        check("250us", Some(250_000));
        check("7ns", Some(7));
        check("2m", Some(120_000_000_000));
        check("0.5ns", None);
        check("0s", None);
        for bad in ["", "10", "s", "-1s", "1e3s", "1..2s", ".5s", "1.s", "10 s", "10h", "99999999m", "１s"] {
            check(bad, None);
        }
        check(&format!("{}s", "9".repeat(100)), None);
        let says =
            |text, words: &str| assert!(duration(text).is_err_and(|why| why.contains(words)), "{text}");
        says("-1s", "negative");
        says("--json", "write a number");
    }

    #[test]
    fn settings_name_a_variable() {
        let check = |text, good| assert_eq!(setting(text).is_ok(), good, "{text}");
        check("fifo=1", true);
        check("opts.slice[2]=-5", true);
        check("name=a=b", true);
        for bad in ["fifo", "=1", "fifo=", "1x=2", "a b=1", ""] {
            check(bad, false);
        }
    }
}
