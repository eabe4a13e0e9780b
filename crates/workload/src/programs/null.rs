//! `null`: lmbench's lat_syscall null, which makes a system call that does nothing.

use super::{again, task};
use keel_abi::task::{Step, Workload};

pub(super) fn workload() -> Workload {
    let steps = vec![Step::Syscall, Step::Count, again(0, None, 0)];
    Workload { tasks: vec![task("lat_syscall", 1, steps)], unit: "calls".to_owned(), ..Workload::default() }
}
