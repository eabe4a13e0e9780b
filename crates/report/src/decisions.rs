//! What a scheduler's decisions cost as more tasks wait, as table and JSON.

use crate::run::SpreadReport;
use crate::style::{Paint, Style};
use crate::table::{lines_of, plain_table};
use crate::units;
use crate::verdict::printable;
use comfy_table::{Cell, CellAlignment};
use keel_abi::Span;
use keel_check::DecisionCost;
use keel_check::decisions::exponent;
use serde::Serialize;

/// One scheduler on one machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecisionsReport {
    /// The scheduler.
    pub scheduler: String,
    /// The machine.
    pub machine: String,
    /// Its callbacks and what is told apart of them, in the order in which they were first seen.
    pub callbacks: Vec<CallbackReport>,
}

/// One kind of callback.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallbackReport {
    /// Its name in `struct sched_ext_ops`; `wakeup`, which is `select_cpu` and the `enqueue` after it; or a dispatch
    /// in which a counter of the scheduler's rose: `array switch`, `recalculation`.
    pub callback: String,
    /// With how many waiting tasks it cost what.
    pub sizes: Vec<SizeReport>,
    /// The exponent with which its median time grows with the waiting tasks; absent where it was
    /// called with one number of them only.
    pub exponent: Option<f64>,
}

/// The cost of one kind of callback with so many waiting tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeReport {
    /// Tasks that waited.
    pub tasks: u32,
    /// How often it was called.
    pub calls: u64,
    /// BPF instructions a call.
    pub instructions: SpreadReport,
    /// Time a call.
    pub time_ns: SpreadReport,
}

impl DecisionsReport {
    /// A report to be filled.
    pub fn new(scheduler: &str, machine: &str) -> Self {
        Self { scheduler: scheduler.to_owned(), machine: machine.to_owned(), callbacks: Vec::new() }
    }

    /// Adds what callbacks cost with so many waiting tasks.
    pub fn add(&mut self, tasks: u32, costs: &[DecisionCost]) {
        for cost in costs {
            let name = cost.name;
            let known = self.callbacks.iter().position(|callback| callback.callback == name);
            let at = known.unwrap_or_else(|| {
                let callback = name.to_owned();
                self.callbacks.push(CallbackReport { callback, sizes: Vec::new(), exponent: None });
                self.callbacks.len() - 1
            });
            let callback = &mut self.callbacks[at];
            callback.sizes.push(SizeReport {
                tasks,
                calls: cost.calls,
                instructions: cost.instructions.into(),
                time_ns: cost.time.into(),
            });
            callback.exponent = exponent(&points(&callback.sizes));
        }
    }
}

/// Waiting tasks and median time.
fn points(sizes: &[SizeReport]) -> Vec<(f64, f64)> {
    sizes.iter().map(|size| (f64::from(size.tasks), size.time_ns.p50.max(1) as f64)).collect()
}

/// A line for each callback and number of waiting tasks, and a sentence for each scheduler.
pub fn table(schedulers: &[DecisionsReport], style: Style) -> String {
    let mut text = String::new();
    for report in schedulers {
        let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
        let heads = ["waiting", "calls", "insns", "time", "99 %", "longest", "exponent"];
        let mut table = plain_table(style);
        let name = Cell::new(printable(&report.scheduler));
        table.set_header([name].into_iter().chain(heads.map(|head| right(head.to_owned()))));
        for callback in &report.callbacks {
            for (at, size) in callback.sizes.iter().enumerate() {
                let first = at == 0;
                let mut row = vec![Cell::new(if first { &callback.callback } else { "" })];
                row.push(right(units::count(u64::from(size.tasks))));
                row.push(right(units::count(size.calls)));
                row.push(right(units::count(size.instructions.p50)));
                let SpreadReport { p50, p99, max } = size.time_ns;
                row.extend([p50, p99, max].map(|ns| right(Span::from_ns(ns).to_string())));
                let shown = callback.exponent.filter(|_| first).map_or(String::new(), |e| format!("{e:.2}"));
                row.push(right(shown));
                table.add_row(row);
            }
        }
        text += &(lines_of(&table) + "\n\n" + &style.paint(Paint::Bold, &sentence(report)) + "\n\n");
    }
    text
}

/// What grows, by name.
fn sentence(report: &DecisionsReport) -> String {
    let grows = |callback: &&CallbackReport| callback.exponent.is_some_and(|exponent| exponent > 0.1);
    let growing: Vec<String> = report
        .callbacks
        .iter()
        .filter(grows)
        .map(|callback| format!("{} (exponent {:.2})", callback.callback, callback.exponent.unwrap_or(0.0)))
        .collect();
    let scheduler = printable(&report.scheduler);
    match growing.as_slice() {
        [] => format!("{scheduler}: no decision grows with the tasks that wait."),
        names => format!("{scheduler}: with the tasks that wait grow {}.", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_check::Spread;

    fn cost(name: &'static str, ns: u64) -> DecisionCost {
        let time = Span::from_ns(ns);
        DecisionCost {
            name,
            calls: 1234,
            instructions: Spread { p50: ns / 2, p99: ns, max: 2 * ns },
            time: Spread { p50: time, p99: time, max: time + time },
        }
    }

    fn report(name: &str, dispatch_ns: impl Fn(u32) -> u64) -> DecisionsReport {
        let mut report = DecisionsReport::new(name, "8 CPUs");
        for tasks in [10, 1_000, 100_000] {
            report.add(tasks, &[cost("enqueue", 70), cost("dispatch", dispatch_ns(tasks))]);
        }
        report
    }

    #[test]
    fn what_grows_is_told() {
        let reports = [report("o1", |_| 120), report("goodness", |tasks| u64::from(tasks) * 10)];
        insta::assert_snapshot!("table", table(&reports, Style::PLAIN));
        insta::assert_snapshot!("json", serde_json::to_string_pretty(&reports[1].callbacks[1]).unwrap());
    }
}
