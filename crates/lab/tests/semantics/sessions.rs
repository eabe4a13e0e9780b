//! Sessions and autogroups: which tasks begin one, which are forked into one, and that a scheduler can read them.

use crate::harness::*;
use keel_abi::task::{Step, Workload};

/// Session and autogroup as the scheduler reports them.
fn reported(run: &Run, name: &str, op: &str) -> Vec<(u32, u32)> {
    run.values(name, op).iter().map(|value| ((value >> 32) as u32, *value as u32)).collect()
}

fn in_session(mut spec: Spec, session: u32, process: u32) -> Spec {
    (spec.0.session, spec.0.process) = (session, process);
    spec
}

#[test]
fn a_root_process_is_in_the_first_session_unless_it_has_another() {
    let pause = [run(100), sleep(1000)];
    let run = with("sessions")
        .millis(20)
        .task(task("plain", pause.clone()))
        .task(in_session(task("a", pause.clone()), 7, 1))
        .task(in_session(task("a-too", pause.clone()), 7, 2))
        .task(in_session(task("b", pause), 3, 3))
        .survives();
    let (a, b) = (run.pid("a"), run.pid("b"));
    assert_eq!(reported(&run, "plain", "born_in"), [(0, 0)]);
    // The first task begins it.
    assert_eq!(reported(&run, "a", "born_in"), [(a, 1)]);
    assert_eq!(reported(&run, "a-too", "born_in"), [(a, 1)]);
    assert_eq!(reported(&run, "b", "born_in"), [(b, 2)]);
    assert_eq!(reported(&run, "b", "session")[0], (b, 2));
}

/// On a machine without autogroups, a session still exists, and all tasks have the first one's autogroup.
#[test]
fn without_autogroups_all_sessions_show_the_first_ones() {
    let mut machine = keel_lab::machines::of_cpus(2);
    machine.autogroup = false;
    let steps =
        [run(100), sleep(1000), Step::Setsid, sleep(1000), Step::AutogroupNice(5), run(100), sleep(1000)];
    let run = with("sessions")
        .on(machine)
        .millis(20)
        .task(in_session(task("leads", [run(100), sleep(1000)]), 7, 1))
        .task(task("later", steps))
        .survives();
    assert_eq!(reported(&run, "leads", "born_in"), [(run.pid("leads"), 0)]);
    assert_eq!(reported(&run, "later", "session")[..2], [(0, 0), (run.pid("later"), 0)]);
}

#[test]
fn a_session_is_left_by_setsid_and_inherited_by_children() {
    let shell = [Step::Spawn(1), Step::Spawn(2), run(100), sleep(10_000)];
    let daemon =
        [run(100), sleep(1000), Step::Setsid, sleep(1000), Step::Setsid, Step::Spawn(2), sleep(1000)];
    let run = with("sessions")
        .millis(40)
        .task(in_session(task("shell", shell), 1, 0))
        .task(task("daemon", daemon).instances(0))
        .task(task("child", [run(100)]).instances(0))
        .survives();
    let (shell, daemon) = (run.pid("shell"), run.pid("daemon"));
    assert_eq!(reported(&run, "daemon", "born_in"), [(shell, 1)]);
    // The second call is refused.
    let later = reported(&run, "daemon", "session");
    assert_eq!(later[..3], [(shell, 1), (daemon, 2), (daemon, 2)]);
    let children: Vec<_> = run.calls.iter().filter(|c| c.op == "born_in").map(|c| (c.pid, c.value)).collect();
    let of_children: Vec<u64> =
        children.iter().filter(|(pid, _)| run.pids("child").contains(pid)).map(|(_, value)| *value).collect();
    assert_eq!(of_children, [u64::from(shell) << 32 | 1, u64::from(daemon) << 32 | 2]);
    // A task that leads one from the start cannot change it either.
    assert_eq!(reported(&run, "shell", "session")[0], (shell, 1));
}

#[test]
fn threads_are_in_their_processs_session() {
    let short = run(100);
    let leader = [Step::Fork(1), run(100), sleep(2000), Step::Setsid, sleep(20_000)];
    let run = with("sessions")
        .millis(20)
        .task(task("leader", leader))
        .task(task("thread", [run(100), sleep(5000), run(100), sleep(1000)]).instances(0))
        .survives();
    let leader = run.pid("leader");
    assert_eq!(reported(&run, "thread", "born_in"), [(0, 0)]);
    assert_eq!(reported(&run, "thread", "session")[..2], [(0, 0), (leader, 1)]);
    // A task that calls it takes the whole process along.
    let thread = [short.clone(), sleep(1000), Step::Setsid, sleep(1000)];
    let leader = [Step::Fork(1), sleep(5000), short.clone(), sleep(1000)];
    let run = with("sessions")
        .millis(20)
        .task(task("leader", leader))
        .task(task("thread", thread).instances(0))
        .survives();
    let leader = run.pid("leader");
    assert_eq!(reported(&run, "leader", "session")[..2], [(0, 0), (leader, 1)]);
}

#[test]
fn joined_workloads_begin_in_sessions_of_their_own() {
    let part = |name: &str| {
        let pause = [run(100), sleep(1000)];
        let tasks = vec![task(name, pause.clone()).0, in_session(task("other", pause), 1, 1).0];
        Workload { tasks, ..Workload::default() }
    };
    let parts = ["make", "R"].map(part).to_vec();
    let joined = keel_lab::workloads::join("make+R", parts).unwrap_or_else(|e| panic!("{e}"));
    let run = with("sessions").millis(20).workload(|w| *w = joined).survives();
    for (name, autogroup) in [("make", 1), ("other", 2), ("R", 3), ("other#2", 4)] {
        assert_eq!(reported(&run, name, "born_in"), [(run.pid(name), autogroup)], "{name}");
    }
}

#[test]
fn kernel_threads_are_in_none_of_the_workloads() {
    let mut kthread = in_session(task("kworker", [run(100), sleep(1000)]), 5, 1);
    kthread.0.kthread = true;
    let run = with("sessions").millis(10).task(kthread).survives();
    assert_eq!(reported(&run, "kworker", "born_in"), [(0, 0)]);
}
