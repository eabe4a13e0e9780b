use crate::run::{FindingReport, LockReport, RunFacts, RunReport};
use crate::style::Style;
use crate::{compare, table, verdict};
use keel_abi::scx::ExitKind;
use keel_abi::{CpuId, Instant, Pid, Span, TaskId};
use keel_check::{Blame, Costs, Delay, Finding, Judgement, Kind, NameFigures, Summary, TaskFigures, Verdict};

/// Returns the facts of a run under `scheduler`.
fn facts(scheduler: &str, seed: u64) -> RunFacts {
    RunFacts {
        scheduler: scheduler.into(),
        workload: "chat.json".into(),
        machine: "opteron-8x8".into(),
        seed,
        wall_ns: 1_234_000_000,
        peak_rss_bytes: 38 << 20,
        exit: ExitKind::None,
        message: String::new(),
        costs: Some(Costs {
            callback: Span::from_ms(812),
            lock_wait: Span::from_us(90_500),
            instructions: 123_456_789,
        }),
        ..RunFacts::default()
    }
}

fn task(n: u32, name: &str) -> TaskFigures {
    TaskFigures {
        task: TaskId(n),
        pid: Pid(1000 + n),
        name: name.into(),
        first_run: Some(Instant::from_ns(u64::from(n))),
        cpu: Span::from_ms(u64::from(900 - n)),
        wait: Span::from_us(1500),
        switches: 12_345,
        migrations: 67,
        preemptions: 8,
        units: 100,
        cpus: vec![(CpuId(1), Span::from_ms(500)), (CpuId(3), Span::from_ms(400))],
    }
}

fn name(name: &str, woken: u64, scale: f64) -> NameFigures {
    let us = |us: f64| Span::from_ns((us * scale * 1e3) as u64);
    let wakeup_delay = Delay { p50: us(2.0), p99: us(700.0), max: us(6000.0) };
    NameFigures { name: name.to_owned(), tasks: woken / 20, woken, wakeup_delay }
}

fn judgement(scale: f64) -> Judgement {
    let n = |n: f64| (n * scale) as u64;
    let summary = Summary {
        duration: Span::from_s(10),
        cpus: 64,
        machine_time: Span::from_s(640),
        switches: n(5_123_456.0),
        wakeups: n(2_345_678.0),
        forks: 12,
        migrations: n(45_678.0),
        preemptions: n(1234.0),
        units: n(987_654.0),
        unit: "messages".into(),
        wakeup_delay: Delay {
            p50: Span::from_ns(n(4200.0)),
            p99: Span::from_us(n(1100.0)),
            max: Span::from_ms(n(20.0)),
        },
        names: vec![name("worker", 9000, 3.0), name("editor\x1b[2J", 40, 1.0)],
        busy_share: 0.798,
        costs: Costs::default(),
        tasks: (0..12).map(|i| task(i, &format!("worker-{i}"))).collect(),
        others: (TaskFigures::default(), 0),
    };
    let found = vec![(Kind::WastedCore, 0), (Kind::Starvation, 0)];
    Judgement { summary, waste: Verdict::default(), findings: vec![], found, ..Judgement::default() }
}

fn wasteful(scale: f64) -> Judgement {
    let finding = |kind, text: &str, task| Finding {
        kind,
        blame: Blame::Scheduler,
        start: Instant::from_ns(2_100_000_000),
        duration: Span::from_ms(1900),
        threshold: Span::from_us(10),
        events: vec![Instant::from_ns(2_100_000_000), Instant::from_ns(4_000_000_000)],
        decision: None,
        cpus: vec![CpuId(5)],
        tasks: vec![TaskId(task)],
        text: text.into(),
    };
    let text = "CPU 5 idled for 1.90 s while task worker-3 (pid 1003) waited in the queue of CPU 2, where \
                select_cpu put it";
    let starved = "task worker-4 (pid 1004) was runnable for 1.90 s without running, on CPU 2";
    let mut judgement = judgement(scale);
    judgement.waste.wasted = Span::from_ms((12_300.0 * scale) as u64);
    judgement.waste.share = 0.0192;
    judgement.waste.transient = Span::from_ms(104);
    judgement.waste.episodes = 1234;
    judgement.findings = vec![finding(Kind::WastedCore, text, 3), finding(Kind::Starvation, starved, 4)];
    judgement.found = vec![(Kind::WastedCore, 1234), (Kind::Starvation, 1)];
    judgement
}

fn good() -> RunReport {
    RunReport::new(&facts("fifo", 1), &judgement(1.0))
}

