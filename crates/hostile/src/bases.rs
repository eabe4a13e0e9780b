//! The objects that are altered: ours alone, compiled when this crate is.

/// An object of the project.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base {
    /// What it is called.
    pub(crate) name: &'static str,
    /// The syscall programs of it that are run, in this order.
    pub(crate) programs: &'static [&'static str],
    /// The object.
    pub(crate) bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// The object of this name.
pub(crate) fn named(name: &str) -> Base {
    *OBJECTS.iter().find(|base| base.name == name).expect("it is one of ours")
}

impl Base {
    /// A recipe that runs its programs.
    pub(crate) fn recipe(&self) -> keel_recipe::Recipe {
        let run = |program: &&str| format!("[[run]]\nprogram = \"{program}\"\n");
        let text: String = self.programs.iter().map(run).collect();
        keel_recipe::Recipe::read("recipe", &text).expect("names of programs need no escape")
    }
}
