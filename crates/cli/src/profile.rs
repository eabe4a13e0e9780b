//! A run's profile as the requested file.

use crate::failure::Failure;
use crate::output::Output;
use crate::run_args::OutputArgs;
pub(crate) use keel_front::profile::{Format, MOST_LINES, annotated, bytes, json, keep};
use keel_lab::RunSpec;
use keel_profile::{Profile, growth};
use std::path::Path;

/// Is it a table that the name asks for?
pub(crate) fn is_text(path: &Path) -> bool {
    Format::of(path) == Format::Text
}

/// Has the runs keep a profile, if one is to be written.
pub(crate) fn ask(outputs: &OutputArgs, specs: &mut [RunSpec]) -> Result<(), Failure> {
    if outputs.profile.is_some() { keep(specs) } else { Ok(()) }
}

/// Writes it as the output's name says.
pub(crate) fn write(profile: &Profile, output: &mut Output) -> Result<(), Failure> {
    let format = Format::of(output.path());
    output.write(&bytes(profile, format))
}

/// Writes a table of several, beside each other.
pub(crate) fn write_beside(profiles: &[Profile], output: &mut Output) -> Result<(), Failure> {
    let names: Vec<String> = profiles.iter().map(|profile| profile.about.scheduler.clone()).collect();
    output.write(growth::beside(profiles, &names, usize::MAX).as_bytes())
}
