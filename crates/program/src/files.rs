//! Handles files and descriptors: paths that describe the machine lead to the scratch tree, all others to the host's
//! files, which are read-only.

use crate::ProgramError;
use crate::bpf::maps::kind;
use crate::calls::{Answer, error};
use crate::fds::{Kind, Link};
use crate::program::{Event, Program, Wait};
use crate::thread::Thread;
use crate::tree::{EVENTS, OWN};

/// The maximum length of a path, in bytes.
const PATH_BYTES: usize = 4096;
/// The maximum number of bytes that one call writes.
const MOST_BYTES: u64 = 1 << 20;
/// The maximum number of pieces of a `writev`.
const MOST_PIECES: u64 = 64;
const STDIN: u64 = 0;

impl Program {
    pub(crate) fn file_call(
        &mut self,
        t: &mut Thread,
        number: i64,
        a: [u64; 6],
    ) -> Result<Option<Answer>, ProgramError> {
        Ok(Some(match number {
            libc::SYS_open => self.open(t, libc::AT_FDCWD, a[0], a[1])?,
            libc::SYS_openat => self.open(t, a[0] as i32, a[1], a[2])?,
            libc::SYS_statfs => self.statfs(t, a)?,
            libc::SYS_stat | libc::SYS_lstat => {
                self.stat_path(t, libc::AT_FDCWD, a[0], a[1], |path| [path, a[1], a[2], a[3], a[4], a[5]])?
            }
            libc::SYS_readlink | libc::SYS_readlinkat if self.is_link_to_itself(number, a) => {
                let room = if number == libc::SYS_readlink { [a[1], a[2]] } else { [a[2], a[3]] };
                let pid = self.machine.pid.to_string();
                let len = pid.len().min(room[1] as usize);
                self.put(room[0], &pid.as_bytes()[..len], len as i64)
            }
            libc::SYS_access | libc::SYS_readlink => {
                self.with_path(t, libc::AT_FDCWD, a[0], |path| [path, a[1], a[2], a[3], a[4], a[5]])?
            }
            libc::SYS_fstat => self.stat_fd(t, a[0] as i32, a[1], a)?,
            libc::SYS_newfstatat | libc::SYS_statx => {
                let buffer = if number == libc::SYS_statx { a[4] } else { a[2] };
                if self.names_nothing(a[1]) {
                    self.stat_fd(t, a[0] as i32, buffer, a)?
                } else {
                    let args = |path| [a[0], path, a[2], a[3], a[4], a[5]];
                    self.stat_path(t, a[0] as i32, a[1], buffer, args)?
                }
            }
            libc::SYS_name_to_handle_at => self.handle(a),
            libc::SYS_faccessat | libc::SYS_faccessat2 | libc::SYS_readlinkat => {
                if self.names_nothing(a[1]) {
                    self.native(t, a)?
                } else {
                    self.with_path(t, a[0] as i32, a[1], |path| [a[0], path, a[2], a[3], a[4], a[5]])?
                }
            }
            libc::SYS_close => self.close(t, a)?,
            libc::SYS_close_range => self.close_range(t, a)?,
            libc::SYS_dup => self.dup(t, a[0] as i32, None, a)?,
            libc::SYS_dup2 | libc::SYS_dup3 => self.dup(t, a[0] as i32, Some(a[1] as i32), a)?,
            libc::SYS_fcntl => self.fcntl(t, a)?,
            libc::SYS_pipe | libc::SYS_pipe2 => self.pair(t, a, a[0], a[1])?,
            libc::SYS_socketpair => self.pair(t, a, a[3], a[1])?,
            libc::SYS_ioctl => self.control(t, a)?,
            libc::SYS_mmap => self.map_file(t, a)?,
            libc::SYS_getcwd => self.tell_folder(a),
            libc::SYS_chdir => self.change_folder(a[0]),
            libc::SYS_lseek | libc::SYS_fstatfs | libc::SYS_getdents64 | libc::SYS_pread64 => {
                self.native(t, a)?
            }
            libc::SYS_preadv | libc::SYS_preadv2 => self.native(t, a)?,
            // No other process uses what it has open, and nothing is written back.
            libc::SYS_flock | libc::SYS_fsync | libc::SYS_fdatasync | libc::SYS_syncfs => {
                self.fds.get(a[0] as i32).map_or(error(libc::EBADF), |_| Answer::Value(0))
            }
            libc::SYS_sync | libc::SYS_readahead => Answer::Value(0),
            libc::SYS_memfd_create => {
                let (fd, _) = t.call(&mut self.host, number, a)?;
                self.note(fd, Kind::File, false)
            }
            libc::SYS_ftruncate if self.is_map(a[0] as i32) => error(libc::EINVAL),
            libc::SYS_ftruncate | libc::SYS_fadvise64 => self.native(t, a)?,
            libc::SYS_mkdir => self.make_folder(libc::AT_FDCWD, a[0])?,
            libc::SYS_mkdirat => self.make_folder(a[0] as i32, a[1])?,
            libc::SYS_unlink => self.take_name(t, libc::AT_FDCWD, a[0])?,
            libc::SYS_unlinkat => self.take_name(t, a[0] as i32, a[1])?,
            libc::SYS_rmdir => Answer::Value(0),
            libc::SYS_rename
            | libc::SYS_renameat
            | libc::SYS_renameat2
            | libc::SYS_link
            | libc::SYS_linkat => error(libc::EROFS),
            libc::SYS_symlink | libc::SYS_symlinkat | libc::SYS_truncate | libc::SYS_utimensat => {
                error(libc::EROFS)
            }
            libc::SYS_chmod | libc::SYS_fchmod | libc::SYS_fchmodat | libc::SYS_chown => Answer::Value(0),
            libc::SYS_umask => Answer::Value(0o22),
            _ => return Ok(None),
        }))
    }

