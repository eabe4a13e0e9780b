//! Shows `/proc/PID`: the tasks of the simulated machine, including the program itself.

use super::Tree;
use super::kernel::{mountinfo, mounts};
use super::ranges;
use crate::ProgramError;
use crate::usage::TICK_NS;
use keel_abi::companion::TaskNow;
use keel_abi::{CpuSet, Instant, UPTIME};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const ROOT: &str = "/proc";
/// `PF_KTHREAD`.
const KERNEL_THREAD: u32 = 0x0020_0000;
/// `/proc/PID/stat` has this many fields about memory and signals before the signal that is sent to the parent at exit.
const NOT_SHOWN: usize = 12;
/// The fields after the policy, which are about delays, guests and memory.
const LAST_NOT_SHOWN: usize = 11;

/// A process: its first thread, the numbers of all of its threads, and its command line.
pub(crate) struct Process {
    pub(crate) first: TaskNow,
    pub(crate) threads: Vec<i32>,
    pub(crate) line: Vec<u8>,
}

impl Tree {
    /// Shows exactly these processes in `/proc`. Their files are created at the first access.
    pub(crate) fn show_processes(&mut self, all: &BTreeSet<i32>) -> Result<(), ProgramError> {
        let before = std::mem::replace(&mut self.processes, all.clone());
        for gone in before.difference(all) {
            self.store.remove_folder(&format!("{ROOT}/{gone}"));
        }
        for new in all.difference(&before) {
            self.make_folder(&format!("{ROOT}/{new}"))?;
        }
        Ok(())
    }

    /// Shows the process with this number, or that it does not exist.
    pub(crate) fn show_process(&mut self, pid: i32, process: Option<&Process>) -> Result<(), ProgramError> {
        let folder = format!("{ROOT}/{pid}");
        let Some(process) = process else {
            self.store.remove_folder(&folder);
            self.processes.remove(&pid);
            self.threads.remove(&pid);
            return Ok(());
        };
        self.processes.insert(pid);
        self.write_task(&folder, &process.first, process)?;
        let before = self.threads.insert(pid, process.threads.iter().copied().collect());
        for gone in before.unwrap_or_default().iter().filter(|tid| !process.threads.contains(tid)) {
            self.store.remove_folder(&format!("{folder}/task/{gone}"));
        }
        for tid in &process.threads {
            self.make_folder(&format!("{folder}/task/{tid}"))?;
        }
        Ok(())
    }

    /// Shows the program's mounts: those of the machine.
    pub(crate) fn show_mounts(&mut self, pid: i32) -> Result<(), ProgramError> {
        self.write(&format!("{ROOT}/{pid}/mounts"), mounts())?;
        self.write(&format!("{ROOT}/{pid}/mountinfo"), mountinfo())
    }

    /// Shows a thread of a process.
    pub(crate) fn show_thread(&mut self, thread: &TaskNow, process: &Process) -> Result<(), ProgramError> {
        let folder = format!("{ROOT}/{}/task/{}", thread.process, thread.pid);
        self.write_task(&folder, thread, process)
    }

    fn write_task(&mut self, folder: &str, task: &TaskNow, process: &Process) -> Result<(), ProgramError> {
        let threads = process.threads.len();
        self.write(&format!("{folder}/stat"), stat(task, threads))?;
        self.write(&format!("{folder}/status"), status(task, threads))?;
        self.write(&format!("{folder}/comm"), format!("{}\n", task.name))?;
        self.write(&format!("{folder}/cmdline"), &process.line)?;
        let cgroup = if task.cgroup.is_empty() { "/" } else { &task.cgroup };
        self.write(&format!("{folder}/cgroup"), format!("0::{cgroup}\n"))
    }
}

/// What the tree shows about tasks.
pub(super) type Threads = BTreeMap<i32, BTreeSet<i32>>;

/// Returns the process and the thread of a path below `/proc`, if it names any: `/proc/7/stat`, `/proc/7/task/8/comm`.
pub(crate) fn named(path: &str) -> Option<(i32, Option<i32>)> {
    let mut parts = path.strip_prefix(ROOT)?.strip_prefix('/')?.split('/');
    let process = parts.next()?.parse().ok()?;
    let thread = match (parts.next(), parts.next()) {
        (Some("task"), Some(thread)) => thread.parse().ok(),
        _ => None,
    };
    Some((process, thread))
}

fn state(task: &TaskNow) -> &'static str {
    match task.state {
        'R' => "R (running)",
        'Z' => "Z (zombie)",
        _ => "S (sleeping)",
    }
}

