//! Answers calls about threads, and about the machine.

use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::desk::Desk;
use crate::host::SignalInfo;
use crate::program::{Event, Program};
use crate::thread::Thread;
use keel_abi::{CpuId, CpuSet};

/// `AT_IGNORE`, `AT_RANDOM`, `AT_SYSINFO_EHDR` of the auxiliary vector.
const IGNORE: u64 = 1;
const RANDOM: u64 = 25;
const VDSO: u64 = 33;
/// The maximum number of words that are searched for the vector's end.
const MOST_WORDS: u64 = 4096;
/// The kernel version that the simulation represents.
pub(crate) const RELEASE: &str = "7.2.13";
/// The size of a field of `struct utsname`, in bytes.
const UTS_BYTES: usize = 65;
/// The machine's memory as shown to the program, in bytes.
pub(crate) const MEMORY_BYTES: u64 = 64 << 30;

impl Program {
    /// Prepares the program before its first instruction: removes the vDSO, so that clocks are system calls, and sets
    /// random bytes from the seed.
    pub(crate) fn hide_host(&mut self) -> Result<(), ProgramError> {
        let mut at = self.host.regs(self.host.pid)?.rsp;
        let unreadable = || ProgramError::Host("its stack cannot be read".into());
        // argc; argv and its end; the environment and its end.
        let [argc] = self.words(at).ok_or_else(unreadable)?;
        at += 8 * (argc + 2);
        let mut seen = 0;
        while self.words(at).ok_or_else(unreadable)? != [0] && seen < MOST_WORDS {
            (at, seen) = (at + 8, seen + 1);
        }
        at += 8;
        for _ in 0..MOST_WORDS {
            let [kind, value] = self.words(at).ok_or_else(unreadable)?;
            match kind {
                0 => break,
                VDSO => {
                    self.host.write(at, &IGNORE.to_le_bytes());
                }
                RANDOM => {
                    let bytes = [self.draw().to_le_bytes(), self.draw().to_le_bytes()].concat();
                    self.host.write(value, &bytes);
                }
                _ => {}
            }
            at += 16;
        }
        Ok(())
    }

    /// Returns a random word from the seed (splitmix64).
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn process_call(
        &mut self,
        t: &mut Thread,
        number: i64,
        a: [u64; 6],
    ) -> Result<Option<Answer>, ProgramError> {
        Ok(Some(match number {
            libc::SYS_clone => self.clone_thread(t, a)?,
            libc::SYS_set_tid_address => {
                self.clear_at.insert(t.own, a[0]);
                t.call(&mut self.host, number, a)?;
                Answer::Value(i64::from(t.own))
            }
            libc::SYS_tgkill => self.kill(t, Some(a[1] as i32), SignalInfo::plain(a[2] as i32))?,
            libc::SYS_tkill => self.kill(t, Some(a[0] as i32), SignalInfo::plain(a[1] as i32))?,
            libc::SYS_rt_sigqueueinfo => self.queue_signal(t, a[0], None, a[1], a[2])?,
            libc::SYS_rt_tgsigqueueinfo => self.queue_signal(t, a[0], Some(a[1] as i32), a[2], a[3])?,
            // The other threads continue in turn; when all of them wait, the task lets other tasks run.
            libc::SYS_sched_yield if self.ready.is_empty() => Answer::Told(0, Event::Yielded),
            libc::SYS_sched_yield | libc::SYS_ioprio_set => Answer::Value(0),
            libc::SYS_sched_setaffinity => self.set_affinity(t.own, a),
            libc::SYS_sched_getaffinity => self.affinity(t.own, a),
            libc::SYS_getrandom => self.random_bytes(a),
            libc::SYS_uname => self.uname(a[0]),
            libc::SYS_sysinfo => self.sysinfo(a[0]),
            libc::SYS_prlimit64 if a[3] == 0 => Answer::Value(0),
            libc::SYS_prlimit64 => self.limit(a[1], a[3]),
            libc::SYS_setrlimit => Answer::Value(0),
            libc::SYS_getrlimit => self.limit(a[0], a[1]),
            libc::SYS_capget => self.capabilities(a[1]),
            libc::SYS_capset => self.set_capabilities(a[1]),
            libc::SYS_clone3 | libc::SYS_rseq => error(libc::ENOSYS),
            libc::SYS_seccomp => seccomp(a[0], a[1], a[2]),
            libc::SYS_membarrier => membarrier(a[0], a[1]),
            libc::SYS_fork | libc::SYS_vfork => {
                self.refused.insert("starting a process".into());
                error(libc::EAGAIN)
            }
            // It has no children.
            libc::SYS_wait4 | libc::SYS_waitid => error(libc::ECHILD),
            libc::SYS_execve => self.execute(t, a)?,
            libc::SYS_execveat => {
                self.refused.insert("executing another program in its place".into());
                error(libc::EACCES)
            }
            libc::SYS_perf_event_open => error(libc::ENOENT),
            _ => {
                let answer = self.policy_call(t, number, a);
                return Ok(answer.or_else(|| self.identity_call(t, number, a)));
            }
        }))
    }

