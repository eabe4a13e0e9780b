//! The cgroup paths, which call the scheduler's callbacks with `cgroup_mutex` held.

pub(crate) mod act;
pub(crate) mod enable;
pub(crate) mod moving;
