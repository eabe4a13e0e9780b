//! Writes the first sentences of a judgement: which cores idled, for how long, which tasks waited where, and which
//! decision put them there.

use keel_abi::numbers::{core_seconds, count, percent};
use keel_abi::{CpuId, Span, Topology};
use keel_check::escape_all;
use keel_check::{Groups, How, Waiters, Wakers};
use serde::Serialize;
use std::collections::BTreeMap;

/// The sentence leaves out CPUs and causes that together account for less than this share.
const REST: f64 = 0.05;
/// If there are more ranges of CPUs than this, the sentence only counts the CPUs.
const RANGES: usize = 4;
/// The maximum number of names that are shown.
const NAMES: usize = 2;

/// A CPU that idled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IdleCore {
    /// Its number.
    pub cpu: u32,
    /// Its node.
    pub node: u32,
    /// For how long, without transients.
    pub wasted_ns: u64,
}

/// The tasks with one name that waited while cores idled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitersReport {
    /// Their name: untrusted text; empty for those beyond the first 255 names.
    pub name: String,
    /// The number of tasks with the name.
    pub tasks: u64,
    /// Core time wasted while they waited.
    pub wasted_ns: u64,
}

/// Tasks that woke or forked the tasks that waited while cores idled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WakersReport {
    /// Their name: untrusted text; empty for those beyond the first 255 names.
    pub name: String,
    /// Core time wasted while the tasks that they had woken or forked waited.
    pub wasted_ns: u64,
}

/// Where cores were wasted, and how the waiting tasks got there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WastedWhere {
    /// Two sentences; empty if nothing was wasted. Safe to print.
    pub sentence: String,
    /// The cores that idled.
    pub idle: Vec<IdleCore>,
    /// The CPUs on whose runqueues tasks waited, and the core time wasted while they did.
    pub waited_on: BTreeMap<u32, u64>,
    /// The core time wasted while tasks waited on no CPU's runqueue.
    pub in_queues_ns: u64,
    /// The part of `in_queues_ns` in which the BPF program held them.
    pub held_ns: u64,
    /// The tasks that waited.
    pub tasks: Vec<WaitersReport>,
    /// How they got there. docs/reference/findings.md lists the values.
    pub how: BTreeMap<String, u64>,
    /// The tasks that woke or forked them, if that is how they got there.
    pub wakers: Vec<WakersReport>,
}

impl WastedWhere {
    /// Describes these sums.
    pub fn new(groups: &Groups) -> Self {
        let node = |cpu: CpuId| {
            let place = groups.topology.as_ref().filter(|shape| cpu.0 < shape.cpus());
            place.map_or(0, |shape| shape.place(cpu).node.0)
        };
        let idle =
            |&(cpu, span): &(CpuId, Span)| IdleCore { cpu: cpu.0, node: node(cpu), wasted_ns: span.as_ns() };
        let waiters = |one: &Waiters| WaitersReport {
            name: one.name.clone(),
            tasks: one.tasks,
            wasted_ns: one.wasted.as_ns(),
        };
        let waker = |one: &Wakers| WakersReport { name: one.name.clone(), wasted_ns: one.wasted.as_ns() };
        Self {
            sentence: sentence(groups).unwrap_or_default(),
            idle: groups.idle.iter().map(idle).collect(),
            waited_on: groups.waited_on.iter().map(|&(cpu, span)| (cpu.0, span.as_ns())).collect(),
            in_queues_ns: groups.in_queues.as_ns(),
            held_ns: groups.held.as_ns(),
            tasks: groups.waiters.iter().map(waiters).collect(),
            how: groups.how.iter().map(|&(how, span)| (how.name().to_owned(), span.as_ns())).collect(),
            wakers: groups.wakers.iter().map(waker).collect(),
        }
    }
}