    /// Creates a descriptor that keel implements, with a number reserved on the host.
    pub(crate) fn new_fd(
        &mut self,
        t: &mut Thread,
        kind: Kind,
        nonblocking: bool,
    ) -> Result<Answer, ProgramError> {
        let args = [STDIN, libc::F_DUPFD_CLOEXEC as u64, 3, 0, 0, 0];
        let (fd, _) = t.call(&mut self.host, libc::SYS_fcntl, args)?;
        Ok(self.note(fd, kind, nonblocking))
    }

    /// Notes a descriptor that the host has opened, unless it has returned an error.
    pub(crate) fn note(&mut self, fd: i64, kind: Kind, nonblocking: bool) -> Answer {
        if fd >= 0 {
            self.fds.put(fd as i32, kind, nonblocking);
        }
        Answer::Value(fd)
    }

    fn is_map(&self, fd: i32) -> bool {
        self.fds.get(fd).is_some_and(|open| matches!(*open.kind.borrow(), Kind::Map(_)))
    }

    /// Reads a string in the program's memory.
    pub(crate) fn text(&self, at: u64) -> Result<String, i32> {
        const PAGE: usize = 4096;
        let mut bytes = Vec::new();
        let mut at = at;
        while bytes.len() < PATH_BYTES {
            let mut part = vec![0; PAGE - (at as usize % PAGE)];
            if !self.host.read(at, &mut part) {
                return Err(libc::EFAULT);
            }
            if let Some(end) = part.iter().position(|&b| b == 0) {
                bytes.extend_from_slice(&part[..end]);
                return String::from_utf8(bytes).map_err(|_| libc::ENOENT);
            }
            at += part.len() as u64;
            bytes.append(&mut part);
        }
        Err(libc::ENAMETOOLONG)
    }

    fn names_nothing(&self, at: u64) -> bool {
        at == 0 || self.text(at).is_ok_and(|text| text.is_empty())
    }

    /// Returns the absolute path in a call's arguments.
    pub(crate) fn path(&self, folder: i32, at: u64) -> Result<String, i32> {
        let text = self.text(at)?;
        if text.starts_with('/') {
            return Ok(self.without_self(clean(&text)));
        }
        let base = match folder {
            libc::AT_FDCWD => self.folder.clone(),
            fd => match self.fds.get(fd).map(|open| open.kind.borrow()).as_deref() {
                Some(Kind::Folder(name)) => name.clone(),
                _ => return Err(libc::EBADF),
            },
        };
        Ok(self.without_self(clean(&format!("{base}/{text}"))))
    }

