//! Runs a scheduler's user-space program, unmodified: this crate answers its system calls, and its time is virtual.
//!
//! The program is a process of the host that is stopped at each system call. [`Program::step`] lets one of its threads
//! continue to its next call and answers that. The owner of the [`Program`] provides the time and the kernel's maps
//! ([`Desk`]). This crate depends on no simulator, and a simulator needn't deal with system calls.
//!
//! The program may map memory, create threads, use pipes, read the host's files, and make the calls that `calls`
//! answers. It can't write files, open network sockets, start other processes or gain privileges. All other calls
//! return `ENOSYS`, and [`Program::refused`] names them.
//!
//! - [`program`]: threads and steps
//! - `calls`: how each call is answered; `time`, `alarms`, `futex`, `futexes`, `events`, `select`, `watches`, `files`,
//!   `sockets`, `signals`, `process`, `policies` and `exec` are its parts; `names` has the names of refused calls
//! - `bpf`: bpf(2): maps, programs, types, links
//! - `tree`: the files that describe the simulated machine
//! - `tasks`: what these files show of its tasks and cgroups
//! - `server`: a connection to the program's own statistics server
//! - `stats`: queries that server
//! - [`relay`]: lets clients outside the run query it
//! - `fds`: the program's descriptors
//! - `host` and `thread`: the process, by `ptrace(2)`; the only unsafe code
//! - [`object`]: what the program has loaded, as [`Object`](keel_object::Object)
//! - [`desk`]: the interface to the kernel's maps

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
