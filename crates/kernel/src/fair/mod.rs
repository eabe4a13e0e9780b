//! The rules and paths of Linux's own fair class; [`crate::state::fair`] is what they are about.

pub(crate) mod frame;
