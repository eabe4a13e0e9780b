//! Whatever a file contains, reading it ends soon and without a panic, and the result is valid.

use keel_abi::Topology;
use keel_abi::task::{Amount, Step, TaskSpec, Workload};
use keel_workload::{built_in, built_in_names, parse};
use proptest::prelude::*;

/// Pieces of a workload file, including some that are not allowed.
const PIECES: [&str; 45] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\n",
    "/*",
    "*/",
    "//",
    "'",
    "\\u",
    "\u{0}",
    "é",
    "-",
    "1e9",
    "0",
    "-1",
    "1000",
    "99999999999999999999",
    "true",
    "null",
    "\"tasks\":",
    "\"phases\":",
    "\"p\":",
    "\"run\":",
    "\"sleep\":",
    "\"loop\":",
    "\"instance\":",
    "\"timer\":",
    "\"ref\"",
    "\"unique\"",
    "\"period\":",
    "\"barrier\":",
    "\"fork\":",
    "\"suspend\"\n",
    "\"cpus\":",
    "\"evenkeel\":",
    "\"SCHED_IDLE\"",
    "\"timeline\":",
    "\"at\":",
    "\"every\":",
    "\"offline\":",
    "\"task\":",
];

#[derive(Clone, Debug)]
enum Edit {
    Insert(usize, usize),
    Delete(usize, usize),
    Copy(usize, usize, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = 0..4096_usize;
    prop_oneof![
        (at.clone(), 0..PIECES.len()).prop_map(|(at, piece)| Edit::Insert(at, piece)),
        (at.clone(), 1..40_usize).prop_map(|(at, length)| Edit::Delete(at, length)),
        (at.clone(), 1..60_usize, at).prop_map(|(from, length, to)| Edit::Copy(from, length, to)),
    ]
}

fn apply(text: &mut Vec<char>, edit: &Edit) {
    let place = |at: usize, text: &[char]| at % (text.len() + 1);
    match *edit {
        Edit::Insert(at, piece) => {
            let at = place(at, text);
            text.splice(at..at, PIECES[piece].chars());
        }
        Edit::Delete(at, length) => {
            let at = place(at, text);
            text.drain(at..(at + length).min(text.len()));
        }
        Edit::Copy(from, length, to) => {
            let from = place(from, text);
            let piece = text[from..(from + length).min(text.len())].to_vec();
            let to = place(to, text);
            text.splice(to..to, piece);
        }
    }
}

fn check_amount(amount: &Amount) {
    assert!(amount.spread <= amount.base);
}

fn check_task(task: &TaskSpec, workload: &Workload) {
    let cpus = Topology::flat(64).cpus() as usize;
    assert!(task.cpus.iter().all(|cpu| cpu.index() < cpus));
    for (i, step) in task.steps.iter().enumerate() {
        match step {
            Step::Run(amount) | Step::Sleep(amount) => check_amount(amount),
            Step::Lock(id) | Step::Unlock(id) => assert!(id.0 < workload.mutexes),
            Step::Signal(id) | Step::Broadcast(id) => assert!(id.0 < workload.conditions),
            Step::Wait { condition, mutex } | Step::Sync { condition, mutex } => {
                assert!(condition.0 < workload.conditions && mutex.0 < workload.mutexes);
            }
            Step::Barrier(id) | Step::SpinBarrier { barrier: id, .. } => {
                assert!(workload.barriers[id.0 as usize] > 0)
            }
            Step::Raise(id) | Step::Lower(id) => assert!(id.0 < workload.flags),
            Step::Fork(task) => assert!((*task as usize) < workload.tasks.len()),
            Step::Loop { to, times, slot } => {
                assert!((*to as usize) < i && *slot < 2 && *times != Some(0));
            }
            _ => {}
        }
    }
}

fn check(text: &str) {
    match parse("w.json", text, &Topology::flat(64)) {
        Ok((workload, _)) => workload.tasks.iter().for_each(|task| check_task(task, &workload)),
        Err(error) => {
            let sentence = error.to_string();
            assert!(!sentence.chars().any(char::is_control), "{sentence}");
            assert!(sentence.len() < 1_000, "{sentence}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn edited_files_are_read_or_refused(
        file in 0..4_usize,
        edits in prop::collection::vec(edit(), 1..12),
    ) {
        let name = built_in_names().nth(file).expect("there are four");
        let mut text: Vec<char> = built_in(name).expect("it is listed").chars().collect();
        edits.iter().for_each(|edit| apply(&mut text, edit));
        check(&text.into_iter().collect::<String>());
    }

    #[test]
    fn pieces_in_any_order_are_read_or_refused(pieces in prop::collection::vec(0..PIECES.len(), 0..60)) {
        check(&pieces.into_iter().map(|piece| PIECES[piece]).collect::<String>());
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        check(&text);
    }
}

/// Files of a megabyte and more, of kinds that invite more than linear work.
#[test]
fn long_files_take_time_in_proportion() {
    let tasks = |body: &str| format!("{{ \"tasks\": {{ {body} }} }}");
    let many = |piece: &dyn Fn(usize) -> String, count| (0..count).map(piece).collect::<String>();
    let files = [
        tasks(&many(
            &|i| format!("\"t{i}\": {{ \"run\": 1, \"lock\": \"m{i}\", \"suspend\": \"s{i}\" }},"),
            20_000,
        )),
        tasks(&many(&|_| "\"t\": { \"run\": 1 },".to_owned(), 60_000)),
        tasks(&format!("\"t\": {{ {} }}", many(&|i| format!("\"barrier{i}\": \"b{i}\","), 50_000))),
        tasks(&format!("\"t\": {{ \"run\": 1, \"cpus\": [{} 0] }}", "0,".repeat(500_000))),
        tasks(&format!("\"{}\": {{ {} }}", "k".repeat(1_000_000), "\"wait\": {},".repeat(50_000))),
        format!("{}\"tasks\": 1 }}", "{ /* */ \n".repeat(100_000)),
        many(&|i| format!("\"suspend{i}\"\n"), 60_000),
        format!("{{ \"tasks\": \"{}", "\\u00e9\n".repeat(200_000)),
    ];
    // Quadratic work on any of them would take minutes, and would be noticed.
    files.iter().for_each(|file| check(file));
}
