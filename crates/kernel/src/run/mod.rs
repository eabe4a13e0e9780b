//! The main loop: which event is next, which CPU takes which step, and how a run begins and ends.

pub(crate) mod boot;
pub(crate) mod interrupts;
pub(crate) mod main_loop;
pub(crate) mod owner;
pub(crate) mod step;
pub(crate) mod timers;
pub(crate) mod unattached;
