//! Companions: a scheduler's user-space half as a task of the simulated run. The scheduler schedules it, and it talks
//! to the scheduler through maps.
#![forbid(unsafe_code)]

mod common;

use common::{spec, two_nodes, workload};
use keel_abi::scx::ExitKind;
use keel_check::{Figures, Judge};
use keel_lab::{Engine, LabError, Outcome, RunSpec, SchedulerSource};
use keel_recipe::Recipe;
use std::collections::BTreeSet;
use std::sync::OnceLock;

const RECIPE: &str = include_str!("../../../tests/sim/recipe/beside.keel.toml");

fn beside(recipe: &str) -> SchedulerSource {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    let bytes = BYTES.get_or_init(|| {
        let compiler =
            keel_bpfc::Compiler::new("../..").include("schedulers/include").include("crates/kernel/btf");
        compiler.compile("tests/sim/recipe/beside.bpf.c").unwrap_or_else(|e| panic!("{e}"))
    });
    let recipe = Recipe::read("r", recipe).unwrap_or_else(|e| panic!("{e}"));
    SchedulerSource { name: "beside".into(), bytes: bytes.as_slice().into(), recipe }
}

fn beside_spec(recipe: &str, duration_ms: u64) -> RunSpec {
    let machine = two_nodes();
    let busy = "{ 'tasks': { 't': { 'instance': 12, 'loop': -1, 'run': 2000, 'sleep': 500 },
                             'nicer': { 'loop': -1, 'run': 3000, 'priority': 10 } } }";
    let workload = workload(busy, &machine);
    spec(beside(recipe), workload, machine, duration_ms, 1)
}

type Ran = Result<(Outcome, Vec<(String, u64)>), LabError>;

/// A run with both engines, which must agree.
fn run(recipe: &str, duration_ms: u64) -> Ran {
    let mut spec = beside_spec(recipe, duration_ms);
    let once = |spec: &RunSpec| keel_lab::run_and_read(spec, &mut keel_trace::Fanout::new(), &mut |_| {});
    let native = once(&spec);
    spec.engine = Engine::Interpreter;
    assert_eq!(native, once(&spec), "both engines do the same");
    native
}

fn variable(ran: &Ran, name: &str) -> u64 {
    let (_, variables) = ran.as_ref().unwrap();
    variables.iter().find(|(other, _)| other == name).map(|(_, value)| *value).unwrap()
}

/// The printed lines.
fn printed(ran: &Ran) -> Vec<&str> {
    ran.as_ref().unwrap().0.printed.lines.iter().map(|line| &*line.text).collect()
}

#[test]
fn a_companion_keeps_the_loop_going() {
    let spec = beside_spec(RECIPE, 500);
    let mut judge = Judge::new(Figures::default());
    let (outcome, variables) = keel_lab::run_and_read(&spec, &mut judge, &mut |_| {}).unwrap();
    assert_eq!((outcome.exit, outcome.message.as_str()), (ExitKind::None, ""));
    let ran = Ok((outcome, variables));
    let (sent, returned) = (variable(&ran, "nr_sent"), variable(&ran, "nr_returned"));
    assert!(sent > 500 && variable(&ran, "nr_kept") == 0, "{sent} were sent");
    assert!(sent - returned <= 13, "{returned} of {sent} came back: no more than there are tasks are out");
    assert_eq!(variable(&ran, "decider_pid"), 2);
    let judgement = judge.judgement();
    let tasks = &judgement.summary.tasks;
    assert!(tasks.iter().all(|task| task.first_run.is_some()), "everybody ran");
    let decider = tasks.iter().find(|task| task.name == "decider").unwrap();
    assert!(
        decider.cpu.as_ns() > 500_000 && decider.switches > 100,
        "it costs time, and gives it up: {decider:?}"
    );
}

