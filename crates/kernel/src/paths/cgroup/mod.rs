//! The cgroup paths, which call back into the scheduler with the mutex held.

pub(crate) mod act;
pub(crate) mod enable;
pub(crate) mod moving;