/// `/proc/PID/stat`. The simulated kernel does not distinguish time in the kernel from a task's own, and has no memory
/// figures.
fn stat(task: &TaskNow, threads: usize) -> String {
    let TaskNow { pid, name, state, parent, process, nice, policy, .. } = task;
    let began = if task.began == Instant::NEVER { 0 } else { task.began.as_ns() };
    let start = (UPTIME.as_ns() + began) / TICK_NS;
    let user = task.cpu_time.as_ns() / TICK_NS;
    let flags = if task.is_kernel_thread { KERNEL_THREAD } else { 0 };
    let priority = policy.priority(*nice) - 100;
    let (rt, number, cpu) = (policy.rt_priority(), policy.number(), task.cpu.0);
    let mut text = format!(
        "{pid} ({name}) {state} {parent} {process} {process} 0 -1 {flags} 0 0 0 0 {user} 0 0 0 {priority} {nice} \
         {threads} 0 {start} 0 0 18446744073709551615"
    );
    text += &" 0".repeat(NOT_SHOWN);
    let _ = write!(text, " 17 {cpu} {rt} {number}");
    text + &" 0".repeat(LAST_NOT_SHOWN) + "\n"
}

/// `/proc/PID/status`. All tasks belong to root, as the program does.
fn status(task: &TaskNow, threads: usize) -> String {
    let TaskNow { pid, name, parent, process, cpus, .. } = task;
    let state = state(task);
    let none = "0000000000000000";
    format!(
        "Name:\t{name}\nUmask:\t0022\nState:\t{state}\nTgid:\t{process}\nNgid:\t0\nPid:\t{pid}\nPPid:\t{parent}\n\
         TracerPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nFDSize:\t64\nGroups:\t \nThreads:\t{threads}\n\
         SigQ:\t0/0\nSigPnd:\t{none}\nShdPnd:\t{none}\nSigBlk:\t{none}\nSigIgn:\t{none}\nSigCgt:\t{none}\n\
         CapInh:\t{none}\nCapPrm:\t{none}\nCapEff:\t{none}\nCapBnd:\t{none}\nCapAmb:\t{none}\nNoNewPrivs:\t0\n\
         Seccomp:\t0\nCpus_allowed:\t{}\nCpus_allowed_list:\t{}\n",
        words(cpus),
        ranges(cpus.iter()),
    )
}

/// Returns a mask as the kernel prints it: words of 32 bits, the highest first.
pub(super) fn words(cpus: &CpuSet) -> String {
    let most = cpus.iter().last().map_or(0, |cpu| cpu.index());
    let mut words = vec![0_u32; most / 32 + 1];
    cpus.iter().for_each(|cpu| words[cpu.index() / 32] |= 1 << (cpu.index() % 32));
    let words: Vec<String> = words.iter().rev().map(|word| format!("{word:08x}")).collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::task::Policy;
    use keel_abi::{CpuId, Span};

    #[test]
    fn paths_name_processes_and_threads() {
        let check =
            |path: &str, expected: Option<(i32, Option<i32>)>| assert_eq!(named(path), expected, "{path}");
        check("/proc", None);
        check("/proc/stat", None);
        check("/proc/7", Some((7, None)));
        check("/proc/7/comm", Some((7, None)));
        check("/proc/7/task", Some((7, None)));
        check("/proc/7/task/8/comm", Some((7, Some(8))));
        check("/sys/7", None);
    }

    #[test]
    fn a_task_has_the_kernels_fields() {
        let task = TaskNow {
            pid: 8,
            process: 7,
            parent: 1,
            name: "a b) c".into(),
            state: 'S',
            is_kernel_thread: false,
            policy: Policy::Fifo(5),
            nice: -3,
            cpu: CpuId(2),
            cpus: [0, 1, 33].into_iter().map(CpuId).collect(),
            cpu_time: Span::from_ms(1234),
            began: Instant::NEVER,
            cgroup: String::new(),
        };
        let line = stat(&task, 2);
        assert!(line.starts_with("8 (a b) c) S 1 7 7 "), "{line}");
        let fields: Vec<&str> = line.rsplit_once(')').unwrap().1.split_whitespace().collect();
        // Fields are numbered from 1, and two come before the state.
        let check = |number: usize, expected: &str| {
            assert_eq!(fields[number - 3], expected, "field {number}: {line}")
        };
        assert_eq!(fields.len(), 50);
        check(14, "123");
        check(18, "-6");
        check(19, "-3");
        check(20, "2");
        check(39, "2");
        check(40, "5");
        check(41, "1");
        let text = status(&task, 2);
        for expected in
            ["Tgid:\t7\n", "Pid:\t8\n", "Cpus_allowed:\t00000002,00000003\n", "Cpus_allowed_list:\t0-1,33\n"]
        {
            assert!(text.contains(expected), "{text}");
        }
    }
}
