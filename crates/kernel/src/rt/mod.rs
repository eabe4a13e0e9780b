//! The rules and paths of the real-time class; [`crate::state::rt`] is what they are about.

pub(crate) mod boost;
pub(crate) mod frame;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod sched;
pub(crate) mod throttle;
