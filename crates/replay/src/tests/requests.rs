//! Requested changes.

use super::{CPUS, IDLE, start};
use crate::{Builder, Late, Overheads, Replay, export, fit, scaled};
use keel_abi::cgroup::Bandwidth;
use keel_abi::tape::Op;
use keel_abi::task::{Policy, Step};
use keel_abi::timeline::Change;
use keel_abi::{CpuId, CpuSet, Instant, Span, TaskId};
use keel_trace::{Act, CgroupChange, Event, GroupInfo, Meta, Request, Sink, What};

/// A stream's elements, by their time in microseconds.
enum Told {
    What(What),
    Meta(Meta),
}

fn act(task: TaskId, act: Act) -> Told {
    Told::What(What::Acts { task, act })
}

/// Task 0 begins.
fn begins() -> Told {
    act(TaskId(0), Act::Begins { at: Instant::ZERO })
}

fn worked(user_us: u64, kernel_ps: u64) -> Told {
    Told::What(What::Worked { task: TaskId(0), user: Span::from_us(user_us), kernel_ps })
}

fn asks(task: TaskId, outside: bool, request: Request) -> Told {
    Told::Meta(Meta::Asks { task, outside, request: Box::new(request) })
}

fn cgroup(path: &str, change: CgroupChange) -> Told {
    asks(TaskId(0), false, Request::Cgroup { path: path.to_owned(), change })
}

fn made(told: Vec<(u64, Told)>) -> Replay {
    let mut builder = Builder::new(Overheads::default(), None);
    start(&mut builder);
    for (us, told) in told {
        let at = Instant::ZERO + Span::from_us(us);
        match told {
            Told::What(what) => builder.events(&[Event { at, cpu: CpuId(0), what }]),
            Told::Meta(meta) => builder.meta(at, &meta),
        }
    }
    builder.finish().expect("it can be replayed")
}

fn tape(replay: &Replay) -> Vec<Op> {
    replay.workload.recorded.as_ref().expect("it is a recording").tapes[0].iter().collect()
}

#[test]
fn a_task_takes_the_step_in_which_it_asked() {
    let check = |worked: Vec<(u64, Told)>, expected: &[Op]| {
        let mut told = vec![(0, begins())];
        told.extend(worked);
        told.push((20, act(TaskId(0), Act::Exits)));
        let made = made(told);
        assert_eq!(tape(&made), [expected, &[Op::Exit]].concat());
        // The step that plays is the first.
        assert_eq!(format!("{:?}", made.workload.tasks[0].steps[1]), "Nice(5)");
        assert!(made.workload.timeline.is_empty());
    };
    let nice = || asks(TaskId(0), false, Request::Nice(5));
    let run = Op::Run(Span::from_us(9));
    check(vec![(9, worked(9, 700)), (10, nice())], &[run, Op::Kernel(700), Op::Step(1)]);
    // What costs nothing begins a step of its own.
    check(
        vec![(9, worked(9, 700)), (10, worked(0, 0)), (10, nice())],
        &[run, Op::Kernel(700), Op::Kernel(0), Op::Step(1)],
    );
    // Repeating the step gives the same, and an out-of-range value is brought into range.
    check(
        vec![(9, worked(9, 0)), (10, nice()), (11, worked(1, 0)), (12, nice())],
        &[run, Op::Step(1), Op::Run(Span::from_us(1)), Op::Step(1)],
    );
}

/// Returns the timeline as text.
fn timeline(replay: &Replay) -> String {
    let entry = |it: &keel_abi::timeline::Happening| {
        format!("{}{} {:?}", if it.follows { "+" } else { "" }, it.at.as_ns() / 1000, it.change)
    };
    replay.workload.timeline.iter().map(entry).collect::<Vec<_>>().join("; ")
}

/// Task 0 begins, followed by `told`.
fn check_timeline(told: Vec<(u64, Told)>, copies: u32, cpus: u32, expected: &str) {
    let mut all = vec![(0, begins()), (0, act(TaskId(1), Act::Begins { at: Instant::ZERO }))];
    all.extend(told);
    let mut made = made(all);
    made.workload = scaled(made.workload, copies);
    fit(&mut made.workload, cpus);
    assert_eq!(timeline(&made), expected);
}

#[test]
fn one_request_from_outside_is_one_entry_after_another() {
    let due = |us| act(IDLE, Act::Begins { at: Instant::ZERO + Span::from_us(us) });
    let nice = |task, nice| asks(TaskId(task), true, Request::Nice(nice));
    let both = || {
        vec![
            (10, due(9)),
            (10, nice(0, 5)),
            (11, due(9)),
            (11, nice(1, 100)),
            (12, act(IDLE, Act::Waits)),
            (13, due(9)),
            (13, nice(0, 0)),
        ]
    };
    check_timeline(
        both(),
        1,
        CPUS,
        "9 Nice { spec: 0, nice: 5 }; +9 Nice { spec: 1, nice: 19 }; 9 Nice { spec: 0, nice: 0 }",
    );
    // The copies of tasks follow them. Two of four tasks had begun.
    let (made, copies) = (made(vec![(0, begins()), (10, due(9)), (10, nice(0, 5))]), 2);
    let specs = made.workload.tasks.len();
    let twice = Replay { workload: scaled(made.workload.clone(), copies), ..made };
    let expected = format!("9 Nice {{ spec: 0, nice: 5 }}; +9 Nice {{ spec: {specs}, nice: 5 }}");
    assert_eq!(timeline(&twice), expected);
    // An entry after one for a CPU that the machine lacks stands alone.
    let off = |cpu| asks(IDLE, true, Request::Offline(CpuId(cpu)));
    check_timeline(
        vec![(10, due(9)), (10, off(1)), (11, due(9)), (11, nice(0, 5))],
        1,
        1,
        "9 Nice { spec: 0, nice: 5 }",
    );
}

