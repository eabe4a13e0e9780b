//! `lat-fork`, `lat-exec`, `lat-shell`: lmbench's lat_proc, which starts a child and waits for it.
//!
//! These are estimates, the same on every machine. lat_proc has about 100 pages (400 KiB, including the C library).
//! After a fork, the child writes to its stack, the library's data and the linkage tables: 8 pages before it exits or
//! calls exec. The parent only waits: 3 pages, counted with a program that does the same (faults per round, by
//! getrusage(2)). A shell, which keeps track of its children, writes as many as its child. A small dynamic program
//! touches 60 pages until it has printed its message, a shell 120. What the shell itself does, including start-up
//! files, is fitted to lmbench's own row for it: 4018 µs, minus two program starts.

use super::{again, run_us, task};
use keel_abi::task::{Step, TaskSpec, Workload};

/// The number of pages of lat_proc.
const PAGES: u32 = 100;
/// The number of pages that a child writes first, and a shell after a fork.
const WRITTEN: u32 = 8;
/// The number of pages that lat_proc writes before it waits.
const WRITTEN_WAITING: u32 = 3;
/// The number of pages that a small program faults in.
const HELLO_PAGES: u32 = 60;
/// How long a small program and its dynamic linker compute, in microseconds.
const HELLO_US: u64 = 150;
/// The number of pages that a shell faults in.
const SHELL_PAGES: u32 = 120;
/// How long a shell computes, in microseconds.
const SHELL_US: u64 = 1700;

pub(super) fn fork() -> Workload {
    workload("forks", vec![Step::Write(WRITTEN)], None)
}

pub(super) fn exec() -> Workload {
    workload("execs", hello(), None)
}

pub(super) fn shell() -> Workload {
    let mut steps = program(SHELL_PAGES, SHELL_US);
    steps.extend([Step::Spawn(2), Step::Write(WRITTEN), Step::WaitChild]);
    workload("shells", steps, Some(hello()))
}

fn hello() -> Vec<Step> {
    program(HELLO_PAGES, HELLO_US)
}

/// Returns the steps of a child that executes another program.
fn program(pages: u32, us: u64) -> Vec<Step> {
    vec![Step::Write(WRITTEN), Step::Exec, Step::Write(pages), run_us(us)]
}

/// Returns the parent and its child, which may have a child too.
fn workload(unit: &str, child: Vec<Step>, grandchild: Option<Vec<Step>>) -> Workload {
    let parent =
        vec![Step::Spawn(1), Step::Write(WRITTEN_WAITING), Step::WaitChild, Step::Count, again(0, None, 0)];
    let parent = TaskSpec { pages: PAGES, ..task("lat_proc", 1, parent) };
    let children = [Some(child), grandchild].into_iter().flatten().zip(["child", "grandchild"]);
    let children = children.map(|(steps, name)| task(name, 0, steps));
    let tasks = std::iter::once(parent).chain(children).collect();
    Workload { tasks, unit: unit.to_owned(), ..Workload::default() }
}
