//! `execve(2)`: a program may execute itself again, as some do to load their scheduler once more. It becomes a new
//! process of the host, with the same task, clock and files.

use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::host::Host;
use crate::program::Program;
use crate::thread::Thread;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The program's own file, as it can name it.
const ITSELF: &str = "/proc/self/exe";
/// The most arguments, and the most variables.
const MOST: u64 = 4096;

impl Program {
    /// `execve`: the arguments and variables are in the program's memory.
    pub(crate) fn execute(&mut self, t: &Thread, a: [u64; 6]) -> Result<Answer, ProgramError> {
        let (path, argv, env) = match self.read_execution(a) {
            Ok(read) => read,
            Err(errno) => return Ok(error(errno)),
        };
        let own = fs::read_link(format!("/proc/{}/exe", self.host.pid)).unwrap_or_default();
        // Names in bpffs are kept by descriptors of the process.
        if !is_same(&path, &own) || !self.bpf.pins.is_empty() {
            self.refused.insert("executing another program in its place".into());
            return Ok(error(libc::EACCES));
        }
        let host = match Host::start(own.as_os_str(), &argv, &env) {
            Ok(host) => host,
            Err(ProgramError::Start { .. }) => return Ok(error(libc::ENOEXEC)),
            Err(failed) => return Err(failed),
        };
        self.become_anew(t.own, host)?;
        Ok(Answer::Begins)
    }

    /// The path, the arguments and the environment of an `execve`.
    fn read_execution(&self, a: [u64; 6]) -> Result<Execution, i32> {
        let path = self.path(libc::AT_FDCWD, a[0])?;
        let argv: Vec<OsString> = self.texts(a[1])?.into_iter().map(OsString::from).collect();
        let env = self.texts(a[2])?;
        let pairs = env.iter().filter_map(|text| text.split_once('='));
        let env = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        if argv.is_empty() { Err(libc::EINVAL) } else { Ok((path, argv, env)) }
    }

    /// The strings of a list that ends with a null pointer.
    fn texts(&self, at: u64) -> Result<Vec<String>, i32> {
        let mut found = Vec::new();
        for number in 0..MOST {
            match self.words(at.wrapping_add(8 * number)) {
                None => return Err(libc::EFAULT),
                Some([0]) => return Ok(found),
                Some([text]) => found.push(self.text(text)?),
            }
        }
        Err(libc::E2BIG)
    }

    /// The process is replaced: its threads, memory and descriptors are gone, and all that only they kept.
    fn become_anew(&mut self, caller: i32, host: Host) -> Result<(), ProgramError> {
        let pid = self.machine.pid;
        self.host = host;
        self.threads = BTreeMap::from([(pid, Thread::new(&self.host, self.host.pid, pid)?)]);
        self.ready = VecDeque::from([pid]);
        self.waiting.clear();
        self.clear_at.clear();
        self.page = 0;
        let cpus = self.confined.remove(&caller);
        self.confined = cpus.map(|cpus| (pid, cpus)).into_iter().collect();
        // The superuser's programs begin with all of them.
        self.capabilities = [0xff; 24];
        for link in self.fds.close_all() {
            let event = self.unlink(link)?;
            self.pending.push_back(event);
        }
        self.stats.forget_server();
        self.relay.forget_server();
        if !self.bpf.is_attached {
            self.bpf.begin_again();
        }
        self.hide_host()
    }
}

/// A path, arguments and environment.
type Execution = (String, Vec<OsString>, Vec<(String, String)>);

/// Does the path lead to this file?
fn is_same(path: &str, file: &PathBuf) -> bool {
    let identity = |at: &PathBuf| fs::metadata(at).ok().map(|data| (data.dev(), data.ino()));
    path == ITSELF || identity(&path.into()).is_some_and(|found| identity(file) == Some(found))
}
