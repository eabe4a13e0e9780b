//! A host recipe: what the user-space half of a scheduler does before and while it is attached, as
//! data. Real and simulated kernels follow the same recipe.
//!
//! [`Recipe::read`] reads the file, [`Recipe::plan`] resolves it against a machine: what comes out is a plain
//! list of [`Action`]s, in the order in which they are done.
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
pub use read::Recipe;
