//! Untrusted input: every run ends with an outcome or an error of one sentence. It never panics or hangs.
#![forbid(unsafe_code)]

mod common;

use common::{fifo, object, source, spec};
use keel_abi::task::Workload;
use keel_lab::{Engine, LabError, Outcome, RunSpec, SchedulerSource, machines, schedulers, workloads};
use keel_trace::NullSink;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long one case may take: even on the slowest host, only a hang takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

fn small(scheduler: SchedulerSource, engine: Engine) -> RunSpec {
    let workload: Workload = keel_workload::mix(6, 2, 125, 50);
    RunSpec { engine, ..spec(scheduler, workload, machines::of_cpus(2), 5, 1) }
}

fn run(spec: &RunSpec) -> Result<Outcome, LabError> {
    keel_lab::run(spec, &mut NullSink, &mut |_| {})
}

/// Runs every case in its own thread, so that a panic or a hang is reported with its case. Returns how many of them
/// attached and ran.
fn all_end(cases: Vec<(String, Vec<u8>)>) -> usize {
    let (sender, receiver) = channel();
    let worker = std::thread::spawn(move || {
        let mut ran = 0;
        for (number, (name, bytes)) in cases.iter().enumerate() {
            let engine = if number % 4 == 0 { Engine::Native } else { Engine::Interpreter };
            sender.send(format!("{name}, {engine:?}")).expect("the test listens");
            ran += usize::from(ends(name, run(&small(source("odd", bytes), engine))));
        }
        ran
    });
    let mut current = String::new();
    loop {
        match receiver.recv_timeout(PATIENCE) {
            Ok(name) => current = name,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => panic!("{current}: does not end"),
        }
    }
    worker.join().unwrap_or_else(|_| panic!("{current}: panicked; its message is above"))
}

/// Whether it ran. A rejection must be one sentence that names the object, and not an internal error.
fn ends(name: &str, result: Result<Outcome, LabError>) -> bool {
    match result {
        Ok(outcome) => {
            assert!(
                !outcome.exit.is_error() || !outcome.message.is_empty(),
                "{name}: it fails without a word"
            );
            outcome.counters.callbacks > 0
        }
        Err(LabError::Bug(text)) => panic!("{name}: our own fault: {text}"),
        Err(error) => {
            let text = error.to_string();
            assert!(text.starts_with("odd: ") && text.len() > 10 && !text.contains('\n'), "{name}: {text:?}");
            false
        }
    }
}

/// A part of an ELF file.
struct Part {
    name: String,
    at: usize,
    len: usize,
    is_code: bool,
}

/// The header, each section's contents, and the section table.
fn parts(elf: &[u8]) -> Vec<Part> {
    let number = |at: usize, len: usize| {
        elf[at..at + len].iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte))
    };
    let (table, entry, count) = (number(0x28, 8), number(0x3a, 2), number(0x3c, 2));
    let plain = |name: &str, at, len| Part { name: name.to_owned(), at, len, is_code: false };
    let mut parts = vec![plain("header", 0, 64), plain("table", table, entry * count)];
    for section in 1..count {
        const NO_BITS: usize = 8;
        const EXECUTABLE: usize = 4;
        let header = table + section * entry;
        let (kind, flags) = (number(header + 4, 4), number(header + 8, 8));
        let (at, len) = (number(header + 0x18, 8), number(header + 0x20, 8));
        if kind != NO_BITS && len > 0 {
            let is_code = flags & EXECUTABLE != 0;
            parts.push(Part { is_code, ..plain(&format!("section {section}"), at, len) });
        }
    }
    parts
}

#[test]
fn an_object_with_a_flipped_bit_ends_in_an_outcome_or_a_sentence() {
    /// Bits flipped in each part.
    const FLIPS: usize = 12;
    let good = schedulers::built_in("fifo").expect("fifo is built in");
    let mut cases = Vec::new();
    for Part { name, at, len, .. } in parts(good) {
        for flip in 0..FLIPS.min(len) {
            let (place, bit) = (at + flip * len / FLIPS.min(len), (flip * 5 + at) % 8);
            let mut bytes = good.to_vec();
            bytes[place] ^= 1 << bit;
            cases.push((format!("bit {bit} of byte {place} ({name})"), bytes));
        }
    }
    let (count, ran) = (cases.len(), all_end(cases));
    assert!(count > 200, "{count} cases");
    assert!(ran > count / 10 && ran < count, "{ran} of {count} ran: the cases show little");
}

/// Like `an_object_with_a_flipped_bit_ends_in_an_outcome_or_a_sentence` for the most sensitive part: the instructions.
#[test]
fn altered_instructions_end_in_an_outcome_or_a_sentence() {
    /// Leaves few instructions untested, and no byte position within an instruction.
    const STEP: usize = 11;
    let good = schedulers::built_in("fifo").expect("fifo is built in");
    let mut cases = Vec::new();
    for Part { name, at, len, .. } in parts(good).into_iter().filter(|part| part.is_code) {
        for (number, place) in (at..at + len).step_by(STEP).enumerate() {
            for value in [[0, 0x05], [0x85, 0xff], [0x18, 0x80]][number % 3] {
                let mut bytes = good.to_vec();
                bytes[place] = value;
                cases.push((format!("byte {place} is {value:#x} ({name})"), bytes));
            }
        }
    }
    let (count, ran) = (cases.len(), all_end(cases));
    assert!(count > 150, "{count} cases");
    assert!(ran > count / 5 && ran < count, "{ran} of {count} ran: the cases show little");
}

