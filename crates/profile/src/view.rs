//! A profile for a page: sums by callback, function and line, and the source with its counts. However large the object
//! is, a view is bounded: each list has a maximum length, and states how much was left out.
//!
//! Names and texts come from the object unchanged: escape them before you show them.

use crate::lines::{Key, Line, lines};
use crate::model::{About, Profile, Totals};
use crate::origins::{Origin, origins};
use crate::pairs::{Fight, Queued, Who, fights, queued};
use crate::sources::{Source, sources, ways};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Callbacks, functions.
const MOST_FUNCTIONS: usize = 1_000;
/// Lines of the table.
const MOST_LINES: usize = 4_000;
/// Pairs of lines that take cache lines from each other, and pairs that wait for locks.
const MOST_PAIRS: usize = 400;
/// Lines of source text, over all files.
const MOST_SOURCE: usize = 30_000;
/// Characters of a name, and of a source line.
const MOST_CHARS: usize = 200;

/// What a page shows of a profile.
#[derive(Clone, Debug, Serialize)]
pub struct View {
    about: About,
    totals: Totals,
    /// Instructions, calls of the kernel, cache lines, entering callbacks: in picoseconds.
    parts_ps: [u64; 4],
    callbacks: Vec<Origin>,
    functions: Vec<FunctionRow>,
    lines: Vec<LineRow>,
    fights: Vec<FightRow>,
    waits: Vec<WaitRow>,
    /// The hottest first.
    files: Vec<FileRows>,
    left_out: LeftOut,
}

/// How many entries of each list were left out.
#[derive(Clone, Debug, Default, Serialize)]
struct LeftOut {
    functions: usize,
    lines: usize,
    fights: usize,
    waits: usize,
    source: usize,
}

/// The costs of a line or a function. Times are in picoseconds. `calls_ps` includes entering callbacks, and `waits_ps`
/// is part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Cost {
    ps: u64,
    hits: u64,
    executed: u64,
    calls_ps: u64,
    lines_ps: u64,
    waits_ps: u64,
}

/// The place of a line. Line 0 is entering the function as a callback.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct At {
    function: String,
    file: String,
    line: u32,
    text: String,
}

#[derive(Clone, Debug, Serialize)]
struct FunctionRow {
    at: At,
    /// With its callees.
    total_ps: u64,
    cost: Cost,
}

#[derive(Clone, Debug, Serialize)]
struct LineRow {
    at: At,
    cost: Cost,
}

#[derive(Clone, Debug, Serialize)]
struct FightRow {
    to: Option<At>,
    from: Option<At>,
    from_nobody: bool,
    writes: bool,
    name: String,
    several: bool,
    moves: u64,
    ps: u64,
    distances: Vec<(String, u64)>,
}

#[derive(Clone, Debug, Serialize)]
struct WaitRow {
    waiter: Option<(String, At)>,
    holder: Option<(String, At)>,
    lock: String,
    count: u64,
    ps: u64,
}

#[derive(Clone, Debug, Serialize)]
struct FileRows {
    name: String,
    /// Whether it is the whole file, or only the lines in the object.
    is_whole: bool,
    ps: u64,
    lines: Vec<SourceRow>,
}

#[derive(Clone, Debug, Serialize)]
struct SourceRow {
    line: u32,
    text: String,
    /// `None` if the object has no code there.
    cost: Option<Cost>,
    /// The directions that its conditions took, and how many there are.
    ways: (usize, usize),
}

impl View {
    /// Returns the view of a profile. `file` reads a source file, if it exists.
    pub fn of(profile: &Profile, file: &dyn Fn(&str) -> Option<String>) -> Self {
        let all = lines(profile);
        let texts = Texts::of(&all);
        let sum = |of: fn(&Line) -> u64| all.values().map(of).sum();
        let mut left_out = LeftOut::default();
        let functions = functions(profile, &all, &texts);
        let hot = hot(&all);
        let (fights, waits) = (fights(profile), queued(profile));
        Self {
            about: About {
                scheduler: cut(&profile.about.scheduler),
                workload: cut(&profile.about.workload),
                machine: cut(&profile.about.machine),
                ..profile.about
            },
            totals: profile.totals,
            parts_ps: [
                sum(|line| line.insn_ps),
                sum(|line| line.calls_ps),
                sum(|line| line.lines_ps),
                sum(|line| line.entry_ps),
            ],
            callbacks: most(origins(profile), MOST_FUNCTIONS, &mut 0),
            functions: most(functions, MOST_FUNCTIONS, &mut left_out.functions),
            lines: most(hot, MOST_LINES, &mut left_out.lines),
            fights: most(fights, MOST_PAIRS, &mut left_out.fights).iter().map(|f| texts.fight(f)).collect(),
            waits: most(waits, MOST_PAIRS, &mut left_out.waits).iter().map(|w| texts.wait(w)).collect(),
            files: files(sources(profile, file), &mut left_out.source),
            left_out,
        }
    }
}

/// Returns the first entries of a list, and how many more there are.
fn most<T>(mut all: Vec<T>, most: usize, left_out: &mut usize) -> Vec<T> {
    *left_out = all.len().saturating_sub(most);
    all.truncate(most);
    all
}

fn cut(text: &str) -> String {
    text.chars().take(MOST_CHARS).collect()
}

fn cost(line: &Line) -> Cost {
    Cost {
        ps: line.ps(),
        hits: line.hits,
        executed: line.executed,
        calls_ps: line.calls_ps + line.entry_ps,
        lines_ps: line.lines_ps,
        waits_ps: line.waits_ns * 1000,
    }
}

