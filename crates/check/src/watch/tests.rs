use super::*;
use crate::script::play;
use keel_abi::Pid;
use keel_trace::story::Key;

/// `NAME CPU MAY` a task, which waits on that CPU.
fn waiting(tasks: &[(&str, u32, &str)]) -> Vec<TaskRecord> {
    let reported = |(n, &(name, cpu, may)): (usize, &(&str, u32, &str))| TaskRecord {
        task: Key(n as u64 + 1),
        pid: Pid(n as u32 + 10),
        name: name.to_owned(),
        nice: 0,
        prio: None,
        weight: 0,
        scheduled: None,
        cpus: may.parse().unwrap(),
        first: true,
        doing: Some(Doing::Waiting(CpuId(cpu))),
    };
    tasks.iter().enumerate().map(reported).collect()
}

#[test]
fn idle_cpus_that_could_run_a_waiting_task_are_suspected() {
    let check = |idle: &str, tasks: &[(&str, u32, &str)], expected: &str| {
        assert_eq!(
            suspects(&idle.parse().unwrap(), &waiting(tasks)).to_string(),
            expected,
            "{idle} {tasks:?}"
        );
    };
    check("1-3", &[("a", 0, "0-3")], "1-3");
    check("1-3", &[("a", 0, "0-1"), ("b", 0, "0,3")], "1,3");
    // Affinity leaves nothing to report.
    check("1-3", &[("a", 0, "0"), ("b", 0, "0,4-7")], "");
    // Nobody idles, nobody waits, everybody idles.
    check("", &[("a", 0, "0-3")], "");
    check("0-3", &[], "");
    check("0-3", &[("a", 0, "0-3")], "0-3");
    // A CPU that is offline is not idle.
    check("1", &[("a", 0, "0-3")], "1");
    // A task about which nothing is known.
    check("2", &[("a", 0, "")], "2");
}

#[test]
fn a_finding_is_one_sentence_and_names_do_nothing() {
    let check = |cpus: &str, tasks: &[(&str, u32, &str)], expected: &str| {
        let (cpus, waiting) = (cpus.parse().unwrap(), waiting(tasks));
        let text = sentence(&cpus, Span::from_ms(100), &passed_over(&cpus, &waiting));
        let always = "while at least one task that could run there always waited";
        assert_eq!(text, expected.replace("..", always));
    };
    check("7", &[("hog", 0, "0-7")], "CPU 7 idled for 100.00 ms ..: hog (pid 10) on CPU 0");
    let four = [("a", 0, "0-7"), ("b", 0, "0-7"), ("c", 1, "0-7"), ("d", 1, "0-7"), ("e", 1, "0-1")];
    check(
        "6-7",
        &four,
        "CPUs 6-7 idled for 100.00 ms ..: a (pid 10), b (pid 11), c (pid 12) and 1 more on CPUs 0-1",
    );
    let hostile = [("a\u{1b}[2J", 0, "0-7"), ("x\u{202e}\n", 1, "0-7")];
    check(
        "7",
        &hostile,
        "CPU 7 idled for 100.00 ms ..: a\\u{1b}[2J (pid 10) and x\\u{202e}\\u{a} (pid 11) on CPUs 0-1",
    );
    check("7", &[], "CPU 7 idled for 100.00 ms ..");
}

/// Judges a script on four CPUs of which these are suspected.
fn outcome(suspects: &str, lines: &str) -> Outcome {
    let mut confirm = Confirm::new(&suspects.parse().unwrap());
    play(&mut confirm, 4, lines);
    confirm.outcome()
}

/// A runs on CPU 0; B waits there.
const OPENING: &str = "0 0 switch - idle A\n0 0 fork B 0\n";

