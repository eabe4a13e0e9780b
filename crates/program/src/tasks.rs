//! Shows the program the tasks and cgroups. The tree is updated before each access.

use crate::ProgramError;
use crate::desk::Desk;
use crate::program::Program;
use crate::tree::tasks::{Process, named};
use keel_abi::companion::{TaskNow, View};
use keel_abi::task::Policy;
use keel_abi::{CpuId, CpuSet, Instant, Span};
use std::collections::BTreeSet;

impl Program {
    /// Updates the tree at the path that the call accesses.
    pub(crate) fn show_what_is_there(
        &mut self,
        number: i64,
        a: [u64; 6],
        desk: &dyn Desk,
    ) -> Result<(), ProgramError> {
        let Some(path) = self.looked_at(number, a) else { return Ok(()) };
        if self.tree.is_in_cgroups(&path) {
            return match desk.view() {
                Some(view) => self.show_cgroups(view),
                None => Ok(()),
            };
        }
        if path == "/proc" {
            let mut all: BTreeSet<i32> =
                desk.view().map_or_else(BTreeSet::new, |view| view.processes().into_keys().collect());
            all.insert(self.machine.pid);
            return self.tree.show_processes(&all);
        }
        match named(&path) {
            Some((pid, thread)) => self.show_process(pid, thread, desk.view()),
            None => Ok(()),
        }
    }

    /// Shows the existing cgroups. Watchers of their folders are notified of changes.
    pub(crate) fn show_cgroups(&mut self, view: &dyn View) -> Result<(), ProgramError> {
        let changes = self.tree.show_cgroups(view.cgroups())?;
        self.tell_watchers(&changes);
        Ok(())
    }

    /// Returns the path that the call accesses.
    fn looked_at(&self, number: i64, a: [u64; 6]) -> Option<String> {
        let path = match number {
            libc::SYS_open
            | libc::SYS_stat
            | libc::SYS_lstat
            | libc::SYS_access
            | libc::SYS_statfs
            | libc::SYS_readlink
            | libc::SYS_rmdir => self.path(libc::AT_FDCWD, a[0]),
            libc::SYS_openat
            | libc::SYS_newfstatat
            | libc::SYS_statx
            | libc::SYS_faccessat
            | libc::SYS_faccessat2
            | libc::SYS_readlinkat
            | libc::SYS_name_to_handle_at => self.path(a[0] as i32, a[1]),
            libc::SYS_inotify_add_watch => self.path(libc::AT_FDCWD, a[1]),
            _ => return None,
        };
        path.ok()
    }

    fn show_process(
        &mut self,
        pid: i32,
        thread: Option<i32>,
        view: Option<&dyn View>,
    ) -> Result<(), ProgramError> {
        let process = if pid == self.machine.pid {
            Some(self.own_process(view))
        } else {
            view.and_then(|view| process(view, pid))
        };
        self.tree.show_process(pid, process.as_ref())?;
        if pid == self.machine.pid {
            self.tree.show_mounts(pid)?;
        }
        let (Some(process), Some(tid)) = (process, thread) else { return Ok(()) };
        if !process.threads.contains(&tid) {
            return Ok(());
        }
        // The program's own threads are one task of the machine.
        let shown = match view.and_then(|view| view.task(tid)) {
            Some(task) => task,
            None => TaskNow { pid: tid, ..process.first.clone() },
        };
        self.tree.show_thread(&shown, &process)
    }

    /// Returns the program itself.
    fn own_process(&self, view: Option<&dyn View>) -> Process {
        let pid = self.machine.pid;
        let first = view.and_then(|view| view.task(pid)).unwrap_or_else(|| TaskNow {
            pid,
            process: pid,
            parent: 1,
            name: self.name.chars().take(15).collect(),
            state: 'R',
            is_kernel_thread: false,
            policy: Policy::Other,
            nice: 0,
            cpu: CpuId(0),
            cpus: self
                .confined
                .get(&pid)
                .cloned()
                .unwrap_or_else(|| CpuSet::first(self.machine.topology.cpus())),
            cpu_time: Span::from_ns(self.cpu_time_ns()),
            began: Instant::NEVER,
            cgroup: String::new(),
        });
        // The caller is not in the table while its call is answered.
        let mut threads: BTreeSet<i32> = self.threads.keys().copied().collect();
        threads.extend(self.caller);
        Process { first, threads: threads.into_iter().collect(), line: self.command_line() }
    }

    /// Returns the program's arguments, from the host.
    fn command_line(&self) -> Vec<u8> {
        std::fs::read(format!("/proc/{}/cmdline", self.host.pid)).unwrap_or_default()
    }
}

/// Returns a process of the machine, by the pid of its first thread or, as the kernel allows, of another.
fn process(view: &dyn View, pid: i32) -> Option<Process> {
    let first = view.task(pid)?;
    let threads = view.processes().remove(&first.process)?;
    // A workload has no information about arguments.
    let line = if first.is_kernel_thread { Vec::new() } else { [first.name.as_bytes(), &[0]].concat() };
    Some(Process { first, threads, line })
}
