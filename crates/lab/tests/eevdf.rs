//! Runs with no sched_ext scheduler loaded: `eevdf`, the kernel's own.
#![forbid(unsafe_code)]

mod common;

use common::{collect, spec, trace, workload};
use keel_abi::CpuId;
use keel_abi::Span;
use keel_check::{Figures, Judge, TaskFigures};
use keel_lab::{LabError, RunSpec, machines, schedulers};
use keel_trace::policy::{Kind, Outcome};
use keel_trace::{Class, Meta, What};

fn eevdf(cpus: u32, text: &str, ms: u64) -> RunSpec {
    let machine = machines::of_cpus(cpus);
    let source = schedulers::source(schedulers::EEVDF).expect("eevdf is built in");
    spec(source, workload(text, &machine), machine, ms, 1)
}

/// The figures of each task at the end.
fn tasks(spec: &RunSpec) -> Vec<TaskFigures> {
    let mut judge = Judge::new(Figures::default());
    let outcome = keel_lab::run(spec, &mut judge, &mut |_| {}).unwrap_or_else(|e| panic!("{e}"));
    assert!(!outcome.exit.is_failure(), "{}", outcome.message);
    assert_eq!(outcome.counters.callbacks, 0, "there is nobody to call");
    judge.judgement().summary.tasks.clone()
}

fn of<'t>(tasks: &'t [TaskFigures], name: &str) -> &'t TaskFigures {
    tasks.iter().find(|task| task.name == name).unwrap_or_else(|| panic!("no task is called {name}"))
}

#[test]
fn a_run_repeats_byte_for_byte() {
    let text = r#"{ "tasks": {
        "hog": { "instance": 5, "loop": -1, "run": 3000 },
        "sleeper": { "instance": 6, "loop": -1, "run": 300, "sleep": 700 } } }"#;
    let (first, _) = trace(&eevdf(4, text, 300));
    let (second, _) = trace(&eevdf(4, text, 300));
    assert!(first.len() > 10_000 && first == second);
}

#[test]
fn ten_nice_values_get_their_shares_of_a_cpu() {
    let nices = [-10, -5, -3, -1, 0, 1, 3, 5, 10, 15];
    let weights = [9548, 3121, 1991, 1277, 1024, 820, 526, 335, 110, 36];
    let task = |nice| format!(r#""nice{nice}": {{ "priority": {nice}, "loop": -1, "run": 5000 }}"#);
    let text = format!(r#"{{ "tasks": {{ {} }} }}"#, nices.map(task).join(", "));
    let ran = tasks(&eevdf(1, &text, 10_000));
    let total: u64 = ran.iter().map(|task| task.cpu.as_ns()).sum();
    let all: u64 = weights.iter().sum();
    for (nice, weight) in nices.iter().zip(weights) {
        let got = of(&ran, &format!("nice{nice}")).cpu.as_ns();
        // At the end, lags are at most a slice of 0.7 ms and a tick of 1 ms.
        let share = total * weight / all;
        assert!(got.abs_diff(share) <= 1_700_000 + 5_000_000, "nice {nice}: {got} ns of {share} ns");
    }
}

#[test]
fn slices_end_without_a_tick() {
    // Two tasks that never sleep take turns of 0.7 ms, though ticks are 1 ms apart: a switch per slice, or one per tick
    // if a pick has let the running task continue.
    let text = r#"{ "tasks": { "hog": { "instance": 2, "loop": -1, "run": 5000, "cpus": [0] } } }"#;
    let switches: u64 = tasks(&eevdf(1, text, 1000)).iter().map(|task| task.switches).sum();
    assert!((1_000..=1_450).contains(&switches), "{switches}");
}

/// How long a task that wants 20 us every 9 ms waits for the CPU each time, next to a task that never sleeps.
fn mean_wait_ns(other: &str) -> u64 {
    let text = format!(
        r#"{{ "tasks": {{ "hog": {{ "loop": -1, "run": 5000, "cpus": [0] }},
             "other": {{ {other}, "loop": -1, "run": 20, "sleep": 9000, "cpus": [0] }} }} }}"#
    );
    let ran = tasks(&eevdf(1, &text, 2000));
    let other = of(&ran, "other");
    other.wait.as_ns() / other.switches.max(1)
}

