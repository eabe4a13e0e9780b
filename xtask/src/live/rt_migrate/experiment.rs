//! An experiment for `keel lab` whose published counts come from a real kernel. The lab makes the simulated runs, shows
//! both side by side, and reports which sums and orders agree.

use super::counts::Counts;
use super::{LOCKS, MS, THREADS};
use std::fmt::Write;

/// `keel lab`'s names for the counts.
const MEASURES: [&str; 4] = ["voluntary", "involuntary", "migrated", "iterations"];

/// The file. `counts` are those of a real kernel's threads.
pub(super) fn text(id: &str, kernel: &str, inherits: bool, runs: u32, counts: &[Counts]) -> String {
    let names: Vec<String> = (0..counts.len()).map(|thread| format!("thread-{thread}")).collect();
    let tasks = format!("{names:?}");
    let locks = if inherits { "locks that hand priorities on" } else { "plain locks" };
    let pi = u8::from(inherits);
    let mut text = format!(
        r#"id = "{id}"
title = "SCHED_FIFO threads that share {locks}: today's rule beside Linux {kernel}"
source = "tests/live/rt_migrate.c in a guest, mean of {runs} runs"
modelled = "the same passes, no kernel threads; the guest's CPUs take turns of 0.12 ms"
workload = "rt-migrate:{THREADS}:{LOCKS}:{pi}"
duration_ms = {MS}

[[arm]]
label = "today"
scheduler = "fifo"
machine = "quad-2010-today"
"#
    );
    let column = |at: usize| counts.iter().map(|row| row[at]).collect::<Vec<u64>>();
    for (at, measure) in MEASURES.iter().enumerate() {
        let sum: u64 = column(at).iter().sum();
        claim(&mut text, &format!("all {measure}"), measure, &format!("[{sum}]"), "{ within = 0.25 }");
    }
    for at in [1, 2] {
        let measure = MEASURES[at];
        claim(&mut text, &format!("order by {measure}"), measure, &format!("{:?}", column(at)), "\"order\"");
        writeln!(text, "tasks = {tasks}").expect("a string takes all");
    }
    write!(
        text,
        "\n[[table]]\nsays = \"Linux {kernel}, then today's rule simulated\"\nof = \"today\"\ntasks = {tasks}\n\
         [table.counts]\n"
    )
    .expect("a string takes all");
    for (at, measure) in MEASURES.iter().enumerate() {
        writeln!(text, "{measure} = {:?}", column(at)).expect("a string takes all");
    }
    text
}

fn claim(text: &mut String, says: &str, measure: &str, published: &str, band: &str) {
    write!(
        text,
        "\n[[claim]]\nsays = \"{says}\"\nmeasure = \"{measure}\"\nof = \"today\"\npublished = {{ of = {published} }}\n\
         band = {band}\n"
    )
    .expect("a string takes all");
}