/// Returns the sentence: `8 of 32 CPUs (node 1, cores 8-15) idled for 1.90 core-seconds while 14 make tasks waited on
/// node 0 (cores 0-7). They were woken on their last node by make each time.`
fn sentence(groups: &Groups) -> Option<String> {
    if sum(&groups.idle) == 0 {
        return None;
    }
    let shape = groups.topology.as_ref();
    let all: u64 = groups.waiters.iter().map(|one| one.tasks).sum();
    let (idle, at) = (idled(groups, shape), places(groups, shape));
    let (they, their) = if all == 1 { ("It was", "its") } else { ("They were", "their") };
    let each = if all == 1 { "" } else { " each time" };
    let how = ways(&groups.how, their, &by(groups), each);
    Some(format!("{idle} while {} waited{at}. {they} {how}.", who(groups, all)))
}

/// Returns all CPUs of a machine with several.
fn every(cpus: usize) -> String {
    if cpus == 2 { "Both CPUs".to_owned() } else { format!("All {} CPUs", count(cpus as u64)) }
}

/// Describes what idled: `Core 3 idled for 50.40 ms`, `8 of 64 CPUs (cores 8-15) idled for 60.00 core-seconds`.
fn idled(groups: &Groups, shape: Option<&Topology>) -> String {
    let (many, most) = (groups.idle.len(), most_of(&groups.idle));
    if let [core] = most.as_slice() {
        let own = groups.idle.iter().find(|(cpu, _)| cpu == core).map_or(Span::ZERO, |&(_, span)| span);
        return format!("Core {core} idled for {own}");
    }
    let wasted = core_seconds(sum(&groups.idle));
    let cpus = match shape.map(|shape| shape.cpus() as usize) {
        Some(all) if all == most.len() => return format!("{} idled for {wasted}", every(all)),
        Some(all) if all == many => every(many),
        Some(all) => format!("{} of {} CPUs", count(many as u64), count(all as u64)),
        None => format!("{} CPUs", count(many as u64)),
    };
    let mostly = if most.len() < many { "mostly " } else { "" };
    let which = match (whole_nodes(&most, shape), listed(&most)) {
        (Some(nodes), Some(cores)) => format!(" ({mostly}{nodes}, {cores})"),
        (Some(listed), None) | (None, Some(listed)) => format!(" ({mostly}{listed})"),
        (None, None) if most.len() < many => format!(" (mostly {} of them)", count(most.len() as u64)),
        (None, None) => String::new(),
    };
    format!("{cpus}{which} idled for {wasted}")
}

/// Describes the wakers: ` by make`, if tasks with that name woke or forked nearly all or most of the waiting tasks.
fn by(groups: &Groups) -> String {
    let all: Span = groups.how.iter().filter(|(how, _)| is_by_waker(*how)).map(|&(_, span)| span).sum();
    match groups.wakers.first() {
        Some(most) if !most.name.is_empty() && most.wasted.as_ns() as f64 >= all.as_ns() as f64 * 0.5 => {
            let share = most.wasted.as_ns() as f64 / all.as_ns().max(1) as f64;
            let mostly = if share >= 1.0 - REST { "" } else { ", mostly" };
            format!("{mostly} by {}", escape_all(&most.name))
        }
        _ => String::new(),
    }
}

/// Describes the waiting tasks: `14 make tasks`, `30 tasks (cc1, make and others)`.
fn who(groups: &Groups, all: u64) -> String {
    let more = if groups.more_tasks { "more than " } else { "" };
    let tasks = if all == 1 { "task" } else { "tasks" };
    let named: Vec<&Waiters> = groups.waiters.iter().filter(|one| !one.name.is_empty()).collect();
    let names: Vec<String> = named.iter().take(NAMES).map(|one| escape_all(&one.name)).collect();
    let n = count(all);
    match (names.as_slice(), groups.waiters.len()) {
        ([], _) => format!("{more}{n} {tasks}"),
        ([name], 1) => format!("{more}{n} {name} {tasks}"),
        ([a, b], 2) => format!("{more}{n} {tasks} ({a}, {b})"),
        (names, _) => format!("{more}{n} {tasks} ({} and others)", names.join(", ")),
    }
}