#[test]
fn a_shorter_slice_preempts_at_once() {
    let check = |slice_us: u32, is_at_once: bool| {
        let wait_ns = mean_wait_ns(&format!(r#""evenkeel": {{ "slice_us": {slice_us} }}"#));
        assert_eq!(wait_ns < 20_000, is_at_once, "a slice of {slice_us} us: {wait_ns} ns");
    };
    // The other task's slice is 700 us.
    check(100, true);
    check(600, true);
    check(700, false);
    check(5000, false);
}

/// The kernel log of 17 August 2024 ("sched/eevdf: Allow shorter slices to wakeup-preempt") lets cyclictest, with
/// slices of 0.5 ms, run beside massive_intr, with slices of 100 ms. PREEMPT_SHORT lowers cyclictest's mean delay from
/// 0.465 to 0.372 ms, a fifth, and massive_intr switches 7 % more often. Here slices of their own are all that lets
/// cyclictest preempt.
#[test]
fn short_slices_cut_delays_as_published() {
    let run = |slice_us: u32| {
        let text = format!(
            r#"{{ "tasks": {{
                "massive_intr": {{ "instance": 5, "loop": -1, "run": 8000, "sleep": 1000, "evenkeel": {{ "slice_us": 100000 }} }},
                "cyclictest": {{ "instance": 5, "loop": -1, "run": 20, "sleep": 1000, "evenkeel": {{ "slice_us": {slice_us} }} }} }} }}"#
        );
        let ran = tasks(&eevdf(4, &text, 10_000));
        let sums = |name: &str| {
            let own = ran.iter().filter(|task| task.name == name);
            own.fold((0, 0), |sums, task| (sums.0 + task.wait.as_ns(), sums.1 + task.switches))
        };
        let (wait_ns, wakeups) = sums("cyclictest");
        (wait_ns / wakeups, sums("massive_intr").1)
    };
    let (long, short) = (run(100_000), run(500));
    // At once means after a wakeup and a switch. Without the rule, it is after the others' protection, which lasts 0.5
    // ms.
    assert!(short.0 < 5_000, "{} ns", short.0);
    assert!(
        short.0 * 465 <= long.0 * 372,
        "mean delays: {} ns with long slices, {} ns with short",
        long.0,
        short.0
    );
    assert!(short.1 * 100 >= long.1 * 107, "switches: {} with long slices, {} with short", long.1, short.1);
}

#[test]
fn a_batch_task_preempts_nothing() {
    let short = r#""evenkeel": { "slice_us": 100 }"#;
    let check = |policy: &str, preempts: bool| {
        let wait_ns = mean_wait_ns(&format!(r#""policy": "{policy}", {short}"#));
        assert_eq!(wait_ns < 20_000, preempts, "{policy}: {wait_ns} ns");
    };
    check("SCHED_OTHER", true);
    check("SCHED_BATCH", false);
}

#[test]
fn any_other_policy_preempts_sched_idle() {
    let text = r#"{ "tasks": {
        "idle": { "policy": "SCHED_IDLE", "loop": -1, "run": 5000, "cpus": [0] },
        "other": { "loop": -1, "run": 20, "sleep": 9000, "cpus": [0], "evenkeel": { "slice_us": 5000 } } } }"#;
    let ran = tasks(&eevdf(1, text, 2000));
    let wait_ns = of(&ran, "other").wait.as_ns() / of(&ran, "other").switches;
    assert!(wait_ns < 20_000, "{wait_ns}");
}

fn set(spec: &RunSpec, name: &str, value: &str) -> RunSpec {
    let mut spec = spec.clone();
    spec.settings.push((name.to_owned(), value.to_owned()));
    spec
}

#[test]
fn decisions_are_reported_on_request_and_change_nothing() {
    let text = r#"{ "tasks": {
        "hog": { "instance": 7, "loop": -1, "run": 3000 },
        "sleeper": { "instance": 6, "loop": -1, "run": 300, "sleep": 700 } } }"#;
    let plain = eevdf(8, text, 300);
    let collected = |spec: &RunSpec| {
        let run = collect(spec, Class::CORE.with(Class::POLICY));
        let decisions = run.metas.into_iter().filter_map(|(_, meta)| match meta {
            Meta::Policy(policy) => Some(*policy),
            _ => None,
        });
        (run.events, decisions.collect::<Vec<_>>())
    };
    let ((silent, none), (told, decisions)) =
        (collected(&plain), collected(&set(&plain, "tell_policy", "1")));
    assert!(none.is_empty() && silent == told);
    let of = |kind| decisions.iter().filter(move |d| d.kind == kind);
    for kind in [Kind::Balance, Kind::NewIdle, Kind::Wakeup, Kind::Fork] {
        assert!(of(kind).count() > 0, "{kind:?}");
    }
    let moved = decisions.iter().find(|d| d.outcome == Some(Outcome::Moved)).expect("tasks were moved");
    let chosen = moved.chosen.expect("from a CPU");
    assert!(moved.moved > 0 && moved.considered.contains(chosen) && chosen != moved.cpu, "{moved:?}");
    assert!(moved.groups.len() > 1 && moved.groups.iter().any(|group| group.runnable > 1), "{moved:?}");
    assert!(of(Kind::Wakeup).all(|d| d.outcome == Some(Outcome::Chose) && d.chosen.is_some()));
}

