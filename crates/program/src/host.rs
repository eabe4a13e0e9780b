//! The only code that touches the host's processes: it starts a program, stops it at each system call, and reads and
//! writes its registers and memory.
//!
//! A [`Host`] is a process under `ptrace(2)`, which needs no privilege and works where a container's seccomp
//! profile denies bpf(2): the stop at a call's entry comes before any filter. One thread runs at a time, and only
//! inside [`Host::run`].
//!
//! Safety: every `unsafe` block here is one libc call whose pointers refer to locals that outlive it. The traced
//! process shares no memory with this one except files that are mapped elsewhere; whatever it does, it cannot change
//! these locals.
#![allow(unsafe_code)]

use crate::ProgramError;
use libc::{c_int, c_long, c_void, pid_t};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// The C library's type for a request of `ptrace()`.
#[cfg(not(target_env = "musl"))]
type Request = libc::c_uint;
/// The C library's type for a request of `ptrace()`.
#[cfg(target_env = "musl")]
type Request = c_int;

/// The registers of a thread.
pub(crate) type Regs = libc::user_regs_struct;

/// The maximum CPU time of a program, in seconds: the host kills a program that spins without system calls.
const CPU_LIMIT_S: u64 = 120;
/// `ADDR_NO_RANDOMIZE`: the same addresses in every run.
const FIXED_ADDRESSES: libc::c_ulong = 0x004_0000;

/// Why a thread stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// At a system call, entering or leaving.
    Call,
    /// It has created a thread.
    Cloned(pid_t),
    /// It has exited, with this code.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
}

/// How an `execve` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Executed {
    Anew,
    Failed,
}

/// A traced process.
pub(crate) struct Host {
    pub(crate) pid: pid_t,
    /// All threads that ever existed, except the first.
    others: Vec<pid_t>,
    /// The number of the process as the program sees it.
    shown_pid: i32,
}

/// `siginfo_t`, as far as it matters here. A timer's signal has the timer and its overrun instead of the sender.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(crate) struct SignalInfo {
    signal: c_int,
    errno: c_int,
    code: c_int,
    pad: c_int,
    sender: c_int,
    uid: c_int,
    value: u64,
    rest: [u8; 96],
}

/// Its bytes.
pub(crate) const INFO_BYTES: usize = size_of::<SignalInfo>();

impl SignalInfo {
    const fn new(signal: c_int, code: c_int) -> Self {
        Self { signal, errno: 0, code, pad: 0, sender: 0, uid: 0, value: 0, rest: [0; 96] }
    }

    /// Returns a signal from a process.
    pub(crate) const fn plain(signal: c_int) -> Self {
        Self::new(signal, libc::SI_TKILL)
    }

    /// Returns the signal of a POSIX timer, with the number of expiries without a signal.
    pub(crate) const fn of_timer(signal: c_int, timer: c_int, overrun: c_int, value: u64) -> Self {
        Self { sender: timer, uid: overrun, value, ..Self::new(signal, libc::SI_TIMER) }
    }

    /// Returns a signal with information from the program, or `None` if only the kernel may send it.
    pub(crate) fn queued(signal: c_int, bytes: &[u8; INFO_BYTES]) -> Option<Self> {
        let word = |at: usize| c_int::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let code = word(8);
        let info = Self {
            errno: word(4),
            sender: word(16),
            uid: word(20),
            value: u64::from_le_bytes(std::array::from_fn(|i| bytes[24 + i])),
            ..Self::new(signal, code)
        };
        (code < 0 && code != libc::SI_TKILL).then_some(info)
    }

    pub(crate) const fn number(&self) -> c_int {
        self.signal
    }
}

