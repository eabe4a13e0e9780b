//! Fetches packages of other Debian releases beside the machine's own apt. Its settings, lists and installed packages
//! stay unchanged.

use crate::error::{GuestError, at, why};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A private apt, with its own lists below a folder.
#[derive(Debug)]
pub struct Apt {
    folder: PathBuf,
}

/// A package that is no longer in the lists but still on mirrors. Its bytes must be known, because no list vouches for
/// them.
#[derive(Debug)]
pub(crate) struct Pooled {
    /// Its name.
    pub(crate) package: &'static str,
    /// Its path from the mirror's root.
    pub(crate) path: &'static str,
    /// SHA-256 of the file.
    pub(crate) sha256: &'static str,
}

impl Apt {
    /// Returns an apt whose lists are kept in `folder/apt`.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.join("apt") }
    }

    /// Returns whether the lists of this suite were ever read.
    pub fn has_lists(&self, suite: &str) -> bool {
        self.base(suite).join("read").exists()
    }

    /// Reads a suite's lists from the mirror of this machine's apt.
    ///
    /// # Errors
    /// [`GuestError::Missing`] without apt or a Debian mirror, [`GuestError::Unavailable`] if the mirror does not
    /// answer.
    pub fn update(&self, suite: &str) -> Result<(), GuestError> {
        let base = self.base(suite);
        for folder in ["lists/partial", "cache/archives/partial"] {
            let folder = base.join(folder);
            std::fs::create_dir_all(&folder).map_err(at(&folder))?;
        }
        let line = format!("deb [signed-by={KEYS}] {} {suite} main\n", mirror()?);
        let list = base.join("sources.list");
        std::fs::write(&list, line).map_err(at(&list))?;
        let mut update = self.command("apt-get", suite);
        update.args(["-qq", "-o", "APT::Update::Error-Mode=any", "update"]);
        succeed(update, &format!("read the package lists of {suite}"))?;
        let read = base.join("read");
        std::fs::write(&read, "").map_err(at(&read))
    }

    /// Returns the packages of a suite whose names begin with this, from its lists.
    ///
    /// # Errors
    /// [`GuestError::Missing`] without apt.
    pub fn names(&self, suite: &str, prefix: &str) -> Result<Vec<String>, GuestError> {
        let mut list = self.command("apt-cache", suite);
        list.args(["pkgnames", prefix]);
        let text = succeed(list, "list packages")?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Returns the available packages: lists also contain names that only other packages mention.
    pub(crate) fn can_have(&self, suite: &str, packages: &[String]) -> Result<Vec<String>, GuestError> {
        if packages.is_empty() {
            return Ok(Vec::new());
        }
        let mut policy = self.command("apt-cache", suite);
        policy.arg("policy").args(packages);
        Ok(with_candidate(&succeed(policy, "look packages up")?))
    }

    /// Fetches packages and unpacks them all into `into`, which must exist.
    ///
    /// # Errors
    /// [`GuestError::Unavailable`] with apt's or dpkg's message.
    pub fn unpack(&self, suite: &str, packages: &[&str], into: &Path) -> Result<(), GuestError> {
        let downloads = tempfile::tempdir_in(into).map_err(at(into))?;
        let mut download = self.command("apt-get", suite);
        download.arg("download").args(packages).current_dir(downloads.path());
        succeed(download, &format!("fetch {} from Debian's {suite}", packages.join(", ")))?;
        unpack_all(downloads.path(), into)
    }

    /// Like `unpack` for a package that is no longer in the lists.
    pub(crate) fn unpack_pooled(&self, suite: &str, pooled: &Pooled, into: &Path) -> Result<(), GuestError> {
        let downloads = tempfile::tempdir_in(into).map_err(at(into))?;
        let mut fetch = self.command(HELPER, suite);
        fetch.arg("download-file").arg(format!("{}/{}", mirror()?, pooled.path));
        fetch.arg(downloads.path().join("package.deb")).arg(format!("SHA256:{}", pooled.sha256));
        succeed(fetch, &format!("fetch {}", pooled.package))?;
        unpack_all(downloads.path(), into)
    }

    fn base(&self, suite: &str) -> PathBuf {
        self.folder.join(suite)
    }

    /// apt with its own folders.
    fn command(&self, program: &str, suite: &str) -> Command {
        let base = self.base(suite);
        let option = |name: &str, path: &str| format!("{name}={}", base.join(path).display());
        let mut command = Command::new(program);
        command.env("LC_ALL", "C");
        for option in [
            option("Dir::Etc::sourcelist", "sources.list"),
            option("Dir::State::lists", "lists"),
            option("Dir::Cache", "cache"),
            "Dir::Etc::sourceparts=/dev/null".into(),
            "Acquire::Languages=none".into(),
            // The store may be where apt's own user has no access.
            "APT::Sandbox::User=root".into(),
        ] {
            command.arg("-o").arg(option);
        }
        command
    }
}

