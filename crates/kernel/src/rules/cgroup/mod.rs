//! Cgroups: creating and removing them, moving tasks between them, and the mutex that protects all of this.

pub(crate) mod lifetime;
pub(crate) mod mirror;
pub(crate) mod moving;
pub(crate) mod mutex;
pub(crate) mod steps;