/// A task whose CPUs all go offline may use all. The replay's kernel does that by itself.
#[test]
fn what_the_kernel_did_by_itself_is_left_to_it() {
    let widened = keel_trace::TaskInfo {
        task: TaskId(0),
        pid: keel_abi::Pid(1),
        name: "t0".to_owned(),
        nice: 0,
        cpus: CpuSet::from_iter([CpuId(0)]),
    };
    let told = vec![
        (10, asks(IDLE, true, Request::Offline(CpuId(1)))),
        (11, Told::What(What::Online { target: CpuId(1), up: false })),
        (11, Told::Meta(Meta::Task(widened))),
    ];
    let offline = Change::Offline(CpuSet::from_iter([CpuId(1)]));
    check_timeline(told, 1, CPUS, &format!("10 {offline:?}"));
}

#[test]
fn cgroups_begin_as_they_were_and_change_as_they_did() {
    let group = |group, parent, name: &str, weight| {
        let name = name.to_owned();
        let bandwidth = Bandwidth::default();
        let info = GroupInfo { group, parent, name, weight, bandwidth, ..GroupInfo::default() };
        Told::Meta(Meta::Group(Box::new(info)))
    };
    let member = |group| Told::Meta(Meta::Scheduled { task: TaskId(0), policy: 0, group });
    let made = made(vec![
        (0, group(2, 0, "b", 50)),
        (0, group(1, 0, "a", 300)),
        (0, member(2)),
        (0, begins()),
        (1, cgroup("/a/late", CgroupChange::Make)),
        (2, group(3, 1, "late", 70)),
        (3, cgroup("/a/late", CgroupChange::Join)),
        (3, member(3)),
        (4, cgroup("/b", CgroupChange::Weight(9))),
        (4, group(2, 0, "b", 9)),
        // Such cgroups cannot exist.
        (5, cgroup("/../x", CgroupChange::Make)),
        (5, cgroup("x", CgroupChange::Join)),
        (6, cgroup("/", CgroupChange::Join)),
        (9, act(TaskId(0), Act::Exits)),
    ]);
    let list: Vec<String> = made
        .workload
        .cgroups
        .iter()
        .map(|it| format!("{} {} {} {}", it.path, it.parent.0, it.weight, it.is_there))
        .collect();
    assert_eq!(list, ["/a 0 300 true", "/b 0 50 true", "/a/late 1 70 false"]);
    assert_eq!(made.workload.tasks[0].cgroup.map(|id| id.0), Some(2));
    let steps = format!("{:?}", &made.workload.tasks[0].steps[1..]);
    let expected = "[Cgroup(Make(CgroupId(3))), Cgroup(Join(CgroupId(3))), Cgroup(Weight(CgroupId(2), 9)), \
                    Cgroup(Join(CgroupId(0)))]";
    assert_eq!(steps, expected);
    let file: serde_json::Value =
        serde_json::from_str(&export(&made, Late::default()).expect("it is short")).expect("it is JSON");
    let shown = file["tasks"]["t0"]["phases"]["p000000"]["evenkeel"]["steps"].to_string();
    let expected = r#"[{"make_cgroup":"/a/late"},{"cgroup":"/a/late"},{"set_cgroup":{"path":"/b","weight":9}},{"cgroup":"/"}]"#;
    assert_eq!(shown, expected);
    assert_eq!(file["evenkeel"]["cgroups"]["/a/late"]["later"].to_string(), "true");
}

#[test]
fn sleeps_in_a_file_are_as_long_as_was_asked_for() {
    let check = |policy: Policy, expected: &str| {
        let mut replay = made(vec![(0, begins()), (9, act(TaskId(0), Act::Exits))]);
        replay.workload.tasks[0].policy = policy;
        let mut recorded = (*replay.workload.recorded.take().expect("it is a recording")).clone();
        recorded.tapes[0] = [Op::Sleep(Span::from_us(1000)), Op::Exit].into_iter().collect();
        replay.workload.recorded = Some(recorded.into());
        let late = Late { slack: Span::from_us(50), timer: Span::from_us(3) };
        let text = export(&replay, late).expect("it is short");
        assert!(text.contains(&format!("\"sleep\": {expected}")), "{policy:?}: {text}");
    };
    check(Policy::Other, "947");
    check(Policy::Batch, "947");
    check(Policy::Fifo(7), "997");
    check(Policy::RoundRobin(1), "997");
}

#[test]
fn slices_and_policies_are_those_that_were_asked_for() {
    let made = made(vec![
        (0, asks(TaskId(0), false, Request::Slice(Span::from_us(500)))),
        (0, begins()),
        (1, asks(TaskId(0), false, Request::Policy(Policy::Fifo(7)))),
        (2, asks(TaskId(0), false, Request::Cpus(CpuSet::from_iter([CpuId(1), CpuId(70)])))),
        (9, act(TaskId(0), Act::Exits)),
    ]);
    let task = &made.workload.tasks[0];
    assert_eq!(task.slice, Some(Span::from_us(500)));
    let confined = Step::Affinity(CpuSet::from_iter([CpuId(1)]));
    assert_eq!(task.steps[1..], [Step::Policy(Policy::Fifo(7)), confined]);
}