    fn clone_thread(&mut self, t: &mut Thread, a: [u64; 6]) -> Result<Answer, ProgramError> {
        let flags = a[0] as i32;
        if flags & libc::CLONE_THREAD == 0 {
            self.refused.insert("starting a process".into());
            return Ok(error(libc::EAGAIN));
        }
        let (value, new) = t.call(&mut self.host, libc::SYS_clone, a)?;
        let Some(tid) = new else { return Ok(Answer::Value(value)) };
        let own = self.add_thread(tid)?;
        let number = own.to_le_bytes();
        if flags & libc::CLONE_PARENT_SETTID != 0 {
            self.host.write(a[2], &number);
        }
        if flags & libc::CLONE_CHILD_SETTID != 0 {
            self.host.write(a[3], &number);
        }
        if flags & libc::CLONE_CHILD_CLEARTID != 0 {
            self.clear_at.insert(own, a[3]);
        }
        Ok(Answer::Value(i64::from(own)))
    }

    pub(crate) fn thread_exits(&mut self) -> Answer {
        Answer::Leaves
    }

    /// Returns the thread that an affinity call refers to: 0 is the caller.
    fn thread_of(&self, caller: i32, named: u64) -> Option<i32> {
        match named as i32 {
            0 => Some(caller),
            // The caller is not in the table while its call is answered.
            own => (own == caller || self.threads.contains_key(&own)).then_some(own),
        }
    }

    fn limit(&self, what: u64, at: u64) -> Answer {
        match u32::try_from(what) {
            Ok(libc::RLIMIT_STACK) => self.put_words(at, &[8 << 20, u64::MAX]),
            Ok(libc::RLIMIT_NOFILE) => self.put_words(at, &[1024, 4096]),
            _ => self.put_words(at, &[u64::MAX, u64::MAX]),
        }
    }

    fn affinity(&mut self, caller: i32, a: [u64; 6]) -> Answer {
        let count = self.machine.topology.cpus();
        let bytes = count.div_ceil(64) as usize * 8;
        if (a[1] as usize) < bytes {
            return error(libc::EINVAL);
        }
        let Some(own) = self.thread_of(caller, a[0]) else { return error(libc::ESRCH) };
        let cpus = self.confined.get(&own).cloned().unwrap_or_else(|| CpuSet::first(count));
        let mut mask = vec![0_u8; bytes];
        cpus.iter().for_each(|cpu| mask[cpu.index() / 8] |= 1 << (cpu.index() % 8));
        self.put(a[2], &mask, bytes as i64)
    }

    /// `getcpu`: the CPU of the program's task, unless the thread has confined itself to others.
    pub(crate) fn current_cpu(&self, t: &Thread, a: [u64; 6], desk: &dyn Desk) -> Answer {
        let task = desk.view().and_then(|view| view.task(self.machine.pid));
        let own = task.map_or(CpuId(0), |task| task.cpu);
        let cpu = match self.confined.get(&t.own) {
            Some(cpus) if !cpus.contains(own) => cpus.iter().next().unwrap_or(own),
            _ => own,
        };
        let node = self.machine.topology.place(cpu).node.0;
        let is_put = |at: u64, number: u32| at == 0 || self.host.write(at, &number.to_le_bytes());
        if is_put(a[0], cpu.0) && is_put(a[1], node) { Answer::Value(0) } else { error(libc::EFAULT) }
    }

