//! Passes a real-time hint about a task to the loaded scheduler, through its map `hints`
//! (`schedulers/include/hints.h`): task storage, whose key in user space is a pidfd.

use crate::errors::LiveError;
use crate::host::{Host, State};
use libbpf_rs::query::MapInfoIter;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};
use rustix::process::{PidfdFlags, getpid, pidfd_open};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// How a real-time task shares its CPU with others of the same priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Policy {
    /// It runs until it yields.
    Fifo = 1,
    /// It takes turns with others of its priority.
    RoundRobin = 2,
}

/// The hint for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The priority, 1 to 99. A larger value is more urgent.
    pub priority: u32,
    /// How it shares its CPU with others of the same priority.
    pub policy: Policy,
}

impl Hint {
    /// Returns the hint as a `struct hint`.
    fn bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.priority.to_ne_bytes());
        bytes[4..].copy_from_slice(&(self.policy as u32).to_ne_bytes());
        bytes
    }
}

/// Gives the loaded scheduler a hint about this process's first thread. Tasks that it forks and programs that it
/// executes inherit the hint. Returns the scheduler's name.
///
/// # Errors
/// No scheduler is loaded, it accepts no hints, or this process is not allowed to give one.
pub fn give_hint(host: &Host, hint: Hint) -> Result<String, LiveError> {
    let bad = |text: String| Err(LiveError::Hints(text));
    match host.state() {
        None => return Err(LiveError::NoSchedExt),
        Some(State::Enabled) => {}
        Some(_) => return bad("no scheduler is loaded that could accept a hint".to_owned()),
    }
    if !crate::ready::has_sys_admin(host) {
        return bad("giving a scheduler a hint needs root, or the capability CAP_SYS_ADMIN".to_owned());
    }
    let scheduler = host.scheduler().unwrap_or_else(|| "the loaded scheduler".to_owned());
    let maps: Vec<u32> = MapInfoIter::default().filter(is_hints).map(|info| info.id).collect();
    if maps.is_empty() {
        return bad(format!("{scheduler} accepts no hints: it has no task storage map 'hints'"));
    }
    let pidfd = match pidfd_open(getpid(), PidfdFlags::empty()) {
        Ok(pidfd) => pidfd,
        Err(e) => return bad(format!("the kernel gives no pidfd for this process: {e}")),
    };
    let key = pidfd.as_raw_fd().to_ne_bytes();
    // For a moment, there may be a map that no longer belongs to any scheduler. It does no harm.
    for id in maps {
        let reported =
            MapHandle::from_map_id(id).and_then(|map| map.update(&key, &hint.bytes(), MapFlags::ANY));
        if let Err(e) = reported {
            return bad(format!("{scheduler} does not accept the hint: {e}"));
        }
    }
    sleep_and_wake(host);
    Ok(scheduler)
}

/// Sleeps and wakes, because schedulers read the hints of tasks that wake. On a crowded CPU, a task may be preempted on
/// its way to sleep, and its timeout may expire before it sleeps. Then it has not slept, as the kernel's count of its
/// switches shows, and it tries again.
fn sleep_and_wake(host: &Host) {
    const TRIES: u32 = 100;
    let before = sleeps(host);
    for _ in 0..TRIES {
        std::thread::sleep(Duration::from_millis(1));
        if sleeps(host) != before {
            return;
        }
    }
}

/// Returns how often this process's first thread has left its CPU to sleep.
fn sleeps(host: &Host) -> Option<u64> {
    let status = host.text("proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}

fn is_hints(info: &libbpf_rs::query::MapInfo) -> bool {
    info.name == "hints" && info.ty == MapType::TaskStorage && info.value_size == 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::fake;

    #[test]
    fn hints_lie_in_memory_as_the_schedulers_read_them() {
        let hint = Hint { priority: 50, policy: Policy::RoundRobin };
        assert_eq!(hint.bytes(), [50, 0, 0, 0, 2, 0, 0, 0]);
    }

    #[test]
    fn a_hint_without_a_scheduler_is_an_error() {
        let hint = Hint { priority: 1, policy: Policy::Fifo };
        let check = |files: &[(&str, &str)], expected: &str| {
            assert_eq!(give_hint(&fake(files).1, hint).unwrap_err().to_string(), expected);
        };
        check(
            &[("sys/kernel/sched_ext/state", "disabled")],
            "no scheduler is loaded that could accept a hint",
        );
        check(
            &[("sys/kernel/sched_ext/state", "enabled")],
            "giving a scheduler a hint needs root, or the capability CAP_SYS_ADMIN",
        );
        assert_eq!(give_hint(&fake(&[]).1, hint), Err(LiveError::NoSchedExt));
    }
}
