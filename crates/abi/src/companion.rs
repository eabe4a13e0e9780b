//! The contract between the kernel and a task whose program is opaque to it: the user-space half of a scheduler,
//! which talks to the loaded object through its maps.

use crate::bpf::Ea;
use crate::cgroup::CgroupNow;
use crate::task::Policy;
use crate::{CpuId, CpuSet, Instant, Span};
use std::collections::BTreeMap;

/// What a companion has done, or does next, and what that costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// It has worked in user mode.
    Work {
        /// Instructions.
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
    /// It confines itself to CPUs (`sched_setaffinity()`); at least one of them is the machine's.
    Confine(CpuSet),
    /// It sleeps.
    Sleep(Span),
    /// It cannot continue, so the run is over. The text contains the reason.
    Fail(String),
}

/// A task as `/proc` shows it at some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskNow {
    /// Its own number.
    pub pid: i32,
    /// The number of its process, which is that of the process's first thread.
    pub process: i32,
    /// The number of the process's parent; 0 for the first one.
    pub parent: i32,
    /// Its name, of up to 15 bytes.
    pub name: String,
    /// The letter of its state: `R`, `S` or `Z`.
    pub state: char,
    /// It belongs to the kernel, and has no program.
    pub is_kernel_thread: bool,
    /// Its policy, with the real-time priority.
    pub policy: Policy,
    /// Its nice value.
    pub nice: i8,
    /// The CPU that it is or was on.
    pub cpu: CpuId,
    /// The CPUs that it may use.
    pub cpus: CpuSet,
    /// Its CPU time.
    pub cpu_time: Span,
    /// When it took its first step; [`Instant::NEVER`] until then.
    pub began: Instant,
    /// Its cgroup's path from the root: `/a/b`; empty for the root.
    pub cgroup: String,
}

/// What a companion can find out about its machine.
pub trait View {
    /// The cgroups, parents first.
    fn cgroups(&self) -> Vec<CgroupNow>;
    /// The processes, each with its threads, in the order of their numbers.
    fn processes(&self) -> BTreeMap<i32, Vec<i32>>;
    /// The task with this number.
    fn task(&self, pid: i32) -> Option<TaskNow>;
}

/// A task that talks to the object under test.
pub trait Companion<W> {
    /// Before it goes on: of each CPU whether it is online, and how long it has been idle so far.
    fn see_cpus(&mut self, _cpus: &mut dyn Iterator<Item = (bool, Span)>) {}

    /// What has happened to the scheduler so far, as `scx_bpf_events()` counts it: names and counts.
    fn see_events(&mut self, _events: &mut dyn Iterator<Item = (&'static str, u64)>) {}

    /// Does it want something of the run's owner, before it goes on next?
    fn asks(&self) -> bool {
        false
    }

    /// Goes on, on `cpu` at `now`. What it does to the world is done at once; its time passes afterwards.
    fn go_on(&mut self, world: &mut W, cpu: CpuId, now: Instant, view: &dyn View) -> Act;

    /// The program of [`Act::Run`] has returned; nothing where the scheduler was about to go, so that it was not run.
    fn ran(&mut self, _world: &mut W, _value: Option<u64>) {}
}
