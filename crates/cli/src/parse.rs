//! Values of arguments: durations, settings, numbers of CPUs.

use keel_abi::Span;

/// The longest run, in seconds: a year.
const LONGEST_S: u128 = 365 * 24 * 3600;

/// A duration such as `10s`, `1.5ms`, `250us`, `2m`; more than none, at most a year.
pub(crate) fn duration(text: &str) -> Result<Span, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit_ns: u128 = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "" => return Err("it needs a unit: ns, us, ms, s or m, as in 10s".into()),
        _ => return Err("the unit must be ns, us, ms, s or m".into()),
    };
    let ns = scaled(number, unit_ns).ok_or("write a number and a unit, as in 10s or 1.5ms")?;
    match ns {
        0 => Err("it must be longer than nothing: 1ns is the least".into()),
        ns if ns > LONGEST_S * 1_000_000_000 => Err("a year is the most (525600m)".into()),
        ns => Ok(Span::from_ns(ns as u64)),
    }
}

/// A decimal number times a unit, rounded down; `None` where it is no number.
fn scaled(number: &str, unit: u128) -> Option<u128> {
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| {
        let good = !text.is_empty() && text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit());
        good.then(|| text.parse::<u128>().ok()).flatten()
    };
    Some(digits(whole)? * unit + digits(part)? * unit / 10u128.pow(part.len() as u32))
}

/// `NAME=VALUE`.
pub(crate) fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if is_variable(name) && !value.is_empty() => Ok((name.into(), value.into())),
        _ => Err("write NAME=VALUE with the name of a global variable, as in slice_ns=5000000".into()),
    }
}

/// Could this name a variable in C? Parts of structs and arrays count: `a.b[2]`.
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
