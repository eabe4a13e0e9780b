//! Compiles BPF C with clang, for build scripts and tests: the same source gives the same bytes in any directory and on
//! any build machine.
//!
//! Users never run this crate, because `keel` contains the compiled objects.
//!
//! - `cases`: the cases of `tests/bpf`, and the value that each program must leave in its variable
//! - `native`: how many instructions the C code would compile to natively
//! - `embed`: a folder of sources as a Rust table of objects
//! - `tests`: this crate's tests
#![forbid(unsafe_code)]

mod cases;
mod embed;
mod native;

pub use cases::{Case, cases};
pub use embed::embed;
pub use native::{Counts, count_all};

use object::{Object, ObjectSection, ObjectSymbol};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that names another clang.
pub const CLANG: &str = "CLANG";

/// Why something cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no compiler.
    #[error(
        "cannot run {clang}, which compiles the schedulers to BPF: {why}. Install clang 19 \
         (apt-get install clang-19 libbpf-dev), or name yours in {CLANG}."
    )]
    NoClang {
        /// The command that was tried.
        clang: String,
        /// The operating system's error.
        why: std::io::Error,
    },
    /// The compiler rejected the source.
    #[error("clang refuses {}:\n{diagnostics}", .source_file.display())]
    Refused {
        /// The source.
        source_file: PathBuf,
        /// The compiler's messages.
        diagnostics: String,
    },
    /// A file or folder could not be read or written.
    #[error("{}: {why}", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        why: std::io::Error,
    },
    /// The object lacks the requested section.
    #[error("the object has no section {0}")]
    NoSection(String),
    /// The object has no such setting.
    #[error("the object has no read-only variable {0}")]
    NoVariable(String),
}

/// Compiles the sources under one folder.
#[derive(Clone, Debug)]
pub struct Compiler {
    clang: OsString,
    root: PathBuf,
    includes: Vec<PathBuf>,
    defines: Vec<String>,
    cpu: &'static str,
}

impl Compiler {
    /// Creates a compiler for sources under `root`. In the objects, their names are relative to it.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let clang = std::env::var_os(CLANG).filter(|name| !name.is_empty());
        let clang = clang.unwrap_or_else(|| "clang-19".into());
        Self { clang, root: root.into(), includes: Vec::new(), defines: Vec::new(), cpu: "v3" }
    }

    /// Uses an instruction set other than v3, such as v4.
    #[must_use]
    pub fn cpu(mut self, cpu: &'static str) -> Self {
        self.cpu = cpu;
        self
    }

    /// Defines a macro: `NAME=VALUE`.
    #[must_use]
    pub fn define(mut self, macro_and_value: impl Into<String>) -> Self {
        self.defines.push(macro_and_value.into());
        self
    }

    /// Adds a folder, relative to the root, in which headers are searched.
    #[must_use]
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        self.includes.push(folder.into());
        self
    }

    /// Compiles `source`, whose path is relative to the root, and returns the bytes of the object.
    ///
    /// # Errors
    /// Fails if there is no clang, or if it rejects the source.
    pub fn compile(&self, source: impl AsRef<Path>) -> Result<Vec<u8>, Error> {
        let source = source.as_ref();
        self.run(self.command(source), source)
    }

    /// Runs this command and returns its output for `source`.
    fn run(&self, mut command: Command, source: &Path) -> Result<Vec<u8>, Error> {
        let output = command.output().map_err(|why| {
            let clang = self.clang.to_string_lossy().into_owned();
            if self.root.is_dir() {
                Error::NoClang { clang, why }
            } else {
                Error::File { path: self.root.clone(), why }
            }
        })?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let diagnostics = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Error::Refused { source_file: self.root.join(source), diagnostics })
    }

    /// Returns the names, without `.bpf.c`, of the sources in `folder`, relative to the root, in alphabetical order.
    ///
    /// # Errors
    /// Fails if the folder cannot be read.
    pub fn names(&self, folder: &str) -> Result<Vec<String>, Error> {
        let path = self.root.join(folder);
        let entries = std::fs::read_dir(&path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = entries.map_err(|why| Error::File { path, why })?;
        let files = entries.iter().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<_> =
            files.filter_map(|file| Some(file.strip_suffix(".bpf.c")?.to_owned())).collect();
        names.sort();
        Ok(names)
    }

    /// Returns `source` as assembly, for BPF or for x86-64.
    fn assembly(&self, source: &Path, native: bool) -> Result<String, Error> {
        let mut command = Command::new(&self.clang);
        command.current_dir(&self.root);
        match native {
            true => command.args(["-target", "x86_64-linux-gnu", "-fno-pic"]),
            // The debug information contains what is relocated when a program is loaded.
            false => command.args(["-target", "bpf", "-g"]).arg(format!("-mcpu={}", self.cpu)),
        };
        command.args(["-O2", "-w", "-S", "-o", "-"]);
        for folder in &self.includes {
            command.arg("-I").arg(folder);
        }
        command.args(self.defines.iter().map(|define| format!("-D{define}"))).arg(source);
        Ok(String::from_utf8_lossy(&self.run(command, source)?).into_owned())
    }

    fn command(&self, source: &Path) -> Command {
        let mut command = Command::new(&self.clang);
        command.current_dir(&self.root);
        command.arg(format!("-mcpu={}", self.cpu));
        command.args(["-target", "bpf", "-O2", "-g", "-c", "-o", "-"]);
        command.args(["-Wall", "-Wno-missing-declarations", "-Werror"]);
        // The object must not contain any path of this machine.
        command.args(["-fdebug-compilation-dir=.", "-no-canonical-prefixes"]);
        for folder in &self.includes {
            command.arg("-I").arg(folder);
        }
        command.args(self.defines.iter().map(|define| format!("-D{define}")));
        command.arg(source);
        command
    }
}

