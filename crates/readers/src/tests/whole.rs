//! Tests how whole files are read: the stream, and the notes.

use crate::make::{TextShape, text};
use crate::{Files, ReadError, Way, read, read_in};
use keel_abi::{Instant, TaskId};
use keel_trace::{Class, Event, Meta, Sink, What, Why};
use std::fmt::Write;
use std::io::Cursor;

/// Writes a stream as text, one line per element, in microseconds.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) text: String,
    names: Vec<String>,
    cpus: u32,
}

impl Lines {
    fn name(&self, task: TaskId) -> &str {
        if task.is_idle() { "-" } else { self.names.get(task.index()).map_or("nobody", String::as_str) }
    }
}

impl Sink for Lines {
    fn wants(&self) -> Class {
        Class::ALL
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            let name = |task| self.name(task);
            let words = match event.what {
                What::Switch { prev, why, next } => {
                    let why = match why {
                        Why::WasIdle => "was idle",
                        Why::Preempted => "preempted",
                        Why::Yielded => "yielded",
                        Why::Blocked => "blocked",
                        Why::Exited => "exited",
                    };
                    format!("switch {} ({why}) to {}", name(prev), name(next))
                }
                What::Wakeup { task, target, waker } => {
                    format!("{} wakes {} on {target}", name(waker), name(task))
                }
                What::Fork { child, target, parent } if child == parent => {
                    format!("{} waits on {target} already", name(child))
                }
                What::Fork { child, target, parent } => {
                    format!("{} makes {} on {target}", name(parent), name(child))
                }
                What::Exit { task } => format!("{} is gone", name(task)),
                What::Migrate { task, from, to } => format!("{} moves from {from} to {to}", name(task)),
                What::Kick { target, .. } => format!("kick {target}"),
                What::Priority { task, prio, .. } => format!("{} has priority {prio}", name(task)),
                What::Online { target, up } => format!("{target} {}", if up { "comes" } else { "goes" }),
                What::Lost { events } => format!("{events} lost"),
                other => format!("{other:?}"),
            };
            let _ = writeln!(self.text, "{:>9} CPU {}: {words}", event.at.as_ns() / 1000, event.cpu);
        }
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        let words = match meta {
            Meta::Start { topology, scheduler, workload, .. } => {
                let (cpus, nodes) = (topology.cpus(), topology.nodes());
                self.cpus = cpus;
                format!("{cpus} CPUs, {nodes} node, {scheduler}, {workload}")
            }
            Meta::Task(info) => {
                let known = self.names.len().max(info.task.index() + 1);
                self.names.resize(known, String::new());
                self.names[info.task.index()].clone_from(&info.name);
                let cpus = if (info.cpus.len() as u32) < self.cpus {
                    format!(" only on {}", info.cpus)
                } else {
                    String::new()
                };
                format!("{} is {} nice {}{cpus}", info.name, info.pid, info.nice)
            }
            Meta::Unknown(unknown) => format!("{unknown:?}"),
            Meta::End => "end".to_owned(),
            // Times here are relative to it.
            Meta::Clock { .. } => return,
            other => format!("{other:?}"),
        };
        let _ = writeln!(self.text, "{:>9} {words}", at.as_ns() / 1000);
    }
}

/// Returns the stream of a text, and its notes: the same for any number of threads.
pub(super) fn described(bytes: &[u8]) -> String {
    let described = described_in(Way::One, bytes);
    assert_eq!(described_in(Way::Threads, bytes), described);
    described
}

fn described_in(way: Way, bytes: &[u8]) -> String {
    let mut lines = Lines::default();
    match read_in(way, Files::one(Cursor::new(bytes)), &mut lines) {
        Ok(recording) => {
            lines.text += "\n";
            recording.notes.iter().for_each(|note| lines.text += &format!("{note}\n"));
            lines.text
        }
        Err(error) => {
            assert!(lines.text.is_empty(), "what cannot be judged is not described");
            error.to_string()
        }
    }
}

