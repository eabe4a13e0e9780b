//! A budget, as people write it: `none`, `any`, `0.5%`, `3`, `20ms`, `20ms-each`.

use crate::subject::Subject;
use keel_abi::{Span, SpanError};
use std::fmt;

/// How much of something is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// Any amount.
    Any,
    /// This many findings. 0 is also written `none`.
    Count(u64),
    /// This share, 0 to 1, of what [`Subject::of`] returns.
    Share(f64),
    /// This total duration of all findings.
    Total(Span),
    /// Any number of findings, each at most this long.
    Each(Span),
}

/// Why a text is not a budget. The message says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// There is no kind with this name.
    #[error("unknown kind '{0}'; the kinds are {list}", list = Subject::names())]
    NoKind(String),
    /// The text has none of the allowed forms.
    #[error(
        "'{text}' is not a budget for {subject}; write {}",
        if *.counted { "a number, none or any" } else { "a share such as 0.5%, a number, a time such as 20ms or 20ms-each, none or any" }
    )]
    NoBudget {
        /// The given text.
        text: String,
        /// Its subject.
        subject: &'static str,
        /// Whether it has neither a share nor a duration.
        counted: bool,
    },
    /// A share below 0 or above 1.
    #[error("'{text}' is not a share for {subject}; write 0% to 100%, or any")]
    OutOfRange {
        /// The given text.
        text: String,
        /// Its subject.
        subject: &'static str,
    },
    /// An impossible time.
    #[error("'{text}' is not a time for {subject}: {why}")]
    NoTime {
        /// The given text.
        text: String,
        /// Its subject.
        subject: &'static str,
        /// What is wrong with it.
        why: SpanError,
    },
    /// `any` or `none` beside another budget.
    #[error("'{text}' must be the only budget for {subject}")]
    Contradicts {
        /// The given text.
        text: String,
        /// Its subject.
        subject: &'static str,
    },
    /// Not of the form `KIND=BUDGET`.
    #[error("'{0}' is not KIND=BUDGET, as in wasted_core=0.5%; the kinds are {list}", list = Subject::names())]
    NoPair(String),
}

impl Budget {
    /// Parses a budget for `subject`.
    ///
    /// # Errors
    /// Fails with a [`BudgetError`] if the subject cannot have such a budget.
    pub fn read(subject: Subject, text: &str) -> Result<Self, BudgetError> {
        let name = subject.name();
        let counted = subject.of().is_none();
        let no_budget = || BudgetError::NoBudget { text: shown(text), subject: name, counted };
        let number = text.trim();
        match number {
            "any" => return Ok(Self::Any),
            "none" => return Ok(Self::Count(0)),
            _ if counted && !is_digits(number) => return Err(no_budget()),
            _ => {}
        }
        if is_digits(number) {
            return number.parse().map(Self::Count).map_err(|_| no_budget());
        }
        if let Some(percent) = number.strip_suffix('%') {
            let share = decimal(percent.trim_end()).ok_or_else(no_budget)? / 100.0;
            let out_of_range = || BudgetError::OutOfRange { text: shown(text), subject: name };
            return (share <= 1.0).then_some(Self::Share(share)).ok_or_else(out_of_range);
        }
        // A share without its sign, or nothing: the list of forms helps more than a message about the unit.
        if !number.contains(|c: char| c.is_ascii_alphabetic())
            || !number.starts_with(|c: char| c.is_ascii_digit())
        {
            return Err(no_budget());
        }
        let (span, each) = match number.strip_suffix("-each") {
            Some(span) => (span, true),
            None => (number, false),
        };
        let no_time = |why| BudgetError::NoTime { text: shown(text), subject: name, why };
        let span = span.parse().map_err(no_time)?;
        Ok(if each { Self::Each(span) } else { Self::Total(span) })
    }
}

/// Parses a number without a sign or an exponent.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    (is_digits(whole) && is_digits(part)).then(|| text.parse().ok()).flatten()
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.len() <= 19 && text.bytes().all(|b| b.is_ascii_digit())
}

/// Returns the given text, safe to print.
pub(crate) fn shown(text: &str) -> String {
    keel_check::escape(text)
}

/// Formats a share as `2%` or `0.05%`, as it was written.
pub(crate) fn percent(share: f64) -> String {
    let text = format!("{:.6}", share * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Count(0) => f.write_str("none"),
            Self::Count(count) => write!(f, "{count}"),
            Self::Share(share) => f.write_str(&percent(*share)),
            Self::Total(span) => write!(f, "{span}"),
            Self::Each(span) => write!(f, "{span} each"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_check::Kind;

    const WASTE: Subject = Subject::Kind(Kind::WastedCore);

    #[test]
    fn budgets_read_as_they_are_written() {
        let check = |text, expected| assert_eq!(Budget::read(WASTE, text), Ok(expected), "{text}");
        check("none", Budget::Count(0));
        check("0", Budget::Count(0));
        check("any", Budget::Any);
        check("3", Budget::Count(3));
        check("0.5%", Budget::Share(0.005));
        check(" 100 % ", Budget::Share(1.0));
        check("20ms", Budget::Total(Span::from_ms(20)));
        check("1.5s-each", Budget::Each(Span::from_ms(1500)));
        assert_eq!(Budget::read(Subject::BadAccess, "7"), Ok(Budget::Count(7)));
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let check = |subject, text: &str, expected: &str| {
            let reported = Budget::read(subject, text).unwrap_err().to_string();
            assert!(reported.contains(expected) && reported.contains(subject.name()), "{text}: {reported}");
        };
        for text in [
            "",
            "-1",
            "lots",
            "0.5",
            "%",
            "-1%",
            "nan%",
            "inf%",
            "1.%",
            "99999999999999999999",
            "-each",
            "１",
        ] {
            check(WASTE, text, "is not a budget for wasted_core; write a share such as 0.5%");
        }
        check(WASTE, "100.1%", "write 0% to 100%");
        check(WASTE, "1e3", "the unit must be ns, us, ms, s or m");
        check(WASTE, "20h", "the unit must be ns, us, ms, s or m");
        check(WASTE, "0ms", "it must be longer than nothing");
        check(WASTE, "10-each", "it needs a unit");
        check(Subject::BadAccess, "1%", "write a number, none or any");
        check(Subject::BadAccess, "1ms", "write a number, none or any");
        check(WASTE, "\u{1b}[2J", "\\u{1b}");
    }

    #[test]
    fn shares_are_shown_as_they_are_written() {
        let check = |share, expected: &str| assert_eq!(percent(share), expected);
        check(0.02, "2%");
        check(0.005, "0.5%");
        check(1.0, "100%");
        check(0.0, "0%");
        check(0.00001, "0.001%");
    }
}
