use super::*;
use crate::style::Style;
use keel_check::Spread;

fn cost(name: &'static str, ns: u64) -> DecisionCost {
    let time = Span::from_ns(ns);
    DecisionCost {
        name,
        calls: 1234,
        instructions: Spread { p50: ns / 2, p99: ns, max: 2 * ns },
        time: Spread { p50: time, p99: time, max: time + time },
        mean: time + Span::from_ns(1),
    }
}

pub(super) fn report(name: &str, dispatch_ns: impl Fn(Size) -> u64) -> DecisionsReport {
    let mut report = DecisionsReport::new(name, "8 CPUs");
    let tasks = [10, 1_000, 100_000].map(|tasks| (Axis::Tasks, Size { tasks, cpus: 8 }));
    let cpus = [1, 64, 1_024].map(|cpus| (Axis::Cpus, Size { tasks: 3 * cpus, cpus }));
    for (axis, size) in tasks.into_iter().chain(cpus) {
        let costs = [cost("enqueue", 70), cost("dispatch", dispatch_ns(size))];
        report.add(axis, size, &costs, Some(Span::from_ns(71 + dispatch_ns(size))));
        // Dispatches that end a round are listed separately, and not combined with anything.
        report.add(axis, size, &[cost("array switch", 150)], None);
    }
    report
}

pub(super) fn reports() -> [DecisionsReport; 2] {
    [report("o1", |size| 120 + u64::from(size.cpus)), report("goodness", |size| u64::from(size.tasks) * 10)]
}

#[test]
fn growth_is_reported() {
    let reports = reports();
    insta::assert_snapshot!("table", table(&reports, Style::PLAIN));
    insta::assert_snapshot!("json", serde_json::to_string_pretty(&reports[1]).unwrap());
}

#[test]
fn an_axis_that_was_not_measured_is_left_out() {
    let mut report = DecisionsReport::new("o1", "8 CPUs");
    report.add(Axis::Cpus, Size { tasks: 3, cpus: 1 }, &[cost("tick", 29)], None);
    let text = table(&[report], Style::PLAIN);
    assert!(text.contains("CPUs") && !text.contains("waiting"), "{text}");
}

#[test]
fn what_hardly_falls_does_not_fall() {
    let mut report = DecisionsReport::new("o1", "8 CPUs");
    for (tasks, ns) in [(10, 1_001), (100_000, 1_000)] {
        report.add(Axis::Tasks, Size { tasks, cpus: 8 }, &[cost("tick", ns)], None);
    }
    let text = table(&[report], Style::PLAIN);
    assert!(text.contains(" 0.00") && !text.contains("-0.00"), "{text}");
}