    /// Sets a thread's affinity. Threads share a task, whose affinity is that of the first thread.
    fn set_affinity(&mut self, caller: i32, a: [u64; 6]) -> Answer {
        let count = self.machine.topology.cpus();
        let Some(own) = self.thread_of(caller, a[0]) else { return error(libc::ESRCH) };
        let mut mask = vec![0_u8; (a[1] as usize).min(count.div_ceil(8) as usize)];
        if !self.host.read(a[2], &mut mask) {
            return error(libc::EFAULT);
        }
        let is_in = |cpu: &u32| mask.get(*cpu as usize / 8).is_some_and(|byte| byte >> (cpu % 8) & 1 == 1);
        let cpus: CpuSet = (0..count).filter(is_in).map(CpuId).collect();
        if cpus.is_empty() {
            return error(libc::EINVAL);
        }
        self.confined.insert(own, cpus.clone());
        if own == self.machine.pid { Answer::Told(0, Event::Confined(cpus)) } else { Answer::Value(0) }
    }

    pub(crate) fn random_bytes(&mut self, a: [u64; 6]) -> Answer {
        /// The maximum number of bytes returned at once.
        const MOST: u64 = 256;
        let len = a[1].min(MOST) as usize;
        let bytes: Vec<u8> = (0..len).map(|_| self.draw() as u8).collect();
        self.put(a[0], &bytes, len as i64)
    }

    fn uname(&mut self, at: u64) -> Answer {
        let fields = ["Linux", "keel", RELEASE, "#1 SMP PREEMPT_DYNAMIC", "x86_64", "(none)"];
        let mut bytes = vec![0; UTS_BYTES * fields.len()];
        for (field, text) in fields.iter().enumerate() {
            bytes[UTS_BYTES * field..][..text.len()].copy_from_slice(text.as_bytes());
        }
        self.put(at, &bytes, 0)
    }

    fn sysinfo(&mut self, at: u64) -> Answer {
        let mut words = [0_u64; 14];
        (words[0], words[4], words[5]) =
            (self.clock_ns(libc::CLOCK_BOOTTIME) / 1_000_000_000, MEMORY_BYTES, MEMORY_BYTES / 2);
        words[10] = 1;
        words[13] = 1;
        self.put_words(at, &words)
    }

    /// Reports all capabilities: the program believes that it may do everything that the simulated kernel allows.
    fn capabilities(&mut self, at: u64) -> Answer {
        if at == 0 { Answer::Value(0) } else { self.put(at, &self.capabilities, 0) }
    }

    /// Lets a program drop capabilities. This has no effect, because keel grants it no privileges anyway.
    fn set_capabilities(&mut self, at: u64) -> Answer {
        let mut sets = [0; 24];
        if !self.host.read(at, &mut sets) {
            return error(libc::EFAULT);
        }
        let is_more = sets.iter().zip(&self.capabilities).any(|(new, old)| new & !old != 0);
        if is_more {
            return error(libc::EPERM);
        }
        self.capabilities = sets;
        Answer::Value(0)
    }
}

/// `seccomp(2)`: a filter is accepted but not applied, because the program has only the rights that keel grants it.
fn seccomp(operation: u64, flags: u64, filter: u64) -> Answer {
    const TSYNC: u64 = 1;
    match operation as u32 {
        libc::SECCOMP_SET_MODE_FILTER if flags & !TSYNC != 0 => error(libc::EINVAL),
        libc::SECCOMP_SET_MODE_FILTER if filter == 0 => error(libc::EFAULT),
        libc::SECCOMP_SET_MODE_FILTER | libc::SECCOMP_GET_ACTION_AVAIL => Answer::Value(0),
        _ => error(libc::EINVAL),
    }
}

/// `membarrier`. Threads run one at a time, and no BPF program runs at the same time, so all barriers are already
/// satisfied.
fn membarrier(command: u64, flags: u64) -> Answer {
    const QUERY: u64 = libc::MEMBARRIER_CMD_QUERY as u64;
    const KNOWN: u64 = (libc::MEMBARRIER_CMD_GLOBAL
        | libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED
        | libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED
        | libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED
        | libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) as u64;
    match command {
        _ if flags != 0 => error(libc::EINVAL),
        QUERY => Answer::Value(KNOWN as i64),
        command if command.is_power_of_two() && command & KNOWN != 0 => Answer::Value(0),
        _ => error(libc::EINVAL),
    }
}
