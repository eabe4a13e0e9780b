//! Implements `execve(2)`: a program may execute itself again, as some do to load their scheduler again. It keeps its
//! task, its clock, and the descriptors that are not marked for closing.

use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::fds::{Kind, Link};
use crate::program::Program;
use crate::thread::Thread;
use crate::timers::Timers;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A path that the program can use for its own file.
const ITSELF: &str = "/proc/self/exe";

impl Program {
    /// `execve`. The arguments and variables are in the program's memory.
    pub(crate) fn execute(&mut self, t: &mut Thread, a: [u64; 6]) -> Result<Answer, ProgramError> {
        let path = match self.path(libc::AT_FDCWD, a[0]) {
            Ok(path) => path,
            Err(errno) => return Ok(error(errno)),
        };
        let own = fs::read_link(format!("/proc/{}/exe", self.host.pid)).unwrap_or_default();
        if !is_same(&path, &own) {
            self.refused.insert("executing another program in its place".into());
            return Ok(error(libc::EACCES));
        }
        let Some(place) = self.show_path(&own.to_string_lossy()) else {
            return Ok(error(libc::ENAMETOOLONG));
        };
        match t.execute(&mut self.host, [place, a[1], a[2], a[3], a[4], a[5]])? {
            Some(errno) => Ok(Answer::Value(errno)),
            None => {
                self.become_anew(t.own)?;
                Ok(Answer::Begins)
            }
        }
    }

    /// Handles the replacement of the process: its threads and memory are gone, and so are the descriptors marked for
    /// closing.
    fn become_anew(&mut self, caller: i32) -> Result<(), ProgramError> {
        let pid = self.machine.pid;
        self.threads = BTreeMap::from([(pid, Thread::new(&self.host, self.host.pid, pid)?)]);
        self.ready = VecDeque::from([pid]);
        self.waiting.clear();
        self.clear_at.clear();
        self.timers = Timers::default();
        self.page = 0;
        let cpus = self.confined.remove(&caller);
        self.confined = cpus.map(|cpus| (pid, cpus)).into_iter().collect();
        // Programs of root start with all capabilities.
        self.capabilities = [0xff; 24];
        for link in self.close_gone()? {
            let event = self.unlink(link)?;
            self.pending.push_back(event);
        }
        self.stats.forget_server();
        self.relay.forget_server();
        self.bpf.unmap();
        let keeps_some = self.fds.any(|kind| matches!(kind, Kind::Map(_) | Kind::Prog(_)));
        if !self.bpf.is_attached && !keeps_some && self.bpf.pins.is_empty() {
            self.bpf.begin_again();
        }
        self.hide_host()
    }

    /// Closes the descriptors that the process no longer has. Returns the links that nothing else keeps.
    fn close_gone(&mut self) -> Result<Vec<Link>, ProgramError> {
        let listed = fs::read_dir(format!("/proc/{}/fd", self.host.pid));
        let listed =
            listed.map_err(|e| ProgramError::Host(format!("its descriptors cannot be listed: {e}")))?;
        let names = listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let open: BTreeSet<i32> = names.collect();
        let mut links = Vec::new();
        for fd in self.fds.numbers().into_iter().filter(|fd| !open.contains(fd)) {
            if let Some(Kind::Link(link)) = self.fds.close(fd) {
                links.push(link);
            }
        }
        Ok(links)
    }
}

/// Returns whether the path leads to this file.
fn is_same(path: &str, file: &PathBuf) -> bool {
    let identity = |at: &PathBuf| fs::metadata(at).ok().map(|data| (data.dev(), data.ino()));
    path == ITSELF || identity(&path.into()).is_some_and(|found| identity(file) == Some(found))
}
