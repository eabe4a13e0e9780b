//! The schedulers of `tests/objects`, which are wrong on purpose, end as on a real kernel (`expected-7.2.tsv`).

use crate::harness::*;
use keel_abi::scx::ExitKind;

const EXPECTED: &str = include_str!("../../../../tests/objects/expected-7.2.tsv");

/// Whether `text` matches a pattern in which `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    pattern.ends_with('*') || rest.is_empty()
}

/// Enough tasks of all kinds to trigger each fault.
fn scenario(name: &str) -> Scenario {
    let base = with_source(&format!("tests/objects/{name}")).cpus(4).millis(6000);
    let base = base.task(repeat("worker", [run(400), sleep(300)]).instances(10));
    base.task(repeat("pinned", [run(200), sleep(2000)]).on([1])).task(hog("hog").instances(2))
}

fn check(line: &str) {
    let mut fields = line.split('\t');
    let mut next = || fields.next().unwrap_or_default();
    let (name, outcome, reason, words) = (next(), next(), next(), next());
    match outcome {
        "survives" => drop(scenario(name).survives()),
        "refused" => assert!(scenario(name).try_run().is_err(), "{name}"),
        "hangs" => {
            let run = scenario(name).run();
            assert_eq!(run.outcome.exit, ExitKind::Error, "{name}");
            assert!(run.outcome.message.contains("stuck"), "{name}: {}", run.outcome.message);
        }
        "ended" => {
            let run = scenario(name).run();
            let (exit, message) = (run.outcome.exit, &run.outcome.message);
            assert_eq!(exit.reason(), reason, "{name}: {message}");
            assert!(words.is_empty() || matches(words, message), "{name}: {message} is not {words}");
        }
        other => panic!("{name}: no outcome {other}"),
    }
}

/// One test per object, so that they run side by side.
macro_rules! objects {
    ($($name:ident)*) => {
        $(#[test] fn $name() {
            let prefix = concat!(stringify!($name), "\t");
            check(EXPECTED.lines().find(|line| line.starts_with(prefix)).expect("a line of the table"));
        })*

        #[test]
        fn every_object_is_tried() {
            let listed = EXPECTED.lines().filter(|line| !line.starts_with('#'));
            let listed: Vec<&str> = listed.filter_map(|line| line.split('\t').next()).collect();
            assert_eq!(listed, [$(stringify!($name)),*]);
        }
    };
}

objects! {
    accounts babbles bad_affinity bad_dsq cids errors exits far_node forgets mixed_dsq no_events node_mask race reenqueues spins
    stall bad_access tardy reports unfair unknown_kfunc wasteful whole_mask wrong_type
}
