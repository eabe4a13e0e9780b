//! Runs a scheduler's user-space program, unmodified: its system calls are answered here, its time is virtual.
//!
//! The program is a process of the host that is stopped at each system call. [`Program::step`] lets one of its threads
//! continue to its next call and answers it. The owner of the [`Program`] provides the time and the kernel's maps
//! ([`Desk`]); this crate knows no simulator, and a simulator needs to know no system call.
//!
//! The program may map memory, create threads, use pipes, read the host's files, and make the calls that `calls`
//! answers. It writes no file, opens no network socket, starts no process but itself and gets no privilege; all other calls return
//! `ENOSYS`, and are named in [`Program::refused`].
//!
//! - [`program`]: threads and steps
//! - `calls`: how each call is answered; `time`, `alarms`, `futex`, `futexes`, `events`, `select`, `watches`, `files`,
//!   `sockets`, `signals`, `process`, `policies` and `exec` are its parts; `names` has the names of refused calls
//! - `bpf`: bpf(2): maps, programs, types, links
//! - `tree`: the files that describe the simulated machine
//! - `tasks`: what these files show of its tasks and cgroups
//! - `server`: a connection to the program's own statistics server
//! - `stats`: queries that server
//! - [`relay`]: lets clients outside of the run query it
//! - `fds`: the program's descriptors
//! - `host` and `thread`: the process, by `ptrace(2)`; the only unsafe code
//! - [`object`]: what the program has loaded, as [`Object`](keel_object::Object)
//! - [`desk`]: the contract with the kernel's maps

mod alarms;
mod bpf;
mod calls;
pub mod desk;
mod epoll;
mod error;
mod events;
mod exec;
mod fds;
mod files;
mod futex;
mod futexes;
mod host;
mod identity;
mod inodes;
mod names;
pub mod object;
mod policies;
mod process;
pub mod program;
pub mod relay;
mod select;
mod server;
mod signals;
mod sockets;
mod stats;
mod tasks;
mod thread;
mod time;
mod timers;
mod tree;
mod usage;
mod watches;

pub use desk::{Desk, Inner, NoDesk, RingView};
pub use error::ProgramError;
pub use object::{Fill, Loaded, TestRun, Traced};
pub use program::{Event, Machine, Program};
pub use relay::{Clients, News};
