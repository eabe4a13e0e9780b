use super::*;
use crate::Style;

fn finding(at_ns: u64, text: &str) -> WatchFinding {
    WatchFinding { at_ns, text: text.to_owned(), ..WatchFinding::default() }
}

fn begin() -> WatchBegin {
    let scheduler = "evil\u{1b}[2J".to_owned();
    WatchBegin { scheduler, cpus: 8, every_ns: 1_000_000_000, confirm_ns: 100_000_000, unix_ns: 7 }
}

fn end(findings: u64) -> WatchEnd {
    WatchEnd {
        duration_ns: 10_000_000_000,
        looks: 10,
        suspicions: findings + 4,
        passing: 1,
        cured: [("migration".to_owned(), 1), ("wakeup".to_owned(), 1)].into(),
        unsure: 1,
        findings,
        recordings: findings,
        cost: WatchCost {
            process_ns: 28_000_000,
            load_ns: 90_000_000,
            programs_ns: Some(2_000_000),
            share_of_a_cpu: 0.003,
            allowed_share: 0.005,
        },
    }
}

#[test]
fn lines_of_text_are_sentences() {
    let check = |reported: WatchLine, expected: Option<&str>| {
        assert_eq!(line(&reported).as_deref(), expected, "{reported:?}");
    };
    check(
        WatchLine::Begin(begin()),
        Some(
            "Watching 8 CPUs under evil\\u{1b}[2J: one sample every 1.00 s; a suspicion becomes a finding if it lasts 100.00 ms.\n",
        ),
    );
    check(WatchLine::Finding(finding(3_250_000_000, "CPU 7 idled")), Some("     3.2 s  CPU 7 idled\n"));
    let kept = WatchFinding { recording: Some("d/finding-0001.keel".into()), ..finding(0, "CPU 7 idled") };
    check(WatchLine::Finding(kept), Some("     0.0 s  CPU 7 idled (d/finding-0001.keel)\n"));
    check(WatchLine::Cured(WatchCured::default()), None);
    let unsure = WatchUnsure { at_ns: 0, cpus: vec![7], lost_events: 3 };
    let reported =
        "     0.0 s  CPUs may have idled while tasks waited, but 3 events were lost, so this is unknown\n";
    check(WatchLine::Unsure(unsure), Some(reported));
    let cost = "keel itself used 0.30 % of a CPU (limit 0.50 %): 28.00 ms in user space, 2.00 ms in its BPF programs; \
                90.00 ms to load them.\n";
    let nothing =
        "4 suspicions not confirmed: 1 resolved immediately, 2 ended (migration 1, wakeup 1), 1 undecided.\n";
    let none = "10 samples in 10.00 s: no core idled for long while a task that it could run waited.\n";
    check(WatchLine::End(end(0)), Some(&format!("{none}{nothing}{cost}")));
    let one = "10 samples in 10.00 s: 1 finding of cores that idled while tasks waited.\n";
    check(WatchLine::End(end(1)), Some(&format!("{one}{nothing}{cost}")));
}

#[test]
fn the_screen_fits() {
    let now = Now { scheduler: "cfs".into(), online: 8, idle: 2, waiting: 3 };
    let last: Vec<WatchFinding> =
        (0..5).map(|n| finding(n * 1_000_000_000, &format!("CPU {n} idled for long"))).collect();
    let draw = |width, rows| screen(&begin(), &now, &end(5), &last, Style { width, colour: false }, rows);
    for (width, rows) in [(1, 1), (10, 3), (80, 4), (80, 7), (200, 50)] {
        let lines = draw(width, rows);
        assert!(lines.len() <= rows, "{lines:?}");
        assert!(lines.iter().all(|line| line.chars().count() <= usize::from(width)), "{lines:?}");
    }
    insta::assert_snapshot!(draw(72, 20).join("\n"));
    assert_eq!(draw(72, 6)[4..], ["     3.0 s  CPU 3 idled for long", "     4.0 s  CPU 4 idled for long"]);
}

#[test]
fn lines_of_json_are_one_object_each() {
    let reported = [
        WatchLine::Begin(begin()),
        WatchLine::Finding(WatchFinding {
            cpus: vec![6, 7],
            tasks: vec![WatchTask { pid: 12, name: "a\n".into(), cpu: Some(0) }],
            tasks_waiting: 1,
            ..finding(5, "CPUs 6-7 idled")
        }),
        WatchLine::Cured(WatchCured { at_ns: 1, cpus: vec![7], after_ns: 2, by: "wakeup".into() }),
        WatchLine::Unsure(WatchUnsure { at_ns: 1, cpus: vec![7], lost_events: 3 }),
        WatchLine::End(end(1)),
    ];
    let lines: Vec<String> = reported.iter().map(|line| serde_json::to_string(line).unwrap()).collect();
    assert!(lines.iter().all(|line| !line.contains('\n')));
    insta::assert_snapshot!(lines.join("\n"));
}
