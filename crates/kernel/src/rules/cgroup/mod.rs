//! What happens to cgroups: they come, go, and tasks move between them; the mutex that it happens under.

pub(crate) mod lifetime;
pub(crate) mod mirror;
pub(crate) mod moving;
pub(crate) mod mutex;
pub(crate) mod steps;
