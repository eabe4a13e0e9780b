//! `lat-fork`, `lat-exec`, `lat-shell`: lmbench's lat_proc, which starts a child and waits for it.
//!
//! Estimates, the same on every machine: lat_proc has about 100 pages (400 KiB, the C library's
//! included). After a fork the child writes its stack, the library's data and the linkage tables: 8 pages before
//! it exits or execs. The parent does nothing but wait: 3 pages, counted with a program that does the same (faults a round, by
//! getrusage(2)); a shell, which keeps its books, as many as its child. A small dynamic program touches 60 pages
//! until it has said hello, a shell 120. What the shell itself does, start-up files and all, is fitted on lmbench's
//! own row for it: 4018 µs, less two programs started.

use super::{again, run_us, task};
use keel_abi::task::{Step, TaskSpec, Workload};

/// Pages of lat_proc.
const PAGES: u32 = 100;
/// Pages that a child writes first, and a shell that has forked.
const WRITTEN: u32 = 8;
/// Pages that lat_proc writes on its way into waiting.
const WRITTEN_WAITING: u32 = 3;
/// Pages that a small program faults in.
const HELLO_PAGES: u32 = 60;
/// What a small program and its dynamic linker compute.
const HELLO_US: u64 = 150;
/// Pages that a shell faults in.
const SHELL_PAGES: u32 = 120;
/// What a shell computes.
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

/// A child that becomes another program.
fn program(pages: u32, us: u64) -> Vec<Step> {
    vec![Step::Write(WRITTEN), Step::Exec, Step::Write(pages), run_us(us)]
}

/// The parent and its child; the child may have one too.
fn workload(unit: &str, child: Vec<Step>, grandchild: Option<Vec<Step>>) -> Workload {
    let parent =
        vec![Step::Spawn(1), Step::Write(WRITTEN_WAITING), Step::WaitChild, Step::Count, again(0, None, 0)];
    let parent = TaskSpec { pages: PAGES, ..task("lat_proc", 1, parent) };
    let children = [Some(child), grandchild].into_iter().flatten().zip(["child", "grandchild"]);
    let children = children.map(|(steps, name)| task(name, 0, steps));
    let tasks = std::iter::once(parent).chain(children).collect();
    Workload { tasks, unit: unit.to_owned(), ..Workload::default() }
}
