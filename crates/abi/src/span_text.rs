//! Parses spans as people write them: a decimal number and a unit.

use crate::time::Span;
use std::fmt;
use std::str::FromStr;

/// The longest span, in seconds: a year.
const LONGEST_S: u128 = 365 * 24 * 3600;

/// Why a text is not a span. Displays what to write instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanError {
    /// A number without a unit.
    NoUnit,
    /// An unknown unit.
    BadUnit,
    /// Not a decimal number.
    BadNumber,
    /// Less than a nanosecond.
    Nothing,
    /// More than a year.
    TooLong,
}

impl fmt::Display for SpanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoUnit => "it needs a unit: ns, us, ms, s or m, as in 10s",
            Self::BadUnit => "the unit must be ns, us, ms, s or m",
            Self::BadNumber => "write a number and a unit, as in 10s or 1.5ms",
            Self::Nothing => "it must be longer than nothing: the minimum is 1ns",
            Self::TooLong => "a year is the most (525600m)",
        })
    }
}

impl std::error::Error for SpanError {}

impl FromStr for Span {
    type Err = SpanError;

    /// Parses `10s`, `1.5ms`, `250us` or `2m`: more than nothing, and at most a year.
    fn from_str(text: &str) -> Result<Self, SpanError> {
        let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let unit_ns: u128 = match unit {
            "ns" => 1,
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "" => return Err(SpanError::NoUnit),
            _ => return Err(SpanError::BadUnit),
        };
        match scaled(number, unit_ns).ok_or(SpanError::BadNumber)? {
            0 => Err(SpanError::Nothing),
            ns if ns > LONGEST_S * 1_000_000_000 => Err(SpanError::TooLong),
            ns => Ok(Self::from_ns(ns as u64)),
        }
    }
}

/// Returns a decimal number times a unit, rounded down, or `None` if it is not a number.
fn scaled(number: &str, unit: u128) -> Option<u128> {
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| {
        let good = !text.is_empty() && text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit());
        good.then(|| text.parse::<u128>().ok()).flatten()
    };
    Some(digits(whole)? * unit + digits(part)? * unit / 10u128.pow(part.len() as u32))
}
