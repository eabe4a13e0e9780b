//! Compiles BPF C with clang, for build scripts and tests: the same source gives the same bytes
//! wherever it lies and whoever builds it.
//!
//! Never part of what users run: `keel` carries the compiled objects.
#![forbid(unsafe_code)]

mod embed;

pub use embed::embed;

use object::{Object, ObjectSection};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that names another clang.
pub const CLANG: &str = "CLANG";

/// Why something could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no compiler.
    #[error(
        "cannot run {clang}, which compiles the schedulers to BPF: {why}. Install clang 19 \
         (apt-get install clang-19 libbpf-dev), or name yours in {CLANG}."
    )]
    NoClang {
        /// What was tried.
        clang: String,
        /// What the system said.
        why: std::io::Error,
    },
    /// The compiler refused the source.
    #[error("clang refuses {}:\n{diagnostics}", .source_file.display())]
    Refused {
        /// The source.
        source_file: PathBuf,
        /// Its own words.
        diagnostics: String,
    },
    /// A file or folder could not be read or written.
    #[error("{}: {why}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        why: std::io::Error,
    },
    /// The result lacks what was asked for.
    #[error("the object has no section {0}")]
    NoSection(String),
}

/// A compiler for the sources under one folder.
#[derive(Clone, Debug)]
pub struct Compiler {
    clang: OsString,
    root: PathBuf,
    includes: Vec<PathBuf>,
}

impl Compiler {
    /// Compiles sources under `root`; in the objects, their names are relative to it.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let clang = std::env::var_os(CLANG).filter(|name| !name.is_empty());
        Self { clang: clang.unwrap_or_else(|| "clang-19".into()), root: root.into(), includes: Vec::new() }
    }

    /// Searches headers here too, relative to the root.
    #[must_use]
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        self.includes.push(folder.into());
        self
    }

    /// The bytes of the object that `source`, relative to the root, becomes.
    ///
    /// # Errors
    /// Where there is no clang, and where it refuses the source.
    pub fn compile(&self, source: impl AsRef<Path>) -> Result<Vec<u8>, Error> {
        let source = source.as_ref();
        let output = self.command(source).output();
        let output = output.map_err(|why| {
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

    fn command(&self, source: &Path) -> Command {
        let mut command = Command::new(&self.clang);
        command.current_dir(&self.root);
        command.args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-c", "-o", "-"]);
        command.args(["-Wall", "-Wno-missing-declarations", "-Werror"]);
        // No path of this machine may get into the object.
        command.args(["-fdebug-compilation-dir=.", "-no-canonical-prefixes"]);
        for folder in &self.includes {
            command.arg("-I").arg(folder);
        }
        command.arg(source);
        command
    }
}

/// The bytes of one section of an object.
///
/// # Errors
/// Where the object is none, or has no such section.
pub fn section(object: &[u8], name: &str) -> Result<Vec<u8>, Error> {
    let file = object::File::parse(object).ok();
    let data = file.as_ref().and_then(|file| file.section_by_name(name)?.data().ok());
    data.map(<[u8]>::to_vec).ok_or_else(|| Error::NoSection(name.to_owned()))
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
    fn what_clang_says_is_handed_on() {
        let folder = folder_with("int answer(void) { return nothing; }\n");
        let error = Compiler::new(folder.path()).compile("a.bpf.c").unwrap_err().to_string();
        assert!(error.contains("a.bpf.c") && error.contains("'nothing'"), "{error}");
    }

    #[test]
    fn a_missing_clang_is_said_in_one_sentence() {
        let folder = folder_with("");
        let mut compiler = Compiler::new(folder.path());
        compiler.clang = "no-such-clang".into();
        let error = compiler.compile("a.bpf.c").unwrap_err().to_string();
        assert!(error.contains("no-such-clang") && error.contains("apt-get install clang-19"), "{error}");
    }
}
