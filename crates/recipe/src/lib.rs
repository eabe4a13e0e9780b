//! A host recipe: what the user-space half of a scheduler does before and while it is attached, as
//! data. Real and simulated kernels follow the same recipe.
#![forbid(unsafe_code)]
