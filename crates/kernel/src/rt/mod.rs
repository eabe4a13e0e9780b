//! The rules and paths of the real-time class; [`crate::state::rt`] is what they are about.

pub(crate) mod frame;
