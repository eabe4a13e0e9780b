//! The quick checks: rules for the code's structure, licences and texts.

mod banned;
mod comments;
mod docs;
mod hosts;
mod length;
mod licences;
mod outputs;
mod unsafe_code;
mod walls;

use crate::Failure;
use crate::tree::root;
use cargo_metadata::{Metadata, MetadataCommand};
pub(crate) use licences::fits;

/// One check.
pub(crate) struct Check {
    /// Its name.
    pub(crate) name: &'static str,
    /// What is at risk if it fails.
    pub(crate) guards: &'static str,
    /// Runs it.
    pub(crate) run: fn() -> Result<(), Failure>,
}

/// All checks, in the order in which they run.
pub(crate) const ALL: &[Check] = &[
    Check {
        name: "walls",
        guards: "crates that can be read, tested and replaced one by one",
        run: walls::run,
    },
    Check {
        name: "layers",
        guards: "a kernel crate that can be read from the ground up",
        run: crate::layers::check,
    },
    Check {
        name: "unsafe code",
        guards: "memory safety: unsafe only where it is argued for",
        run: unsafe_code::run,
    },
    Check {
        name: "bans",
        guards: "determinism: clippy reads the list of banned types in each crate",
        run: banned::run,
    },
    Check {
        name: "licences",
        guards: "keel is MIT OR Apache-2.0 as a whole, for everybody",
        run: licences::run,
    },
    Check {
        name: "paths and hosts",
        guards: "a checkout that works and reads the same on any machine",
        run: hosts::run,
    },
    Check {
        name: "documents",
        guards: "pages that read well: wrapped lines, plain words, working links",
        run: docs::run,
    },
    Check {
        name: "outputs",
        guards: "output that reads well: plain words, numbers without exponents",
        run: outputs::run,
    },
    Check { name: "comments", guards: "code that reads well: plain words in comments", run: comments::run },
    Check { name: "file lengths", guards: "files that can be read in one sitting", run: length::run },
];

/// Cargo's metadata of the workspace and its dependencies.
fn metadata() -> Result<Metadata, Failure> {
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .exec()
        .map_err(|e| format!("cannot list the workspace with cargo: {e}"))
}

/// Joins several failures into one, with a line for each.
fn all_or(faults: Vec<String>) -> Result<(), Failure> {
    match faults.is_empty() {
        true => Ok(()),
        false => Err(faults.iter().map(|fault| format!("  {fault}\n")).collect::<String>().trim_end().into()),
    }
}
