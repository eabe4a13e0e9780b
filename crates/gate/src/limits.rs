//! Limits how much worse than the baseline's figures may be.

use crate::budget::{decimal, percent, shown};
use crate::figure::{Figure, KEYS};
use std::collections::BTreeMap;
use std::fmt;

/// The default limit of a figure.
pub const DEFAULT: f64 = 0.05;
/// The maximum: a hundred times as much.
const MOST: f64 = 100.0;

/// How much worse one figure may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// By this share of its baseline.
    Share(f64),
    /// By any amount.
    Any,
}

/// Why a text is not a limit. The message says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// There is no figure with this name.
    #[error("unknown figure '{0}'; the figures are {list}", list = KEYS.join(", "))]
    NoFigure(String),
    /// Neither a share nor `any`.
    #[error("'{0}' is not a limit; write a share of the baseline such as 5%, up to 10000%, or any")]
    NoLimit(String),
}

/// The limits of all figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    all: Limit,
    of: BTreeMap<&'static str, Limit>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { all: Limit::Share(DEFAULT), of: BTreeMap::new() }
    }
}

impl Limit {
    /// Parses `5%` or `any`.
    ///
    /// # Errors
    /// Fails with [`LimitError::NoLimit`].
    pub fn read(text: &str) -> Result<Self, LimitError> {
        let no_limit = || LimitError::NoLimit(shown(text));
        let number = text.trim();
        if number == "any" {
            return Ok(Self::Any);
        }
        let percent = number.strip_suffix('%').and_then(|number| decimal(number.trim_end()));
        let share = percent.ok_or_else(no_limit)? / 100.0;
        if share <= MOST { Ok(Self::Share(share)) } else { Err(no_limit()) }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => f.write_str(&percent(*share)),
            Self::Any => f.write_str("any"),
        }
    }
}

impl Limits {
    /// Sets one limit, for the figure with this key, or for all figures without a limit of their own.
    ///
    /// # Errors
    /// Fails with a [`LimitError`] if there is no such figure, or if the limit is invalid.
    pub fn set(&mut self, key: Option<&str>, limit: &str) -> Result<(), LimitError> {
        let known = |key: &str| KEYS.into_iter().find(|known| *known == key);
        let key = key.map(|key| known(key).ok_or_else(|| LimitError::NoFigure(shown(key)))).transpose()?;
        let limit = Limit::read(limit)?;
        match key {
            Some(key) => _ = self.of.insert(key, limit),
            None => self.all = limit,
        }
        Ok(())
    }

    /// Parses and sets `5%`, or `FIGURE=10%`.
    ///
    /// # Errors
    /// Fails like [`Limits::set`].
    pub fn set_pair(&mut self, text: &str) -> Result<(), LimitError> {
        match text.split_once('=') {
            Some((key, limit)) => self.set(Some(key.trim()), limit),
            None => self.set(None, text),
        }
    }

    /// Returns the limit of a figure.
    pub(crate) fn of(&self, figure: &Figure) -> Limit {
        self.of.get(figure.key()).copied().unwrap_or(self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_its_own_limit_or_that_of_all() {
        let mut limits = Limits::default();
        assert_eq!(limits.of(&Figure::Switches), Limit::Share(0.05));
        for text in ["2%", "migrations=any", "wasted_share = 200%"] {
            limits.set_pair(text).unwrap();
        }
        let check = |figure: Figure, expected| assert_eq!(limits.of(&figure), expected);
        check(Figure::Switches, Limit::Share(0.02));
        check(Figure::Migrations, Limit::Any);
        check(Figure::WastedShare, Limit::Share(2.0));
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let check = |text: &str, expected: &str| {
            let reported = Limits::default().set_pair(text).unwrap_err().to_string();
            assert!(reported.contains(expected), "{text}: {reported}");
        };
        check("5", "'5' is not a limit; write a share");
        check("-5%", "'-5%' is not a limit");
        check("10001%", "up to 10000%");
        check("speed=5%", "unknown figure 'speed'; the figures are throughput, ");
        check("switches=", "'' is not a limit");
    }
}
