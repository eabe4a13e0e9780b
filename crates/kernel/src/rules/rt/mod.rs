//! The rules of the real-time class: who runs next, where a waking task goes, who is pushed and pulled.
//!
//! [`crate::state::rt`] is what they are about. The paths that take other runqueues' locks for them are in `paths::rt`.

pub(crate) mod overload;
pub(crate) mod place;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod sched;
pub(crate) mod server;
pub(crate) mod throttle;
