//! Costs: a machine's constants, the price of each kfunc and helper, locks held in virtual time, and the cache lines of
//! the kernel's own objects.
//!
//! A callback costs the instructions that it executes, the kfuncs that it calls, the cache lines that it moves and the
//! time that it waits for locks. The constants belong to the machine, and are the same for every scheduler.

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
