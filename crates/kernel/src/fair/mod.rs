//! The rules and paths of Linux's own fair class; [`crate::state::fair`] is what they are about.

pub(crate) mod balance;
pub(crate) mod frame;
pub(crate) mod hrtick;
pub(crate) mod newidle;
pub(crate) mod nohz;
pub(crate) mod period;
pub(crate) mod periodic;
pub(crate) mod push;
pub(crate) mod throttle;