/// Lines like `10 0 7 sched_switch: ...`: microseconds, CPU, running task.
fn script(lines: &str) -> String {
    let line = |line: &str| {
        let split = line.trim().split_once(' ').and_then(|(at, rest)| Some((at.parse::<u64>().ok()?, rest)));
        let Some((at, rest)) = split else { return format!("{}\n", line.trim()) };
        let mut words = rest.splitn(3, ' ');
        let (cpu, pid, rest) =
            (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next().unwrap_or(""));
        let rest = rest
            .replace("switch ", "sched_switch: ")
            .replace("waking ", "sched_waking: ")
            .replace("wakeup ", "sched_wakeup: ")
            .replace("new ", "sched_wakeup_new: ")
            .replace("fork ", "sched_process_fork: ")
            .replace("move ", "sched_migrate_task: ");
        format!("name-{pid} [{cpu}] d..2. 0.{at:>06}: {rest}\n")
    };
    lines.lines().map(line).collect()
}

fn check(name: &str, lines: &str) {
    insta::assert_snapshot!(name, described(script(lines).as_bytes()));
}

#[test]
fn a_short_recording_is_described() {
    check(
        "a_short_recording",
        "# entries-in-buffer/entries-written: 11/11   #P:3
         100 0 7 waking comm=cc pid=8 prio=125 target_cpu=001
         101 0 7 move comm=cc pid=8 prio=125 orig_cpu=1 dest_cpu=2
         102 0 7 wakeup cc:8 [125] CPU:002
         103 2 0 switch swapper/2:0 [120] R ==> cc:8 [125]
         104 0 7 fork comm=make pid=7 child_comm=make child_pid=9
         105 0 7 new make:9 [120] CPU:000
         106 0 7 switch make:7 [120] R+ ==> kworker/0:1:5 [120]
         107 0 5 switch kworker/0:1:5 [120] I ==> make:9 [120]
         108 2 8 switch cc:8 [125] X ==> swapper/2:0 [120]
         109 0 9 other: x
         110 2 0 other: x",
    );
}

#[test]
fn missing_data_is_reported() {
    check(
        "no_wakeups",
        "10 0 7 switch a:7 [120] S ==> b:8 [120]
         20 0 8 switch b:8 [120] R ==> a:7 [120]",
    );
    check(
        "woken_on_its_way",
        "10 1 0 switch swapper/1:0 [120] R ==> a:7 [120]
         20 0 8 waking comm=a pid=7 prio=120 target_cpu=001
         30 1 7 switch a:7 [120] S ==> b:9 [120]
         40 1 9 switch b:9 [120] S ==> a:7 [120]
         50 0 8 switch c:8 [120] S ==> swapper/0:0 [120]",
    );
    check(
        "hotplug_unseen",
        "10 1 7 wakeup cpuhp/1:22 [120] CPU:001
         20 1 7 switch a:7 [120] S ==> cpuhp/1:22 [120]
         30 1 22 switch cpuhp/1:22 [120] S ==> swapper/1:0 [120]
         40 0 8 switch b:8 [120] S ==> swapper/0:0 [120]",
    );
    check(
        "overwritten",
        "# entries-in-buffer/entries-written: 4/9   #P:2
         10 0 7 switch a:7 [120] S ==> b:8 [120]
         20 0 8 wakeup a:7 [120] CPU:001
         30 1 9 switch c:9 [120] R ==> a:7 [120]
         40 1 7 switch a:7 [120] S ==> c:9 [120]",
    );
    check(
        "lost_and_damaged",
        "10 0 0 switch swapper:0 [120] R ==> a:7 [120]
         12 1 0 wakeup b:8 [120] CPU:001
         nonsense
         CPU:0 [LOST 5 EVENTS]
         20 0 8 switch b:8 [120] S ==> swapper:0 [120]
         15 1 0 switch swapper:0 [120] R ==> c:9 [120]
         30 1 9 switch c:4999999 [120] S ==> d:10 [120]
         40 0 0 switch",
    );
}

#[test]
fn unjudgeable_recordings_are_refused() {
    let check = |text: &str, expected: &str| assert_eq!(described(text.as_bytes()), expected);
    check("", "the file is empty");
    check("hello\n", &ReadError::Foreign.to_string());
    let empty = "it contains no sched_switch event, so it does not show which task ran: no event could be read; record with \
                 perf sched record, or with trace-cmd record -e sched";
    check("# tracer: nop\n#\n", empty);
    check(
        "a-1 [000] d..2. 1.000000: other: x\n",
        "it contains no sched_switch event, so it does not show which task ran: 1 event of other kinds; record with perf sched \
         record, or with trace-cmd record -e sched",
    );
    check("PERFILE2", "the perf.data file is damaged at byte 8: its head is cut off");
    check(
        "\x17\x08\x44tracing9\0\0\x08....",
        "this trace.dat file has version 9; keel reads versions 6 and 7",
    );
}

