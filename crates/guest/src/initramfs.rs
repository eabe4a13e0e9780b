//! The first files of a guest: busybox, modules, two scripts and the command.

use crate::cpio::Archive;
use crate::error::{GuestError, at};
use crate::store::Kernel;
use crate::tools::{busybox, libraries};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The busybox commands that the first script uses.
const APPLETS: &[&str] =
    &["cat", "cp", "dd", "insmod", "ln", "mkdir", "mount", "poweroff", "sh", "switch_root", "uname"];

/// What runs in the guest, in which folder and environment.
#[derive(Clone, Debug)]
pub struct Job {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The folder that the guest shares with the host and works in: an absolute path, and not the root.
    pub folder: std::path::PathBuf,
    /// Environment variables of the command.
    pub environment: Vec<(String, OsString)>,
}

/// Returns the archive that the kernel unpacks and runs. The guest sends a sign of life every `beat_s` of its own
/// seconds. With `turns`, it keeps its CPUs' turns short.
pub(crate) fn build(kernel: &Kernel, job: &Job, beat_s: u64, turns: bool) -> Result<Vec<u8>, GuestError> {
    let mut archive = Archive::default();
    for folder in ["bin", "dev", "keel", "lib", "lib64", "lower", "modules", "new", "proc", "sys", "upper"] {
        archive.folder(folder);
    }
    add_busybox(&mut archive, APPLETS)?;
    for module in kernel.modules()? {
        let name = module.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        archive.program(&format!("modules/{name}"), &read(&module)?);
    }
    let config = kernel.config();
    if config.exists() {
        archive.program("keel/config", &read(&config)?);
    }
    archive.program("keel/folder", job.folder.as_os_str().as_bytes());
    archive.program("keel/command", &script(job));
    archive.program("keel/beat", format!("{beat_s}\n").as_bytes());
    if turns {
        archive.program("keel/turns", b"");
    }
    archive.program("keel/guest", include_bytes!("guest.sh"));
    archive.program("init", include_bytes!("init.sh"));
    Ok(archive.finish())
}

/// Adds the host's busybox with the libraries that it needs, under these names.
///
/// # Errors
/// [`GuestError::Missing`] if there is no busybox.
pub fn add_busybox(archive: &mut Archive, applets: &[&str]) -> Result<(), GuestError> {
    let busybox = busybox()?;
    archive.program("bin/busybox", &read(&busybox)?);
    for applet in applets {
        archive.link(&format!("bin/{applet}"), "busybox");
    }
    add_libraries(archive, &libraries(&busybox)?)
}

/// Adds shared libraries where loaders look for them: `/lib64` and `/lib`, which must exist.
///
/// # Errors
/// [`GuestError::File`] if a library cannot be read.
pub fn add_libraries(archive: &mut Archive, paths: &[std::path::PathBuf]) -> Result<(), GuestError> {
    for path in paths {
        let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        let place = if name.starts_with("ld-linux") { "lib64" } else { "lib" };
        archive.program(&format!("{place}/{name}"), &read(path)?);
    }
    Ok(())
}

/// Returns the command for the host's own shell. A busybox with all commands built in would prefer these to the host's.
fn script(job: &Job) -> Vec<u8> {
    let mut script = Vec::new();
    let mut line = |parts: &[&[u8]]| {
        script.extend(parts.concat());
        script.push(b'\n');
    };
    for (name, value) in &job.environment {
        line(&[b"export ", name.as_bytes(), b"=", &quoted(value)]);
    }
    line(&[b"cd ", &quoted(job.folder.as_os_str())]);
    let words: Vec<Vec<u8>> = job.command.iter().map(|word| quoted(word)).collect();
    line(&[b"exec ", &words.join(&b' ')]);
    script
}

/// Returns a word, quoted for a shell.
fn quoted(word: &OsStr) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend(br"'\''"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    quoted
}

fn read(path: &Path) -> Result<Vec<u8>, GuestError> {
    std::fs::read(path).map_err(at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_the_shell() {
        let job = Job {
            command: ["sh", "-c", "echo 'a b' \"$x\"\n"].map(OsString::from).into(),
            folder: "/a folder".into(),
            environment: vec![("HOME".into(), "/it's".into())],
        };
        let script = String::from_utf8(script(&job)).unwrap();
        assert_eq!(
            script,
            "export HOME='/it'\\''s'\ncd '/a folder'\nexec 'sh' '-c' 'echo '\\''a b'\\'' \"$x\"\n'\n"
        );
        let script = script.replace("/a folder", "/");
        let ran = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(ran.stdout, b"a b \n");
    }
}