const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const HELPER: &str = "/usr/lib/apt/apt-helper";

fn unpack_all(downloads: &Path, into: &Path) -> Result<(), GuestError> {
    for entry in std::fs::read_dir(downloads).map_err(at(downloads))?.flatten() {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg("-x").arg(entry.path()).arg(into);
        succeed(dpkg, &format!("unpack {}", entry.file_name().display()))?;
    }
    Ok(())
}

/// Returns the installable packages in the output of `apt-cache policy`.
fn with_candidate(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut package = "";
    for line in text.lines() {
        match line.trim().strip_prefix("Candidate: ") {
            Some("(none)") => {}
            Some(_) => found.push(package.to_owned()),
            None if !line.starts_with(' ') => package = line.trim_end_matches(':'),
            None => {}
        }
    }
    found
}

/// Returns the command's output.
fn succeed(mut command: Command, what: &str) -> Result<String, GuestError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|e| {
        GuestError::Missing(format!(
            "{program} cannot be run ({}); kernels come from Debian's packages",
            why(&e)
        ))
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let why = said.lines().find(|line| line.starts_with("E:")).or(said.lines().last());
    Err(GuestError::Unavailable(format!("could not {what}: {}", why.unwrap_or("no reason was given"))))
}

/// Returns the Debian mirror that this machine's own apt uses.
fn mirror() -> Result<String, GuestError> {
    let parts = std::fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = parts.map(|entry| entry.path()).collect();
    paths.push("/etc/apt/sources.list".into());
    paths.sort();
    let found = paths.iter().find_map(|path| parse_mirror(&std::fs::read_to_string(path).ok()?));
    found.ok_or_else(|| {
        GuestError::Missing(
            "apt on this machine has no Debian mirror to fetch kernels from; run this on Debian".into(),
        )
    })
}

/// Returns the Debian mirror of a sources file, in either of apt's formats.
fn parse_mirror(text: &str) -> Option<String> {
    text.lines().filter(|line| !line.trim_start().starts_with('#')).find_map(|line| {
        let addresses = match line.split_once(':') {
            Some(("URIs", addresses)) => addresses,
            _ if line.starts_with("deb ") => line,
            _ => return None,
        };
        let is_debian = |word: &&str| word.contains("://") && word.trim_end_matches('/').ends_with("/debian");
        Some(addresses.split_whitespace().find(is_debian)?.trim_end_matches('/').to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_without_a_candidate_cannot_be_had() {
        let text = "a-1.2:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n\
                    b+c:\n  Installed: (none)\n  Candidate: 7.2.13-1\n  Version table:\n     7.2.13-1 500\n\
                    \x20       500 http://a.test/debian sid/main amd64 Packages\n";
        assert_eq!(with_candidate(text), ["b+c"]);
        assert_eq!(with_candidate(""), [""; 0]);
    }

    #[test]
    fn the_mirror_is_found_in_both_formats() {
        let check = |text: &str, mirror: Option<&str>| {
            assert_eq!(parse_mirror(text).as_deref(), mirror, "{text}");
        };
        check(
            "Types: deb\n# URIs: http://old/debian\nURIs: http://a.test/debian\nSuites: x\n",
            Some("http://a.test/debian"),
        );
        check(
            "deb http://s.test/debian-security x main\ndeb [a=b] http://b.test/debian/ x main\n",
            Some("http://b.test/debian"),
        );
        check("deb https://c.test/node x main\n", None);
    }
}