#[test]
fn hogs_that_never_leave_their_cpus_are_seen() {
    use crate::sched_record::{Name, SchedEvent, SchedRecord, Who};
    // CPU 1's only record is at the end, and shows which task had run all the time.
    let who = |pid, name: &str| Who { pid, name: Name::new(name.as_bytes()), prio: Some(120) };
    let switch = |at: u64, cpu, prev: Who, next: Who| SchedRecord {
        at: at * 1_000_000_000,
        cpu,
        lost: 0,
        current: Some(prev.pid),
        interrupt: false,
        what: SchedEvent::Switch { prev, why: Why::Blocked, next },
    };
    let (idle, hog, blip) = (who(0, "swapper"), who(7, "hog"), who(8, "blip"));
    let records = [switch(1, 0, idle, blip), switch(2, 0, blip, idle), switch(9, 1, hog, idle)];
    let mut figures = keel_check::Figures::new();
    read(Cursor::new(text(&records, TextShape::PerfScript)), &mut figures).expect("it can be judged");
    let summary = figures.summary();
    let cpu = |name: &str| summary.tasks.iter().find(|task| task.name == name).map(|task| task.cpu.as_ns());
    assert_eq!((cpu("hog"), cpu("blip")), (Some(8_000_000_000), Some(1_000_000_000)));
}

/// perf records new names while it still opens the events of the scheduler, one CPU after the other.
#[test]
fn names_do_not_begin_a_recording() {
    let text = "a-7 [000] d..2. 1.000000: task_rename: pid=7 oldcomm=a newcomm=b oom_score_adj=0
        b-7 [000] d..2. 6.000000: sched_switch: b:7 [120] R ==> c:8 [120]
        c-8 [000] d..2. 6.000100: sched_switch: c:8 [120] S ==> b:7 [120]
        <idle>-0 [001] d..2. 6.000200: sched_switch: swapper/1:0 [120] R ==> d:9 [120]
        d-9 [001] d..2. 6.000300: task_rename: pid=9 oldcomm=d newcomm=e oom_score_adj=0";
    let mut judge = keel_check::Judge::default();
    read(Cursor::new(text), &mut judge).expect("it can be judged");
    assert_eq!(judge.judgement().summary.duration, keel_abi::Span::from_us(300));
}

/// Returns the judgement of a text's stream, and its notes.
fn judged(lines: &str) -> (keel_check::Judgement, crate::Recording) {
    let mut judge = keel_check::Judge::default();
    let recording = read(Cursor::new(script(lines)), &mut judge).expect("it can be judged");
    (judge.judgement(), recording)
}

/// b runs from 900 ms on, on CPU 1, without a recorded wakeup. c shows that wakeups are recorded.
fn unwoken(before: &str) -> keel_abi::Span {
    let (judgement, _) = judged(&format!(
        "10 0 7 wakeup c:9 [120] CPU:000
         {before}
         900000 1 0 switch swapper/1:0 [120] R ==> b:8 [120]
         990000 1 8 switch b:8 [120] S ==> swapper/1:0 [120]
         990100 0 7 switch a:7 [120] S ==> c:9 [120]"
    ));
    judgement.waste.wasted
}

