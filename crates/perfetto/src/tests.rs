//! Reads the output using only the wire format and the published field numbers.

use super::Perfetto;
use keel_abi::{CpuId, CpuSet, Instant, Pid, TaskId, Topology};
use keel_check::Figures;
use keel_trace::{Event, Fanout, Meta, Sink, TaskInfo, What, Why};
use std::collections::BTreeMap;

/// A field: its number, and a number or bytes.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn number(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().expect("a number ends");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = number(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Number(number(&mut bytes)),
            2 => {
                let length = number(&mut bytes) as usize;
                let (inside, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(inside)
            }
            other => panic!("wire type {other}"),
        };
        fields.push((tag >> 3, field));
    }
    fields
}

fn inside<'a>(bytes: &'a [u8], wanted: u64) -> Vec<&'a [u8]> {
    let bytes_of = |(n, field): (u64, Field<'a>)| match field {
        Field::Bytes(bytes) if n == wanted => Some(bytes),
        _ => None,
    };
    fields(bytes).into_iter().filter_map(bytes_of).collect()
}

fn value(bytes: &[u8], wanted: u64) -> u64 {
    let found = fields(bytes).into_iter().find_map(|(n, field)| match field {
        Field::Number(value) if n == wanted => Some(value),
        _ => None,
    });
    found.expect("the field is there")
}

/// Two tasks of one CPU that take turns, and one that waits while CPU 1 idles.
fn play(sink: &mut dyn Sink) {
    let [scheduler, workload, unit] = ["s", "w", "u"].map(str::to_owned);
    let topology = Topology::flat(2);
    sink.meta(Instant::ZERO, &Meta::Start { topology, scheduler, workload, unit });
    for task in 0..2 {
        let name = format!("<task {task}>");
        let info = TaskInfo { task: TaskId(task), pid: Pid(40 + task), name, nice: 5, cpus: CpuSet::new() };
        sink.meta(Instant::ZERO, &Meta::Task(info));
    }
    let (cpu, [a, b]) = (CpuId(0), [TaskId(0), TaskId(1)]);
    let idle = TaskId::IDLE;
    let whats = [
        What::Fork { child: a, target: cpu, parent: idle },
        What::Switch { prev: idle, why: Why::WasIdle, next: a },
        What::Wakeup { task: b, target: cpu, waker: a },
        What::Switch { prev: a, why: Why::Preempted, next: b },
        What::Switch { prev: b, why: Why::Blocked, next: a },
        What::Switch { prev: a, why: Why::Exited, next: idle },
    ];
    for (at, what) in whats.into_iter().enumerate() {
        sink.events(&[Event { at: Instant::from_ns(1_000_000 * at as u64), cpu, what }]);
    }
    sink.meta(Instant::from_ns(6_000_000), &Meta::End);
}

#[test]
fn another_reader_finds_the_same_figures() {
    let mut bytes = Vec::new();
    let (mut figures, mut perfetto) = (Figures::new(), Perfetto::new(&mut bytes));
    play(&mut Fanout::new().with(&mut figures).with(&mut perfetto));
    perfetto.finish().expect("memory takes every byte");
    let summary = figures.summary();
    let (mut ran, mut since, mut switches) = (BTreeMap::new(), 0, 0);
    // Trace.packet 1, TracePacket.ftrace_events 1, FtraceEventBundle.event 2, FtraceEvent.timestamp 1 and .sched_switch
    // 4, SchedSwitchFtraceEvent.prev_pid 2 and .next_pid 6.
    let packets = inside(&bytes, 1);
    let bundles = packets.iter().flat_map(|packet| inside(packet, 1));
    for event in bundles.flat_map(|bundle| inside(bundle, 2)) {
        let at = value(event, 1);
        for switch in inside(event, 4) {
            *ran.entry(value(switch, 2)).or_insert(0) += at - since;
            since = at;
            switches += 1;
        }
    }
    assert_eq!(switches, summary.switches);
    for task in &summary.tasks {
        assert_eq!(ran[&u64::from(task.pid.0)], task.cpu.as_ns(), "{}", task.pid);
    }
    // TracePacket.system_info 45 and its num_cpus 8: CPU 1 has no event of its own.
    let known: Vec<u64> =
        packets.iter().flat_map(|packet| inside(packet, 45)).map(|info| value(info, 8)).collect();
    assert_eq!(known, [2]);
    // TracePacket.track_event 11 of type (9) begin and end: CPU 0 idled until the first task ran, CPU 1 while one of
    // the two waited.
    let kinds: Vec<u64> =
        packets.iter().flat_map(|packet| inside(packet, 11)).map(|event| value(event, 9)).collect();
    assert_eq!(kinds, [1, 2, 1, 2]);
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("CPU 0 wasted") && text.contains("CPU 1 wasted"));
}
