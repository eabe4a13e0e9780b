//! Runs a program: its threads, one of which runs at a time, and the clock that they see.
//!
//! Threads take turns in a fixed order, one system call each. A call that has to wait leaves its thread stopped; when
//! all wait, the owner lets time pass. So the order of everything is a function of the program and of time.

use crate::ProgramError;
use crate::alarms::Alarm;
use crate::bpf::Bpf;
use crate::calls::Answer;
use crate::desk::Desk;
use crate::fds::Fds;
use crate::fds::Link;
use crate::host::{Host, Stop};
use crate::object::{Loaded, TestRun, Traced};
use crate::relay::{CLIENT_POLL_NS, Relay};
use crate::stats::Stats;
use crate::thread::Thread;
use crate::timers::Timers;
use crate::tree::Tree;
use keel_abi::cgroup::Cgroup;
use keel_abi::{CpuSet, Topology};
use keel_object::StructOps;
use libc::pid_t;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;

/// The pid of the first thread other than the main one. No task of the machine has a pid this high: the program's
/// threads are one task.
const FIRST_THREAD: i32 = 4_000_000;
/// Waiting threads are checked again after this many calls of other threads.
const TURNS: u64 = 64;
/// The longest time until a polling thread notices a ring buffer's record.
const RING_POLL_NS: u64 = 1_000_000;
/// The maximum number of bytes of output that are kept.
const MAX_OUTPUT: usize = 16 << 20;

/// The machine as shown to the program.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Which CPUs share cores, caches and nodes.
    pub topology: Topology,
    /// Each CPU's capacity; empty if all have 1024.
    pub capacity: Vec<u16>,
    /// The kernel's types, as in `/sys/kernel/btf/vmlinux`.
    pub btf: &'static [u8],
    /// The names and addresses in `/proc/kallsyms` in addition to the kernel's functions.
    pub symbols: &'static [(&'static str, u64)],
    /// The kernel's configuration, as in `/boot/config-*`.
    pub config: String,
    /// The workload's cgroups, as `/sys/fs/cgroup` shows them when the program starts.
    pub cgroups: Vec<Cgroup>,
    /// The time from one tick to the next, in nanoseconds: `CLOCK_MONOTONIC_COARSE` is no finer.
    pub tick_ns: u64,
    /// The seed of everything random.
    pub seed: u64,
    /// The charge for a system call in nanoseconds, including the user code before it.
    pub call_ns: u64,
    /// The pid of the task that represents the program, as the scheduler sees it.
    pub pid: i32,
}

/// The outcome of a step.
#[derive(Debug)]
pub enum Event {
    /// A thread has made a call, and is charged [`Machine::call_ns`].
    Called,
    /// All threads wait, until this time if one has a deadline.
    Idle {
        /// The deadline, in nanoseconds of the program's clock.
        until_ns: Option<u64>,
    },
    /// It needs its object loaded before the next event.
    Load(Box<Loaded>, Box<Event>),
    /// It attaches the scheduler of the loaded object. Its thread waits for [`Program::attached`].
    Attach(Box<StructOps>),
    /// It runs a program of the loaded object. Its thread waits for [`Program::ran`].
    Run(TestRun),
    /// It attaches a tracing program of the loaded object. Its thread waits for [`Program::traced`].
    Trace(Traced),
    /// Its only runnable thread has called `sched_yield()`.
    Yielded,
    /// Its first thread has confined itself to these CPUs.
    Confined(CpuSet),
    /// It detaches the scheduler.
    Detach,
    /// It detaches a tracing program.
    Untrace(Traced),
    /// It has ended, with this exit code; 128 or more if a signal ended it.
    Exited(i32),
}

/// Why a thread waits.
pub(crate) enum Wait {
    /// For a wakeup at one of these futexes, with one of these bits.
    Futex { places: Vec<u64>, bits: u32 },
    /// For time to pass.
    Sleep,
    /// Until its call can be answered.
    Retry,
}

/// A waiting thread.
pub(crate) struct Waiting {
    pub(crate) why: Wait,
    pub(crate) deadline_ns: Option<u64>,
    /// The order in which waits began.
    pub(crate) since: u64,
}

