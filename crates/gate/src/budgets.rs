//! The budgets of a run: the limits of each subject, by default or as requested.
//!
//! The defaults pass a good scheduler and fail one with a flaw that harms tasks. docs/reference/strict.md gives the
//! figures behind them. A requested budget replaces only the default of its subject.

use crate::budget::{Budget, BudgetError, shown};
use crate::subject::Subject;
use keel_abi::Span;
use keel_check::Kind;
use std::collections::BTreeMap;

/// The share of a machine's time that a scheduler may waste. Built-in schedulers that take every idle CPU waste up to 1
/// % on the default workload. Those that leave tasks where they were waste 5 % and more.
const WASTE: f64 = 0.02;
/// The longest time that a core may be wasted: the Wasted Cores paper's sanity checker confirms waste after this.
const EPISODE: Span = Span::from_ms(100);

/// The budgets of one subject. All of them must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Allowed(pub Vec<Budget>);

impl Allowed {
    /// Parses budgets separated by commas.
    ///
    /// # Errors
    /// Fails with a [`BudgetError`] about the first invalid one.
    pub fn read(subject: Subject, text: &str) -> Result<Self, BudgetError> {
        Self::of(subject, text.split(','))
    }

    /// Parses budgets, one per text.
    pub(crate) fn of<'a>(
        subject: Subject,
        texts: impl Iterator<Item = &'a str>,
    ) -> Result<Self, BudgetError> {
        let texts: Vec<&str> = texts.collect();
        let read = |text: &&str| Budget::read(subject, text);
        let budgets = texts.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let alone = |budget: &Budget| matches!(budget, Budget::Any | Budget::Count(0));
        match budgets.iter().position(alone) {
            Some(at) if budgets.len() > 1 => {
                Err(BudgetError::Contradicts { text: shown(texts[at]), subject: subject.name() })
            }
            _ if budgets.is_empty() => Budget::read(subject, "").map(|budget| Self(vec![budget])),
            _ => Ok(Self(budgets)),
        }
    }
}

/// The budgets of every subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Budgets(BTreeMap<Subject, Allowed>);

impl Default for Budgets {
    fn default() -> Self {
        let allowed = |subject| match subject {
            Subject::Kind(Kind::WastedCore) => vec![Budget::Share(WASTE), Budget::Each(EPISODE)],
            // A task that bounces pays for cold caches, and no other task does. With one queue for all CPUs, tasks
            // bounce by design.
            Subject::Kind(Kind::Bouncing) => vec![Budget::Any],
            _ => vec![Budget::Count(0)],
        };
        Self(Subject::all().map(|subject| (subject, Allowed(allowed(subject)))).collect())
    }
}

impl Budgets {
    /// Replaces the budgets of a subject.
    pub fn allow(&mut self, subject: Subject, allowed: Allowed) {
        self.0.insert(subject, allowed);
    }

    /// Returns each subject with its budgets.
    pub fn iter(&self) -> impl Iterator<Item = (Subject, &Allowed)> {
        self.0.iter().map(|(subject, allowed)| (*subject, allowed))
    }
}

/// Parses `KIND=BUDGET`, or `KIND=BUDGET,BUDGET`.
///
/// # Errors
/// Fails with a [`BudgetError`] if there is no such kind, or if it cannot have such a budget.
pub fn pair(text: &str) -> Result<(Subject, Allowed), BudgetError> {
    let (name, budgets) = text.split_once('=').ok_or_else(|| BudgetError::NoPair(shown(text)))?;
    let subject = Subject::named(name.trim()).ok_or_else(|| BudgetError::NoKind(shown(name)))?;
    Ok((subject, Allowed::read(subject, budgets)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_name_a_kind_and_its_budgets() {
        let read = |text| pair(text).map(|(subject, allowed)| (subject.name(), allowed.0));
        assert_eq!(read("long_delay=3"), Ok(("long_delay", vec![Budget::Count(3)])));
        let two = vec![Budget::Share(0.01), Budget::Each(Span::from_ms(5))];
        assert_eq!(read("wasted_core=1%,5ms-each"), Ok(("wasted_core", two)));
        let check = |text: &str, expected: &str| {
            let reported = pair(text).unwrap_err().to_string();
            assert!(reported.contains(expected), "{text}: {reported}");
        };
        check("wasted=1%", "unknown kind 'wasted'; the kinds are wasted_core, starvation, ");
        check("wasted_core", "'wasted_core' is not KIND=BUDGET");
        check("wasted_core=", "'' is not a budget for wasted_core");
        check("wasted_core=1%,", "'' is not a budget for wasted_core");
        check("stall=any,3", "'any' must be the only budget for stall");
        check("stall=3,none", "'none' must be the only budget for stall");
    }

    #[test]
    fn every_subject_has_a_default() {
        assert_eq!(Budgets::default().iter().count(), Subject::all().count());
        assert!(Budgets::default().iter().all(|(_, allowed)| !allowed.0.is_empty()));
    }
}
