//! The simulated kernel: a deterministic discrete-event model of Linux 7.2's scheduler core and sched_ext, for any
//! machine and any engine that executes the BPF.
//!
//! Nothing here looks at a wall clock, starts a thread, reads a file or depends on which engine executes the BPF.
//!
//! The folders are layers. Each may name only those before it (`LAYERS`; `./x check` enforces this):
//!
//! - `state`: what the kernel consists of. `kernel`, `cpu`, `task`: the big structures; `machine`, `cost`: machine
//!   files and what each action costs; `event`: what happens when; `dsq`, `idle`, `fair`, `rt`, `scx`, `cgroup`,
//!   `objects`: queues, masks and shared objects; `frame`: how far a CPU has got on its way through the kernel;
//!   `mirror`, `layout`, `percpu`: what BPF reads
//! - `rules`: what to do. Methods of `Kernel`, which can't be suspended: who runs next, which CPU a task goes to,
//!   whether a wakeup preempts
//! - `paths`: how it happens. Methods of [`Sim`], which can be suspended: wakeup, pick and switch, tick, fork, hotplug,
//!   attaching
//! - `kfuncs`: what BPF programs can call
//! - `tasks`: what tasks do
//! - `run`: the main loop, dispatching each frame to its step, and booting
//!
//! Start at `run::main_loop`. Then read `paths::suspend`, which says how a path is cut into steps and what it may hold
//! between them; then `rules`, whose header says where to find each rule.
//!
//! Parameters with these names mean the same everywhere: `c` is this CPU, the one that takes the step
//! (`smp_processor_id()`), and `rq` is the CPU whose runqueue is meant, which may be another one.
#![forbid(unsafe_code)]

mod kfuncs;
mod paths;
mod rules;
mod run;
mod state;
mod tasks;

pub use kfuncs::{helper, kfunc, served};
pub use paths::sim::Sim;
pub use run::main_loop::State;
pub use state::class::SCHED_CLASSES;
pub use state::companion::{Beside, companion_pid};
pub use state::exit::Exit;
pub use state::fair::{NAME as EEVDF, settings::FairSettings};
pub use state::features::features;
pub use state::kernel::Counters;
pub use state::layout::KERNEL_BTF;
pub use state::log::{Log, LogLine, MOST_LINES};
pub use state::percpu::variable;
pub use state::setup::{ProgramFailure, Scheduler, Setup, SetupError, UserProgram};
pub use state::waits::{Site, Waits};
pub use state::{cost, dsq, event, idle, layout, machine, noise};