    /// Replaces `/proc/self` by the process's number, except for files that only the host has.
    fn without_self(&self, path: String) -> String {
        let own = format!("/proc/{}", self.machine.pid);
        let thread = || format!("{own}/task/{}", self.caller.unwrap_or(self.machine.pid));
        let below =
            |root: &str| path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        if OWN.contains(&path.as_str()) {
            return path;
        }
        match (below("/proc/self"), below("/proc/thread-self"), below(&own)) {
            (Some(rest), _, _) => own + rest,
            (_, Some(rest), _) => thread() + rest,
            (_, _, Some(rest)) => {
                let hosts = format!("/proc/self{rest}");
                if OWN.contains(&hosts.as_str()) { hosts } else { path }
            }
            _ => path,
        }
    }

    fn is_link_to_itself(&self, number: i64, a: [u64; 6]) -> bool {
        let at = if number == libc::SYS_readlink { a[0] } else { a[1] };
        self.text(at).is_ok_and(|text| clean(&text) == "/proc/self")
    }

    /// Lets the host execute a call that only reads a path.
    pub(crate) fn with_path(
        &mut self,
        t: &mut Thread,
        folder: i32,
        at: u64,
        args: impl FnOnce(u64) -> [u64; 6],
    ) -> Result<Answer, ProgramError> {
        match self.path(folder, at) {
            Err(errno) => Ok(error(errno)),
            Ok(path) => {
                let real = self.tree.real(&path)?;
                let Some(place) = self.show_path(&real) else { return Ok(error(libc::ENAMETOOLONG)) };
                self.native(t, args(place))
            }
        }
    }

    /// `mkdir`, which has an effect only in the scratch tree.
    fn make_folder(&mut self, folder: i32, at: u64) -> Result<Answer, ProgramError> {
        Ok(match self.path(folder, at) {
            Ok(path) if self.tree.is_folder(&path) => error(libc::EEXIST),
            Ok(path) if self.tree.holds(&path) => {
                self.tree.make_folder(&path)?;
                Answer::Value(0)
            }
            Ok(_) => Answer::Value(0),
            Err(errno) => error(errno),
        })
    }

    /// `unlink`: removes the name of a socket or of an object in bpffs. It has no effect on other files.
    fn take_name(&mut self, t: &mut Thread, folder: i32, at: u64) -> Result<Answer, ProgramError> {
        match self.path(folder, at) {
            Ok(path) => {
                self.fds.forget_name(path.as_bytes());
                self.unpin(t, &path).unwrap_or(Ok(Answer::Value(0)))
            }
            Err(errno) => Ok(error(errno)),
        }
    }

    fn change_folder(&mut self, at: u64) -> Answer {
        match self.path(libc::AT_FDCWD, at) {
            Ok(path) if self.tree.is_folder(&path) => {
                self.folder = path;
                Answer::Value(0)
            }
            Ok(path) => error(if self.tree.is_there(&path) { libc::ENOTDIR } else { libc::ENOENT }),
            Err(errno) => error(errno),
        }
    }

    fn tell_folder(&self, a: [u64; 6]) -> Answer {
        let name = [self.folder.as_bytes(), &[0]].concat();
        if (a[1] as usize) < name.len() {
            return error(libc::ERANGE);
        }
        self.put(a[0], &name, name.len() as i64)
    }

    /// `statfs`: for the scratch tree, returns what a kernel has mounted there.
    fn statfs(&mut self, t: &mut Thread, a: [u64; 6]) -> Result<Answer, ProgramError> {
        let path = self.path(libc::AT_FDCWD, a[0]);
        let answer = self.with_path(t, libc::AT_FDCWD, a[0], |path| [path, a[1], a[2], a[3], a[4], a[5]])?;
        let mounted = path.ok().and_then(|path| self.tree.magic(&path));
        if let (Answer::Value(0), Some(magic)) = (&answer, mounted) {
            return Ok(match self.host.write(a[1], &magic.to_le_bytes()) {
                true => answer,
                false => error(libc::EFAULT),
            });
        }
        Ok(answer)
    }

    /// Writes a path of the host to the program's memory.
    pub(crate) fn show_path(&self, real: &str) -> Option<u64> {
        let bytes = [real.as_bytes(), &[0]].concat();
        (bytes.len() <= PATH_BYTES && self.host.write(self.page, &bytes)).then_some(self.page)
    }

