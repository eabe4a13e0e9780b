//! Compares the findings of a run with its budgets.

use crate::budget::{Budget, percent};
use crate::budgets::Budgets;
use crate::subject::{Of, Subject};
use keel_abi::Span;
use keel_check::{Kind, Sums};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The facts about a run that budgets need.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Findings that a program did not cause itself.
    pub found: BTreeMap<Kind, Sums>,
    /// Kinds whose findings may be false, because a recording lacks something. They are shown, but exceed no budget.
    pub unsure: BTreeSet<Kind>,
    /// The scheduler's loads and stores at invalid addresses.
    pub bad_accesses: u64,
    /// Time that CPUs were online, summed over them.
    pub machine_time: Span,
    /// Wakeups and forks.
    pub wakeups: u64,
    /// The number of tasks.
    pub tasks: u64,
}

/// A budget, and whether it held.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// The kind of finding, or `bad_access`.
    pub kind: &'static str,
    /// The budget in words.
    pub allowed: String,
    /// The findings, in the same words.
    pub found: String,
    /// The limit: a share (0 to 1), a number, or nanoseconds. `null` for `any`.
    pub allowed_value: Option<f64>,
    /// The findings in the same unit. For `any`, the number of findings.
    pub found_value: f64,
    /// Whether findings of this kind count. False if they depend on what the recording lacks.
    pub counted: bool,
    /// Whether the findings are within the limit, or don't count.
    pub held: bool,
}

/// Whether a run passed, and its budgets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ruling {
    /// Whether all of them held.
    pub passed: bool,
    /// Each budget, in the order of the kinds.
    pub budgets: Vec<Held>,
}

impl Ruling {
    /// Compares every budget with the findings.
    pub fn new(budgets: &Budgets, facts: &Facts) -> Self {
        let each = |(subject, allowed): (Subject, &crate::Allowed)| {
            allowed.0.iter().map(|budget| held(subject, *budget, facts)).collect::<Vec<_>>()
        };
        let budgets: Vec<Held> = budgets.iter().flat_map(each).collect();
        Self { passed: budgets.iter().all(|budget| budget.held), budgets }
    }

    /// Returns the budgets that did not hold.
    pub fn exceeded(&self) -> impl Iterator<Item = &Held> {
        self.budgets.iter().filter(|budget| !budget.held)
    }
}

fn held(subject: Subject, budget: Budget, facts: &Facts) -> Held {
    let sums = match subject {
        Subject::Kind(kind) => facts.found.get(&kind).copied().unwrap_or_default(),
        Subject::BadAccess => Sums { count: facts.bad_accesses, ..Sums::default() },
    };
    let of = subject.of().unwrap_or(Of::Tasks);
    let ns = |span: Span| span.as_ns() as f64;
    let (allowed_value, found_value, found) = match budget {
        Budget::Any => (None, sums.count as f64, number(sums.count)),
        Budget::Count(most) => (Some(most as f64), sums.count as f64, number(sums.count)),
        Budget::Share(most) => {
            let share = share(of, &sums, facts);
            (Some(most), share, percent_found(share))
        }
        Budget::Total(most) => (Some(ns(most)), ns(sums.total), duration(sums.total)),
        Budget::Each(most) => (Some(ns(most)), ns(sums.longest), duration(sums.longest)),
    };
    let allowed = match budget {
        Budget::Share(_) => format!("{budget} of {}", of.words()),
        Budget::Total(_) => format!("{budget} in all"),
        _ => budget.to_string(),
    };
    let counted = !matches!(subject, Subject::Kind(kind) if facts.unsure.contains(&kind));
    let held = !counted || allowed_value.is_none_or(|most| found_value <= most);
    Held { kind: subject.name(), allowed, found, allowed_value, found_value, counted, held }
}

/// Returns the findings as a share of the machine's time, or per wakeup or task.
fn share(of: Of, sums: &Sums, facts: &Facts) -> f64 {
    let (part, whole) = match of {
        Of::MachineTime => (sums.total.as_ns(), facts.machine_time.as_ns()),
        Of::Wakeups => (sums.count, facts.wakeups),
        Of::Tasks => (sums.count, facts.tasks),
    };
    match (part, whole) {
        (0, _) => 0.0,
        // A recording may contain findings without the wakeups that they are a share of.
        (_, 0) => 1.0,
        (part, whole) => part as f64 / whole as f64,
    }
}

fn number(count: u64) -> String {
    if count == 0 { "none".to_owned() } else { count.to_string() }
}

fn duration(span: Span) -> String {
    if span == Span::ZERO { "none".to_owned() } else { span.to_string() }
}

