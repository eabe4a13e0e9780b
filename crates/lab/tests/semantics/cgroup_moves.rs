//! Tasks are forked into cgroups and move between them.

use crate::harness::*;
use keel_abi::Span;
use keel_abi::cgroup::{Bandwidth, Cgroup, CgroupId, CgroupStep};
use keel_abi::task::Step;

const A: CgroupId = CgroupId(1);
const B: CgroupId = CgroupId(2);
const ROOT_ID: u64 = 1;
const A_ID: u64 = 65;
const B_ID: u64 = 129;
/// `SCX_DEQ_SCHED_CHANGE | DEQUEUE_SAVE | DEQUEUE_MOVE | DEQUEUE_NOCLOCK`.
const MOVED: u64 = 0x2_0000_000e;

const MOVES: &[&str] = &["cgroup_prep_move", "cgroup_move", "cgroup_cancel_move"];

fn two() -> Scenario {
    let cgroup = |path: &str| Cgroup {
        path: path.to_owned(),
        parent: CgroupId::ROOT,
        is_there: true,
        weight: 100,
        bandwidth: Bandwidth::default(),
        idle: false,
    };
    with("cgroups").workload(|workload| workload.cgroups = vec![cgroup("/a"), cgroup("/b")])
}

fn join(cgroup: CgroupId) -> Step {
    Step::Cgroup(CgroupStep::Join(cgroup))
}

fn join_all(cgroup: CgroupId) -> Step {
    Step::Cgroup(CgroupStep::JoinProcess(cgroup))
}

fn born_in(mut spec: Spec, cgroup: CgroupId) -> Spec {
    spec.0.cgroup = Some(cgroup);
    spec
}

#[test]
fn a_task_is_born_where_its_parent_is_unless_it_has_a_place_of_its_own() {
    let base = two().task(task("a", [join(A), Step::Fork(1), Step::Spawn(2), Step::Fork(3), run(100)]));
    let base =
        base.task(task("thread", [run(10)]).instances(0)).task(task("process", [run(10)]).instances(0));
    let run = base.task(born_in(task("own", [run(10)]), B).instances(0)).survives();
    let born = |name| run.values(name, "born_in");
    assert_eq!(
        [born("a"), born("thread"), born("process"), born("own")],
        [vec![ROOT_ID], vec![A_ID], vec![A_ID], vec![B_ID]]
    );
    assert_eq!(run.values("thread", "group").last(), Some(&(A_ID << 32 | A_ID)));
}

#[test]
fn a_running_task_moves_as_for_any_change_and_is_switched_away_from() {
    let run = two()
        .task(task("a", [run(100), join(A), run(100)]))
        .task(hog("b"))
        .set("slice_ns", 50_000_000)
        .survives();
    let ops = ["cgroup_prep_move", "stopping", "quiescent", "cgroup_move", "group", "runnable", "running"];
    let trace = run.trace("a", &ops);
    let from = trace.iter().position(|line| line.starts_with("cgroup_prep_move")).expect("it moves");
    let to = ROOT_ID << 32 | A_ID;
    let expected = [
        format!("cgroup_prep_move={to:x}"),
        "stopping".to_owned(),
        format!("quiescent={MOVED:x}"),
        // Off its runqueue it is still in its old cgroup, though user space has already moved it.
        format!("group={to:x}"),
        format!("cgroup_move={to:x}"),
        format!("group={:x}", A_ID << 32 | A_ID),
        "runnable=e".to_owned(),
        "running".to_owned(),
    ];
    // What is left of the slice does not matter.
    let shown = trace[from..from + 8].iter().map(|line| match line.strip_prefix("running") {
        Some(_) => "running".to_owned(),
        None => line.clone(),
    });
    assert_eq!(shown.collect::<Vec<_>>(), expected, "{}", run.log());
}

#[test]
fn a_moved_task_is_reconsidered_at_once() {
    let base = two().set("move_ends_slice", 1).set("slice_ns", 50_000_000);
    let run = base.task(task("a", [run(3_300), join(A), run(9_000)])).task(hog("b").after_ms(1)).survives();
    let moved = run.first("a", "cgroup_move").at;
    let stopped = run.stops("a")[0];
    assert!(stopped >= moved && stopped.since(moved) < Span::from_us(50), "{moved:?} {stopped:?}");
}

#[test]
fn a_task_already_in_the_cgroup_does_not_move() {
    let run = two().task(born_in(task("a", [join(A), join_all(A), run(10)]), A)).survives();
    assert_eq!(run.trace("a", MOVES), [""; 0]);
}

#[test]
fn a_prep_move_that_fails_leaves_it_where_it_was() {
    let fails = |answer: i32| two().set("move_answer", answer).task(task("a", [join(A), run(100)]));
    let run = fails(-16).survives();
    // No task was released before, so there is nothing to take back.
    assert_eq!(run.trace("a", MOVES), ["cgroup_prep_move=100000041"]);
    assert_eq!(run.values("a", "group"), [ROOT_ID << 32 | ROOT_ID], "{}", run.log());
    fails(3).fails("ops.cgroup_prep_move() returned an invalid errno 3");
}

/// A process with a task that moves all, one that sleeps, one that waits for the CPU, and an unrelated one.
fn process() -> Scenario {
    let mut outsider = task("outsider", [sleep(50_000)]);
    outsider.0.process = 7;
    let base = two().set("slice_ns", 50_000_000).task(task("sleeps", [sleep(50_000), run(10)]));
    let mover = task("moves", [run(2000), join_all(A), run(3000)]).after_ms(1);
    base.task(mover).task(outsider).task(hog("waits").after_ms(2))
}

