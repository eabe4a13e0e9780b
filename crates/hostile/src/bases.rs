//! The base objects. They are all the project's, compiled with this crate.

/// An object of the project.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base {
    /// Its name.
    pub(crate) name: &'static str,
    /// The recipe that is used with it.
    pub(crate) recipe: &'static str,
    /// The bytes of the object.
    pub(crate) bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Returns the object with this name.
pub(crate) fn named(name: &str) -> Base {
    *OBJECTS.iter().find(|base| base.name == name).expect("it is one of ours")
}

impl Base {
    /// Returns the recipe, which does what the user-space half would do.
    pub(crate) fn recipe(&self) -> keel_recipe::Recipe {
        keel_recipe::Recipe::read("recipe", self.recipe).expect("our own recipes are right")
    }
}
