use super::*;
use crate::{Item, TaskInfo, What, Why};
use keel_abi::{CpuId, CpuSet, Pid, TaskId, Topology};

const IDLE: TaskId = TaskId::IDLE;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_ms(ms)
}

fn event(ms: u64, what: What) -> Event {
    Event { at: at(ms), cpu: CpuId(0), what }
}

fn task(number: u32, name: &str) -> Meta {
    let (task, pid) = (TaskId(number), Pid(number + 1));
    Meta::Task(TaskInfo { task, pid, name: name.to_owned(), nice: 0, cpus: CpuSet::first(2) })
}

/// Emits this many ms of a task that runs all the time, one that waits, and a new one every millisecond that exits
/// again, so that task numbers grow endlessly.
fn stream(sink: &mut dyn Sink, length_ms: u64) {
    let [scheduler, workload, unit] = [const { String::new() }; 3];
    sink.meta(at(0), &Meta::Start { topology: Topology::flat(2), scheduler, workload, unit });
    sink.meta(at(0), &Meta::Clock { ns: 77 });
    sink.meta(at(0), &task(0, "runs"));
    sink.meta(at(0), &task(1, "waits"));
    let fork = |child| What::Fork { child, target: CpuId(0), parent: IDLE };
    let why = Why::WasIdle;
    sink.events(&[
        event(0, What::Priority { task: TaskId(0), prio: 120, weight: 100 }),
        event(0, fork(TaskId(0))),
        event(0, What::Switch { prev: IDLE, why, next: TaskId(0) }),
        event(0, fork(TaskId(1))),
    ]);
    for ms in 1..length_ms {
        // As far apart as the machine's other tasks leave them.
        let (number, cpu) = (ms as u32 * 1000, CpuId(1));
        let short = TaskId(number);
        sink.meta(at(ms), &task(number, "short"));
        let events = [
            What::Fork { child: short, target: cpu, parent: TaskId(0) },
            What::Switch { prev: IDLE, why, next: short },
            What::Exit { task: short },
            What::Switch { prev: short, why: Why::Exited, next: IDLE },
        ];
        sink.events(&events.map(|what| Event { at: at(ms), cpu, what }));
    }
    sink.meta(at(length_ms), &Meta::End);
}

/// Returns what a reader finds in the file with the kept part.
fn read(kept: Kept) -> Vec<(Instant, String)> {
    let mut file = Vec::new();
    kept.write(&mut file).unwrap();
    let items = Reader::new(&*file).unwrap().map(|item| match item.unwrap() {
        Item::Event(event) => (event.at, format!("{:?}", event.what)),
        Item::Meta(at, Meta::Task(info)) => (at, format!("{} is {}", info.name, info.task)),
        Item::Meta(at, Meta::Start { .. }) => (at, "start".to_owned()),
        Item::Meta(at, meta) => (at, format!("{meta:?}")),
    });
    items.collect()
}

fn ring(keep_ms: u64, most_bytes: usize, length_ms: u64) -> Ring {
    let mut ring = Ring::new(Span::from_ms(keep_ms), most_bytes);
    stream(&mut ring, length_ms);
    ring
}

/// Returns the same part of the same stream, cut from the whole.
fn cut(from_ms: u64, length_ms: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    let mut dense = Dense::new(&mut writer);
    stream(&mut Cut::new(at(from_ms)..Instant::from_ns(u64::MAX), &mut dense), length_ms);
    writer.finish().unwrap()
}

#[test]
fn what_is_kept_is_the_end_of_the_whole() {
    let check = |keep_ms, length_ms, from_ms| {
        let kept = ring(keep_ms, 1 << 20, length_ms).kept().unwrap();
        assert_eq!(kept.length(), Span::from_ms(length_ms - from_ms), "{keep_ms} of {length_ms}");
        let mut file = Vec::new();
        kept.write(&mut file).unwrap();
        assert!(file == cut(from_ms, length_ms), "{keep_ms} of {length_ms}");
    };
    check(100, 50, 0);
    check(100, 100, 0);
    check(100, 101, 1);
    check(100, 5000, 4900);
    check(1, 5000, 4999);
    check(4000, 4003, 3);
}

#[test]
fn it_says_first_who_is_there() {
    let items = read(ring(2, 1 << 20, 5000).kept().unwrap());
    let texts: Vec<&str> = items.iter().map(|(_, text)| text.as_str()).collect();
    let expected = [
        "start",
        "Clock { ns: 77 }",
        "runs is 0",
        "waits is 1",
        "Priority { task: TaskId(0), prio: 120, weight: 100 }",
        "Switch { next: TaskId(0), prev: TaskId(4294967295), why: WasIdle }",
        "Fork { child: TaskId(1), target: CpuId(0), parent: TaskId(1) }",
        "short is 2",
        "Fork { child: TaskId(2), target: CpuId(1), parent: TaskId(0) }",
    ];
    assert_eq!(texts[..expected.len()], expected);
    assert_eq!(items.first().map(|(at, _)| *at), Some(at(4998)));
    assert_eq!(items.last(), Some(&(at(5000), "End".to_owned())));
}

#[test]
fn memory_is_bounded_whatever_is_asked_for() {
    let check = |most_bytes: usize, length_ms| {
        let mut ring = ring(1_000_000, most_bytes, length_ms);
        let kept = ring.kept().unwrap();
        assert!(ring.bytes <= most_bytes, "{} of {most_bytes}", ring.bytes);
        assert!(ring.bytes > most_bytes / 2, "{} of {most_bytes}", ring.bytes);
        let from_ms = (at(length_ms).since(at(0)) - kept.length()).as_ns() / 1_000_000;
        let mut file = Vec::new();
        kept.write(&mut file).unwrap();
        assert!(from_ms > 0 && file == cut(from_ms, length_ms), "from {from_ms}");
    };
    check(100_000, 20_000);
    check(30_000, 20_000);
}

#[test]
fn it_goes_on_after_it_was_asked() {
    let mut ring = ring(100, 1 << 20, 1000);
    assert_eq!(read(ring.kept().unwrap()), read(ring.kept().unwrap()));
    let why = Why::Blocked;
    ring.events(&[event(1090, What::Switch { prev: TaskId(0), why, next: TaskId(1) })]);
    let kept = ring.kept().unwrap();
    assert_eq!(kept.length(), Span::from_ms(100));
    let items = read(kept);
    let last = "Switch { next: TaskId(1), prev: TaskId(0), why: Blocked }";
    assert_eq!(items[items.len() - 2], (at(1090), last.to_owned()));
    assert_eq!(items.last(), Some(&(at(1090), "End".to_owned())));
}