#[test]
fn all_threads_of_a_process_are_asked_before_the_first_moves() {
    let run = process().survives();
    let moved: Vec<(&str, u32)> = run
        .calls
        .iter()
        .filter(|call| MOVES.contains(&call.op.as_str()))
        .map(|call| (call.op.as_str(), call.pid))
        .collect();
    let pids = [run.pid("sleeps"), run.pid("moves"), run.pid("waits")];
    let mut expected: Vec<(&str, u32)> = pids.iter().map(|&pid| ("cgroup_prep_move", pid)).collect();
    expected.extend(pids.iter().map(|&pid| ("cgroup_move", pid)));
    assert_eq!(moved, expected, "{}", run.log());
    let around = |name: &str| {
        let ops = ["dequeue", "quiescent", "cgroup_move", "runnable", "enqueue"];
        let trace = run.trace(name, &ops);
        let at = trace.iter().position(|line| line.starts_with("cgroup_move")).expect("it moves");
        trace[at.saturating_sub(2)..(at + 3).min(trace.len())].to_vec()
    };
    let to = format!("cgroup_move={:x}", ROOT_ID << 32 | A_ID);
    // A sleeping task is on no runqueue that it could be taken off.
    let sleeps = ["dequeue", "quiescent=1", &to, "runnable=1", "enqueue=1"];
    assert_eq!(around("sleeps"), sleeps, "{}", run.log());
    let waits = [
        format!("dequeue={MOVED:x}"),
        format!("quiescent={MOVED:x}"),
        to,
        "runnable=e".to_owned(),
        "enqueue=e".to_owned(),
    ];
    assert_eq!(around("waits"), waits, "{}", run.log());
    assert!(run.cpu_ms("waits") > 80, "it still gets its turn: {}", run.log());
}

#[test]
fn one_refusal_takes_back_what_others_were_granted() {
    let pids = process().survives();
    let (first, refused) = (pids.pid("sleeps"), pids.pid("waits"));
    let run = process().set("move_fails_pid", refused).set("move_answer", -1).survives();
    let count = |name: &str| MOVES.iter().map(|op| run.count(name, op)).collect::<Vec<_>>();
    assert_eq!(run.pid("sleeps"), first);
    assert_eq!(count("sleeps"), [1, 0, 1]);
    assert_eq!(count("moves"), [1, 0, 1]);
    assert_eq!(count("waits"), [1, 0, 0]);
    assert_eq!(run.values("moves", "group"), [ROOT_ID << 32 | ROOT_ID], "nobody has moved");
}

#[test]
fn two_simultaneous_moves_take_turns() {
    let base = two().cpus(4).task(repeat("a", [join(A), run(3), join(B), run(2)]).instances(8));
    let run = base.millis(3).survives();
    // No other move begins between one's preparation and its end.
    let moves: Vec<&Call> = run.calls.iter().filter(|call| MOVES.contains(&call.op.as_str())).collect();
    assert!(moves.len() > 100, "{} moves", moves.len());
    for pair in moves.chunks(2).filter(|pair| pair.len() == 2) {
        assert_eq!((pair[0].op.as_str(), pair[1].op.as_str()), ("cgroup_prep_move", "cgroup_move"));
        assert_eq!(pair[0].pid, pair[1].pid);
    }
}

#[test]
fn whatever_is_done_at_once_the_kernel_stays_whole() {
    let step = |act| Step::Cgroup(act);
    let all = |workload: &mut keel_abi::task::Workload| {
        let late = Cgroup { path: "/late".to_owned(), is_there: false, ..workload.cgroups[0].clone() };
        workload.cgroups.push(late);
    };
    let late = CgroupId(3);
    let busy =
        [step(CgroupStep::Make(late)), join_all(late), run_up_to(40), sleep(15), join_all(A), run_up_to(30)];
    let rest =
        [join(B), run_up_to(20), step(CgroupStep::Remove(late)), join(CgroupId::ROOT), Step::Yield, sleep(5)];
    for scheduler in ["cgroups", "../cgroups/shares"] {
        for cpus in [1, 3] {
            let mut base = with(scheduler).cpus(cpus).workload(|workload| workload.cgroups = two().cgroups());
            base = base.workload(all).task(repeat("fork", [Step::Fork(1), sleep(200)]));
            base = base.task(task("short", [join(A), run_up_to(50)]).instances(0));
            for process in 0..4 {
                let steps = busy.iter().chain(&rest).cloned().collect::<Vec<_>>();
                let mut spec = repeat(&format!("p{process}"), steps).instances(4);
                spec.0.process = process;
                base = base.task(spec);
            }
            let run = base.millis(20).survives();
            let moves = run.calls.iter().filter(|call| call.op == "cgroup_move").count();
            assert!(scheduler != "cgroups" || moves > 100, "{moves} moves");
            // A moved task is in the cgroup of its last notification.
            let mut places = std::collections::BTreeMap::new();
            for call in run.calls.iter().filter(|call| call.op == "cgroup_move" || call.op == "born_in") {
                let to = call.value & 0xffff_ffff;
                let from = if call.op == "born_in" { to } else { call.value >> 32 };
                let before = places.insert(call.pid, to);
                assert!(before.is_none_or(|before| before == from), "{call:?}");
            }
        }
    }
}