/// A running program.
pub struct Program {
    pub(crate) host: Host,
    pub(crate) machine: Machine,
    pub(crate) threads: BTreeMap<i32, Thread>,
    pub(crate) ready: VecDeque<i32>,
    pub(crate) waiting: BTreeMap<i32, Waiting>,
    pub(crate) fds: Fds,
    pub(crate) tree: Tree,
    /// The current folder, at which relative paths begin.
    pub(crate) folder: String,
    pub(crate) bpf: Bpf,
    pub(crate) now_ns: u64,
    /// The start of the machine's clock.
    pub(crate) since_ns: u64,
    pub(crate) idle_ns: Vec<u64>,
    /// Event counts of its scheduler.
    pub(crate) events: Vec<(&'static str, u64)>,
    seen_online: Vec<bool>,
    /// The online CPUs that the files show; empty for all.
    shown_online: Vec<bool>,
    /// The last tick of `/proc/stat` shown to the program, if it reads that.
    pub(crate) shown_tick: Option<u64>,
    pub(crate) random: u64,
    /// The effective, permitted and inheritable capabilities, two words each.
    pub(crate) capabilities: [u8; 24],
    pub(crate) output: Vec<u8>,
    pub(crate) refused: BTreeSet<String>,
    /// The words to clear when threads end: `CLONE_CHILD_CLEARTID`.
    pub(crate) clear_at: BTreeMap<i32, u64>,
    /// A page of the program's own memory for keel's calls.
    pub(crate) page: u64,
    pub(crate) next_own: i32,
    /// Threads that have confined themselves, with their CPUs.
    pub(crate) confined: BTreeMap<i32, CpuSet>,
    pub(crate) stats: Stats,
    pub(crate) relay: Relay,
    pub(crate) alarm: Alarm,
    pub(crate) timers: Timers,
    /// When keel last checked whether what the program watches has changed.
    pub(crate) watched_ns: u64,
    /// The thread whose call is being answered. It is not in the table.
    pub(crate) caller: Option<i32>,
    /// The deadline of the call that is being answered, if it has waited before.
    pub(crate) until_ns: Option<u64>,
    calls: u64,
    /// The events that must still be reported to the owner.
    pub(crate) pending: VecDeque<Event>,
    /// The thread that waits for the owner.
    outside: Option<i32>,
    exit: Option<i32>,
    pub(crate) name: String,
}

/// The folder in which the program's user is, for relative paths in its arguments. Only the program's model has it: the
/// host's process stays in the root folder.
fn current_folder() -> String {
    let folder = std::env::current_dir().ok().and_then(|folder| folder.into_os_string().into_string().ok());
    folder.unwrap_or_else(|| "/".to_owned())
}

impl Program {
    /// Starts a program for a machine, in the current folder. It has done nothing yet.
    ///
    /// # Errors
    /// The host cannot start or trace it.
    pub fn start(argv: &[OsString], machine: Machine) -> Result<Self, ProgramError> {
        let bpf = Bpf::new(machine.btf, machine.topology.cpus())?;
        let tree = Tree::new(&machine, &bpf.kernel)?;
        let env = [("PATH", "/usr/bin:/bin"), ("HOME", "/"), ("TZ", "UTC"), ("LANG", "C.UTF-8")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let host = Host::start(&argv[0], argv, &env, machine.pid)?;
        let first = Thread::new(&host, host.pid, machine.pid)?;
        let name = argv[0].to_string_lossy().rsplit('/').next().unwrap_or_default().to_owned();
        let pid = machine.pid;
        let mut program = Self {
            random: machine.seed,
            capabilities: [0xff; 24],
            host,
            machine,
            threads: BTreeMap::from([(pid, first)]),
            ready: VecDeque::from([pid]),
            waiting: BTreeMap::new(),
            fds: Fds::default(),
            tree,
            folder: current_folder(),
            bpf,
            now_ns: 0,
            since_ns: 0,
            idle_ns: Vec::new(),
            events: Vec::new(),
            seen_online: Vec::new(),
            shown_online: Vec::new(),
            shown_tick: None,
            output: Vec::new(),
            refused: BTreeSet::new(),
            clear_at: BTreeMap::new(),
            page: 0,
            next_own: FIRST_THREAD,
            confined: BTreeMap::new(),
            stats: Stats::default(),
            relay: Relay::default(),
            alarm: Alarm::default(),
            timers: Timers::default(),
            watched_ns: 0,
            caller: None,
            until_ns: None,
            calls: 0,
            pending: VecDeque::new(),
            outside: None,
            exit: None,
            name,
        };
        program.hide_host()?;
        Ok(program)
    }

    /// Returns its output on both streams since the last call.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Returns the names of refused system calls.
    pub fn refused(&self) -> impl Iterator<Item = &str> {
        self.refused.iter().map(String::as_str)
    }

    /// Returns the number of its system calls.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Returns the time on its clock, in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Returns its exit code, if it has ended.
    pub fn exit_code(&self) -> Option<i32> {
        self.exit
    }

    /// Returns its file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets for each CPU whether it is online, and its idle time in nanoseconds so far, for `/proc/stat`.
    pub fn see_cpus(&mut self, cpus: &mut dyn Iterator<Item = (bool, u64)>) {
        self.idle_ns.clear();
        self.seen_online.clear();
        for (online, idle_ns) in cpus {
            self.seen_online.push(online);
            self.idle_ns.push(idle_ns);
        }
    }

    /// Sets its scheduler's events, for `/sys/kernel/sched_ext/root/events`: names and counts.
    pub fn see_events(&mut self, events: impl Iterator<Item = (&'static str, u64)>) {
        self.events.clear();
        self.events.extend(events);
    }

    /// Lets one thread continue to its next system call, and answers it.
    ///
    /// # Errors
    /// It needs something that keel does not support, or the host fails.
    pub fn step(&mut self, now_ns: u64, desk: &mut dyn Desk) -> Result<Event, ProgramError> {
        if let Some(code) = self.exit {
            return Ok(Event::Exited(code));
        }
        if let Some(event) = self.pending.pop_front() {
            return Ok(event);
        }
        self.now_ns = self.now_ns.max(now_ns);
        if self.shown_tick.is_some() {
            self.show_times()?;
        }
        if self.seen_online != self.shown_online {
            self.tree.write_online(&self.machine, &self.seen_online)?;
            self.shown_online.clone_from(&self.seen_online);
        }
        self.bpf.show_rings(desk);
        self.ring_alarm()?;
        self.ring_timers()?;
        self.expire(desk)?;
        self.look_for_changes(desk)?;
        if self.ready.is_empty() || self.calls.is_multiple_of(TURNS) {
            self.retry(desk)?;
        }
        if self.ready.is_empty() && self.has_clients() {
            self.look_at_clients_while_waiting()?;
            self.retry(desk)?;
        }
        let Some(own) = self.ready.pop_front() else {
            return Ok(Event::Idle { until_ns: self.next_deadline() });
        };
        self.calls += 1;
        let mut thread = self.threads.remove(&own).expect("a ready thread is there");
        thread.calls += 1;
        let stopped = thread.go_on(&mut self.host)?;
        if let Some(stop) = stopped {
            return self.ended(own, stop);
        }
        self.bpf.read_rings(desk);
        self.bpf.read_arenas(desk);
        self.look_at_stats(&mut thread)?;
        self.look_at_clients(&mut thread)?;
        self.serve(own, thread, desk, false)
    }

    /// Answers the call at which a thread has stopped.
    fn serve(
        &mut self,
        own: i32,
        mut thread: Thread,
        desk: &mut dyn Desk,
        expired: bool,
    ) -> Result<Event, ProgramError> {
        let answer = self.dispatch(&mut thread, desk, expired)?;
        let event = match answer {
            Answer::Value(value) => {
                thread.answer(&mut self.host, value)?;
                self.ready.push_back(own);
                Event::Called
            }
            Answer::AsIs => {
                self.ready.push_back(own);
                Event::Called
            }
            Answer::Wait(why, deadline_ns) => {
                let since = self.calls;
                self.waiting.insert(own, Waiting { why, deadline_ns, since });
                Event::Called
            }
            Answer::Outside(event) => {
                self.outside = Some(own);
                event
            }
            Answer::Told(value, event) => {
                thread.answer(&mut self.host, value)?;
                self.ready.push_back(own);
                event
            }
            Answer::Leaves => {
                let stop = thread.go_on(&mut self.host)?;
                return self.ended(own, stop.unwrap_or(Stop::Exited(0)));
            }
            Answer::Begins => return Ok(Event::Called),
        };
        self.threads.insert(own, thread);
        Ok(event)
    }

    /// Handles the exit of a thread.
    fn ended(&mut self, own: i32, stop: Stop) -> Result<Event, ProgramError> {
        let code = match stop {
            Stop::Exited(code) => code,
            Stop::Killed(signal) => 128 + signal,
            _ => 0,
        };
        // The end of the process ends all threads; the host reports the first thread last.
        if own == self.machine.pid || matches!(stop, Stop::Killed(_)) {
            self.exit = Some(code);
            return Ok(Event::Exited(code));
        }
        if let Some(at) = self.clear_at.remove(&own) {
            self.wake_futex(at, 1, u32::MAX)?;
        }
        Ok(Event::Called)
    }

    /// Notes that the process exits on its own, with this code.
    pub(crate) fn note_exit(&mut self, code: i32) {
        self.exit = Some(code);
    }

    /// Continues after [`Event::Attach`]: the scheduler is attached, or the kernel refused it with this error.
    ///
    /// # Errors
    /// The host fails.
    pub fn attached(&mut self, refused: Option<i32>) -> Result<(), ProgramError> {
        let Some((own, mut thread)) = self.take_outside() else { return Ok(()) };
        let value = match refused {
            Some(errno) => {
                self.bpf.is_attached = false;
                -i64::from(errno)
            }
            None => {
                self.tree.show_scheduler(Some(&self.bpf.ops_name))?;
                self.tree.write_events(&self.events)?;
                if !self.bpf.was_attached {
                    self.since_ns = self.now_ns;
                }
                self.bpf.was_attached = true;
                if self.bpf.by_link { self.new_link(&mut thread, Link::Scheduler)? } else { 0 }
            }
        };
        self.answer_outside(own, thread, value)
    }

    /// Continues after [`Event::Trace`]: the tracing program is attached, unless the kernel has no such attach point.
    ///
    /// # Errors
    /// The host fails.
    pub fn traced(&mut self, traced: Traced, is_attached: bool) -> Result<(), ProgramError> {
        let Some((own, mut thread)) = self.take_outside() else { return Ok(()) };
        let value = match is_attached {
            true => self.new_link(&mut thread, Link::Trace(traced))?,
            false => {
                self.refused.insert(format!("attaching to {}", traced.place));
                -i64::from(libc::ENOENT)
            }
        };
        self.answer_outside(own, thread, value)
    }

    /// Returns the thread that waits for the owner.
    fn take_outside(&mut self) -> Option<(i32, Thread)> {
        let own = self.outside.take()?;
        Some((own, self.threads.remove(&own).expect("who waits is there")))
    }

    fn answer_outside(&mut self, own: i32, mut thread: Thread, value: i64) -> Result<(), ProgramError> {
        thread.answer(&mut self.host, value)?;
        self.threads.insert(own, thread);
        self.ready.push_front(own);
        Ok(())
    }

    /// Continues after [`Event::Run`]: the program of the object has returned this value, and left this in its context.
    ///
    /// # Errors
    /// The host fails.
    pub fn ran(&mut self, value: u32, context: &[u8]) -> Result<(), ProgramError> {
        let Some((own, thread)) = self.take_outside() else { return Ok(()) };
        let answer = self.finish_run(&thread, value, context);
        self.answer_outside(own, thread, answer)
    }

    /// Answers the calls whose deadlines have passed.
    fn expire(&mut self, desk: &mut dyn Desk) -> Result<(), ProgramError> {
        let now = self.now_ns;
        let due = |wait: &Waiting| wait.deadline_ns.is_some_and(|at| at <= now);
        let mut due: Vec<(u64, i32)> = self
            .waiting
            .iter()
            .filter(|(_, wait)| due(wait))
            .map(|(&own, wait)| (wait.deadline_ns.unwrap_or(0), own))
            .collect();
        due.sort_unstable();
        for (_, own) in due {
            let Some(wait) = self.waiting.remove(&own) else { continue };
            let mut thread = self.threads.remove(&own).expect("who waits is there");
            match wait.why {
                Wait::Retry => {
                    self.serve(own, thread, desk, true)?;
                    continue;
                }
                Wait::Sleep => thread.answer(&mut self.host, 0)?,
                Wait::Futex { .. } => thread.answer(&mut self.host, -i64::from(libc::ETIMEDOUT))?,
            }
            self.threads.insert(own, thread);
            self.ready.push_back(own);
        }
        Ok(())
    }

    /// Checks whether waiting calls can be answered now.
    fn retry(&mut self, desk: &mut dyn Desk) -> Result<(), ProgramError> {
        let again: Vec<i32> =
            self.waiting.iter().filter(|(_, w)| matches!(w.why, Wait::Retry)).map(|(&own, _)| own).collect();
        for own in again {
            let Some(wait) = self.waiting.remove(&own) else { continue };
            let mut thread = self.threads.remove(&own).expect("who waits is there");
            self.until_ns = wait.deadline_ns;
            let answer = self.dispatch(&mut thread, desk, false)?;
            self.until_ns = None;
            match answer {
                Answer::Value(value) => {
                    thread.answer(&mut self.host, value)?;
                    self.ready.push_back(own);
                }
                Answer::AsIs => self.ready.push_back(own),
                _ => {
                    self.waiting.insert(own, wait);
                }
            }
            self.threads.insert(own, thread);
        }
        Ok(())
    }

    fn next_deadline(&self) -> Option<u64> {
        let waits = self.waiting.values().filter_map(|wait| wait.deadline_ns);
        let polls_a_ring = self.fds.polls_a_ring() || self.polls_a_ring_alone();
        let ring = polls_a_ring.then_some(self.now_ns + RING_POLL_NS);
        let clients = self.has_clients().then_some(self.now_ns + CLIENT_POLL_NS);
        let calls = self.next_alarm().into_iter().chain(self.next_expiry()).chain(self.next_watch());
        waits
            .chain(self.fds.next_timer(self.now_ns))
            .chain(calls)
            .chain(ring)
            .chain(clients)
            .filter(|&at| at > self.now_ns)
            .min()
    }

    /// Wakes up to `most` threads that wait at a futex for one of these bits, in the order in which they started to
    /// wait. Returns how many were woken. Each learns which of its futexes it was.
    pub(crate) fn wake_futex(&mut self, at: u64, most: u32, bits: u32) -> Result<i64, ProgramError> {
        let mut who: Vec<(u64, i32, usize)> = self
            .waiting
            .iter()
            .filter_map(|(&own, wait)| match &wait.why {
                Wait::Futex { places, bits: mask } if mask & bits != 0 => {
                    let which = places.iter().position(|&place| place == at)?;
                    Some((wait.since, own, which))
                }
                _ => None,
            })
            .collect();
        who.sort_unstable();
        who.truncate(most as usize);
        for &(_, own, which) in &who {
            self.waiting.remove(&own);
            let thread = self.threads.get_mut(&own).expect("who waits is there");
            thread.answer(&mut self.host, which as i64)?;
            self.ready.push_back(own);
        }
        Ok(who.len() as i64)
    }

    /// Adds a thread that another one has created.
    pub(crate) fn add_thread(&mut self, tid: pid_t) -> Result<i32, ProgramError> {
        let own = self.next_own;
        self.next_own += 1;
        let thread = Thread::new(&self.host, tid, own)?;
        self.threads.insert(own, thread);
        self.ready.push_back(own);
        Ok(own)
    }

    pub(crate) fn print(&mut self, bytes: &[u8]) {
        let room = MAX_OUTPUT.saturating_sub(self.output.len());
        self.output.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}
