//! Writes files atomically, and prints to a stdout whose reader may go away.

use crate::failure::Failure;
use crate::inputs::reason;
use crate::interrupt::Process;
use crate::text::shown_path;
use keel_lab::ProgramEnd;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

/// The files that are being written and don't have their final names yet.
static PARTS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn parts() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all half-written files, for a process that ends without unwinding. No file can be started afterwards.
pub(crate) fn abandon() {
    let parts = parts();
    for part in &*parts {
        // A file that no longer exists under this name already has its final name.
        let _ = std::fs::remove_file(part);
    }
    std::mem::forget(parts);
}

/// A file that appears under its name only when [`Output::keep`] is called.
pub(crate) struct Output {
    /// As the user wrote it, for messages.
    given: PathBuf,
    path: PathBuf,
    to: To,
}

enum To {
    /// Written to a temporary file in the same folder, then renamed.
    Beside(Part),
    /// A pipe or device, which must not be replaced by a file.
    Straight(File),
}

impl Output {
    /// Checks that the file can be written, before any work is done for it.
    pub(crate) fn reserve(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Err(Failure::input("'-' cannot be written: standard output is for the results")
                .help("name a file, or write ./- for one with this name"));
        }
        let cannot = |e: io::Error| cannot(path, &e);
        let place = place(path);
        let to = match std::fs::metadata(&place) {
            Ok(there) if there.is_dir() => return Err(cannot(ErrorKind::IsADirectory.into())),
            Ok(there) if !there.is_file() => {
                To::Straight(File::options().write(true).open(&place).map_err(cannot)?)
            }
            _ => To::Beside(beside(&place).map_err(cannot)?),
        };
        Ok(Self { given: path.to_owned(), path: place, to })
    }

    /// Returns its destination. No two outputs may have the same one.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses to write to a file that is also an input, because its content would be lost.
    pub(crate) fn spare<I: AsRef<Path>>(&self, inputs: impl IntoIterator<Item = I>) -> Result<(), Failure> {
        keel_front::spare::spare(&self.path, inputs)
    }

    /// Returns the writer for its bytes.
    pub(crate) fn writer(&mut self) -> &mut dyn Write {
        match &mut self.to {
            To::Beside(part) => part.file.as_file_mut(),
            To::Straight(file) => file,
        }
    }

    /// Writes all bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.writer().write_all(bytes);
        written.map_err(|e| self.failed(&e))
    }

    /// Converts an error of writing this file.
    pub(crate) fn failed(&self, error: &io::Error) -> Failure {
        cannot(&self.given, error)
    }

    /// Gives the complete file its name.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        let To::Beside(Part { file, registered }) = self.to else { return Ok(()) };
        let kept = file.persist(&self.path).map(drop).map_err(|e| cannot(&self.given, &e.error));
        drop(registered);
        kept
    }
}

/// Returns the one spelling of a path. Follows a link, so that the link stays and its target is replaced.
fn place(path: &Path) -> PathBuf {
    let folder = || std::fs::canonicalize(folder(path)).ok();
    let new = || Some(folder()?.join(path.file_name()?));
    std::fs::canonicalize(path).ok().or_else(new).unwrap_or_else(|| path.to_owned())
}

/// Returns the folder that contains the file.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn cannot(path: &Path, error: &io::Error) -> Failure {
    Failure::input(format!("{} cannot be written: {}", shown_path(path), reason(error)))
}

/// A file that gets its name when it is complete. Fields are dropped in order, so the file is dropped first.
struct Part {
    file: NamedTempFile,
    registered: Registered,
}

/// The path of a part, registered in [`PARTS`] while this exists.
struct Registered(PathBuf);

impl Drop for Registered {
    fn drop(&mut self) {
        parts().remove(&self.0);
    }
}

/// Creates a temporary file in the same folder, with the usual permissions of a new file.
fn beside(path: &Path) -> io::Result<Part> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".keel-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The umask removes the permissions that the user doesn't want.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    // Locked during both steps, so that a signal finds no unregistered file.
    let mut parts = parts();
    let file = builder.tempfile_in(std::path::absolute(folder(path))?)?;
    parts.insert(file.path().to_owned());
    let registered = Registered(file.path().to_owned());
    Ok(Part { file, registered })
}

/// Prints to stdout.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    if cfg!(test) {
        // The test runner captures this, but not the locked stdout below.
        print!("{text}");
        return Ok(());
    }
    let mut out = BufWriter::new(io::stdout().lock());
    printed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Converts the result of printing to stdout. A reader that goes away (`keel list | head`) is not an error: it has read
/// all it wanted.
pub(crate) fn printed(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::input(format!("stdout cannot be written: {}", reason(&e))))
        }
        _ => Ok(()),
    }
}

/// Writes the text to its reserved file, or prints it if there is none.
pub(crate) fn write_or_print(output: Option<Output>, text: &str) -> Result<(), Failure> {
    let Some(mut output) = output else { return print(text) };
    output.write(text.as_bytes())?;
    output.keep()
}

/// Prints a remark to stderr. If stderr is closed there is nobody left to report to.
pub(crate) fn note(text: impl Display) {
    let _ = writeln!(io::stderr(), "keel: note: {text}");
}

/// Prints a program's statistics, and reports how it ended, unless it succeeded.
pub(crate) fn tell(name: &str, end: &ProgramEnd) {
    for line in keel_front::program::statistics(end) {
        // If stderr is closed there is nobody left to report to.
        let _ = writeln!(io::stderr(), "keel: {line}");
    }
    keel_front::program::tell(name, end, &Process);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_only_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.svg");
        std::fs::write(&path, "old").unwrap();
        let mut output = Output::reserve(&path).unwrap();
        output.writer().write_all(b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        drop(output);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "the part is removed");

        let mut output = Output::reserve(&path).unwrap();
        output.writer().write_all(b"new").unwrap();
        output.keep().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn devices_are_written_and_stay() {
        let mut output = Output::reserve(Path::new("/dev/null")).unwrap();
        output.writer().write_all(b"x").unwrap();
        output.keep().unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn an_unwritable_file_is_reported_at_once() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Output::reserve(folder.path()).is_err(), "a folder");
        assert!(Output::reserve(&folder.path().join("no/such/file")).is_err());
    }
}
