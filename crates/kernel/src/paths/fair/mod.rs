//! The fair class's paths that take another runqueue's lock or call back: load balancing, and group bandwidth periods.

pub(crate) mod active_balance;
pub(crate) mod balance;
pub(crate) mod bandwidth_timer;
pub(crate) mod hrtick;
pub(crate) mod newidle;
pub(crate) mod nohz;
pub(crate) mod periodic;
pub(crate) mod throttle;