#[test]
fn a_missing_wakeup_is_no_wait_since_the_beginning() {
    use keel_abi::Span;
    // c waits on CPU 0 behind a, while CPU 1 idles: that is reported.
    let of_c = unwoken("");
    assert_eq!(of_c, Span::from_ns(900_090_000));
    // b is moved from a CPU that had idled: its earlier wait is unknown, and CPU 1 is not counted as wasted twice.
    let moved = "800000 1 0 switch swapper/1:0 [120] R ==> d:4 [120]
                 800100 1 4 switch d:4 [120] S ==> swapper/1:0 [120]
                 890000 0 7 move comm=b pid=8 prio=120 orig_cpu=1 dest_cpu=0";
    assert!(unwoken(moved) <= of_c, "{}", unwoken(moved));
    // Behind d, which ran on CPU 1 all the time, it may have waited.
    let (judgement, recording) = judged(
        "10 0 7 wakeup a:7 [120] CPU:000
         500000 1 4 switch d:4 [120] S ==> b:8 [120]
         990000 1 8 switch b:8 [120] S ==> swapper/1:0 [120]",
    );
    assert_eq!(judgement.summary.tasks.iter().map(|task| task.wait).max(), Some(Span::from_ns(499_990_000)));
    assert!(!recording.notes.iter().any(|note| note.contains("without a recorded wakeup")), "{recording:?}");
    // But not for longer than the limit.
    let (judgement, recording) = judged(
        "10 0 7 wakeup a:7 [120] CPU:000
         d-4 [001] d..2. 1.500000: sched_switch: d:4 [120] S ==> b:8 [120]
         b-8 [001] d..2. 1.990000: sched_switch: b:8 [120] S ==> swapper/1:0 [120]",
    );
    assert_eq!(judgement.summary.tasks.iter().map(|task| task.wait).max(), Some(Span::ZERO));
    assert!(recording.notes.iter().any(|note| note.contains("without a recorded wakeup")), "{recording:?}");
}

#[test]
fn times_in_no_order_are_refused() {
    let line = |at: u64, n: u64| {
        format!("{at} 0 7 switch a:{} [120] S ==> a:{} [120]\n", n % 9 + 1, (n + 1) % 9 + 1)
    };
    let text = |times: &mut dyn Iterator<Item = u64>| {
        script(&times.zip(0..).map(|(at, n)| line(at, n)).collect::<String>())
    };
    let refused = |text: String| match read(Cursor::new(text), &mut keel_trace::NullSink) {
        Err(ReadError::NoOrder { .. }) => true,
        Ok(_) => false,
        Err(other) => panic!("{other}"),
    };
    assert!(refused(text(&mut (0..100).rev().map(|n| n * 1000))));
    // CPUs' records one after the other, instead of by time.
    assert!(refused(text(&mut (0..50).chain(0..50).map(|n| n * 1000))));
    assert!(!refused(text(&mut (0..100).map(|n| n * 1000))));
    // Clocks that differ a little, and one record that is damaged.
    assert!(!refused(text(&mut (0..100).map(|n| n * 1000 + n % 2 * 1500))));
    assert!(!refused(text(&mut (0..100).map(|n| if n == 50 { 0 } else { n * 1000 }))));
}

#[test]
fn what_makes_no_sense_is_doubted() {
    let check = |line: &str, expected: &str| {
        let (_, recording) = judged(&format!(
            "10 0 7 switch a:7 [120] S ==> swapper:0 [120]\n{line}\n90 0 0 switch swapper:0 [120] R ==> a:7 [120]"
        ));
        match recording.doubts.as_slice() {
            [] => assert_eq!(expected, "", "{line}"),
            [doubt, ..] => assert!(doubt.contains(expected) && !expected.is_empty(), "{line}: {doubt}"),
        }
        assert!(recording.notes.len() > recording.doubts.len());
    };
    check("", "");
    check("50 99999 7 other: x", "1 record was damaged and skipped");
    check("50 0 9999999 wakeup a:9999999 [120] CPU:000", "1 record was about impossible CPUs or tasks");
    check("name-7 [000] d..2. -1.000050: sched_wakeup: a:7 [120] CPU:000", "1 record was damaged");
    check("50 0 7 wakeup a:8 [120] CPU:99999", "1 record was about impossible CPUs");
    check("name-0 [000] d..2. 99.000000: other: x", "skipped because of impossible times");
    check("CPU:0 [LOST 5 EVENTS]", "5 events were lost");
    check("a 7 [000] 0.000050: PERF_RECORD_LOST lost 5", "5 events were lost");
}

#[test]
fn a_task_without_a_name_has_its_pid() {
    let (judgement, recording) = judged(
        "10 0 0 switch prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=R ==> next_comm= next_pid=8 next_prio=120
         50 0 8 switch prev_comm= prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=swapper next_pid=0 next_prio=120",
    );
    let pids: Vec<u32> = judgement.summary.tasks.iter().map(|task| task.pid.0).collect();
    assert_eq!((pids, recording.doubts), (vec![8], vec![]));
}
