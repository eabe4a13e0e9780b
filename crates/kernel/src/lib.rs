//! The simulated kernel: a deterministic discrete-event model of Linux 7.2's scheduler core and
//! sched_ext, around whichever machine and with whichever engine executing the BPF.
//!
//! Start at [`Sim`], the main loop; then `frame`, which says how a path of the kernel is cut into
//! steps. Nothing here looks at a wall clock, starts a thread, reads a file or depends on which
//! engine executes the BPF.
//!
//! The scheduler:
//!
//! - `core`: wakeups, picks, switches, ticks, forks and changes of a task, whatever its class
//! - `class`: which scheduling classes there are and who asks which
//! - `scx`: sched_ext's rules: queues, direct dispatch, kicks, enabling, disabling, the watchdog
//! - `fair`, `rt`: the classes beside it
//! - `dsq`: dispatch queues
//! - `idle`: idle masks and `select_cpu_dfl`
//! - `domains`: scheduling domains as BPF programs read them
//! - `cgroup`: groups, their weights and moves between them
//! - `callback`: calls of the scheduler's callbacks
//! - `kfuncs`: helpers and kfuncs that BPF programs call
//! - `exit`: why a scheduler ended
//!
//! Tasks and what surrounds them:
//!
//! - `task_program`: what tasks do
//! - `external_events`: what happens to the machine from outside: hotplug, changes of a task
//! - `interrupt`: interrupts that a CPU takes; `deferrable`: timers that wait for its tick
//! - `noise`: what goes on beside the workload
//! - `sessions`: schedulers that attach and end within a run
//!
//! State and time:
//!
//! - `kernel`: all state; `cpu`, `cpus`, `task`: its parts
//! - `event`: what happens when; `frame`, `stack`: where a CPU is on its way through the kernel
//! - `machine`: machine files; `cost`: what each action costs on them; `frequency`: CPU speeds
//! - `rng`: random numbers from the seed
//! - `setup`: from a scheduler, a workload and a machine to a run
//! - `starts`: tasks that come by themselves
//!
//! What others see:
//!
//! - `mirror`, `layout`, `percpu`: the kernel's structures in memory that BPF programs read
//! - `features`: which kernel features exist here
//! - `log`, `out`: the kernel's log and the trace
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
pub use state::companion::{Beside, companion_pid};
pub use state::exit::Exit;
pub use state::fair::{NAME as EEVDF, settings::FairSettings};
pub use state::features::features;
pub use state::kernel::Counters;
pub use state::layout::KERNEL_BTF;
pub use state::log::{Log, LogLine, MOST_LINES};
pub use state::percpu::variable;
pub use state::setup::{ProgramFailure, Scheduler, Setup, SetupError, UserProgram};
pub use state::{cost, dsq, event, idle, layout, machine, noise};
