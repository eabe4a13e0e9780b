//! Reads `--from` and `--until`: a time from the start of the recording, or a time of the recorder's own clock.
//!
//! `2s` counts from the start. So does `7654.19s` if the recording is that long; otherwise it is a time of the
//! recorder's clock, provided that lies within the recording. `7654.190123`, as recorders print it, is always a time of
//! the recorder's clock.

use crate::parse;
use keel_abi::{Instant, Span};
use keel_trace::{Class, Event, Meta, Sink};

/// A time that was copied may lack its last digits, so a time up to this much before the start counts as the start.
const ROUNDING: Span = Span::from_s(1);

/// A requested time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// From the start, unless it only makes sense as a time of the recorder's clock.
    Either(Span),
    /// A time of the recorder's clock.
    Clock(Span),
}

/// What must be known about a recording to find a moment in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The recorder's clock at the start; `None` for simulated runs.
    pub clock: Option<Span>,
    /// How long it is.
    pub length: Span,
}

/// Parses an argument.
pub fn moment(text: &str) -> Result<Moment, String> {
    if let Some(clock) = bare_seconds(text) {
        return Ok(Moment::Clock(clock));
    }
    match text.strip_suffix('s').and_then(bare_seconds) {
        Some(seconds) => Ok(Moment::Either(seconds)),
        None => parse::duration(text).map(Moment::Either),
    }
}

/// Parses seconds with a decimal point, as recorders print times.
fn bare_seconds(text: &str) -> Option<Span> {
    let (whole, part) = text.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 18 {
        return None;
    }
    let part_ns = u128::from(part.parse::<u64>().ok()?) * 1_000_000_000 / 10u128.pow(part.len() as u32);
    let ns =
        whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(u64::try_from(part_ns).ok()?)?;
    Some(Span::from_ns(ns))
}

impl Moment {
    /// Returns the instant in the recording. The error explains why there is none.
    pub fn within(self, extent: Extent) -> Result<Instant, String> {
        let after = match (self, extent.clock) {
            (Self::Clock(time), Some(clock)) => time.saturating_sub(clock),
            (Self::Clock(_), None) => {
                return Err(
                    "this recording has no recorder's clock; give a time from its start, as in 2s".into()
                );
            }
            (Self::Either(time), Some(clock)) if time > extent.length => {
                let is_clock = time + ROUNDING >= clock && time <= clock + extent.length;
                if is_clock { time.saturating_sub(clock) } else { time }
            }
            (Self::Either(time), _) => time,
        };
        Ok(Instant::ZERO + after)
    }
}

impl Sink for Extent {
    fn wants(&self) -> Class {
        Class::CORE
    }

    fn events(&mut self, events: &[Event]) {
        if let Some(last) = events.last() {
            self.length = last.at.since(Instant::ZERO);
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.length = at.since(Instant::ZERO);
        if let Meta::Clock { ns } = meta {
            self.clock = Some(Span::from_ns(*ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_after_the_beginning_or_the_recorders() {
        let extent = |clock, length| Extent { clock, length: Span::from_ms(length) };
        let check = |text: &str, extent, expected: Result<u64, ()>| {
            let found = moment(text).expect(text).within(extent);
            assert_eq!(found.map(Instant::as_ns).map_err(drop), expected, "{text} in {extent:?}");
        };
        let (late, early) = (Some(Span::from_us(7_654_190_123)), Some(Span::from_s(5)));
        check("2s", extent(late, 2700), Ok(2_000_000_000));
        check("500ms", extent(late, 2700), Ok(500_000_000));
        check("7654.19s", extent(late, 2700), Ok(0));
        check("7655.190123s", extent(late, 2700), Ok(1_000_000_000));
        check("7655s", extent(late, 2700), Ok(809_877_000));
        check("7655.190123", extent(late, 2700), Ok(1_000_000_000));
        check("7654190223us", extent(late, 2700), Ok(100_000));
        // Neither makes sense: it counts from the start.
        check("7000s", extent(late, 2700), Ok(7_000_000_000_000));
        check("8000s", extent(late, 2700), Ok(8_000_000_000_000));
        // Both make sense: it counts from the start, because findings print times in this way.
        check("6s", extent(early, 10_000), Ok(6_000_000_000));
        check("6.0", extent(early, 10_000), Ok(1_000_000_000));
        check("4.5", extent(early, 10_000), Ok(0));
        check("12.5s", extent(early, 10_000), Ok(7_500_000_000));
        check("6s", extent(None, 1_000), Ok(6_000_000_000));
        check("6.0", extent(None, 10_000), Err(()));
        // Clocks that start in 1970.
        check("1763800000.5s", extent(Some(Span::from_s(1_763_800_000)), 1000), Ok(500_000_000));
    }

    #[test]
    fn invalid_moments_are_refused() {
        for bad in ["", "7654", "7654.", ".19", "1.2.3", "-1s", "1e3", "99999999999999999999.0", "7654:19"] {
            assert!(moment(bad).is_err(), "{bad}");
        }
    }
}
