//! The real-time class's paths that take another runqueue's lock: pushing, pulling and priority inheritance.

pub(crate) mod boost;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod throttle;
pub(crate) mod woken;
