//! Constants of the file format, for the writer and the reader; docs/reference/trace-format.md describes the format.

use crate::{Chooser, Timer, Why};
use keel_abi::scx::ExitKind;
use keel_abi::{CpuId, TaskId};

pub(crate) const MAGIC: &[u8; 7] = b"KEELTRC";
/// The version that is written. Older ones can be read as well: 8 has no requests of tasks; 7 also has no pipe
/// transfers; 6 also has no groups and no calls in which tasks waited; 4 has no acts of tasks; 3 has no throttling; 2
/// has no priorities and mutexes; 1 has no decisions.
pub(crate) const VERSION: u8 = 9;
/// The oldest version that is read.
pub(crate) const OLDEST: u8 = 1;

/// In a record's first byte: the kind.
pub(crate) const KIND: u8 = 0x1f;
/// In a record's first byte: the CPU is that of the record before.
pub(crate) const SAME_CPU: u8 = 0x20;
/// In a record's first byte: the instant is that of the record before.
pub(crate) const SAME_TIME: u8 = 0x40;
/// In a switch's first byte: the previous task is the one from the CPU's last switch.
pub(crate) const SAME_PREV: u8 = 0x80;

/// The maximum length of a text, in bytes.
pub(crate) const MAX_TEXT: usize = 64 * 1024;
/// The maximum number of nodes of a machine.
pub(crate) const MAX_NODES: u64 = 1024;

/// Kinds of records. A switch's kind also contains the reason.
pub(crate) mod kind {
    pub(crate) const SWITCH: u8 = 0; // ..= 4, in the order of `WHYS`
    pub(crate) const WAKEUP: u8 = 5;
    pub(crate) const FORK: u8 = 6;
    pub(crate) const EXIT: u8 = 7;
    pub(crate) const MIGRATE: u8 = 8;
    pub(crate) const PLACED: u8 = 9;
    pub(crate) const QUEUED: u8 = 10;
    pub(crate) const UNQUEUED: u8 = 11;
    pub(crate) const HELD: u8 = 12;
    pub(crate) const KICK: u8 = 13;
    pub(crate) const CALLBACK: u8 = 14;
    pub(crate) const WAIT_RUNQUEUE: u8 = 15;
    pub(crate) const WAIT_DSQ: u8 = 16;
    pub(crate) const WAIT_BPF: u8 = 17;
    pub(crate) const ONLINE: u8 = 18;
    pub(crate) const OFFLINE: u8 = 19;
    pub(crate) const COUNT: u8 = 20;
    pub(crate) const BYPASS_ON: u8 = 21;
    pub(crate) const BYPASS_OFF: u8 = 22;
    pub(crate) const START: u8 = 23;
    pub(crate) const TASK: u8 = 24;
    pub(crate) const SCHEDULER_EXIT: u8 = 25;
    pub(crate) const END: u8 = 26;
    pub(crate) const LOST: u8 = 27;
    pub(crate) const POLICY: u8 = 28;
    pub(crate) const PRIORITY: u8 = 29;
    pub(crate) const AWAITS: u8 = 30;
    /// Its second byte is one of [`super::more`].
    pub(crate) const MORE: u8 = 31;
}

/// Second bytes of a record of kind [`kind::MORE`].
pub(crate) mod more {
    pub(crate) const THROTTLED: u8 = 0;
    pub(crate) const UNTHROTTLED: u8 = 1;
    pub(crate) const RESERVED: u8 = 2;
    pub(crate) const UNRESERVED: u8 = 3;
    pub(crate) const UNKNOWN: u8 = 4;
    pub(crate) const CLOCK: u8 = 5;
    pub(crate) const QUEUE: u8 = 6;
    /// Like the first two, with the group.
    pub(crate) const GROUP_THROTTLED: u8 = 7;
    pub(crate) const GROUP_UNTHROTTLED: u8 = 8;
    pub(crate) const CHANCE: u8 = 9;
    pub(crate) const WORKED: u8 = 10;
    pub(crate) const WAKES: u8 = 11;
    pub(crate) const WAKES_SYNC: u8 = 12;
    pub(crate) const WAITS: u8 = 13;
    pub(crate) const SLEEPS: u8 = 14; // ..= 16, in the order of `TIMERS`
    pub(crate) const BEGINS: u8 = 17;
    pub(crate) const FORKS_THREAD: u8 = 18;
    pub(crate) const FORKS_PROCESS: u8 = 19;
    pub(crate) const YIELDS: u8 = 20;
    pub(crate) const EXITS: u8 = 21;
    pub(crate) const MEMBER: u8 = 22;
    pub(crate) const MEMBER_KTHREAD: u8 = 23;
    pub(crate) const GROUP: u8 = 24;
    pub(crate) const SCHEDULED: u8 = 25;
    pub(crate) const WAITED: u8 = 26;
    pub(crate) const PIPED: u8 = 27; // ..= 29, in the order of `Piping::ALL`
    /// Its third byte is one of [`super::request`].
    pub(crate) const ASKS: u8 = 30;
    pub(crate) const ASKS_OUTSIDE: u8 = 31;
}

