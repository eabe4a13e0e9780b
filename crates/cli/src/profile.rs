//! Writes a run's profile to the requested file.

use crate::failure::Failure;
use crate::output::Output;
use crate::run_args::OutputArgs;
pub(crate) use keel_front::profile::{Format, MOST_LINES, annotated, bytes, json, keep};
use keel_lab::RunSpec;
use keel_profile::{Profile, growth};
use std::path::Path;

/// Returns whether the name selects a table.
pub(crate) fn is_text(path: &Path) -> bool {
    Format::of(path) == Format::Text
}

/// Makes the runs keep a profile, if one is requested.
pub(crate) fn ask(outputs: &OutputArgs, specs: &mut [RunSpec]) -> Result<(), Failure> {
    if outputs.profile.is_some() { keep(specs) } else { Ok(()) }
}

/// Writes it in the format for the output's name.
pub(crate) fn write(profile: &Profile, output: &mut Output) -> Result<(), Failure> {
    let format = Format::of(output.path());
    output.write(&bytes(profile, format))
}

/// Writes a table of several profiles side by side.
pub(crate) fn write_beside(profiles: &[Profile], output: &mut Output) -> Result<(), Failure> {
    let names: Vec<String> = profiles.iter().map(|profile| profile.about.scheduler.clone()).collect();
    output.write(growth::beside(profiles, &names, usize::MAX).as_bytes())
}
