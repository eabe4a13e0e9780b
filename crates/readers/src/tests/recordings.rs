//! Small recordings of a real kernel (`crates/readers/recordings`): the beginning of each stream, and its notes.
//!
//! Recorded on an emulated Linux 7.2.13 with two CPUs: `perf sched record -z`, `perf record -a -z -o -` of six events
//! (without the records of code that perf made up at its beginning, and cut off within the last one), `trace-cmd
//! record` of the same six (version 6, cut down to these events' descriptions and three pages a CPU), the beginnings of
//! what `trace-cmd report`, `perf script` and ftrace print.

use super::whole::described;
use keel_check::Judge;
use std::io::Cursor;

/// How many lines of a stream are shown.
const LINES: usize = 48;

fn check(name: &str, bytes: &[u8]) {
    let described = described(bytes);
    let (stream, notes) = described.split_once("\n\n").unwrap_or(("", &described));
    let all = stream.lines().count();
    let begins: Vec<&str> = stream.lines().take(LINES).collect();
    let mut judge = Judge::default();
    crate::read(Cursor::new(bytes), &mut judge).expect("it can be judged");
    let summary = judge.judgement().summary;
    let figures = format!(
        "{} switches, {} wakeups, {} migrations, {} preemptions in {}",
        summary.switches, summary.wakeups, summary.migrations, summary.preemptions, summary.duration
    );
    insta::assert_snapshot!(name, format!("{}\n... of {all} lines\n\n{figures}\n{notes}", begins.join("\n")));
}

#[test]
fn of_perf_sched_record() {
    check("perf_data", include_bytes!("../../recordings/perf.data"));
}

#[test]
fn of_perf_through_a_pipe() {
    check("perf_pipe", include_bytes!("../../recordings/pipe.data"));
}

#[test]
fn of_trace_cmd() {
    check("trace_dat", include_bytes!("../../recordings/trace.dat"));
}

#[test]
fn of_ftrace() {
    check("ftrace", include_bytes!("../../recordings/ftrace.txt"));
}

#[test]
fn of_trace_cmd_report() {
    check("report", include_bytes!("../../recordings/report.txt"));
}

#[test]
fn of_perf_script() {
    check("script", include_bytes!("../../recordings/script.txt"));
}

#[test]
fn of_a_cpu_that_comes_and_goes() {
    check("hotplug", include_bytes!("../../recordings/hotplug.txt"));
}
