//! The paths over cgroups, which call the scheduler back under the mutex.

pub(crate) mod act;
pub(crate) mod enable;
pub(crate) mod moving;