/// Each source line in the object.
struct Texts<'a>(BTreeMap<(&'a str, u32), &'a str>);

impl<'a> Texts<'a> {
    fn of(all: &'a BTreeMap<Key, Line>) -> Self {
        let told = all.iter().filter(|(_, line)| !line.text.is_empty());
        Self(told.map(|(key, line)| ((key.file.as_str(), key.line), line.text.as_str())).collect())
    }

    fn at(&self, key: &Key) -> At {
        at(key, self.0.get(&(key.file.as_str(), key.line)).unwrap_or(&""))
    }

    fn who(&self, who: &Option<Who>) -> Option<(String, At)> {
        who.as_ref().map(|(origin, key)| (cut(origin), self.at(key)))
    }

    fn fight(&self, fight: &Fight) -> FightRow {
        FightRow {
            to: fight.to.as_ref().map(|key| self.at(key)),
            from: fight.from.as_ref().map(|key| self.at(key)),
            from_nobody: fight.is_from_nobody(),
            writes: fight.writes,
            name: cut(fight.name()),
            several: fight.names.len() > 1,
            moves: fight.moves,
            ps: fight.ps,
            distances: fight.distances.iter().map(|(name, moves)| (cut(name), *moves)).collect(),
        }
    }

    fn wait(&self, queued: &Queued) -> WaitRow {
        WaitRow {
            waiter: self.who(&queued.waiter),
            holder: self.who(&queued.holder),
            lock: cut(&queued.lock),
            count: queued.count,
            ps: queued.ns * 1000,
        }
    }
}

fn at(key: &Key, text: &str) -> At {
    At { function: cut(&key.function), file: cut(&key.file), line: key.line, text: cut(text.trim()) }
}

/// Lines with a cost, the hottest first.
fn hot(all: &BTreeMap<Key, Line>) -> Vec<LineRow> {
    let mut hot: Vec<(&Key, &Line)> = all.iter().filter(|(_, line)| line.ps() > 0).collect();
    hot.sort_by_key(|(_, line)| Reverse(line.ps()));
    hot.into_iter().map(|(key, line)| LineRow { at: at(key, &line.text), cost: cost(line) }).collect()
}

/// Functions that ran, by their own cost, the largest first.
fn functions(profile: &Profile, all: &BTreeMap<Key, Line>, texts: &Texts<'_>) -> Vec<FunctionRow> {
    let mut by = BTreeMap::<&str, FunctionRow>::new();
    for function in &profile.functions {
        let key = function.lines.first().map_or_else(
            || Key { function: function.name.clone(), ..Key::default() },
            |line| Key { function: function.name.clone(), file: line.file.clone(), line: line.line },
        );
        let row = || FunctionRow { at: texts.at(&key), total_ps: 0, cost: Cost::default() };
        by.entry(&function.name).or_insert_with(row);
    }
    for (key, line) in all {
        let Some(row) = by.get_mut(key.function.as_str()) else { continue };
        let Cost { ps, executed, calls_ps, lines_ps, waits_ps, .. } = cost(line);
        row.cost.ps += ps;
        row.cost.executed += executed;
        row.cost.calls_ps += calls_ps;
        row.cost.lines_ps += lines_ps;
        row.cost.waits_ps += waits_ps;
    }
    let name = |function: u32| profile.functions[function as usize].name.as_str();
    for node in profile.in_callbacks() {
        // Each once, however often it is in the chain.
        let mut chain = BTreeSet::from([name(node.function)]);
        let mut up = node.caller;
        while let Some((caller, _)) = up {
            let caller = &profile.nodes[caller as usize];
            chain.insert(name(caller.function));
            up = caller.caller;
        }
        for called in chain {
            if let Some(row) = by.get_mut(called) {
                row.total_ps += node.ps(profile.insn_ps);
            }
        }
        if let Some(row) = by.get_mut(name(node.function)) {
            row.cost.hits += node.calls;
        }
    }
    let mut rows: Vec<FunctionRow> = by.into_values().filter(|row| row.total_ps > 0).collect();
    rows.sort_by_key(|row| Reverse(row.cost.ps));
    rows
}

/// Files, the hottest first: complete if they exist and fit, otherwise only the lines in the object.
fn files(sources: Vec<Source>, left_out: &mut usize) -> Vec<FileRows> {
    let ps = |source: &Source| source.known.values().map(Line::ps).sum::<u64>();
    let mut sources: Vec<(u64, Source)> = sources.into_iter().map(|source| (ps(&source), source)).collect();
    sources.sort_by_key(|(ps, _)| Reverse(*ps));
    let mut room = MOST_SOURCE;
    let mut files = Vec::new();
    for (ps, source) in sources {
        let whole = source.text.as_ref().filter(|text| text.lines().count() <= room);
        let mut lines: Vec<SourceRow> = match whole {
            Some(text) => {
                (1..).zip(text.lines()).map(|(n, text)| row(n, text, source.known.get(&n))).collect()
            }
            None => source.known.iter().map(|(n, line)| row(*n, &line.text, Some(line))).collect(),
        };
        *left_out += lines.len().saturating_sub(room);
        lines.truncate(room);
        room -= lines.len();
        if !lines.is_empty() {
            files.push(FileRows { name: cut(&source.name), is_whole: whole.is_some(), ps, lines });
        }
    }
    files
}

fn row(line: u32, text: &str, known: Option<&Line>) -> SourceRow {
    SourceRow {
        line,
        text: cut(&text.trim_end().replace('\t', "    ")),
        cost: known.map(cost),
        ways: known.map_or((0, 0), ways),
    }
}
