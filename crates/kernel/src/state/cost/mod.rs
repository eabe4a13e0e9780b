//! What everything costs: a machine's constants, the price of each kfunc and helper, locks held
//! in virtual time, and the cache lines of the kernel's own objects.
//!
//! A callback costs the instructions that it executed, the kfuncs that it called, the lines that
//! it made move and the time that it waited for locks. Constants are the machine's, the same for
//! every scheduler.

mod bus;
mod constants;
mod kernel_lines;
pub mod kfunc;
pub mod lock;
mod turns;

pub(crate) use bus::Bus;
pub use constants::Costs;
pub use kernel_lines::KernelLines;
pub(crate) use turns::Turns;