fn bad() -> RunReport {
    RunReport::new(&facts("sticky", 1), &wasteful(0.9))
}

fn stalled() -> RunReport {
    let mut facts = facts("stall", 1);
    facts.exit = ExitKind::ErrorStall;
    facts.message = "worker\x1b[2J-3[1003] failed to run for 30.001s".into();
    RunReport::new(&facts, &judgement(0.3))
}

#[test]
fn a_run_reads_well() {
    insta::assert_snapshot!("run_good", table::run(&good(), Style::PLAIN));
    insta::assert_snapshot!("run_bad", table::run(&bad(), Style::PLAIN));
}

#[test]
fn invalid_accesses_are_reported_unless_they_ended_the_run() {
    let check = |times: u64, run: RunReport, expected: &str| {
        let text = table::run(&RunReport { bad_accesses: times, ..run }, Style::PLAIN);
        let reported = text.lines().find(|line| line.contains("invalid memory access")).unwrap_or_default();
        assert_eq!(reported.split(';').next(), Some(expected), "{text}");
    };
    check(0, good(), "");
    check(1, good(), "The scheduler made an invalid memory access");
    check(1234, bad(), "The scheduler made 1,234 invalid memory accesses");
    check(1, stalled(), "");
}

#[test]
fn the_worst_lock_is_shown_where_locks_cost_more_than_a_little() {
    let check = |lock_wait_ns: u64, expected: &str| {
        let mut run = good();
        let worst = LockReport {
            name: "idle_lock\x1b[2J".into(),
            taken: 11_029,
            contended: 11_000,
            wait_ns: lock_wait_ns / 2,
            held_ns: 11_029 * 300,
            most_waiters: 127,
        };
        (run.overhead.lock_wait_ns, run.locks) = (lock_wait_ns, vec![worst, LockReport::default()]);
        let text = table::run(&run, Style { width: 300, colour: false });
        let row = text.lines().find(|line| line.trim_start().starts_with("locks")).unwrap_or_default();
        assert_eq!(row.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{text}");
    };
    check(3_199_000_000, "");
    check(
        64_000_000_000,
        "locks 64.0 core-seconds 10 % of the machine waits for locks; 32.0 core-seconds for idle_lock\\u{1b}[2J: taken \
         11,029 times, 11,000 of them after a wait, held for 300 ns each",
    );
}

#[test]
fn a_narrow_terminal_gets_narrow_lines() {
    let style = Style { width: 60, colour: false };
    let text = table::run(&good(), style);
    let widest = text
        .lines()
        .skip(3)
        .take_while(|line| !line.starts_with("task"))
        .map(|line| line.chars().count())
        .max();
    assert!(widest <= Some(60), "{widest:?} columns:\n{text}");
    insta::assert_snapshot!("run_narrow", text);
}

#[test]
fn figures_stay_whole_on_the_narrowest_terminals() {
    let figures = |width| {
        let text = table::run(&good(), Style { width, colour: false });
        let is_figure = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
        text.split_whitespace()
            .filter(is_figure)
            .map(str::to_owned)
            .collect::<std::collections::BTreeSet<_>>()
    };
    for width in [20, 40, 60] {
        let (whole, shown) = (figures(79), figures(width));
        let broken: Vec<&String> = whole.difference(&shown).collect();
        assert!(broken.is_empty(), "at {width} columns: {broken:?}");
    }
}

#[test]
fn colour_only_where_the_style_allows_it() {
    assert!(table::run(&bad(), Style::terminal(100, false)).contains("\x1b["));
    for style in [Style::PLAIN, Style::terminal(100, true)] {
        assert!(!table::run(&stalled(), style).contains('\x1b'), "not even a task's name brings one in");
    }
}

#[test]
fn verdicts_have_at_most_two_sentences() {
    let mut starving = good();
    starving.findings = bad().findings.split_off(1);
    starving.findings_total = [("starvation".to_owned(), 1)].into();
    let mut locked = good();
    locked.findings =
        vec![FindingReport { kind: "lock_wait".into(), blame: "program".into(), ..bad().findings.remove(0) }];
    (locked.findings_total, locked.findings_of_programs) = ([("lock_wait".to_owned(), 3)].into(), 3);
    assert!(!locked.found_something());
    assert!(table::run(&locked, Style::PLAIN).contains("the program itself caused this"));
    let all = [good(), bad(), starving, stalled(), locked].map(|run| verdict::sentence(&run)).join("\n");
    insta::assert_snapshot!("verdicts", all);
}

#[test]
fn schedulers_are_compared_by_ratios_with_their_spread() {
    let run = |name: &str, seed, scale| RunReport::new(&facts(name, seed), &judgement(scale));
    let bad = |seed, scale| RunReport::new(&facts("sticky", seed), &wasteful(scale));
    let runs =
        [run("fifo", 1, 1.0), run("fifo", 2, 1.1), bad(1, 0.5), bad(2, 0.6), run("other", 1, 2.0), stalled()];
    insta::assert_snapshot!("compare", compare::table(&runs, Style::PLAIN));
    insta::assert_snapshot!("compare_narrow", compare::table(&runs, Style { width: 70, colour: false }));
    assert_eq!(compare::table(&[], Style::PLAIN), "");
}

#[test]
fn settings_in_a_name_stay_whole() {
    let run = |name: &str| RunReport::new(&facts(name, 1), &judgement(1.0));
    let runs = [run("percache.bpf.o"), run("percache.bpf.o:slice_ns=1000000")];
    let text = compare::table(&runs, Style { width: 90, colour: false });
    let head: Vec<&str> = text.lines().take(2).map(str::trim).collect();
    assert_eq!(head[1], ":slice_ns=1000000", "{text}");
}

#[test]
fn runs_that_no_seed_changes_have_no_spread() {
    let run = |name: &str, seed, scale| RunReport {
        wall_ns: seed,
        peak_rss_bytes: seed,
        ..RunReport::new(&facts(name, seed), &judgement(scale))
    };
    let still = |name| [run(name, 1, 1.0), run(name, 2, 1.0), run(name, 3, 1.0)];
    let moving = [run("moving", 1, 1.0), run("moving", 2, 1.0), run("moving", 3, 1.1)];
    let runs = [still("still"), still("twin"), moving].concat();
    assert_eq!(compare::seedless(&runs), ["still", "twin"]);
    insta::assert_snapshot!("compare_seedless", compare::table(&runs, Style { width: 160, colour: false }));
    let alone = [run("alone", 1, 1.0)];
    assert_eq!(compare::seedless(&alone), Vec::<&str>::new());
    let mut one_wait_longer = still("still").to_vec();
    one_wait_longer[1].tasks[0].wait_ns += 1;
    assert_eq!(compare::seedless(&one_wait_longer), Vec::<&str>::new());
}

#[test]
fn json_keeps_its_names() {
    let mut run = bad();
    run.tasks.truncate(1);
    insta::assert_snapshot!("json", serde_json::to_string_pretty(&run).expect("it is plain data"));
}

/// The verdicts on a recording that lacks data it needs, on an incomplete one, and on one with both faults.
#[test]
fn caveats_come_before_the_figures_they_affect() {
    let unknown = keel_trace::Unknown { affinity: true, throttling: true };
    let wasteful = || {
        let waste = Verdict { wasted: Span::from_ms(1900), share: 0.25, episodes: 1, ..Verdict::default() };
        Judgement {
            waste,
            found: vec![(Kind::WastedCore, 1), (Kind::Bouncing, 0)],
            unknown,
            ..Judgement::default()
        }
    };
    let report = |judgement: Judgement| RunReport::new(&RunFacts::default(), &judgement);
    let check = |run: &RunReport, begins: &str, ends: &str, found: bool| {
        let reported = verdict::sentence(run);
        assert!(reported.starts_with(begins) && reported.ends_with(ends), "{reported}");
        assert_eq!(run.found_something(), found, "{reported}");
    };
    let caveat = "This recording does not show which CPUs tasks may use or when they are throttled, so pinned and throttled tasks \
                  look like waste. If it has no such tasks: cores idled for 1.90 core-seconds (25 % of the machine)";
    let flag = "--assume-unrestricted.";
    let unsure = report(Judgement { unsure: vec![Kind::WastedCore], ..wasteful() });
    check(&unsure, caveat, flag, false);
    check(&report(wasteful()), caveat, "while threads waited.", true);
    let also = Judgement {
        unsure: vec![Kind::WastedCore],
        found: vec![(Kind::WastedCore, 1), (Kind::Bouncing, 2)],
        ..wasteful()
    };
    check(&report(also), caveat, flag, true);
    // No finding depends on it.
    let sound = report(Judgement { unknown, ..Judgement::default() });
    check(&sound, "No core idled", "waited.", false);
    let doubt = Some("1 record is damaged and skipped".to_owned());
    let whole =
        "This recording is incomplete: 1 record is damaged and skipped. According to what it contains, ";
    check(&RunReport { doubt: doubt.clone(), ..sound }, &format!("{whole}no core idled"), "waited.", false);
    check(&RunReport { doubt, ..unsure }, &format!("{whole}this recording does not show"), flag, false);
}