#[test]
fn a_truncated_object_ends_in_a_sentence() {
    const CUTS: usize = 100;
    let good = schedulers::built_in("fifo").expect("fifo is built in");
    let cut = |number: usize| number * good.len() / CUTS;
    let cases = (0..CUTS).map(|n| (format!("cut at byte {}", cut(n)), good[..cut(n)].to_vec())).collect();
    assert_eq!(all_end(cases), 0, "the section table is at the end: no cut object can run");
}

#[test]
fn a_file_that_is_not_a_scheduler_is_refused_by_name() {
    let check = |scheduler: SchedulerSource, expected: LabError| {
        for engine in [Engine::Native, Engine::Cranelift, Engine::Interpreter] {
            assert_eq!(run(&small(scheduler.clone(), engine)).err(), Some(expected.clone()));
        }
    };
    let bad = |text: &str| LabError::BadInput(text.to_owned());
    check(
        object("wrong_type"),
        bad("wrong_type: no scheduler in it: a .struct_ops section with a struct sched_ext_ops is needed"),
    );
    check(
        object("unknown_kfunc"),
        LabError::Unsupported(
            "unknown_kfunc: the object needs the kfunc scx_bpf_no_such_kfunc, which the kernel doesn't have"
                .into(),
        ),
    );
    check(source("empty", b""), bad("empty: it is not a readable ELF file: it doesn't start like one"));
    check(
        source("text", b"#!/bin/sh\n"),
        bad("text: it is not a readable ELF file: it doesn't start like one"),
    );
}

#[test]
fn a_bad_setting_is_refused_by_name() {
    let check = |name: &str, value: &str, expected: &str| {
        let mut spec = small(fifo(), Engine::Interpreter);
        spec.settings.push((name.to_owned(), value.to_owned()));
        assert_eq!(run(&spec).err(), Some(LabError::BadInput(expected.to_owned())));
    };
    check("slice", "1", "--set slice=1: the object has no variable slice");
    check("slice_n", "1", "--set slice_n=1: the object has no variable slice_n; did you mean slice_ns?");
    check(
        "slice_ns",
        "ten",
        "--set slice_ns=ten: variable slice_ns takes an integer, decimal or hexadecimal, or true or false, not \"ten\"",
    );
    check(
        "slice_ns",
        "99999999999999999999",
        "--set slice_ns=99999999999999999999: \
         variable slice_ns takes 0 to 18446744073709551615, not 99999999999999999999",
    );
    check("fifo", "256", "--set fifo=256: variable fifo takes true, false, 1 or 0, not \"256\"");
    check("exit_record", "1", "--set exit_record=1: variable exit_record is not an integer, boolean or enum");
    // One that is part of the scheduler's name.
    let mut spec = small(fifo(), Engine::Interpreter);
    spec.scheduler.name = "fifo:kick=1".to_owned();
    spec.settings.push(("kick".to_owned(), "1".to_owned()));
    let refused = LabError::BadInput("fifo:kick=1: the object has no variable kick".to_owned());
    assert_eq!(run(&spec).err(), Some(refused));
}

#[test]
fn a_bad_workload_is_refused_with_its_place() {
    let machine = machines::of_cpus(8);
    let check = |body: &str, expected: &str| {
        let text = format!("{{ \"tasks\": {{\n\"a\": {{ {body} }} }} }}");
        let error = workloads::read("w.json", &text, &machine).err();
        assert_eq!(error, Some(LabError::BadInput(format!("w.json:2: tasks.a.{expected}"))));
    };
    check(r#""run": "10""#, "run: must be a whole number, not \"10\"");
    check(r#""sleep": -5"#, "sleep: -5 is a negative time; times are in microseconds, from 0");
    check(
        r#""run": 1, "cpus": [0, 8]"#,
        "cpus: there is no CPU 8 on this machine of 8 CPUs (numbered from 0)",
    );
}

#[test]
fn a_bad_machine_is_refused_with_its_place() {
    let check = |rest: &str, expected: &str| {
        let error = machines::read("m.toml", &format!("name = 'm'\n{rest}")).err();
        assert_eq!(error, Some(LabError::BadInput(format!("m.toml, {expected}"))));
    };
    check(
        "[[node]]\ncpus = '0-4'\n[[node]]\ncpus = '4-7'",
        "line 5, node[1].cpus: CPU 4 is in an earlier node too; give each CPU to one node",
    );
    check("[topology]\nnodes = 0", "line 3, topology: the machine has no CPU; give at least one");
    check(
        "[topology]\nnodes = -1",
        "line 3: invalid value: integer `-1`, expected a whole number from 0 to 4294967295",
    );
}
