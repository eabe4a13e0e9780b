//! Rules and paths over cgroups; [`crate::state::cgroup`] is what they are about.

pub(crate) mod act;
pub(crate) mod enable;
pub(crate) mod frame;
pub(crate) mod moving;
