//! Converts a run's profile to files: chooses the format by the file's name, and makes the bytes.

use crate::failure::Failure;
use keel_lab::{Engine, RunSpec};
use keel_profile::{Profile, View, folded, lcov, pprof, text};
use std::path::Path;

/// The number of lines in a table.
pub const MOST_LINES: usize = 20;
/// The maximum size of a source file that is shown, in bytes.
const MOST_SOURCE: u64 = 16 << 20;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The whole profile; keel can read it again.
    Json,
    /// For pprof, compressed.
    Pprof,
    /// Folded stacks, for flame graphs.
    Folded,
    /// Which lines and branches ran, for lcov.
    Lcov,
    /// Tables, and the annotated source.
    Text,
}

impl Format {
    /// Returns the format for this file's name.
    pub fn of(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        match () {
            () if ends(&[".json"]) => Self::Json,
            () if ends(&[".pb.gz", ".pprof", ".pb"]) => Self::Pprof,
            () if ends(&[".folded", ".collapsed"]) => Self::Folded,
            () if ends(&[".info", ".lcov"]) => Self::Lcov,
            () => Self::Text,
        }
    }
}

/// Makes these runs keep a profile.
pub fn keep(specs: &mut [RunSpec]) -> Result<(), Failure> {
    for spec in specs {
        let bytes = &spec.scheduler.bytes;
        if bytes.get().is_none() && bytes.program().is_none() {
            return Err(Failure::input(format!("{} has no BPF code to profile", spec.scheduler.name))
                .help("name a scheduler that is an object or a program"));
        }
        spec.engine = Engine::Profiler;
    }
    Ok(())
}

/// Returns a profile in this format.
pub fn bytes(profile: &Profile, format: Format) -> Vec<u8> {
    match format {
        Format::Json => json(profile).into_bytes(),
        Format::Pprof => pprof::pprof(profile),
        Format::Folded => folded::folded(profile).into_bytes(),
        Format::Lcov => lcov::lcov(profile).into_bytes(),
        Format::Text => (text::summary(profile, MOST_LINES) + "\n" + &annotated(profile)).into_bytes(),
    }
}

/// Returns a profile as JSON, which keel can read again.
pub fn json(profile: &Profile) -> String {
    serde_json::to_string(profile).expect("profiles have only string keys") + "\n"
}

/// Returns the source with the cost of each line, from the compiled files that exist on this machine.
pub fn annotated(profile: &Profile) -> String {
    text::annotated(profile, &source)
}

/// Returns a profile for a page, with the source from the same files as [`annotated`].
pub fn view(profile: &Profile) -> View {
    View::of(profile, &source)
}

/// Returns the text of a source file, if it exists on this machine.
fn source(file: &str) -> Option<String> {
    let there = std::fs::metadata(file).ok()?;
    let is_small = there.is_file() && there.len() <= MOST_SOURCE;
    is_small.then(|| std::fs::read_to_string(file).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_a_file_holds() {
        let check = |name: &str, expected| assert_eq!(Format::of(Path::new(name)), expected, "{name}");
        check("a/o1.json", Format::Json);
        check("o1.pb.gz", Format::Pprof);
        check("o1.PPROF", Format::Pprof);
        check("o1.folded", Format::Folded);
        check("coverage.info", Format::Lcov);
        check("o1.txt", Format::Text);
        check("json", Format::Text);
    }
}
