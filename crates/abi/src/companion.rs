//! The interface between the kernel and a task whose program is opaque to it: the user-space half of a scheduler, which
//! communicates with the loaded object through its maps.

use crate::bpf::Ea;
use crate::cgroup::CgroupNow;
use crate::task::Policy;
use crate::{CpuId, CpuSet, Instant, Span};
use std::collections::BTreeMap;

/// What a companion has just done or does next, and what that costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// It has worked in user mode.
    Work {
        /// The number of instructions.
        insns: u64,
        /// Picoseconds spent waiting for cache lines.
        stall_ps: u64,
    },
    /// It has made a system call on a map.
    Call {
        /// The BPF helper that does the same.
        helper: &'static str,
        /// Picoseconds spent waiting for cache lines.
        stall_ps: u64,
    },
    /// It runs a program of the loaded object (`BPF_PROG_TEST_RUN`), and continues when [`Companion::ran`] is called.
    Run {
        /// The function's address, as programs see it.
        function: u64,
        /// Its context, which it may change.
        context: Ea,
    },
    /// It has printed a line.
    Print(String),
    /// It calls `sched_yield()`.
    Yield,
    /// It confines itself to CPUs (`sched_setaffinity()`), at least one of which the machine has.
    Confine(CpuSet),
    /// It sleeps.
    Sleep(Span),
    /// It cannot continue, so the run is over. The text is the reason.
    Fail(String),
}

/// A task's current state, as `/proc` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskNow {
    /// Its pid.
    pub pid: i32,
    /// The pid of its process, which is that of the process's first thread.
    pub process: i32,
    /// The pid of the process's parent; 0 for the first process.
    pub parent: i32,
    /// Its name, of up to 15 bytes.
    pub name: String,
    /// The letter of its state: `R`, `S` or `Z`.
    pub state: char,
    /// Whether it belongs to the kernel and has no program.
    pub is_kernel_thread: bool,
    /// Its policy, with the real-time priority.
    pub policy: Policy,
    /// Its nice value.
    pub nice: i8,
    /// The CPU that it is on, or was on last.
    pub cpu: CpuId,
    /// The CPUs that it may use.
    pub cpus: CpuSet,
    /// Its CPU time.
    pub cpu_time: Span,
    /// When it executed its first step; [`Instant::NEVER`] until then.
    pub began: Instant,
    /// Its cgroup's path from the root: `/a/b`; empty for the root.
    pub cgroup: String,
}

/// What a companion can find out about its machine.
pub trait View {
    /// Returns the cgroups, parents first.
    fn cgroups(&self) -> Vec<CgroupNow>;
    /// Returns the processes, each with its threads, in the order of their pids.
    fn processes(&self) -> BTreeMap<i32, Vec<i32>>;
    /// Returns the task with this pid.
    fn task(&self, pid: i32) -> Option<TaskNow>;
}

/// A task that communicates with the object under test.
pub trait Companion<W> {
    /// Called before it continues: for each CPU, whether it is online and how long it has been idle so far.
    fn see_cpus(&mut self, _cpus: &mut dyn Iterator<Item = (bool, Span)>) {}

    /// Called before it continues: what has happened to the scheduler so far, as `scx_bpf_events()` counts it. Each
    /// event has a name and a count.
    fn see_events(&mut self, _events: &mut dyn Iterator<Item = (&'static str, u64)>) {}

    /// Returns whether it needs something from the run's owner before it continues.
    fn asks(&self) -> bool {
        false
    }

    /// Continues on `cpu` at `now`. It changes the world at once; the time that this takes passes afterwards.
    fn go_on(&mut self, world: &mut W, cpu: CpuId, now: Instant, view: &dyn View) -> Act;

    /// Called when the program of [`Act::Run`] has returned. `None` if the scheduler was about to be unloaded, so that
    /// the program was not run.
    fn ran(&mut self, _world: &mut W, _value: Option<u64>) {}
}
