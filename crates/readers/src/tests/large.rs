//! Large files, to see what `keel check` needs for them: `KEEL_LARGE=FOLDER cargo test -p keel-readers -- --ignored large`.

use crate::formats::Order;
use crate::make::{DatShape, PerfShape, Shape, TextShape, perf, text, tracedat};
use crate::seen::{Name, Seen, SeenWhat, Who};
use keel_trace::Why;

/// Tasks that take turns on four CPUs: a wakeup and a switch each time.
fn records(count: u64) -> Vec<Seen> {
    let who = |pid: u32| Who { pid, name: Name::new(format!("task-{pid}").as_bytes()), prio: Some(120) };
    let mut running = [who(1), who(2), who(3), who(4)];
    let mut next = 5;
    let mut records = Vec::new();
    for n in 0..count / 2 {
        let cpu = (n % 4) as usize;
        let (at, prev, comes) = (1_000_000_000 + n * 2000, running[cpu], who(next));
        next = if next == 400 { 5 } else { next + 1 };
        let seen =
            |at, what| Seen { at, cpu: cpu as u32, lost: 0, current: Some(prev.pid), interrupt: false, what };
        records.push(seen(at, SeenWhat::Waking { task: comes, target: cpu as u32 }));
        records.push(seen(at + 1000, SeenWhat::Switch { prev, why: Why::Blocked, next: comes }));
        running[cpu] = comes;
    }
    records
}

#[test]
#[ignore = "writes a gigabyte"]
fn large_files_are_written() {
    let folder = std::env::var("KEEL_LARGE").expect("KEEL_LARGE names a folder");
    let number = |name, usual| std::env::var(name).map_or(usual, |n| n.parse().expect("a number"));
    let records = records(number("KEEL_EVENTS", 1_000_000));
    let events = Shape { order: Order::Little, long: 8, far_names: false };
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(format!("{folder}/{name}"), bytes).expect("it can be written")
    };
    let shape =
        PerfShape { events, pipe: false, compressed: false, round: number("KEEL_ROUND", 100_000) as usize };
    write("large.perf", &perf(&records, shape));
    write("large.dat", &tracedat(&records, DatShape { events, packing: None, page: 4096 }));
    write("large.txt", &text(&records, TextShape::Ftrace));
}
