//! The rules and paths of sched_ext; [`crate::state::scx`] is what they are about.

pub(crate) mod alone;
