//! A profile as tables for a terminal.

use crate::lines::{Key, Line, lines};
use crate::model::Profile;
use crate::origins::{Origin, origins};
use crate::pairs::{Queued, Who, fights, queued};
use crate::shown::{clean, columns, place, share, source, time};
use crate::sources::{self, Source, sources};
use keel_abi::numbers::{count, counted, figures};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns all tables, with at most `most` lines each.
pub fn summary(profile: &Profile, most: usize) -> String {
    let mut text = header(profile);
    let parts = [
        ("By callback", callbacks(profile)),
        ("Hottest lines", hottest(profile, most)),
        ("Cache lines: which line takes them from which", conflicts(profile, most)),
        ("Locks: which line waits for which", waits(profile, most)),
    ];
    for (name, part) in parts {
        if !part.is_empty() {
            let _ = write!(text, "\n{name}\n{part}");
        }
    }
    text
}

/// Returns the run and its counts.
fn header(profile: &Profile) -> String {
    let (about, totals) = (&profile.about, &profile.totals);
    let all_ns = about.duration_ns * u64::from(about.cpus);
    let sum = |of: fn(&Line) -> u64| lines(profile).values().map(of).sum::<u64>();
    let whole_ps = totals.callback_ns * 1000;
    let rows = [
        ("callbacks", format!("{}, {} each", count(totals.callbacks), each(whole_ps, totals.callbacks))),
        (
            "time in them",
            format!("{}, {} of all CPUs' time", time(whole_ps), share(totals.callback_ns, all_ns)),
        ),
        (
            "of that",
            format!(
                "instructions {}, calls of the kernel {}, cache lines {}, entering {}",
                share(sum(|line| line.insn_ps), whole_ps),
                share(sum(|line| line.calls_ps), whole_ps),
                share(sum(|line| line.lines_ps), whole_ps),
                share(sum(|line| line.entry_ps), whole_ps),
            ),
        ),
        ("instructions", count(totals.instructions)),
        (
            "lines moved",
            format!("{} of BPF memory, waiting {}", count(totals.line_moves), time(totals.line_ps)),
        ),
        ("lock waits", time(totals.lock_wait_ns * 1000)),
    ];
    let mut text = format!(
        "{} under {} on {} ({}), seed {}, {} of virtual time\n",
        clean(&about.scheduler),
        clean(&about.workload),
        clean(&about.machine),
        counted(about.cpus.into(), "CPU"),
        about.seed,
        time(about.duration_ns * 1000),
    );
    for (name, value) in rows {
        let _ = writeln!(text, "  {name:<13} {value}");
    }
    text
}

fn each(ps: u64, times: u64) -> String {
    time(ps.checked_div(times).unwrap_or(0))
}

/// Returns a row for each caller of the scheduler.
fn callbacks(profile: &Profile) -> String {
    let whole_ps = profile.callback_ps();
    let mut table = vec![["share", "time", "calls", "each", "instructions", ""].map(str::to_owned).to_vec()];
    table.extend(origins(profile).into_iter().map(|Origin { name, ps, calls, instructions }| {
        vec![
            share(ps, whole_ps),
            time(ps),
            count(calls),
            each(ps, calls),
            figures(instructions as f64 / calls.max(1) as f64),
            clean(&name),
        ]
    }));
    if table.len() == 1 { String::new() } else { columns(&table) }
}

/// The columns of costs, before a line.
const COSTS: [&str; 7] = ["share", "time", "hits", "insns", "calls", "lines", "locks"];

fn costs(line: &Line, whole_ps: u64) -> Vec<String> {
    vec![
        share(line.ps(), whole_ps),
        time(line.ps()),
        count(line.hits),
        count(line.executed),
        time(line.calls_ps + line.entry_ps),
        time(line.lines_ps),
        time(line.waits_ns * 1000),
    ]
}

fn hottest(profile: &Profile, most: usize) -> String {
    let mut all: Vec<(Key, Line)> = lines(profile).into_iter().filter(|(_, line)| line.ps() > 0).collect();
    all.sort_by(|a, b| b.1.ps().cmp(&a.1.ps()).then_with(|| a.0.cmp(&b.0)));
    let whole_ps = profile.callback_ps();
    let head = COSTS.iter().chain(&["line"]).map(|&word| word.to_owned()).collect();
    let mut table = vec![head];
    for (key, line) in all.iter().take(most) {
        let what = match key.line {
            0 if line.entry_ps > 0 => "(entering the callback)".to_owned(),
            _ => source(&line.text),
        };
        let mut row = costs(line, whole_ps);
        row.push(format!("{}  {what}", place(key)));
        table.push(row);
    }
    if table.len() == 1 { String::new() } else { columns(&table) }
}

