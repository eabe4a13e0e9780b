//! Host recipes: what the user-space half of a scheduler does before and while the scheduler is attached, as data. Real
//! and simulated kernels follow the same recipe.
//!
//! [`Recipe::read`] reads the file. [`Recipe::plan`] resolves it for a machine, into a plain list of [`Action`]s in the
//! order in which they are carried out.
//!
//! - `read`: the TOML file, as a [`Recipe`].
//! - `action`: what is done before and while the scheduler is attached.
//! - `facts`: what a recipe can ask of a machine, by name.
//! - `ops`: the members of `struct sched_ext_ops` that a recipe can set.
//! - [`companion`]: a script that keeps running beside its scheduler.
//! - `error`: errors in a recipe, with their position.
#![forbid(unsafe_code)]

mod action;
pub mod companion;
mod error;
mod facts;
mod ops;
mod read;

pub use action::{Action, Value};
pub use companion::Companion;
pub use error::{Problem, RecipeError};
pub use facts::{Facts, NAMES};
pub use ops::FLAGS;
pub use read::Recipe;