#[test]
fn a_longer_base_slice_makes_fewer_switches() {
    let plain = eevdf(1, r#"{ "tasks": { "hog": { "instance": 2, "loop": -1, "run": 5000 } } }"#, 1000);
    let switches = |spec: &RunSpec| tasks(spec).iter().map(|task| task.switches).sum::<u64>();
    let [usual, long] = [switches(&plain), switches(&set(&plain, "base_slice_ns", "7000000"))];
    assert!(usual > 900 && (130..160).contains(&long), "{usual} {long}");
}

/// `entity_tick()`: without `HRTICK` a slice of 1.5 ms ends at the next of the ticks, 1 ms apart.
#[test]
fn slices_end_at_ticks_without_a_timer() {
    let plain = eevdf(1, r#"{ "tasks": { "hog": { "instance": 2, "loop": -1, "run": 5000 } } }"#, 1000);
    let check = |hrtick: &str, expected: std::ops::Range<u64>| {
        let spec = set(&set(&plain, "base_slice_ns", "1500000"), "hrtick", hrtick);
        let switches = tasks(&spec).iter().map(|task| task.switches).sum::<u64>();
        assert!(expected.contains(&switches), "hrtick={hrtick}: {switches}");
    };
    check("0", 495..505);
    check("1", 655..670);
}

#[test]
fn a_setting_or_a_recipe_is_refused_in_a_sentence() {
    let check =
        |spec: &RunSpec, expected: &str| match keel_lab::run(spec, &mut keel_trace::NullSink, &mut |_| {}) {
            Err(LabError::BadInput(text)) => assert_eq!(text, expected),
            other => panic!("{other:?}"),
        };
    let mut spec = eevdf(1, r#"{ "tasks": { "hog": { "run": 10 } } }"#, 10);
    spec.duration = Span::from_ms(10);
    spec.settings = vec![("slice_ns".into(), "5".into())];
    check(&spec, "--set slice_ns=5: the kernel's own scheduler has base_slice_ns, hrtick, tell_policy");
    spec.settings.clear();
    spec.scheduler.recipe = keel_recipe::Recipe::read("r.toml", "[set]\nx = 1\n").expect("it is a recipe");
    check(&spec, "eevdf is the kernel's own scheduler and takes no recipe; leave the recipe out");
}

/// `get_next_freq()`: a CPU is as fast as its tasks need. A light task's work takes longer, a hog's does not, and a
/// real-time task gets the full speed.
#[test]
fn the_frequency_follows_what_tasks_use() {
    let percent = |policy: &str| {
        let text = format!(
            r#"{{ "tasks": {{
                "light": {{ "loop": -1, "run": 1000, "cpus": [0], {policy}
                            "timer": {{ "ref": "unique", "period": 10000 }} }},
                "hog": {{ "loop": 1, "run": 1000000, "cpus": [1] }} }} }}"#
        );
        let mut spec = eevdf(2, &text, 2000);
        // Half the speed at least.
        spec.machine.frequency.least = 512;
        let ran = tasks(&spec);
        ["light", "hog"].map(|name| of(&ran, name).cpu.as_ns() / 1_000_000)
    };
    let near = |found: [u64; 2], expected: [u64; 2]| {
        let is_near = found.iter().zip(expected).all(|(found, expected)| found.abs_diff(expected) <= 20);
        assert!(is_near, "{found:?} ms instead of {expected:?}");
    };
    near(percent(""), [400, 1000]);
    near(percent(r#""policy": "SCHED_FIFO", "#), [200, 1000]);
}

/// The CPU on which the wakeups of `woken` on CPU 2, by a task on CPU 0, are carried out.
fn waking_cpus(hogs: &str) -> Vec<u32> {
    let text = format!(
        r#"{{ "tasks": {{ {hogs}
        "waker": {{ "loop": -1, "run": 500, "resume": "woken", "sleep": 500, "cpus": [0] }},
        "woken": {{ "loop": -1, "suspend": "woken", "run": 100, "cpus": [2] }} }} }}"#
    );
    let machine = machines::read("m.toml", "name = 'm'\n[topology]\nnodes = 2\ncores_per_llc = 2\n").unwrap();
    let source = schedulers::source(schedulers::EEVDF).expect("eevdf is built in");
    let run = collect(&spec(source, workload(&text, &machine), machine, 50, 1), Class::CORE);
    let cpus = run.events.iter().filter_map(|event| match event.what {
        What::Wakeup { target: CpuId(2), .. } => Some(event.cpu.0),
        _ => None,
    });
    cpus.collect()
}

#[test]
fn a_cpu_with_another_cache_carries_out_its_wakeups_itself() {
    for hogs in ["", r#""hog": { "loop": -1, "run": 5000, "cpus": [2] },"#] {
        let cpus = waking_cpus(hogs);
        assert!(cpus.len() > 20 && cpus.iter().all(|&cpu| cpu == 2), "{cpus:?}");
    }
}