    fn open(&mut self, t: &mut Thread, folder: i32, at: u64, flags: u64) -> Result<Answer, ProgramError> {
        let path = match self.path(folder, at) {
            Ok(path) => path,
            Err(errno) => return Ok(error(errno)),
        };
        let writes = flags as i32 & libc::O_ACCMODE != libc::O_RDONLY || flags as i32 & libc::O_CREAT != 0;
        if writes && path != "/dev/null" && !self.tree.has_file(&path) {
            return Ok(error(if self.tree.holds(&path) { libc::EACCES } else { libc::EROFS }));
        }
        match path.as_str() {
            "/dev/random" | "/dev/urandom" => return self.new_fd(t, Kind::Random, false),
            "/proc/stat" => self.show_times()?,
            "/proc/uptime" => self.show_uptime()?,
            EVENTS if self.bpf.is_attached => self.tree.write_events(&self.events)?,
            _ => {}
        }
        if self.tree.holds(&path) {
            self.tree.list(&path)?;
        }
        let real = if writes { self.tree.real_to_write(&path)? } else { self.tree.real(&path)? };
        let Some(place) = self.show_path(&real) else { return Ok(error(libc::ENAMETOOLONG)) };
        let args = [libc::AT_FDCWD as u64, place, flags, 0, 0, 0];
        let (fd, _) = t.call(&mut self.host, libc::SYS_openat, args)?;
        let is_folder = fd >= 0 && self.tree.is_folder(&path);
        Ok(self.note(fd, if is_folder { Kind::Folder(path) } else { Kind::File }, false))
    }

    fn close(&mut self, t: &mut Thread, a: [u64; 6]) -> Result<Answer, ProgramError> {
        let fd = a[0] as i32;
        if self.fds.get(fd).is_none() {
            return Ok(error(libc::EBADF));
        }
        let gone = self.fds.close(fd);
        if fd != STDIN as i32 {
            t.call(&mut self.host, libc::SYS_close, a)?;
        }
        match gone {
            Some(Kind::Link(link)) => Ok(Answer::Told(0, self.unlink(link)?)),
            _ => Ok(Answer::Value(0)),
        }
    }

    /// `close_range`: closes all descriptors in a range, or marks them for closing at `execve`.
    fn close_range(&mut self, t: &mut Thread, a: [u64; 6]) -> Result<Answer, ProgramError> {
        let [first, last, flags] = [a[0], a[1], a[2]].map(|word| word as u32);
        if first > last || flags & !(libc::CLOSE_RANGE_CLOEXEC | libc::CLOSE_RANGE_UNSHARE) != 0 {
            return Ok(error(libc::EINVAL));
        }
        let all = self.fds.numbers();
        for fd in all.into_iter().filter(|&fd| (first..=last).contains(&(fd as u32))) {
            let number = fd as u64;
            if flags & libc::CLOSE_RANGE_CLOEXEC != 0 {
                let args = [number, libc::F_SETFD as u64, libc::FD_CLOEXEC as u64, 0, 0, 0];
                t.call(&mut self.host, libc::SYS_fcntl, args)?;
            } else if let Answer::Told(_, event) = self.close(t, [number, 0, 0, 0, 0, 0])? {
                self.pending.push_back(event);
            }
        }
        Ok(Answer::Value(0))
    }

    /// Handles that the last descriptor of a link has been closed.
    pub(crate) fn unlink(&mut self, link: Link) -> Result<Event, ProgramError> {
        match link {
            Link::Scheduler => {
                self.bpf.is_attached = false;
                self.tree.show_scheduler(None)?;
                Ok(Event::Detach)
            }
            Link::Trace(traced) => Ok(Event::Untrace(traced)),
            Link::Gone => Ok(Event::Called),
        }
    }

    fn dup(
        &mut self,
        t: &mut Thread,
        old: i32,
        new: Option<i32>,
        a: [u64; 6],
    ) -> Result<Answer, ProgramError> {
        if self.fds.get(old).is_none() {
            return Ok(error(libc::EBADF));
        }
        let number = if new.is_some() { t.number() } else { libc::SYS_dup };
        let (fd, _) = t.call(&mut self.host, number, a)?;
        self.copied(old, fd)
    }

