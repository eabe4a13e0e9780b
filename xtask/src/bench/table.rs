//! The figures as text.

use super::Row;
use super::args::Args;

/// The header of the columns.
pub(super) fn head(args: &Args) -> String {
    format!(
        "fifo, mixes with 50 % jitter, {} virtual s, medians of {} runs; event: a switch or a wakeup;\n\
         Mev/s: million events a second of user CPU time\n\n\
         {:>5} {:>6} {:>5} | {:>6} {:>13} {:>5} | {:>6} {:>6} | {:>6} {:>6} | {:>6} {:>6} {:>6} | {:>7}\n\
         {:>5} {:>6} {:>5} | {:>6} {:>13} {:>5} | {:>6} {:>6} | {:>6} {:>6} | {:>6} {:>6} {:>6} | {:>7}",
        args.seconds,
        args.runs,
        "",
        "",
        "",
        "alone",
        "",
        "",
        "checks",
        "trace",
        "MiB",
        "MiB",
        "calls",
        "susp.",
        "BPF",
        "instr.",
        "CPUs",
        "tasks",
        "load",
        "Mev/s",
        "low-high",
        "goal",
        "Mev/s",
        "Mev/s",
        "alone",
        "checks",
        "/event",
        "/event",
        "/event",
        "/event",
    )
}

/// One case.
pub(super) fn row(row: &Row) -> String {
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    let [low, median, high] = row.plain.mev_s;
    let instructions = row.profile.as_ref().map_or("-".to_owned(), |p| format!("{:.0}", p.per_event));
    format!(
        "{:>5} {:>6} {:>4}% | {median:>6.2} {:>13} {:>5.0} | {:>6.2} {:>6.2} | {:>6.1} {:>6.1} | {:>6.2} {:>6.2} {:>6.1} | {instructions:>7}",
        row.size.cpus,
        row.size.tasks,
        row.load_percent,
        format!("{low:.2}-{high:.2}"),
        row.size.goal,
        row.judged.mev_s[1],
        row.traced.mev_s[1],
        mib(row.plain.peak_rss_bytes),
        mib(row.judged.peak_rss_bytes),
        row.plain.callbacks,
        row.plain.suspensions,
        row.plain.bpf_insns,
    )
}

/// Where the instructions of a case are executed, if they were counted.
pub(super) fn functions(row: &Row) -> Option<String> {
    let profile = row.profile.as_ref()?;
    let mut text = format!(
        "{} CPUs, {} tasks, {} %: {:.0} instructions an event, by function (inlined ones in their callers):",
        row.size.cpus, row.size.tasks, row.load_percent, profile.per_event
    );
    let line = |(name, count): &(String, f64)| {
        format!("\n{count:>8.1} {:>5.1} %  {}", 100.0 * count / profile.per_event.max(1.0), shorter(name))
    };
    text.extend(profile.functions.iter().map(line));
    text.push_str("\nthe same by source file (inlined code in its own):");
    text.extend(profile.files.iter().map(line));
    Some(text)
}

/// A name short enough to fit beside its numbers.
fn shorter(name: &str) -> String {
    const LONGEST: usize = 100;
    let short: String = name.chars().take(LONGEST).collect();
    if short.len() < name.len() { short + "..." } else { short }
}
