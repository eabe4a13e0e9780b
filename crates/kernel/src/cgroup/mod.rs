//! Rules and paths over cgroups; [`crate::state::cgroup`] is what they are about.

pub(crate) mod frame;