/// Formats a share with three digits, because findings are never as round as limits.
fn percent_found(share: f64) -> String {
    match share * 100.0 {
        0.0 => "none".to_owned(),
        p if p < 0.0001 => "under 0.0001%".to_owned(),
        p => {
            let digits = (2 - p.log10().floor() as i32).clamp(0, 6) as usize;
            let rounded = format!("{p:.digits$}").parse().unwrap_or(p);
            percent(rounded / 100.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budgets::pair;

    fn facts(kind: Kind, count: u64, total: Span, longest: Span) -> Facts {
        let found = BTreeMap::from([(kind, Sums { count, total, longest })]);
        Facts {
            found,
            unsure: BTreeSet::new(),
            machine_time: Span::from_s(10),
            wakeups: 1000,
            tasks: 20,
            bad_accesses: 0,
        }
    }

    #[test]
    fn each_form_holds_up_to_its_budget_and_no_further() {
        let check = |kind: Kind, budget: &str, held: bool| {
            let facts = facts(kind, 4, Span::from_ms(200), Span::from_ms(80));
            let (subject, allowed) = pair(&format!("{}={budget}", kind.name())).unwrap();
            let mut budgets = Budgets::default();
            budgets.allow(subject, allowed);
            let ruling = Ruling::new(&budgets, &facts);
            assert_eq!(ruling.passed, held, "{} {budget}: {ruling:?}", kind.name());
            assert_eq!(ruling.exceeded().count() > 0, !held);
        };
        for (kind, exact, less) in [
            (Kind::WastedCore, "2%", "1.999%"),
            (Kind::LockWait, "2%", "1.9%"),
            (Kind::Stall, "2%", "1.9%"),
            (Kind::LongDelay, "0.4%", "0.39%"),
            (Kind::MisplacedRealtime, "0.4%", "0.39%"),
            (Kind::PriorityInversion, "0.4%", "0.39%"),
            (Kind::Starvation, "20%", "19%"),
            (Kind::UnfairShare, "20%", "19%"),
            (Kind::Bouncing, "20%", "19%"),
        ] {
            check(kind, exact, true);
            check(kind, less, false);
            for (budget, held) in [
                ("4", true),
                ("3", false),
                ("none", false),
                ("any", true),
                ("200ms", true),
                ("199ms", false),
                ("80ms-each", true),
                ("79ms-each", false),
                ("100%,80ms-each", true),
                ("100%,3", false),
            ] {
                check(kind, budget, held);
            }
        }
    }

    #[test]
    fn by_default_a_flaw_that_harms_somebody_fails() {
        let check = |facts: &Facts, expected: &[&str]| {
            let ruling = Ruling::new(&Budgets::default(), facts);
            let reported: Vec<String> =
                ruling.exceeded().map(|h| format!("{}: {} > {}", h.kind, h.found, h.allowed)).collect();
            assert_eq!(reported, expected);
        };
        check(&Facts::default(), &[]);
        let short = Span::from_us(50);
        check(&facts(Kind::WastedCore, 900, Span::from_ms(95), short), &[]);
        check(
            &facts(Kind::WastedCore, 900, Span::from_ms(205), short),
            &["wasted_core: 2.05% > 2% of the machine's time"],
        );
        check(
            &facts(Kind::WastedCore, 1, Span::from_ms(101), Span::from_ms(101)),
            &["wasted_core: 101.00 ms > 100.00 ms each"],
        );
        check(&facts(Kind::Bouncing, 40, Span::from_s(300), Span::from_s(10)), &[]);
        for kind in [Kind::Starvation, Kind::LongDelay, Kind::Stall, Kind::UnfairShare, Kind::LockWait] {
            check(&facts(kind, 1, short, short), &[&format!("{}: 1 > none", kind.name())]);
        }
        check(&Facts { bad_accesses: 2, ..Facts::default() }, &["bad_access: 2 > none"]);
    }

    #[test]
    fn what_may_be_none_exceeds_nothing() {
        let unsure = BTreeSet::from([Kind::Stall]);
        let stalled = facts(Kind::Stall, 2, Span::from_s(5), Span::from_s(4));
        let ruling = Ruling::new(&Budgets::default(), &Facts { unsure: unsure.clone(), ..stalled });
        let stall = ruling.budgets.iter().find(|held| held.kind == "stall").unwrap();
        assert!(ruling.passed && !stall.counted && stall.found == "2", "{stall:?}");
        let late = facts(Kind::LongDelay, 2, Span::from_s(5), Span::from_s(4));
        assert!(!Ruling::new(&Budgets::default(), &Facts { unsure, ..late }).passed);
    }

    #[test]
    fn findings_without_what_they_are_a_share_of_are_all_of_it() {
        let facts = Facts { wakeups: 0, ..facts(Kind::LongDelay, 1, Span::from_s(1), Span::from_s(1)) };
        let (subject, allowed) = pair("long_delay=50%").unwrap();
        let mut budgets = Budgets::default();
        budgets.allow(subject, allowed);
        assert!(!Ruling::new(&budgets, &facts).passed);
    }

    #[test]
    fn shares_that_were_found_have_three_figures() {
        let check = |share, expected: &str| assert_eq!(percent_found(share), expected);
        check(0.0, "none");
        check(0.226_402, "22.6%");
        check(0.000_045_12, "0.00451%");
        check(1e-9, "under 0.0001%");
        check(1.0, "100%");
        check(3.5, "350%");
    }
}