/// Describes where they waited: ` on cores 0-7`, ` in the scheduler's queues`, `, held by the BPF program`, or several
/// of these.
fn places(groups: &Groups, shape: Option<&Topology>) -> String {
    let on = sum(&groups.waited_on);
    let queues = groups.in_queues.as_ns();
    let share = queues as f64 / on.saturating_add(queues).max(1) as f64;
    let held = groups.held.as_ns() as f64 / queues.max(1) as f64;
    let (comma, whose) = match held {
        held if held < REST => ("", "in the scheduler's queues"),
        held if held > 1.0 - REST => (",", "held by the BPF program"),
        _ => ("", "in the scheduler's queues or held by the BPF program"),
    };
    match share {
        share if share < REST => format!(" on {}", cores(&groups.waited_on, shape)),
        share if share > 1.0 - REST => format!("{comma} {whose}"),
        share => {
            let on = cores(&groups.waited_on, shape);
            format!(" on {on} and, for {} of the time, {whose}", percent(share))
        }
    }
}

/// Describes the CPUs that account for nearly all of it: `node 1 (cores 8-15)`, `cores 3, 8-15`, `12 cores`.
fn cores(of: &[(CpuId, Span)], shape: Option<&Topology>) -> String {
    let most = most_of(of);
    let listed = listed(&most).unwrap_or_else(|| format!("{} cores", count(most.len() as u64)));
    match whole_nodes(&most, shape) {
        Some(nodes) => format!("{nodes} ({listed})"),
        None => listed,
    }
}

/// Returns the CPUs that account for nearly all of it, in ascending order.
fn most_of(of: &[(CpuId, Span)]) -> Vec<CpuId> {
    let all = sum(of);
    let mut most: Vec<&(CpuId, Span)> = of.iter().collect();
    most.sort_by_key(|(cpu, span)| (std::cmp::Reverse(*span), *cpu));
    let mut so_far = 0u64;
    let mut cpus: Vec<CpuId> = Vec::new();
    for (cpu, span) in most {
        if so_far as f64 >= all as f64 * (1.0 - REST) {
            break;
        }
        so_far = so_far.saturating_add(span.as_ns());
        cpus.push(*cpu);
    }
    cpus.sort_unstable();
    cpus
}

/// Lists CPUs: `core 3`, `cores 3, 8-15`. Returns `None` if they are too scattered.
fn listed(cpus: &[CpuId]) -> Option<String> {
    let ranges = ranges(cpus);
    match (cpus.len(), ranges.len()) {
        (1, _) => Some(format!("core {}", ranges[0])),
        (_, many) if many > RANGES => None,
        _ => Some(format!("cores {}", ranges.join(", "))),
    }
}

