//! A made-up profile, in every form.

use crate::diff::diff;
use crate::folded::folded;
use crate::growth::growth;
use crate::lcov::lcov;
use crate::model::{
    About, Conflict, Count, Function, Node, Place, Profile, SourceLine, Totals, Wait, Waiter,
};
use crate::text::{annotated, summary};
use crate::view::View;

const SOURCE: &str = "// a scheduler\n\n\n\n\n\n\n\n\nvoid enqueue()\n    if (pick(p))\n        count++;\n}\n\n\n\n\n\n\nint pick()\n    return p->n;\n";

fn lines(of: &[(u32, u32, &str)]) -> Vec<SourceLine> {
    let line = |&(insn, line, text): &(u32, u32, &str)| SourceLine {
        insn,
        file: "src/a.bpf.c".into(),
        line,
        text: text.into(),
    };
    of.iter().map(line).collect()
}

/// `enqueue`, whose line 11 calls `pick`, and whose line 12 never ran.
pub(crate) fn made_up() -> Profile {
    let enqueue =
        lines(&[(0, 10, "void enqueue()"), (2, 11, "if (pick(p))"), (4, 12, "count++;"), (6, 13, "}")]);
    let count = |insn, executed, lines_ps, calls_ps| Count { insn, executed, taken: 0, lines_ps, calls_ps };
    let node = |caller, function, entry_ps, counts| Node {
        origin: "ops.enqueue".into(),
        in_callbacks: true,
        caller,
        function,
        calls: 10,
        entry_ps,
        counts,
    };
    let outer = vec![
        count(0, 10, 0, 0),
        count(2, 10, 0, 5_000),
        Count { taken: 10, ..count(3, 10, 0, 0) },
        count(6, 10, 0, 0),
    ];
    let inner = vec![count(0, 10, 70_400, 0), count(1, 10, 0, 0)];
    let mut profile = Profile {
        about: About {
            scheduler: "a".into(),
            workload: "w".into(),
            machine: "m".into(),
            cpus: 2,
            seed: 1,
            duration_ns: 1_000,
        },
        totals: Totals {
            callbacks: 10,
            instructions: 60,
            callback_ns: 400,
            lock_wait_ns: 4,
            line_moves: 7,
            line_ps: 70_400,
        },
        insn_ps: 300,
        functions: vec![
            Function { name: "enqueue".into(), lines: enqueue, branches: vec![3] },
            Function { name: "pick".into(), lines: lines(&[(0, 21, "return p->n;")]), branches: Vec::new() },
        ],
        nodes: vec![node(None, 0, 310_000, outer), node(Some((0, 2)), 1, 0, inner)],
        conflicts: vec![Conflict {
            from: Some(Place { function: 0, insn: 4 }),
            to: Some(Place { function: 1, insn: 0 }),
            distance: "same LLC".into(),
            writes: false,
            name: "count".into(),
            several: false,
            moves: 7,
            ps: 70_400,
        }],
        waits: vec![Wait {
            waiter: Some(Waiter { origin: "ops.enqueue".into(), place: Place { function: 0, insn: 2 } }),
            holder: None,
            lock: "lock\x1b".into(),
            count: 2,
            ns: 4,
        }],
        ..Profile::default()
    };
    profile.settle();
    profile
}

#[test]
fn the_parts_are_the_whole() {
    let profile = made_up();
    assert_eq!((profile.instructions(), profile.callback_ps()), (60, 400_000));
    assert_eq!(profile.rounding_ps, 400_000 - (310_000 + 60 * 300 + 5_000 + 70_400));
    let sum: u64 =
        folded(&profile).lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(sum, 400);
}

#[test]
fn a_profile_from_a_file_may_be_anything() {
    let check = |change: &dyn Fn(&mut Profile), expected: Option<&str>| {
        let mut profile = made_up();
        change(&mut profile);
        assert_eq!(profile.check().err().as_deref(), expected);
    };
    check(&|_| (), None);
    check(
        &|profile| profile.nodes[1].caller = Some((1, 0)),
        Some("node 1 is called by one that comes later"),
    );
    check(&|profile| profile.nodes[0].function = 9, Some("node 0 has no function"));
    check(
        &|profile| profile.conflicts[0].to = Some(Place { function: 9, insn: 0 }),
        Some("an instruction is in no function"),
    );
    let large = Some("its counts are too large, or less than their parts");
    check(&|profile| profile.nodes[0].counts[0].executed = u64::MAX / 2, large);
    check(&|profile| profile.nodes[0].counts[0].taken = 11, large);
    check(&|profile| profile.about.duration_ns = u64::MAX / 2, large);
}

#[test]
fn tables_show_what_was_counted() {
    insta::assert_snapshot!("summary", summary(&made_up(), 5));
    insta::assert_snapshot!("annotated", annotated(&made_up(), &|_| Some(SOURCE.to_owned())));
    // Another file with that name is not shown.
    let other = annotated(&made_up(), &|_| Some(SOURCE.replace("pick(p)", "steal(p)")));
    assert!(!other.contains("steal") && other.contains("if (pick(p))"), "{other}");
}

#[test]
fn a_page_has_all_tables() {
    let view = View::of(&made_up(), &|_| Some(SOURCE.to_owned()));
    insta::assert_snapshot!("view", serde_json::to_string_pretty(&view).unwrap());
}

#[test]
fn a_view_is_bounded_and_says_so() {
    let mut profile = made_up();
    let text = "x".repeat(1_000);
    let line = |insn| SourceLine { insn, file: "long.c".into(), line: insn + 1, text: text.clone() };
    profile.functions[1].lines = (0..40_000).map(line).collect();
    let count = |insn| Count { insn, executed: 1, ..Count::default() };
    profile.nodes[1].counts = (0..40_000).map(count).collect();
    let view = View::of(&profile, &|_| None);
    let json = serde_json::to_value(&view).unwrap();
    assert_eq!(json["lines"].as_array().map(Vec::len), Some(4_000));
    // Everything except those, of the 40,000, of enqueue and of its entry.
    assert_eq!(json["left_out"]["lines"], 36_004);
    assert_eq!(json["left_out"]["source"], 10_004);
    assert_eq!(json["lines"][3_999]["at"]["text"].as_str().map(str::len), Some(200));
}

#[test]
fn other_programs_get_their_formats() {
    insta::assert_snapshot!("folded", folded(&made_up()));
    insta::assert_snapshot!("lcov", lcov(&made_up()));
}

#[test]
fn two_profiles_are_compared_line_by_line() {
    let mut after = made_up();
    // A line was inserted before all others, and the call costs less.
    for line in after.functions.iter_mut().flat_map(|f| &mut f.lines) {
        line.line += 1;
    }
    after.nodes[0].counts[1].calls_ps = 1_000;
    after.totals.callback_ns -= 4;
    insta::assert_snapshot!("diff", diff(&made_up(), &after, 9));
    after.about.cpus = 8;
    insta::assert_snapshot!("growth", growth(&[made_up(), after], 9));
}
