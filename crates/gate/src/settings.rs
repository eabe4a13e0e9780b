//! A repository's file of budgets, which is TOML:
//!
//! ```toml
//! [allow]
//! wasted_core = ["1%", "50ms-each"]
//! long_delay = 3
//!
//! [regression]
//! all = "5%"
//! migrations = "any"
//! ```

use crate::budget::BudgetError;
use crate::budgets::{Allowed, Budgets};
use crate::limits::{LimitError, Limits};
use crate::subject::Subject;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// Budgets and limits: the defaults, a file's, and single ones. Later ones replace earlier ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The budgets of the findings.
    pub budgets: Budgets,
    /// How much worse than a baseline the figures may be.
    pub limits: Limits,
}

/// An error in a file, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {problem}")]
pub struct SettingsError {
    /// The file, as given by the user.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Invalid TOML, or a table or value of the wrong kind: the parser's message.
    #[error("{0}")]
    Syntax(String),
    /// An invalid budget.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// An invalid limit.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    allow: BTreeMap<Spanned<String>, Spanned<Value>>,
    #[serde(default)]
    regression: BTreeMap<Spanned<String>, Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a budget is a string, a number, or a list of strings")]
enum Value {
    Number(u64),
    Text(String),
    List(Vec<String>),
}

impl Settings {
    /// Applies a file's contents. `file` is its name, for messages.
    ///
    /// # Errors
    /// Fails with a [`SettingsError`] about the first error.
    pub fn read(&mut self, file: &str, text: &str) -> Result<(), SettingsError> {
        let error = |at: Range<usize>, problem: Problem| {
            let line = keel_tables::line(text, at.start);
            SettingsError { file: file.to_owned(), line, problem }
        };
        let tables: File = keel_tables::read(text)
            .map_err(|wrong| error(wrong.at, Problem::Syntax(keel_check::escape_all(&wrong.said))))?;
        for (name, value) in &tables.allow {
            let no_kind = || BudgetError::NoKind(keel_check::escape(name.get_ref()));
            let subject =
                Subject::named(name.get_ref()).ok_or_else(|| error(name.span(), no_kind().into()))?;
            let allowed =
                value.get_ref().allowed(subject).map_err(|wrong| error(value.span(), wrong.into()))?;
            self.budgets.allow(subject, allowed);
        }
        for (name, limit) in &tables.regression {
            let key = Some(name.get_ref().as_str()).filter(|key| *key != "all");
            self.limits.set(key, limit.get_ref()).map_err(|wrong| error(name.span(), wrong.into()))?;
        }
        Ok(())
    }
}

impl Value {
    fn allowed(&self, subject: Subject) -> Result<Allowed, BudgetError> {
        match self {
            Self::Number(number) => Allowed::read(subject, &number.to_string()),
            Self::Text(text) => Allowed::read(subject, text),
            Self::List(texts) => Allowed::of(subject, texts.iter().map(String::as_str)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_arguments_say() {
        let mut of_file = Settings::default();
        let text = "[allow]\nwasted_core = ['1%', '50ms-each']\nlong_delay = 3\nstall = 'any'\n\
                    [regression]\nall = '3%'\nmigrations = 'any'\n";
        of_file.read("b.toml", text).unwrap();
        let mut of_arguments = Settings::default();
        for pair in ["wasted_core=1%,50ms-each", "long_delay=3", "stall=any"] {
            let (subject, allowed) = crate::budgets::pair(pair).unwrap();
            of_arguments.budgets.allow(subject, allowed);
        }
        for pair in ["3%", "migrations=any"] {
            of_arguments.limits.set_pair(pair).unwrap();
        }
        assert_eq!(of_file, of_arguments);
        let mut empty = Settings::default();
        empty.read("b.toml", "").unwrap();
        assert_eq!(empty, Settings::default());
    }

    proptest::proptest! {
        #[test]
        fn nothing_that_is_given_panics(text in "(\\PC|\n){0,60}", name in "[a-z_]{0,12}", value in "[0-9.%a-z=',\\[\\]-]{0,12}") {
            for file in [text.clone(), format!("[allow]\nwasted_core = {value}\n[regression]\n{name} = '{value}'\n")] {
                let reported = Settings::default().read("b.toml", &file).map_err(|wrong| wrong.to_string());
                proptest::prop_assert!(!reported.is_err_and(|reported| reported.contains(char::is_control)));
            }
            let _ = crate::budgets::pair(&format!("wasted_core={value}"));
            let _ = (crate::budgets::pair(&text), Limits::default().set_pair(&text), crate::Baseline::read(&text));
        }
    }

    #[test]
    fn errors_are_reported_with_their_line() {
        let check = |text: &str, line: usize, expected: &str| {
            let wrong = Settings::default().read("b.toml", text).unwrap_err();
            let reported = wrong.to_string();
            assert!(
                reported.starts_with(&format!("b.toml:{line}: ")) && reported.contains(expected),
                "{text}: {reported}"
            );
        };
        check("[allow]\n\nwasted = '1%'\n", 3, "unknown kind 'wasted'; the kinds are");
        check(
            "[allow]\nstall = 1\nwasted_core = '1'\nlong_delay = 'much'\n",
            4,
            "'much' is not a budget for long_delay",
        );
        check("[allow]\nstall = -1\n", 2, "a budget is a string, a number, or a list of strings");
        check("[allow]\nstall = 0.5\n", 2, "a budget is a string");
        check("[allow]\nstall = []\n", 2, "'' is not a budget for stall");
        check("[allow]\nstall = ['any', '1']\n", 2, "'any' must be the only budget for stall");
        check("[allow]\nstall = 1\nstall = 2\n", 3, "duplicate key");
        check("[allowed]\n", 1, "unknown field `allowed`");
        check("[allow\n", 1, "");
        check("[regression]\nspeed = '5%'\n", 2, "unknown figure 'speed'");
        check("[regression]\nswitches = '5'\n", 2, "'5' is not a limit");
    }
}