/// Returns `node 1` or `nodes 1-3`, if the CPUs are exactly those of some nodes but not of all nodes.
fn whole_nodes(cpus: &[CpuId], shape: Option<&Topology>) -> Option<String> {
    let shape = shape?;
    let mut nodes: Vec<_> =
        cpus.iter().filter(|cpu| cpu.0 < shape.cpus()).map(|&cpu| shape.place(cpu).node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let in_nodes = shape.iter().filter(|&cpu| nodes.contains(&shape.place(cpu).node)).count();
    if in_nodes != cpus.len() || nodes.len() == shape.nodes() as usize {
        return None;
    }
    let numbers: Vec<CpuId> = nodes.iter().map(|node| CpuId(node.0)).collect();
    let ranges = ranges(&numbers);
    let word = if nodes.len() == 1 { "node" } else { "nodes" };
    (ranges.len() <= RANGES).then(|| format!("{word} {}", ranges.join(", ")))
}

/// Formats ascending numbers as ranges: `3`, `8-15`.
fn ranges(cpus: &[CpuId]) -> Vec<String> {
    let runs = cpus.chunk_by(|a, b| b.0 == a.0 + 1);
    runs.map(|run| match run {
        [one] => one.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    })
    .collect()
}

/// Describes how they got there: one cause, or the main ones with their shares.
fn ways(how: &[(How, Span)], their: &str, by: &str, each: &str) -> String {
    let all = sum(how).max(1) as f64;
    let share = |span: Span| span.as_ns() as f64 / all;
    let reported = |way: How| format!("{}{}", words(way, their), if is_by_waker(way) { by } else { "" });
    match how {
        [] => "there for reasons that are not recorded".to_owned(),
        [(way, span), ..] if share(*span) >= 1.0 - REST => format!("{}{each}", reported(*way)),
        [(way, span), ..] if share(*span) >= 0.5 => {
            format!("{} ({} of the waste)", reported(*way), percent(share(*span)))
        }
        many => {
            let reported: Vec<String> = many
                .iter()
                .take(3)
                .map(|&(way, span)| format!("{} ({})", words(way, their), percent(share(span))))
                .collect();
            reported.join(", ")
        }
    }
}

/// Returns whether this means that a waker or parent put the task there.
fn is_by_waker(how: How) -> bool {
    !matches!(how, How::Pulled | How::Pushed | How::Moved | How::Dispatched | How::Queued | How::Unknown)
}

fn words(how: How, their: &str) -> String {
    match how {
        How::WokenLastCpu => format!("woken on {their} last CPU"),
        How::WokenLastCache => format!("woken on another CPU of {their} last LLC"),
        How::WokenLastNode => format!("woken on {their} last node"),
        How::WokenOtherNode => format!("woken on a node other than {their} last"),
        How::Woken => "woken there".to_owned(),
        How::Forked => "forked there".to_owned(),
        How::Pulled => "pulled there".to_owned(),
        How::Pushed => "pushed there".to_owned(),
        How::Moved => "moved there by a third CPU".to_owned(),
        How::Dispatched => "dispatched there by the scheduler".to_owned(),
        How::Queued => "queued there by the scheduler".to_owned(),
        How::Pinned => "pinned there".to_owned(),
        How::Unknown => "there for reasons that are not recorded".to_owned(),
    }
}

/// Returns the total in nanoseconds, saturating: an untrusted trace may claim any times.
fn sum<T>(of: &[(T, Span)]) -> u64 {
    of.iter().map(|&(_, span)| span).sum::<Span>().as_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes of 8 cores.
    fn groups(
        nodes: u32,
        idle: &[u32],
        waited_on: &[u32],
        names: &[(&str, u64)],
        how: &[(How, u64)],
    ) -> Groups {
        let each = |cpus: &[u32]| cpus.iter().map(|&cpu| (CpuId(cpu), Span::from_ms(200))).collect();
        let waiter =
            |&(name, tasks): &(&str, u64)| Waiters { name: name.into(), tasks, wasted: Span::from_ms(1) };
        Groups {
            idle: each(idle),
            waited_on: each(waited_on),
            waiters: names.iter().map(waiter).collect(),
            how: how.iter().map(|&(how, ms)| (how, Span::from_ms(ms))).collect(),
            topology: Some(Topology::regular(nodes, 1, 8, 1)),
            ..Groups::default()
        }
    }

    #[test]
    fn the_sentence_names_cores_tasks_and_decisions() {
        let check = |groups: Groups, expected: &str| {
            assert_eq!(WastedWhere::new(&groups).sentence, expected);
        };
        let (low, high): (Vec<u32>, Vec<u32>) = ((0..8).collect(), (8..16).collect());
        let last_node = [(How::WokenLastNode, 100)];
        check(Groups::default(), "");
        check(
            groups(4, &high, &low, &[("make", 14)], &last_node),
            "8 of 32 CPUs (node 1, cores 8-15) idled for 1.60 core-seconds while 14 make tasks waited on node 0 (cores 0-7). \
             They were woken on their last node each time.",
        );
        check(
            groups(1, &[3, 5, 6], &[1], &[("a", 1)], &[(How::Forked, 70), (How::Pulled, 30)]),
            "3 of 8 CPUs (cores 3, 5-6) idled for 0.600 core-seconds while 1 a task waited on core 1. It was forked there \
             (70 % of the waste).",
        );
        check(
            groups(
                1,
                &[0, 2, 4, 6, 7],
                &[1],
                &[("a", 1), ("b\x1b", 2)],
                &[(How::Forked, 40), (How::Pulled, 30), (How::Woken, 30)],
            ),
            "5 of 8 CPUs (cores 0, 2, 4, 6-7) idled for 1.00 core-seconds while 3 tasks (a, b\\u{1b}) waited on core 1. They were \
             forked there (40 %), pulled there (30 %), woken there (30 %).",
        );
        let mut queued = groups(1, &[0], &[], &[("a", 1), ("b", 2), ("c", 3)], &[]);
        queued.in_queues = Span::from_ms(200);
        let by_place = |held: u64, place: &str| {
            let groups = Groups { held: Span::from_ms(held), ..queued.clone() };
            let who = "Core 0 idled for 200.00 ms while 6 tasks (a, b and others) waited";
            check(groups, &format!("{who}{place}. They were there for reasons that are not recorded."));
        };
        by_place(0, " in the scheduler's queues");
        by_place(200, ", held by the BPF program");
        by_place(100, " in the scheduler's queues or held by the BPF program");
        let woken_by = |wakers: &[(&str, u64)]| Groups {
            wakers: wakers
                .iter()
                .map(|&(name, ms)| Wakers { name: name.into(), wasted: Span::from_ms(ms) })
                .collect(),
            ..groups(1, &[3], &[0], &[("victim", 1)], &[(How::WokenLastCpu, 200)])
        };
        let idled =
            "Core 3 idled for 200.00 ms while 1 victim task waited on core 0. It was woken on its last CPU";
        check(woken_by(&[("waker", 195), ("b", 5)]), &format!("{idled} by waker."));
        check(woken_by(&[("waker", 120), ("b", 50)]), &format!("{idled}, mostly by waker."));
        check(woken_by(&[("waker", 80), ("b", 50)]), &format!("{idled}."));
        let mut one = groups(1, &[3], &[0], &[("a", 1)], &[(How::Forked, 1)]);
        one.idle.push((CpuId(5), Span::from_ms(5)));
        check(one, "Core 3 idled for 200.00 ms while 1 a task waited on core 0. It was forked there.");
        let mut scattered = groups(2, &[0, 2, 4, 6, 8, 10], &[1], &[("a", 1)], &[(How::Forked, 1)]);
        scattered.idle.push((CpuId(12), Span::from_us(1)));
        check(
            scattered,
            "7 of 16 CPUs (mostly 6 of them) idled for 1.20 core-seconds while 1 a task waited on core 1. It was forked there.",
        );
        let whole: Vec<u32> = (0..8).collect();
        check(
            groups(1, &whole, &[1], &[("a", 2)], &[(How::Pulled, 1)]),
            "All 8 CPUs idled for 1.60 core-seconds while 2 a tasks waited on core 1. They were pulled there each time.",
        );
        assert_eq!([every(2), every(8)], ["Both CPUs", "All 8 CPUs"]);
        let all: Vec<u32> = (0..7).collect();
        let mut few = groups(1, &all, &[1], &[("a", 2)], &[(How::Forked, 1)]);
        few.idle.push((CpuId(7), Span::from_us(1)));
        check(
            few,
            "All 8 CPUs (mostly cores 0-6) idled for 1.40 core-seconds while 2 a tasks waited on core 1. They were forked there \
             each time.",
        );
    }
}
