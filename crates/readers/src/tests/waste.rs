//! Recordings of a real kernel with provoked waste (`crates/readers/recordings/waste`). The waste is found on the idle
//! CPUs. In recordings of the same load without the provocation, no waste is found.
//!
//! They are from an emulated Linux 7.2.13 with eight CPUs on four nodes, its time counted in instructions:
//! `tests/live/bugs.sh`, some seconds of it recorded by `keel record` and, for one case, also by `perf record` (of the
//! five events that are read, without the records of code that perf synthesizes at the beginning).

use crate::{Kind, read};
use keel_abi::{CpuId, Instant, Span};
use keel_check::{Judge, Judgement, finding};
use keel_trace::{Cut, Reader};
use std::io::Cursor;
use std::ops::Range;

/// The Wasted Cores paper's checker checks again after this time, and reports only waste that persists (its section
/// 4.1).
const CONFIRMED: Span = Span::from_ms(100);
/// As for `./x live --bugs`: with the provocation at least one CPU is wasted all the time, without it at most a tenth
/// of that.
const LEAST_CPUS: f64 = 1.0;
const MOST_WITHOUT: f64 = 0.1;

/// The whole recording.
const ALL_MS: Range<u64> = 0..1_000_000;

/// Returns the judgement of a part of a recording.
fn judged(bytes: &[u8], ms: Range<u64>) -> Judgement {
    let at = |ms| Instant::ZERO + Span::from_ms(ms);
    let mut judge = Judge::default();
    let mut part = Cut::new(at(ms.start)..at(ms.end), &mut judge);
    match Kind::of(bytes) {
        Some(Kind::Own) => {
            Reader::new(bytes).and_then(|mut trace| trace.pump(&mut part)).expect("it is whole")
        }
        _ => drop(read(Cursor::new(bytes), &mut part).expect("it can be judged")),
    }
    judge.judgement()
}

/// CPUs that were wasted, on average.
fn wasted_cpus(judged: &Judgement) -> f64 {
    judged.waste.wasted.as_ns() as f64 / judged.summary.duration.as_ns() as f64
}

/// Returns the CPUs of the wasted cores that the paper's checker would report.
fn confirmed(judged: &Judgement) -> Vec<CpuId> {
    let found = judged.findings.iter().filter(|found| found.kind == finding::Kind::WastedCore);
    let mut cpus: Vec<CpuId> =
        found.filter(|found| found.duration >= CONFIRMED).flat_map(|found| found.cpus.clone()).collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// With the provocation, the CPUs in `busy` had all the tasks.
fn check(with: &[u8], without: &[u8], ms: Range<u64>, busy: &[u32]) {
    let (with, without) = (judged(with, ms.clone()), judged(without, ms));
    assert!(wasted_cpus(&with) >= LEAST_CPUS, "{} CPUs", wasted_cpus(&with));
    let cpus = confirmed(&with);
    assert!(!cpus.is_empty(), "waste is found");
    assert!(cpus.iter().all(|cpu| !busy.contains(&cpu.0)), "{cpus:?} idled, and not {busy:?}");
    let worst = &with.findings[0];
    assert!(worst.text.contains("idled for") && worst.text.contains("in the queue of CPU"), "{}", worst.text);
    assert_eq!(confirmed(&without), [], "without the provocation nothing is found");
    let most = MOST_WITHOUT * wasted_cpus(&with);
    assert!(wasted_cpus(&without) <= most, "{} CPUs, not {most}", wasted_cpus(&without));
}

/// `cfs` whose domains are not rebuilt when a CPU comes back; eight hogs begin on the first node.
#[test]
fn hogs_that_cannot_leave_their_node_are_seen() {
    check(
        include_bytes!("../../recordings/waste/missing-domains.trc"),
        include_bytes!("../../recordings/waste/missing-domains-fixed.trc"),
        ALL_MS,
        &[0, 1],
    );
}

/// `cfs` with the same groups on every CPU; four hogs may use two nodes, two hops apart, and begin on one.
#[test]
fn hogs_that_are_not_balanced_over_two_hops_are_seen() {
    check(
        include_bytes!("../../recordings/waste/group-construction.trc"),
        include_bytes!("../../recordings/waste/group-construction-fixed.trc"),
        ALL_MS,
        &[0, 1, 2, 3, 4, 5],
    );
}

/// Hogs that were pinned to a CPU and then freed, under `ule` as posted, which moves no task.
#[test]
fn hogs_that_are_freed_and_left_behind_are_seen() {
    check(
        include_bytes!("../../recordings/waste/left-behind.trc"),
        include_bytes!("../../recordings/waste/left-behind-fixed.trc"),
        ALL_MS,
        &[0],
    );
}

/// Like `hogs_that_are_freed_and_left_behind_are_seen` with perf, which starts and stops on one CPU after another. In
/// the middle, all are recorded.
#[test]
fn perf_records_them_too() {
    check(
        include_bytes!("../../recordings/waste/left-behind.data"),
        include_bytes!("../../recordings/waste/left-behind-fixed.data"),
        600..1500,
        &[0],
    );
}
