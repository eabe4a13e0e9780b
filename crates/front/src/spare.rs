//! Protects input files from being overwritten by output.

use crate::failure::Failure;
use crate::text::shown_path;
use std::path::Path;

/// Refuses to write to a file that is also an input, because its content would be lost.
///
/// # Errors
/// `output` is one of the inputs.
pub fn spare<I: AsRef<Path>>(output: &Path, inputs: impl IntoIterator<Item = I>) -> Result<(), Failure> {
    let Ok(place) = std::fs::canonicalize(output) else { return Ok(()) };
    let is_it = |input: I| std::fs::canonicalize(input).is_ok_and(|input| input == place);
    match inputs.into_iter().any(is_it) {
        true => {
            Err(Failure::input(format!("{} is an input file and would be overwritten", shown_path(output)))
                .help("name another file"))
        }
        false => Ok(()),
    }
}
