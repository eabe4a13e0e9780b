//! Event streams written by hand, for tests: one event per line, `MICROSECONDS CPU WORDS`.
//!
//! Tasks are `A`, `B`, ... (ids 0, 1, ..., pids from 1000, names `task-a`, ...); `-` is idle.

use keel_abi::scx::dsq;
use keel_abi::{CpuId, CpuSet, DsqId, Instant, Pid, Span, TaskId, Topology};
use keel_trace::{Chooser, Event, Lock, Meta, Sink, TaskInfo, Unknown, What, Why};

/// Plays `lines` on a machine with `cpus` CPUs into `sink`; the last line's time ends the stream.
pub(crate) fn play(sink: &mut impl Sink, cpus: u32, lines: &str) {
    let start = Meta::Start {
        topology: Topology::flat(cpus),
        scheduler: "test".into(),
        workload: "script".into(),
        unit: "loops".into(),
    };
    sink.meta(Instant::ZERO, &start);
    for id in 0..6 {
        sink.meta(Instant::ZERO, &about(id, CpuSet::new()));
    }
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = Instant::ZERO + Span::from_us(words[0].parse().expect("microseconds"));
        match words[1..] {
            ["end"] => sink.meta(at, &Meta::End),
            ["unknown", what] => sink.meta(at, &Meta::Unknown(unknown(what))),
            ["may", who, list] => sink.meta(at, &about(task(who).0, list.parse().expect("a CPU list"))),
            [cpu, ref words @ ..] => sink.events(&[Event { at, cpu: self::cpu(cpu), what: what(words) }]),
            [] => panic!("{line}: no event"),
        }
    }
}

fn about(id: u32, cpus: CpuSet) -> Meta {
    let letter = char::from(b'a' + id as u8);
    Meta::Task(TaskInfo {
        task: TaskId(id),
        pid: Pid(1000 + id),
        name: format!("task-{letter}"),
        nice: 0,
        cpus,
    })
}

fn unknown(what: &str) -> Unknown {
    Unknown { affinity: what == "affinity", throttling: what == "throttling" }
}

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(word: &str) -> T {
    word.parse().expect("a number")
}

fn cpu(word: &str) -> CpuId {
    CpuId(word.parse().expect("a CPU"))
}

fn task(word: &str) -> TaskId {
    match word.as_bytes() {
        b"-" => TaskId::IDLE,
        [letter @ b'A'..=b'Z'] => TaskId(u32::from(letter - b'A')),
        _ => panic!("{word} is no task"),
    }
}

fn queue(word: &str) -> DsqId {
    match word.split_once(':') {
        Some(("local", cpu)) => DsqId(dsq::LOCAL_ON | u64::from(self::cpu(cpu).0)),
        Some(("user", id)) => DsqId(id.parse().expect("a queue")),
        _ => dsq::GLOBAL,
    }
}

fn what(words: &[&str]) -> What {
    let waker = TaskId::IDLE;
    match *words {
        ["switch", prev, why, next] => {
            What::Switch { prev: task(prev), why: self::why(why), next: task(next) }
        }
        ["wake", who, target, waker] => {
            What::Wakeup { task: task(who), target: cpu(target), waker: task(waker) }
        }
        ["wake", who, target] => What::Wakeup { task: task(who), target: cpu(target), waker },
        ["fork", who, target] => What::Fork { child: task(who), target: cpu(target), parent: waker },
        ["made", who, target, parent] => {
            What::Fork { child: task(who), target: cpu(target), parent: task(parent) }
        }
        ["exit", who] => What::Exit { task: task(who) },
        ["migrate", who, from, to] => What::Migrate { task: task(who), from: cpu(from), to: cpu(to) },
        ["placed", who, chosen, by] => {
            let by = if by == "select_cpu" { Chooser::SelectCpu } else { Chooser::Default };
            What::Placed { task: task(who), prev: cpu(chosen), chosen: cpu(chosen), by, idle: false }
        }
        ["queued", who, dsq] => What::Queued { task: task(who), dsq: queue(dsq), len: 1 },
        ["unqueued", who] => What::Unqueued { task: task(who), dsq: dsq::GLOBAL, len: 0 },
        ["held", who] => What::Held { task: task(who) },
        ["prio", who, prio] => What::Priority { task: task(who), prio: number(prio), weight: 0 },
        ["prio", who, prio, weight] => {
            What::Priority { task: task(who), prio: number(prio), weight: number(weight) }
        }
        ["awaits", who, mutex, owner] => {
            What::Awaits { task: task(who), mutex: number(mutex), owner: task(owner) }
        }
        ["spins", of, us] => {
            What::LockWait { lock: Lock::Runqueue(cpu(of)), waited: Span::from_us(number(us)) }
        }
        ["kick", target] => What::Kick { target: cpu(target), flags: 0 },
        ["count", who, units] => What::Count { task: task(who), units: units.parse().expect("units") },
        ["off", target] => What::Online { target: cpu(target), up: false },
        ["throttled", who, on] => What::Throttled { task: task(who), on: on == "on", group: 0 },
        ["throttled", who, on, group] => {
            What::Throttled { task: task(who), on: on == "on", group: group.parse().expect("a group") }
        }
        ["reserved", target, on] => What::Reserved { target: cpu(target), on: on == "on" },
        ["on", target] => What::Online { target: cpu(target), up: true },
        _ => panic!("{words:?} is no event"),
    }
}

fn why(word: &str) -> Why {
    match word {
        "idle" => Why::WasIdle,
        "preempted" => Why::Preempted,
        "yielded" => Why::Yielded,
        "blocked" => Why::Blocked,
        "exited" => Why::Exited,
        _ => panic!("{word} is no reason"),
    }
}