#[test]
fn without_its_companion_the_scheduler_stalls() {
    // The decider is a task that never runs.
    let ran = run("[set]\ndecider_pid = 1", 1000);
    let (outcome, _) = ran.as_ref().unwrap();
    assert_eq!(outcome.exit, ExitKind::ErrorStall, "{}", outcome.message);
    assert!(outcome.message.contains("failed to run for 0.2"), "{}", outcome.message);
    // A decider that takes tasks and returns none.
    let mute = RECIPE.replace("repeat batch", "repeat 0");
    assert_eq!(run(&mute, 1000).unwrap().0.exit, ExitKind::ErrorStall);
    assert_eq!(run(RECIPE, 1000).unwrap().0.exit, ExitKind::None);
}

#[test]
fn the_same_run_has_the_same_bytes() {
    let mut spec = beside_spec(RECIPE, 100);
    let first = common::trace(&spec);
    assert_eq!(first, common::trace(&spec));
    spec.engine = Engine::Interpreter;
    assert_eq!(first, common::trace(&spec));
    let larger = RECIPE.replace("batch = 2", "batch = 16");
    assert_ne!(first.0, common::trace(&beside_spec(&larger, 100)).0, "what the companion does, counts");
}

/// The decider, and another companion.
fn with(companion: &str) -> String {
    format!("{RECIPE}\n[[companion]]\nname = 'other'\n{companion}")
}

#[test]
fn ring_buffers_are_written_at_given_moments() {
    let ran = run(
        &with(
            "sleep_us = 1000
             records = { words = ['u64 word'] }
             round = '''
             words.word = now() / 1_000_000
             if now() >= 10_000_000 && !sent || now() >= 20_000_000 && sent == 1 { sent += put(words) }
             '''",
        ),
        40,
    );
    // The machine is overloaded: the writer may have to wait for a CPU.
    let (written, last_ms) = (variable(&ran, "nr_words"), variable(&ran, "last_word"));
    assert!(written == 2 && (20..30).contains(&last_ms), "{written} words, the last one at {last_ms} ms");
}

#[test]
fn ring_buffers_are_read_and_printed() {
    // The only reader. No task is waiting for an answer: the ring holds 170 records of 24 bytes.
    let reader = "[[companion]]
        name = 'reader'
        pid = 'decider_pid'
        sleep_us = 1000
        records = { waiting = ['s32 pid', 'u32 weight', 'u64 runtime'] }
        round = '''
        while take(waiting) {
            seen += 1
            print(\"{}: task {}\", seen, waiting.pid)
            weights += waiting.weight
        }
        if seen == 5 && !sent { sent = 1 print(\"{}\", weights) }
        '''";
    // Tasks that found no idle CPU.
    let ran = run(reader, 100);
    assert_eq!(variable(&ran, "nr_sent"), 5);
    let lines = printed(&ran);
    let pid = |(nth, line): (usize, &&str)| -> u32 {
        let pid = line.strip_prefix(&format!("{}: task ", nth + 1)).and_then(|pid| pid.parse().ok());
        pid.unwrap_or_else(|| panic!("{lines:?}"))
    };
    let pids: BTreeSet<u32> = lines[..5].iter().enumerate().map(pid).collect();
    assert!(pids.len() == 5 && pids.iter().all(|pid| (3..16).contains(pid)), "{lines:?}");
    // Four plain tasks and the nicer one, or five.
    assert!(lines.len() == 6 && ["411", "500"].contains(&lines[5]), "{lines:?}");
    let line = &ran.as_ref().unwrap().0.printed.lines[0];
    assert_eq!((&*line.task, line.pid.0), ("reader", 2));
}