fn conflicts(profile: &Profile, most: usize) -> String {
    let texts = texts(profile);
    let end = |key: &Option<Key>| match key {
        None => "the kernel".to_owned(),
        Some(key) => {
            format!(
                "{}  {}",
                place(key),
                texts.get(&(key.file.clone(), key.line)).map_or(String::new(), |text| source(text))
            )
        }
    };
    let mut text = String::new();
    for fight in fights(profile).into_iter().take(most) {
        let others = if fight.names.len() > 1 { " and others" } else { "" };
        let distances: Vec<String> =
            fight.distances.iter().map(|(name, moves)| format!("{name} {}", count(*moves))).collect();
        let does = if fight.writes { "writes" } else { "reads" };
        let _ = writeln!(
            text,
            "  {}, {} ({}): {}{others}",
            time(fight.ps),
            counted(fight.moves, "move"),
            distances.join(", "),
            clean(fight.name()),
        );
        let _ = writeln!(text, "    {does:<6} {}", end(&fight.to));
        let _ = writeln!(
            text,
            "    after  {}",
            if fight.is_from_nobody() { "nobody".to_owned() } else { end(&fight.from) }
        );
    }
    text
}

/// Returns each source line in the object.
fn texts(profile: &Profile) -> BTreeMap<(String, u32), String> {
    let all = lines(profile).into_iter().filter(|(_, line)| !line.text.is_empty());
    all.map(|(key, line)| ((key.file, key.line), line.text)).collect()
}

fn waits(profile: &Profile, most: usize) -> String {
    let texts = texts(profile);
    let who = |who: &Option<Who>| match who {
        None => "the kernel".to_owned(),
        Some((origin, key)) => {
            let line = texts.get(&(key.file.clone(), key.line)).map_or(String::new(), |text| source(text));
            format!("{}  {}  {line}", clean(origin), place(key))
        }
    };
    let mut text = String::new();
    for Queued { waiter, holder, lock, ns, count: times } in queued(profile).into_iter().take(most) {
        let (waiter, holder) = (who(&waiter), who(&holder));
        let _ = writeln!(text, "  {}, {}: {}", time(ns * 1000), counted(times, "wait"), clean(&lock));
        let _ = writeln!(text, "    waits  {waiter}\n    for    {holder}");
    }
    text
}

/// Returns the source of every file, each line with its costs. `file` returns a file's text if it exists and is the
/// compiled version. Otherwise only the lines in the object are shown.
pub fn annotated(profile: &Profile, file: &dyn Fn(&str) -> Option<String>) -> String {
    let whole_ps = profile.callback_ps();
    let mut text = String::new();
    for Source { name, text: whole, known } in sources(profile, file) {
        let _ = writeln!(text, "{}", clean(&name));
        let head = COSTS.iter().chain(&["ways", "line"]).map(|&word| word.to_owned()).collect();
        let mut rows = vec![head];
        match whole {
            Some(source) => {
                for (number, line) in (1..).zip(source.lines()) {
                    rows.push(annotation(known.get(&number), number, line, whole_ps));
                }
            }
            None => rows.extend(
                known.iter().map(|(number, line)| annotation(Some(line), *number, &line.text, whole_ps)),
            ),
        }
        text += &columns(&rows);
        text.push('\n');
    }
    text
}

/// Returns how many directions of a line's conditional jumps were taken: `1/2`. Empty if all were, or there are none.
fn ways(line: &Line) -> String {
    let (gone, all) = sources::ways(line);
    if gone < all { format!("{gone}/{all}") } else { String::new() }
}

fn annotation(line: Option<&Line>, number: u32, text: &str, whole_ps: u64) -> Vec<String> {
    let mut row = match line {
        Some(line) if line.ps() > 0 => costs(line, whole_ps),
        Some(_) => ["never", "", "0", "", "", "", ""].map(str::to_owned).to_vec(),
        None => vec![String::new(); COSTS.len()],
    };
    row.push(line.filter(|line| line.hits > 0).map(ways).unwrap_or_default());
    row.push(format!("{number:>5}  {}", clean(text.trim_end()).replace('\t', "    ")));
    row
}