    fn copied(&mut self, old: i32, fd: i64) -> Result<Answer, ProgramError> {
        match fd {
            ..0 => Ok(Answer::Value(fd)),
            fd => match self.fds.copy(old, fd as i32) {
                Some(Kind::Link(link)) => Ok(Answer::Told(fd, self.unlink(link)?)),
                _ => Ok(Answer::Value(fd)),
            },
        }
    }

    fn fcntl(&mut self, t: &mut Thread, a: [u64; 6]) -> Result<Answer, ProgramError> {
        let fd = a[0] as i32;
        let Some(open) = self.fds.get_mut(fd) else { return Ok(error(libc::EBADF)) };
        match a[1] as i32 {
            libc::F_SETFL => {
                open.nonblocking = a[2] as i32 & libc::O_NONBLOCK != 0;
                let is_pipe = matches!(*open.kind.borrow(), Kind::Pipe);
                if is_pipe { self.native(t, a) } else { Ok(Answer::Value(0)) }
            }
            libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
                let (new, _) = t.call(&mut self.host, libc::SYS_fcntl, a)?;
                self.copied(fd, new)
            }
            libc::F_GETFL if open.nonblocking => {
                Ok(Answer::Value(i64::from(libc::O_RDWR | libc::O_NONBLOCK)))
            }
            _ => self.native(t, a),
        }
    }

    /// `pipe2`, `socketpair`: the host creates them as non-blocking, so that no call on them waits there.
    fn pair(&mut self, t: &mut Thread, a: [u64; 6], at: u64, flags: u64) -> Result<Answer, ProgramError> {
        let (value, _) = t.call(&mut self.host, t.number(), a)?;
        let mut fds = [0; 8];
        if value == 0 && self.host.read(at, &mut fds) {
            for fd in fds.chunks_exact(4) {
                let fd = i32::from_le_bytes([fd[0], fd[1], fd[2], fd[3]]);
                self.fds.put(fd, Kind::Pipe, flags as i32 & libc::O_NONBLOCK != 0);
            }
        }
        Ok(Answer::Value(value))
    }

    fn map_file(&mut self, t: &mut Thread, a: [u64; 6]) -> Result<Answer, ProgramError> {
        let fd = a[4] as i32;
        let map = self.fds.get(fd).and_then(|open| match *open.kind.borrow() {
            Kind::Map(map) => Some(map),
            _ => None,
        });
        let mut a = a;
        if let Some(map) = map.filter(|&map| a[0] == 0 && self.bpf.maps[map as usize].is_arena()) {
            a[0] = self.bpf.maps[map as usize].mapped_at.map_or(self.bpf.arena_address(map), |_| 0);
        }
        let answer = match map {
            Some(map) if self.bpf.maps[map as usize].kind == kind::USER_RINGBUF => {
                self.map_user_ring(t, a, map)?
            }
            _ => self.native(t, a)?,
        };
        if let (Some(map), Answer::Value(at @ 0..)) = (map, &answer) {
            self.bpf.mapped(map, *at as u64);
        }
        Ok(answer)
    }

    /// `ioctl`: the requests that programs make on pipes and sockets, and on any descriptor.
    fn control(&mut self, t: &mut Thread, a: [u64; 6]) -> Result<Answer, ProgramError> {
        let Some(open) = self.fds.get_mut(a[0] as i32) else { return Ok(error(libc::EBADF)) };
        let is_pipe = matches!(*open.kind.borrow(), Kind::Pipe);
        match a[1] {
            libc::FIONBIO => {
                let mut word = [0; 4];
                if !self.host.read(a[2], &mut word) {
                    return Ok(error(libc::EFAULT));
                }
                open.nonblocking = word != [0; 4];
                if is_pipe { self.native(t, a) } else { Ok(Answer::Value(0)) }
            }
            libc::FIOCLEX | libc::FIONCLEX => self.native(t, a),
            libc::FIONREAD if is_pipe => self.native(t, a),
            _ => Ok(error(libc::ENOTTY)),
        }
    }

    /// Notes that a descriptor is full if a write to it would block, so that it is reported again once it isn't.
    pub(crate) fn after_write(&self, fd: i32, answer: Answer) -> Answer {
        if matches!(answer, Answer::Value(value) if value == -i64::from(libc::EAGAIN)) {
            self.fds.used(fd);
        }
        answer
    }

    pub(crate) fn write(&mut self, t: &mut Thread, a: [u64; 6]) -> Result<Answer, ProgramError> {
        let fd = a[0] as i32;
        let Some(open) = self.fds.get(fd).cloned() else { return Ok(error(libc::EBADF)) };
        match &mut *open.kind.borrow_mut() {
            Kind::Output => Ok(self.write_output(t.number(), a)),
            Kind::Counter { count, .. } => match self.words(a[1]) {
                Some([more]) => {
                    *count = count.saturating_add(more);
                    Ok(Answer::Value(8))
                }
                None => Ok(error(libc::EFAULT)),
            },
            Kind::Pipe => match self.ask_host(t, fd)? & libc::POLLOUT as u32 {
                0 if open.nonblocking => Ok(error(libc::EAGAIN)),
                0 => Ok(Answer::Wait(Wait::Retry, None)),
                _ => self.native(t, a),
            },
            Kind::File => self.native(t, a),
            _ => Ok(error(libc::EINVAL)),
        }
    }

    fn write_output(&mut self, number: i64, a: [u64; 6]) -> Answer {
        let pieces = match number {
            libc::SYS_writev => {
                let list = (0..a[2].min(MOST_PIECES)).map(|i| self.words::<2>(a[1].saturating_add(16 * i)));
                match list.collect::<Option<Vec<[u64; 2]>>>() {
                    Some(list) => list,
                    None => return error(libc::EFAULT),
                }
            }
            _ => vec![[a[1], a[2]]],
        };
        let mut total = 0;
        for [at, len] in pieces {
            let mut bytes = vec![0; len.min(MOST_BYTES) as usize];
            if !self.host.read(at, &mut bytes) {
                return error(libc::EFAULT);
            }
            self.print(&bytes);
            total += bytes.len() as i64;
        }
        Answer::Value(total)
    }

    pub(crate) fn read(&mut self, t: &mut Thread, a: [u64; 6], _: bool) -> Result<Answer, ProgramError> {
        let fd = a[0] as i32;
        let Some(open) = self.fds.get(fd) else { return Ok(error(libc::EBADF)) };
        let nonblocking = open.nonblocking;
        let is_pipe = matches!(*open.kind.borrow(), Kind::Pipe);
        let is_file = matches!(*open.kind.borrow(), Kind::File);
        let has_signals = matches!(*open.kind.borrow(), Kind::Signals);
        let is_random = matches!(*open.kind.borrow(), Kind::Random);
        // What keel itself answers goes to the first of several places.
        let [at, room] = match t.number() {
            libc::SYS_readv => self.words(a[1]).unwrap_or([0, 0]),
            _ => [a[1], a[2]],
        };
        if let Kind::Watch(watches) = &mut *open.kind.borrow_mut() {
            return Ok(match watches.read(room as usize) {
                Ok(bytes) => self.put(at, &bytes, bytes.len() as i64),
                Err(libc::EAGAIN) if !nonblocking => Answer::Wait(Wait::Retry, None),
                Err(errno) => error(errno),
            });
        }
        if is_random {
            return Ok(self.random_bytes([at, room, 0, 0, 0, 0]));
        }
        if room < 8 && self.has_words(fd) {
            return Ok(error(libc::EINVAL));
        }
        if let Some(own) = self.read_own(fd) {
            return Ok(match own {
                Ok(word) => self.put(at, &word.to_le_bytes(), 8),
                Err(_) if !nonblocking => Answer::Wait(Wait::Retry, None),
                Err(errno) => error(errno),
            });
        }
        match () {
            () if (is_pipe || has_signals)
                && self.ask_host(t, fd)? & (libc::POLLIN | libc::POLLHUP) as u32 == 0 =>
            {
                Ok(if nonblocking { error(libc::EAGAIN) } else { Answer::Wait(Wait::Retry, None) })
            }
            () if has_signals => self.read_signals(t, a),
            () if is_pipe || is_file => self.native(t, a),
            () => Ok(error(libc::EINVAL)),
        }
    }
}

/// Returns an absolute path without `.`, `..` and repeated slashes.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn paths_have_one_form() {
        let check = |path: &str, expected: &str| assert_eq!(clean(path), expected, "{path}");
        check("/", "/");
        check("/sys//devices/./system", "/sys/devices/system");
        check("/sys/../../etc/passwd", "/etc/passwd");
        check("/proc/self/../stat/", "/proc/stat");
    }
}