/// Returns the bytes of one section of an object.
///
/// # Errors
/// Fails if the object is invalid or has no such section.
pub fn section(object: &[u8], name: &str) -> Result<Vec<u8>, Error> {
    let file = object::File::parse(object).ok();
    let data = file.as_ref().and_then(|file| file.section_by_name(name)?.data().ok());
    data.map(<[u8]>::to_vec).ok_or_else(|| Error::NoSection(name.to_owned()))
}

/// Sets a read-only variable (`const volatile`) of an object, as `--set` does in the simulated kernel, for loaders that
/// cannot do this. The value is truncated to the variable's size.
///
/// # Errors
/// Fails if the object has no such variable in `.rodata`.
pub fn set(object: &mut [u8], variable: &str, value: u64) -> Result<(), Error> {
    let place = place_of(object, variable).filter(|place| place.len() <= 8);
    let bytes = place.and_then(|place| object.get_mut(place));
    let bytes = bytes.ok_or_else(|| Error::NoVariable(variable.to_owned()))?;
    bytes.copy_from_slice(&value.to_le_bytes()[..bytes.len()]);
    Ok(())
}

/// Returns the range of the file's bytes that contains a variable of `.rodata`.
fn place_of(object: &[u8], variable: &str) -> Option<std::ops::Range<usize>> {
    let file = object::File::parse(object).ok()?;
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(variable))?;
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let (start, len) = section.file_range().filter(|_| section.name() == Ok(".rodata"))?;
    let end = symbol.address().checked_add(symbol.size()).filter(|&end| end <= len)?;
    Some((start + symbol.address()) as usize..(start + end) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(source: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.bpf.c"), source).unwrap();
        folder
    }

    #[test]
    fn the_same_source_elsewhere_gives_the_same_bytes() {
        let source = "int answer(int a) { return a * 2; }\n";
        let compile = |folder: &tempfile::TempDir| Compiler::new(folder.path()).compile("a.bpf.c").unwrap();
        let (here, there) = (folder_with(source), folder_with(source));
        let object = compile(&here);
        assert_eq!(object, compile(&there));
        assert!(!section(&object, ".BTF").unwrap().is_empty());
        assert!(section(&object, ".none").is_err());
        let place = here.path().as_os_str().as_encoded_bytes();
        assert!(!object.windows(place.len()).any(|w| w == place));
    }

    #[test]
    fn a_setting_is_changed_in_place() {
        let folder =
            folder_with("const volatile int a = 1, b = 2; int c = 3;\nint f(void) { return a + b + c; }\n");
        let mut object = Compiler::new(folder.path()).compile("a.bpf.c").unwrap();
        set(&mut object, "b", 7).unwrap();
        let words: Vec<u8> = [1i32, 7].iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(section(&object, ".rodata").unwrap(), words);
        for absent in ["c", "d"] {
            assert!(set(&mut object, absent, 0).unwrap_err().to_string().ends_with(absent));
        }
    }

    #[test]
    fn what_clang_says_is_handed_on() {
        let folder = folder_with("int answer(void) { return nothing; }\n");
        let error = Compiler::new(folder.path()).compile("a.bpf.c").unwrap_err().to_string();
        assert!(error.contains("a.bpf.c") && error.contains("'nothing'"), "{error}");
    }

    #[test]
    fn a_missing_clang_is_reported_in_one_sentence() {
        let folder = folder_with("");
        let mut compiler = Compiler::new(folder.path());
        compiler.clang = "no-such-clang".into();
        let error = compiler.compile("a.bpf.c").unwrap_err().to_string();
        assert!(error.contains("no-such-clang") && error.contains("apt-get install clang-19"), "{error}");
    }
}
