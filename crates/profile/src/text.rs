//! A profile as tables for a terminal.

use crate::lines::{Key, Line, key, lines};
use crate::model::{Place, Profile, Waiter};
use crate::shown::{clean, columns, place, share, source, time};
use keel_abi::numbers::{count, figures};
use std::collections::BTreeMap;
use std::fmt::Write;

/// All tables, each with `most` lines at most.
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

/// Which run it was, and its counts.
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
        "{} under {} on {} ({} CPUs), seed {}, {} of virtual time\n",
        clean(&about.scheduler),
        clean(&about.workload),
        clean(&about.machine),
        about.cpus,
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

/// A row for what calls the scheduler.
fn callbacks(profile: &Profile) -> String {
    let mut by = BTreeMap::<&str, (u64, u64, u64)>::new();
    for node in profile.in_callbacks() {
        let sum = by.entry(&node.origin).or_default();
        sum.0 += node.ps(profile.insn_ps);
        sum.1 += if node.caller.is_none() { node.calls } else { 0 };
        sum.2 += node.counts.iter().map(|count| count.executed).sum::<u64>();
    }
    let mut rows: Vec<_> = by.into_iter().collect();
    rows.sort_by_key(|(name, (ps, ..))| (std::cmp::Reverse(*ps), *name));
    let whole_ps = profile.callback_ps();
    let mut table = vec![["share", "time", "calls", "each", "instructions", ""].map(str::to_owned).to_vec()];
    table.extend(rows.into_iter().map(|(name, (ps, calls, instructions))| {
        vec![
            share(ps, whole_ps),
            time(ps),
            count(calls),
            each(ps, calls),
            figures(instructions as f64 / calls.max(1) as f64),
            clean(name),
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

/// What takes a line from what, over all distances.
#[derive(Default)]
struct Fight {
    ps: u64,
    moves: u64,
    distances: BTreeMap<String, u64>,
    names: BTreeMap<String, u64>,
}

fn conflicts(profile: &Profile, most: usize) -> String {
    type Ends = (Option<Key>, Option<Key>, bool);
    let mut fights = BTreeMap::<Ends, Fight>::new();
    // A line that the compiler put into several functions is one.
    let at = |place: Option<Place>| {
        let key = key(&profile.functions, place?);
        Some(if key.line == 0 { key } else { Key { function: String::new(), ..key } })
    };
    for conflict in &profile.conflicts {
        let fight = fights.entry((at(conflict.from), at(conflict.to), conflict.writes)).or_default();
        fight.ps += conflict.ps;
        fight.moves += conflict.moves;
        *fight.distances.entry(conflict.distance.clone()).or_default() += conflict.moves;
        *fight.names.entry(conflict.name.clone()).or_default() += conflict.ps;
    }
    let mut all: Vec<(Ends, Fight)> = fights.into_iter().collect();
    all.sort_by(|a, b| b.1.ps.cmp(&a.1.ps).then_with(|| a.0.cmp(&b.0)));
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
    for ((from, to, writes), fight) in all.into_iter().take(most) {
        let name = fight.names.iter().max_by_key(|(_, ps)| **ps).map_or("", |(name, _)| name);
        let others = if fight.names.len() > 1 { " and others" } else { "" };
        let distances: Vec<String> =
            fight.distances.iter().map(|(name, moves)| format!("{name} {}", count(*moves))).collect();
        let does = if writes { "writes" } else { "reads" };
        let _ = writeln!(
            text,
            "  {}, {} moves ({}): {}{others}",
            time(fight.ps),
            count(fight.moves),
            distances.join(", "),
            clean(name),
        );
        let _ = writeln!(text, "    {does:<6} {}", end(&to));
        let _ = writeln!(
            text,
            "    after  {}",
            if from.is_none() && is_from_memory(&fight) { "nobody".to_owned() } else { end(&from) }
        );
    }
    text
}

/// Lines that nobody has had come from memory alone.
fn is_from_memory(fight: &Fight) -> bool {
    fight.distances.keys().all(|name| name == "memory")
}

/// Each line of the source that the object has.
fn texts(profile: &Profile) -> BTreeMap<(String, u32), String> {
    let all = lines(profile).into_iter().filter(|(_, line)| !line.text.is_empty());
    all.map(|(key, line)| ((key.file, key.line), line.text)).collect()
}

fn waits(profile: &Profile, most: usize) -> String {
    let texts = texts(profile);
    let who = |waiter: &Option<Waiter>| match waiter {
        None => "the kernel".to_owned(),
        Some(Waiter { origin, place: at }) => {
            let key = key(&profile.functions, *at);
            let line = texts.get(&(key.file.clone(), key.line)).map_or(String::new(), |text| source(text));
            format!("{}  {}  {line}", clean(origin), place(&key))
        }
    };
    // The locks of an array, or of several queues, are one kind.
    let mut kinds = BTreeMap::<(String, String, &str), (u64, u64)>::new();
    for wait in &profile.waits {
        let kind = wait.lock.split_once('[').map_or(wait.lock.as_str(), |(array, _)| array);
        let sum = kinds.entry((who(&wait.waiter), who(&wait.holder), kind)).or_default();
        sum.0 += wait.ns;
        sum.1 += wait.count;
    }
    let mut all: Vec<_> = kinds.into_iter().collect();
    all.sort_by_key(|(_, (ns, _))| std::cmp::Reverse(*ns));
    let mut text = String::new();
    for ((waiter, holder, lock), (ns, times)) in all.into_iter().take(most) {
        let _ = writeln!(text, "  {}, {} waits: {}", time(ns * 1000), count(times), clean(lock));
        let _ = writeln!(text, "    waits  {waiter}\n    for    {holder}");
    }
    text
}

/// The source of every file, each line with what it has cost. `file` gives a file's text where it is there and is the one
/// that was compiled; otherwise only the lines that the object knows are shown.
pub fn annotated(profile: &Profile, file: &dyn Fn(&str) -> Option<String>) -> String {
    let mut files = BTreeMap::<String, BTreeMap<u32, Line>>::new();
    for (key, line) in lines(profile) {
        if key.line == 0 {
            continue;
        }
        let known = files.entry(key.file).or_default().entry(key.line).or_default();
        add(known, &line);
    }
    let whole_ps = profile.callback_ps();
    let mut text = String::new();
    for (name, known) in files {
        let source = file(&name).filter(|source| is_of(source, &known));
        let _ = writeln!(text, "{}", clean(&name));
        let head = COSTS.iter().chain(&["ways", "line"]).map(|&word| word.to_owned()).collect();
        let mut rows = vec![head];
        match source {
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

fn add(sum: &mut Line, line: &Line) {
    if sum.text.is_empty() {
        sum.text.clone_from(&line.text);
    }
    sum.executed += line.executed;
    sum.insn_ps += line.insn_ps;
    sum.calls_ps += line.calls_ps;
    sum.lines_ps += line.lines_ps;
    sum.waits_ns += line.waits_ns;
    sum.hits += line.hits;
    sum.branches.extend(&line.branches);
}

/// How many of the ways that a line's conditional jumps can go were gone: `1/2`. Nothing where all were, or none can be.
fn ways(line: &Line) -> String {
    let gone = |(executed, jumped): &(u64, u64)| usize::from(*jumped > 0) + usize::from(executed > jumped);
    let (gone, all) = (line.branches.iter().map(gone).sum::<usize>(), 2 * line.branches.len());
    if gone < all { format!("{gone}/{all}") } else { String::new() }
}

/// A file is the one that was compiled if all lines that the object has are where it says.
fn is_of(source: &str, known: &BTreeMap<u32, Line>) -> bool {
    let lines: Vec<&str> = source.lines().collect();
    let mut told = known.iter().filter(|(_, line)| !line.text.trim().is_empty()).peekable();
    told.peek().is_some()
        && told.all(|(number, line)| {
            lines.get(*number as usize - 1).is_some_and(|there| there.trim() == line.text.trim())
        })
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