#[test]
fn maps_are_looked_up_changed_and_emptied() {
    let script = "sleep_us = 10_000
        [companion.records]
        settings = { key = ['u32 index'], value = ['u64 value'] }
        sent = { key = ['s32 pid'], value = ['u64 count'] }
        stacked = ['u32 number']
        [companion.set]
        eight = 'cpus'";
    // The second round: the first is over before there are tasks.
    let round = "round = '''
        rounds += 1
        if rounds == 2 {
        settings.index = 1 settings.value = 40 + eight
        a = put(settings)
        settings.value = 0
        b = get(settings)
        print(\"array {} {} {}\", a, b, settings.value)
        settings.index = 2
        print(\"array {} {}\", get(settings), put(settings))
        sent.pid = 12
        a = get(sent) && sent.count > 0
        b = take(sent)
        print(\"hash {} {} {} {}\", a, b, take(sent), delete(sent))
        sent.count = 7
        print(\"hash {} {}\", put(sent), delete(sent))
        stacked.number = 5 put(stacked) stacked.number = 6 put(stacked)
        get(stacked) a = stacked.number take(stacked) take(stacked)
        print(\"stack {} {} {}\", a, stacked.number, take(stacked))
        }
        '''";
    let ran = run(&with(&format!("{round}\n{script}")), 30);
    let expected = ["array 1 1 48", "array 0 0", "hash 1 1 0 0", "hash 1 1", "stack 6 5 0"];
    assert_eq!(printed(&ran), expected);
}

#[test]
fn a_companion_that_computes_takes_time() {
    let rounds = |turns: u32| {
        let script =
            format!("[[companion]]\nsleep_us = 1000\nround = 'repeat {turns} {{ x += 1 }} print(\"\")'");
        let machine = two_nodes();
        let alone = workload("{ 'tasks': { 't': { 'loop': 1, 'run': 100 } } }", &machine);
        let mut scheduler = common::fifo();
        scheduler.recipe = Recipe::read("r", &script).unwrap();
        let outcome = keel_lab::run(
            &spec(scheduler, alone, machine, 100, 1),
            &mut keel_trace::Fanout::new(),
            &mut |_| {},
        );
        outcome.unwrap().printed.lines.len()
    };
    let (short, long) = (rounds(1), rounds(1_000_000));
    assert!(
        (90..=100).contains(&short) && (5..50).contains(&long),
        "{short} rounds of one turn, {long} of many"
    );
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let check = |companion: &str, expected: &str| {
        let refused = run(&format!("[[companion]]\n{companion}"), 10).unwrap_err();
        assert_eq!(refused, LabError::BadInput(format!("beside: {expected}")), "{companion}");
    };
    let refused = |why: &str| format!("the recipe's companion companion: {why}");
    check("round = 'x = object.speed'", &refused("the object has no integer speed"));
    check("round = 'object.nr_cpus = 1'", &refused("nr_cpus is constant once the object is loaded"));
    let map = |name: &str, fields: &str, script: &str| {
        format!("records = {{ {name} = {fields} }}\nround = '{script}'")
    };
    check(&map("nobody", "['u8 a']", "take(nobody)"), &refused("the object has no map nobody"));
    let kind = "a companion cannot use maps of the type of each";
    check(&map("each", "['u64 a']", "take(each)"), &refused(kind));
    check(
        &map("stacked", "['u64 a']", "take(stacked)"),
        &refused("values of map stacked have 4 bytes, not 8"),
    );
    check(&map("sent", "['u64 a']", "take(sent)"), &refused("keys of map sent have 4 bytes, not 0"));
    check(
        &map("decided", "['u64 a']", "take(decided)"),
        &refused("maps of the type of decided have no take()"),
    );
    let pid = "the pid of companion companion: the object has no variable helper_pid";
    check("pid = 'helper_pid'\nround = ''", pid);
}

#[test]
fn a_companion_that_fails_ends_the_run() {
    let greedy = with("round = 'while 1 { n += 1 t[n] = n }'");
    let expected =
        "beside: program other[3] (a companion) failed: its tables and lists hold more than 1048576 elements";
    assert_eq!(run(&greedy, 10_000).unwrap_err(), LabError::Program(expected.into()));
}