#[test]
fn waste_that_lasts_is_confirmed() {
    let check = |suspects: &str, lines: &str, cpus: &str, wasted_us| {
        let expected = Confirmed {
            cpus: cpus.parse().unwrap(),
            watched: Span::from_us(1000),
            wasted: Span::from_us(wasted_us),
        };
        assert_eq!(outcome(suspects, &format!("{OPENING}{lines}")), Outcome::Confirmed(expected), "{lines}");
    };
    check("3", "1000 end", "3", 1000);
    check("1-3", "1000 end", "1-3", 1000);
    // They take turns on CPU 0.
    check("3", "400 0 switch A preempted B\n800 0 switch B preempted A\n1000 end", "3", 1000);
    // Another suspect gets another task.
    check("2-3", "500 1 wake C 2\n501 2 switch - idle C\n1000 end", "3", 1001);
    // B goes and at the same instant C comes.
    check("3", "500 0 fork C 0\n500 0 exit B\n1000 end", "3", 1000);
    check("3", "500 0 exit B\n500 0 fork C 0\n1000 end", "3", 1000);
    // A CPU that goes offline changes nothing if it was not a suspect.
    check("2-3", "500 1 off 1\n1000 end", "2-3", 1000);
}

#[test]
fn every_resolution_is_reported() {
    let check = |lines: &str, after_us, by| {
        let expected = Outcome::Resolved { after: Span::from_us(after_us), by };
        assert_eq!(outcome("3", &format!("{OPENING}{lines}\n1000 end")), expected, "{lines}");
    };
    check("500 3 migrate B 0 3\n510 3 switch - idle B", 510, Resolution::Migration);
    check("500 1 wake C 3\n510 3 switch - idle C", 510, Resolution::Wakeup);
    check("500 1 fork C 3\n510 3 switch - idle C", 510, Resolution::Fork);
    check("500 3 switch - idle B", 500, Resolution::Turn);
    check("500 0 switch A blocked B", 500, Resolution::Sleep);
    check("500 0 switch A exited B", 500, Resolution::Exit);
    check("500 3 off 3", 500, Resolution::Hotplug);
    check("500 may B 0-2", 500, Resolution::Affinity);
    check("500 3 reserved 3 on", 500, Resolution::Affinity);
    check("500 0 throttled B on", 500, Resolution::Throttled);
    check("500 0 exit B", 500, Resolution::Exit);
    // It would continue, but there was a gap.
    check("500 0 exit B\n501 0 fork C 0", 500, Resolution::Exit);
    // Before it was watched.
    check("0 3 switch - idle C", 0, Resolution::Unseen);
    check("0 0 exit B", 0, Resolution::Unseen);
    check("0 may B 0-2", 0, Resolution::Unseen);
}

#[test]
fn the_last_suspect_gives_the_resolution() {
    let lines = format!("{OPENING}100 1 wake C 2\n110 2 switch - idle C\n200 0 switch A blocked B\n1000 end");
    let expected = Outcome::Resolved { after: Span::from_us(200), by: Resolution::Sleep };
    assert_eq!(outcome("2-3", &lines), expected);
}

#[test]
fn without_suspects_or_events_nothing_is_found() {
    let check = |suspects: &str, lines: &str| {
        assert_eq!(outcome(suspects, lines), Outcome::Resolved { after: Span::ZERO, by: Resolution::Unseen });
    };
    check("3", "1000 end");
    check("3", "0 0 switch - idle A\n1000 end");
    check("9", "0 0 switch - idle A\n0 0 fork B 0\n1000 end");
    check("", &format!("{OPENING}1000 end"));
    assert!(Confirm::new(&CpuSet::new()).is_resolved());
}

#[test]
fn where_events_are_missing_nothing_is_known() {
    let mut confirm = Confirm::new(&"3".parse().unwrap());
    play(&mut confirm, 4, OPENING);
    let lost = keel_trace::What::Lost { events: 3 };
    let at = keel_abi::Instant::ZERO + Span::from_us(5);
    keel_trace::Sink::events(&mut confirm, &[keel_trace::Event { at, cpu: CpuId(0), what: lost }]);
    assert_eq!(confirm.outcome(), Outcome::Unsure { lost: 3 });
}
