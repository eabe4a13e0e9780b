//! Decides whether a run failed.
//!
//! The scheduler's own failures always count: an error, a stall, an exit. A scheduler that must be reloaded, such as
//! one without `ops.cpu_offline` when a CPU goes offline, has not failed. The user can add criteria: budgets, a
//! property, a rival.

use crate::failure::Failure as CannotGoOn;
use keel_abi::Span;
use keel_check::Judge;
use keel_gate::{Budgets, Limits, PastRun, Property, Regression, Ruling};
use keel_report::gate::in_unit;
use keel_report::{RunFacts, RunReport};
use keel_search::Failure;

/// Shares of the machine's time are computed over at least this time: in a very short run, any wait is a large share.
const LEAST_TIME: Span = Span::from_ms(100);

/// The criteria.
#[derive(Clone, Debug, Default)]
pub struct Judging {
    /// Findings that exceed these fail the run.
    pub budgets: Option<Budgets>,
    /// The run fails if this does not hold.
    pub property: Option<Property>,
    /// The run fails if it is worse than another scheduler's.
    pub rival: Option<Rival>,
}

/// Another scheduler, and how many times better it must be.
#[derive(Clone, Debug)]
pub struct Rival {
    /// The scheduler, as for `keel sim`.
    pub scheduler: String,
    /// The factor, greater than 1.
    pub factor: f64,
}

impl Rival {
    /// Returns how much worse figures may be. Only figures that users notice count, not the cost of scheduling.
    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        let share = |share: f64| format!("{:.4}%", share * 100.0);
        let more = share(self.factor - 1.0);
        let mut set = |key: Option<&str>, limit: &str| {
            limits.set(key, limit).expect("factors are checked where they are read");
        };
        set(None, "any");
        for key in ["wakeup_delay_p99", "wasted_share"] {
            set(Some(key), &more);
        }
        set(Some("throughput"), &share(1.0 - 1.0 / self.factor));
        limits
    }
}

/// Checks that a property names figures that runs have, before any run is made.
///
/// # Errors
/// It names something else.
pub fn check_property(property: &Property) -> Result<(), CannotGoOn> {
    let nothing = RunReport::new(&RunFacts::default(), &Judge::default().judgement());
    let mut json = serde_json::to_value(nothing).expect("reports have only string keys");
    // Runs leave these out if they are empty.
    for list in ["lines", "locks"] {
        json[list] = serde_json::json!([]);
    }
    property.holds(&json).map(drop).map_err(|wrong| CannotGoOn::input(format!("--property: {wrong}")))
}

impl Judging {
    /// Returns the failures of a run. `rival` is the other scheduler's run, if there is one and it did not fail.
    ///
    /// # Errors
    /// The property names no figure.
    pub fn failures(&self, run: &RunReport, rival: Option<&RunReport>) -> Result<Vec<Failure>, CannotGoOn> {
        if run.failed() {
            return Ok(own_failure(run).into_iter().collect());
        }
        let mut failures = Vec::new();
        if let Some(budgets) = &self.budgets {
            let mut facts = run.facts();
            facts.machine_time = facts.machine_time.max(LEAST_TIME * u64::from(run.cpus));
            let ruling = Ruling::new(budgets, &facts);
            failures.extend(ruling.exceeded().map(|held| Failure {
                kind: held.kind.to_owned(),
                text: format!("{}: {}, where {} is allowed", held.kind, held.found, held.allowed),
            }));
        }
        if let Some(property) = &self.property {
            let json = serde_json::to_value(run).expect("reports have only string keys");
            let wrong = |wrong| CannotGoOn::input(format!("--property: {wrong}"));
            if !property.holds(&json).map_err(wrong)? {
                let figures = property.figures(&json).map_err(wrong)?;
                let text = format!("'{}' does not hold: {figures}", property.text());
                failures.push(Failure { kind: "property".to_owned(), text });
            }
        }
        if let (Some(asked), Some(rival)) = (&self.rival, rival) {
            failures.extend(worse(asked, run, rival));
        }
        Ok(failures)
    }
}

fn own_failure(run: &RunReport) -> Option<Failure> {
    // The kernel unloads the scheduler so that it can be loaded again.
    if run.exit.kind == "unreg_kern" {
        return None;
    }
    let place = run.exit.place.as_deref().unwrap_or_default();
    // Without the source line, which is untrusted text.
    let callback = place.split(" (").next().unwrap_or_default();
    let kind = match callback {
        "" => run.exit.kind.clone(),
        callback => format!("{} in {callback}", run.exit.kind),
    };
    let place = if place.is_empty() { String::new() } else { format!(", in {place}") };
    Some(Failure { kind, text: format!("the scheduler failed: {}{place}", run.exit.reason) })
}

fn worse(asked: &Rival, run: &RunReport, rival: &RunReport) -> Vec<Failure> {
    let [run, rival] = [run, rival].map(|run| {
        let value = serde_json::to_value(run).expect("reports have only string keys");
        serde_json::from_value::<PastRun>(value).expect("keel's own report is a valid baseline")
    });
    let compared = Regression::new(&[&rival], &[run], &asked.limits());
    let failure = |row: &keel_gate::Row| Failure {
        kind: format!("worse {}", row.figure),
        text: format!(
            "{}{} is {}, under {} {}",
            row.figure,
            row.per.map_or_else(String::new, |per| format!(" per {per}")),
            in_unit(row, row.now),
            asked.scheduler,
            in_unit(row, row.baseline)
        ),
    };
    compared.regressed().map(failure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_is_about_figures_of_runs() {
        let check = |text: &str, expected: Option<&str>| {
            let found = check_property(&Property::read(text).unwrap());
            assert_eq!(
                found.err().map(|failure| failure.sentence().to_owned()).as_deref(),
                expected,
                "{text}"
            );
        };
        check("wasted_share <= 2% && wakeup_delay_ns.p99 < 10ms", None);
        check("names.typist.wakeup_delay_ns.max < 1ms", None);
        check("locks.runqueue.wait_ns == 0 && lines.x.ns == 0", None);
        check("foo < 1", Some("--property: no figure is called 'foo'; docs/reference/json.md lists them"));
        check("scheduler < 1", Some("--property: 'scheduler' is not a number"));
    }
}