impl Host {
    /// Starts a file as a program with these arguments and environment. It has not executed an instruction yet.
    pub(crate) fn start(
        file: &OsStr,
        argv: &[OsString],
        env: &[(String, String)],
        shown_pid: i32,
    ) -> Result<Self, ProgramError> {
        let mut command = Command::new(file);
        command.arg0(&argv[0]).args(&argv[1..]);
        command.env_clear().envs(env.iter().map(|(name, value)| (name, value))).current_dir("/");
        // Ctrl-C goes to keel, which passes it on at a virtual instant.
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: only system calls on locals run between fork and exec.
        unsafe {
            command.pre_exec(|| {
                // This may be denied: then only addresses differ from run to run.
                libc::personality(FIXED_ADDRESSES);
                let limit = libc::rlimit { rlim_cur: CPU_LIMIT_S, rlim_max: CPU_LIMIT_S };
                libc::setrlimit(libc::RLIMIT_CPU, &raw const limit);
                match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
                    -1 => Err(io::Error::last_os_error()),
                    _ => Ok(()),
                }
            });
        }
        let name = file.to_string_lossy().into_owned();
        let child =
            command.spawn().map_err(|e| ProgramError::Start { name: name.clone(), why: reason(&e) })?;
        let mut host = Self { pid: child.id() as pid_t, others: Vec::new(), shown_pid };
        match host.wait(host.pid)? {
            (Stop::Call, _) | (Stop::Cloned(_), _) => {}
            (stop, _) => return Err(ProgramError::Host(format!("{name} did not start: {stop:?}"))),
        }
        let options = libc::PTRACE_O_TRACESYSGOOD
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEEXEC
            | libc::PTRACE_O_TRACEEXIT
            | libc::PTRACE_O_EXITKILL;
        host.request(libc::PTRACE_SETOPTIONS, host.pid, 0, options as u64)?;
        Ok(host)
    }

    fn request(&self, what: Request, tid: pid_t, addr: u64, data: u64) -> Result<c_long, ProgramError> {
        // SAFETY: no request made here writes to this process; addresses are those of the traced one.
        match unsafe { libc::ptrace(what, tid, addr as *mut c_void, data as *mut c_void) } {
            -1 => Err(lost("ptrace")),
            value => Ok(value),
        }
    }

    /// Waits for one thread. Returns why it stopped, and the signal that is about to be delivered to it, or 0.
    fn wait(&mut self, tid: pid_t) -> Result<(Stop, c_int), ProgramError> {
        let mut status = 0;
        // SAFETY: `status` outlives the call.
        let got = unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL) };
        if got != tid {
            return match io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR) => self.wait(tid),
                _ => Err(lost("waitpid")),
            };
        }
        if libc::WIFEXITED(status) {
            return Ok((Stop::Exited(libc::WEXITSTATUS(status)), 0));
        }
        if libc::WIFSIGNALED(status) {
            return Ok((Stop::Killed(libc::WTERMSIG(status)), 0));
        }
        if status >> 16 == libc::PTRACE_EVENT_CLONE {
            return Ok((Stop::Cloned(self.new_thread(tid)?), 0));
        }
        if status >> 16 == libc::PTRACE_EVENT_EXIT {
            return self.leaves(tid);
        }
        match libc::WSTOPSIG(status) {
            signal if signal == libc::SIGTRAP | 0x80 => Ok((Stop::Call, 0)),
            libc::SIGTRAP => Ok((Stop::Call, 0)),
            signal => Ok((Stop::Call, signal)),
        }
    }

    /// Handles a thread that is about to exit. The host reports the first thread's exit only after all others have been
    /// waited for, so the first thread is left where it is.
    fn leaves(&mut self, tid: pid_t) -> Result<(Stop, c_int), ProgramError> {
        if tid != self.pid {
            self.request(libc::PTRACE_CONT, tid, 0, 0)?;
            return self.wait(tid);
        }
        let status = self.message(tid)? as c_int;
        if libc::WIFSIGNALED(status) {
            return Ok((Stop::Killed(libc::WTERMSIG(status)), 0));
        }
        Ok((Stop::Exited(libc::WEXITSTATUS(status)), 0))
    }

    /// Returns the message of a thread's last stop.
    fn message(&self, tid: pid_t) -> Result<libc::c_ulong, ProgramError> {
        let mut message: libc::c_ulong = 0;
        // SAFETY: the kernel writes one word to `message`.
        match unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, tid, 0, &raw mut message) } {
            -1 => Err(lost("ptrace")),
            _ => Ok(message),
        }
    }

    /// Returns the new thread that the last stop reported, once it has stopped for the first time.
    fn new_thread(&mut self, parent: pid_t) -> Result<pid_t, ProgramError> {
        let tid = self.message(parent)? as pid_t;
        self.others.push(tid);
        self.wait(tid)?;
        Ok(tid)
    }

    /// Lets a thread continue until its next stop that is not for a signal. Signals are delivered on the way.
    pub(crate) fn run(&mut self, tid: pid_t) -> Result<Stop, ProgramError> {
        let mut signal = 0;
        loop {
            self.request(libc::PTRACE_SYSCALL, tid, 0, signal as u64)?;
            match self.wait(tid)? {
                (Stop::Call, 0) => return Ok(Stop::Call),
                (Stop::Call, next) => {
                    self.hide_sender(tid)?;
                    signal = next;
                }
                (stop, _) => return Ok(stop),
            }
        }
    }

    /// Continues a thread that has stopped at the entry of `execve`. Then either the process is replaced, and its only
    /// thread stops before its first instruction, or the call has failed, and the thread stops where it leaves the
    /// call.
    pub(crate) fn execute(&mut self, caller: pid_t) -> Result<Executed, ProgramError> {
        self.request(libc::PTRACE_SYSCALL, caller, 0, 0)?;
        // Linux first ends the other threads, and each of them may stop before the caller does.
        let mut all = std::mem::take(&mut self.others);
        all.push(self.pid);
        loop {
            for &tid in &all {
                let Some(status) = stopped(tid) else { continue };
                if status >> 16 == libc::PTRACE_EVENT_EXEC {
                    // On the way out of the call.
                    self.run(self.pid)?;
                    return Ok(Executed::Anew);
                }
                if tid == caller && libc::WSTOPSIG(status) == libc::SIGTRAP | 0x80 {
                    all.pop();
                    self.others = all;
                    return Ok(Executed::Failed);
                }
                // One that has just been killed is gone.
                let _ = self.request(libc::PTRACE_CONT, tid, 0, 0);
            }
            std::thread::yield_now();
        }
    }

    /// Makes the program itself the sender of the signal that is about to be delivered, because it knows no other
    /// process.
    fn hide_sender(&self, tid: pid_t) -> Result<(), ProgramError> {
        let mut info = SignalInfo::plain(0);
        // SAFETY: the kernel fills one `siginfo_t`, which has this size and alignment and contains only integers.
        if unsafe { libc::ptrace(libc::PTRACE_GETSIGINFO, tid, 0, &raw mut info) } == -1 {
            return Err(lost("ptrace"));
        }
        if info.code != libc::SI_USER && info.code != libc::SI_TKILL {
            return Ok(());
        }
        (info.sender, info.uid) = (self.shown_pid, 0);
        // SAFETY: the kernel reads one `siginfo_t`.
        match unsafe { libc::ptrace(libc::PTRACE_SETSIGINFO, tid, 0, &raw const info) } {
            -1 => Err(lost("ptrace")),
            _ => Ok(()),
        }
    }

    pub(crate) fn regs(&self, tid: pid_t) -> Result<Regs, ProgramError> {
        // SAFETY: the structure contains only integers, and the kernel fills one of that size.
        unsafe {
            let mut regs: Regs = std::mem::zeroed();
            match libc::ptrace(libc::PTRACE_GETREGS, tid, 0, &raw mut regs) {
                -1 => Err(lost("ptrace")),
                _ => Ok(regs),
            }
        }
    }

    pub(crate) fn set_regs(&self, tid: pid_t, regs: &Regs) -> Result<(), ProgramError> {
        // SAFETY: the kernel reads one structure.
        match unsafe { libc::ptrace(libc::PTRACE_SETREGS, tid, 0, std::ptr::from_ref(regs)) } {
            -1 => Err(lost("ptrace")),
            _ => Ok(()),
        }
    }

    /// Reads the program's memory. Returns false if not all of it is mapped.
    pub(crate) fn read(&self, at: u64, into: &mut [u8]) -> bool {
        let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let remote = libc::iovec { iov_base: at as *mut c_void, iov_len: into.len() };
        // SAFETY: the local vector is the slice; the remote one is checked by the kernel.
        let got = unsafe { libc::process_vm_readv(self.pid, &raw const local, 1, &raw const remote, 1, 0) };
        got == into.len() as isize
    }

    /// Writes the program's memory. Returns false if not all of it is mapped.
    pub(crate) fn write(&self, at: u64, from: &[u8]) -> bool {
        let local = libc::iovec { iov_base: from.as_ptr().cast_mut().cast(), iov_len: from.len() };
        let remote = libc::iovec { iov_base: at as *mut c_void, iov_len: from.len() };
        // SAFETY: the local vector is the slice, which is only read; the remote one is checked by the kernel.
        let put = unsafe { libc::process_vm_writev(self.pid, &raw const local, 1, &raw const remote, 1, 0) };
        put == from.len() as isize
    }

    /// Returns whether a thread blocks a signal.
    pub(crate) fn blocks(&self, tid: pid_t, signal: c_int) -> bool {
        self.mask(tid, "SigBlk:") >> (signal - 1) & 1 == 1
    }

    /// Returns whether the program has a handler for a signal.
    pub(crate) fn catches(&self, tid: pid_t, signal: c_int) -> bool {
        self.mask(tid, "SigCgt:") >> (signal - 1) & 1 == 1
    }

    /// Returns which signals are pending for a thread or for the process.
    pub(crate) fn pending(&self, tid: pid_t) -> u64 {
        self.mask(tid, "SigPnd:") | self.mask(tid, "ShdPnd:")
    }

    fn mask(&self, tid: pid_t, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/task/{tid}/status", self.pid));
        let line = status.as_deref().unwrap_or_default().lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }

    /// Makes a signal pending for the process, so that any thread may receive it.
    pub(crate) fn signal_process(&self, info: &SignalInfo) {
        let at = std::ptr::from_ref(info);
        // SAFETY: the kernel reads one `siginfo_t`, if any.
        match info.code {
            libc::SI_TKILL => unsafe { libc::kill(self.pid, info.signal) }.into(),
            _ => unsafe { libc::syscall(libc::SYS_rt_sigqueueinfo, self.pid, info.signal, at) },
        };
    }

    /// Makes a signal pending for a thread.
    pub(crate) fn signal(&self, tid: pid_t, info: &SignalInfo) {
        let at = std::ptr::from_ref(info);
        // SAFETY: the kernel reads one `siginfo_t`, if any. A thread that has exited gets no signal.
        match info.code {
            libc::SI_TKILL => unsafe { libc::syscall(libc::SYS_tgkill, self.pid, tid, info.signal) },
            _ => unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, self.pid, tid, info.signal, at) },
        };
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // SAFETY: the process is our child and has not been waited for; `status` outlives the calls. A thread that has
        // been waited for is no longer ours, and the call returns at once.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            // A thread that is about to exit ignores signals.
            libc::ptrace(libc::PTRACE_CONT, self.pid, 0, 0);
            // The first thread exits when all others have.
            for &tid in self.others.iter().chain([&self.pid]) {
                let mut status = 0;
                while libc::waitpid(tid, &raw mut status, libc::__WALL) == tid && libc::WIFSTOPPED(status) {
                    libc::ptrace(libc::PTRACE_CONT, tid, 0, 0);
                }
            }
        }
    }
}

/// Returns the status of a thread if it has stopped, without waiting.
fn stopped(tid: pid_t) -> Option<c_int> {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let got = unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL | libc::WNOHANG) };
    (got == tid && libc::WIFSTOPPED(status)).then_some(status)
}

fn lost(call: &str) -> ProgramError {
    ProgramError::Host(format!("{call}: {}", reason(&io::Error::last_os_error())))
}

/// Returns the host's message, without the error number.
pub(crate) fn reason(error: &io::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase()
}