/// Which request a record of [`more::ASKS`] contains.
pub(crate) mod request {
    pub(crate) const NICE: u8 = 0;
    pub(crate) const CPUS: u8 = 1;
    pub(crate) const POLICY: u8 = 2;
    pub(crate) const OFFLINE: u8 = 3;
    pub(crate) const ONLINE: u8 = 4;
    pub(crate) const SLICE: u8 = 5;
    pub(crate) const HINT: u8 = 6;
    pub(crate) const MIGRATE_DISABLE: u8 = 7;
    pub(crate) const MIGRATE_ENABLE: u8 = 8;
    pub(crate) const EXEC: u8 = 9;
    pub(crate) const SETSID: u8 = 10;
    pub(crate) const AUTOGROUP_NICE: u8 = 11;
    pub(crate) const CGROUP_JOIN: u8 = 12;
    pub(crate) const CGROUP_JOIN_PROCESS: u8 = 13;
    pub(crate) const CGROUP_MAKE: u8 = 14;
    pub(crate) const CGROUP_REMOVE: u8 = 15;
    pub(crate) const CGROUP_WEIGHT: u8 = 16;
    pub(crate) const CGROUP_IDLE: u8 = 17;
    pub(crate) const CGROUP_NOT_IDLE: u8 = 18;
    pub(crate) const CGROUP_BANDWIDTH: u8 = 19;
    pub(crate) const RUN_FOR: u8 = 20;
}

/// In a record of [`more::GROUP`]: `cpu.idle` is set.
pub(crate) const GROUP_IDLE: u8 = 1;
/// In a record of [`more::GROUP`]: it belongs to a session.
pub(crate) const GROUP_SESSION: u8 = 2;
/// In a record of [`more::UNKNOWN`]: which CPUs tasks may use is unknown.
pub(crate) const NO_AFFINITY: u8 = 1;
/// In a record of [`more::UNKNOWN`]: throttling is unknown.
pub(crate) const NO_THROTTLING: u8 = 2;

pub(crate) const WHYS: [Why; 5] = [Why::WasIdle, Why::Preempted, Why::Yielded, Why::Blocked, Why::Exited];

pub(crate) const TIMERS: [Timer; 3] = [Timer::Relative, Timer::Absolute, Timer::Deferrable];

pub(crate) const CHOOSERS: [Chooser; 5] =
    [Chooser::SelectCpu, Chooser::Default, Chooser::Fallback, Chooser::OnlyOne, Chooser::Dispatch];

pub(crate) const EXITS: [ExitKind; 8] = [
    ExitKind::None,
    ExitKind::Done,
    ExitKind::Unreg,
    ExitKind::UnregBpf,
    ExitKind::UnregKern,
    ExitKind::Error,
    ExitKind::ErrorBpf,
    ExitKind::ErrorStall,
];

/// Returns the index of `wanted` in one of the tables above, each of which contains every value.
pub(crate) fn index_in<T: PartialEq>(table: &[T], wanted: &T) -> u8 {
    table.iter().position(|value| value == wanted).unwrap_or_default() as u8
}

/// State that writer and reader both keep, so that records can omit it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) at: u64,
    pub(crate) cpu: CpuId,
    running: Vec<TaskId>,
}

impl Memory {
    /// Returns the task that runs on `cpu` since its last switch.
    pub(crate) fn running(&mut self, cpu: CpuId) -> &mut TaskId {
        if cpu.index() >= self.running.len() {
            self.running.resize(cpu.index() + 1, TaskId::IDLE);
        }
        &mut self.running[cpu.index()]
    }
}

/// Encodes a number: seven bits per byte, the lowest first. The topmost bit means that more bytes follow.
#[inline]
pub(crate) fn put_number(mut n: u64, mut byte: impl FnMut(u8)) {
    while n >= 0x80 {
        byte(n as u8 | 0x80);
        n >>= 7;
    }
    byte(n as u8);
}

/// Returns a task as a number: 0 for the idle task.
#[inline]
pub(crate) fn number_of(task: TaskId) -> u64 {
    u64::from(task.0.wrapping_add(1))
}

/// Encodes a signed number so that small magnitudes become small numbers.
pub(crate) const fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

/// Returns the inverse of [`zigzag`].
pub(crate) const fn unzigzag(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}
