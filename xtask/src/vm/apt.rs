//! Packages of other Debian releases, fetched beside the machine's own apt: its settings, lists
//! and installed packages stay as they are.

use super::Stop;
use crate::tree::root;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A package by the ends of its name; the newest that fits is taken.
#[derive(Debug)]
pub(super) struct Package {
    pub(super) suite: &'static str,
    pub(super) prefix: &'static str,
    pub(super) suffix: &'static str,
}

/// Where fetched packages are kept, unpacked.
pub(super) struct Store {
    folder: PathBuf,
    /// Suites whose lists are up to date.
    updated: BTreeSet<&'static str>,
}

impl Store {
    /// Opens the store, which git ignores.
    pub(super) fn open() -> Result<Self, Stop> {
        let folder = root().join(".cache/vm");
        make(&folder)?;
        Ok(Self { folder, updated: BTreeSet::new() })
    }

    /// The folder that the package is unpacked in, fetched before if need be.
    pub(super) fn unpack(&mut self, package: &Package) -> Result<PathBuf, Stop> {
        let place = self.folder.join(format!("{}{}", package.prefix, package.suffix).replace('/', "_"));
        if place.exists() {
            return Ok(place);
        }
        println!("fetching {}*{} from Debian's {}", package.prefix, package.suffix, package.suite);
        self.update(package.suite)?;
        let name = self.newest(package)?;
        let downloads = self.folder.join("download");
        std::fs::remove_dir_all(&downloads).ok();
        make(&downloads)?;
        let what = format!("{name}/{}", package.suite);
        let mut download = self.apt("apt-get", package.suite);
        download.args(["download", &what]).current_dir(&downloads);
        succeed(download, &format!("fetch {name} from {}", package.suite))?;
        let unpacked = self.folder.join("unpacking");
        std::fs::remove_dir_all(&unpacked).ok();
        for entry in std::fs::read_dir(&downloads).map_err(|e| file(&downloads, &e))?.flatten() {
            let mut dpkg = Command::new("dpkg");
            dpkg.arg("-x").arg(entry.path()).arg(&unpacked);
            succeed(dpkg, &format!("unpack {name}"))?;
        }
        std::fs::remove_dir_all(&downloads).ok();
        std::fs::rename(&unpacked, &place).map_err(|e| file(&place, &e))?;
        Ok(place)
    }

    fn update(&mut self, suite: &'static str) -> Result<(), Stop> {
        if !self.updated.insert(suite) {
            return Ok(());
        }
        let base = self.suite_folder(suite);
        make(&base.join("lists/partial"))?;
        make(&base.join("cache/archives/partial"))?;
        let sources = own_sources().ok_or_else(|| {
            Stop::Unavailable(
                "this machine's apt names no Debian mirror to fetch kernels from; run ./x vm on Debian"
                    .into(),
            )
        })?;
        let line = format!("deb [{}] {} {suite} main\n", sources.options, sources.mirror);
        let list = base.join("sources.list");
        std::fs::write(&list, line).map_err(|e| file(&list, &e))?;
        let mut update = self.apt("apt-get", suite);
        update.args(["-qq", "-o", "APT::Update::Error-Mode=any", "update"]);
        succeed(update, &format!("read the package lists of {suite}"))
    }

    fn suite_folder(&self, suite: &str) -> PathBuf {
        self.folder.join("apt").join(suite)
    }

    /// apt with a life of its own.
    fn apt(&self, program: &str, suite: &str) -> Command {
        let base = self.suite_folder(suite);
        let option = |name: &str, path: &str| format!("{name}={}", base.join(path).display());
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).env("LC_ALL", "C");
        for option in [
            option("Dir::Etc::sourcelist", "sources.list"),
            option("Dir::State::lists", "lists"),
            option("Dir::Cache", "cache"),
            "Dir::Etc::sourceparts=/dev/null".into(),
            "Acquire::Languages=none".into(),
            // The store may lie where apt's own user cannot go.
            "APT::Sandbox::User=root".into(),
        ] {
            command.arg("-o").arg(option);
        }
        command
    }

    fn newest(&self, package: &Package) -> Result<String, Stop> {
        let output = self.apt("apt-cache", package.suite).arg("pkgnames").arg(package.prefix).output();
        let output = output.map_err(|e| Stop::Failed(format!("apt-cache cannot be run: {e}")))?;
        let names = String::from_utf8_lossy(&output.stdout).into_owned();
        let fits =
            |name: &&str| middle(name, package).is_some_and(|m| !m.contains("cloud") && !m.contains("rt"));
        let newest = names.lines().filter(fits).max_by_key(|name| numbers(name));
        newest.map(str::to_owned).ok_or_else(|| {
            let Package { suite, prefix, suffix } = package;
            Stop::Unavailable(format!("Debian's {suite} has no package {prefix}*{suffix} any more"))
        })
    }
}

/// What lies between the two ends of a package's name.
fn middle<'a>(name: &'a str, package: &Package) -> Option<&'a str> {
    let middle = name.strip_prefix(package.prefix)?.strip_suffix(package.suffix)?;
    (package.suffix.is_empty() == middle.is_empty()).then_some(middle)
}

/// The numbers in a name, to compare versions by.
fn numbers(name: &str) -> Vec<u32> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// Where this machine gets Debian from, and how that is trusted.
#[derive(Debug, PartialEq, Eq)]
struct Sources {
    mirror: String,
    options: String,
}

fn own_sources() -> Option<Sources> {
    let parts = std::fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = parts.map(|entry| entry.path()).collect();
    paths.push("/etc/apt/sources.list".into());
    paths.sort();
    paths.iter().find_map(|path| parse_sources(&std::fs::read_to_string(path).ok()?))
}

/// The Debian mirror of a sources file, in either of apt's formats.
fn parse_sources(text: &str) -> Option<Sources> {
    let mut mirror = None;
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let addresses = match line.split_once(':') {
            Some(("URIs", addresses)) => addresses,
            _ if line.starts_with("deb ") => line,
            _ => continue,
        };
        let is_debian = |word: &&str| word.contains("://") && word.trim_end_matches('/').ends_with("/debian");
        mirror = mirror.or_else(|| addresses.split_whitespace().find(is_debian).map(str::to_owned));
    }
    let options = "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg".to_owned();
    Some(Sources { mirror: mirror?, options })
}

fn succeed(mut command: Command, what: &str) -> Result<(), Stop> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| Stop::Failed(format!("{program} cannot be run: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let why =
        said.lines().find(|line| line.starts_with("E:")).or(said.lines().last()).unwrap_or("it said nothing");
    Err(Stop::Unavailable(format!("could not {what}: {why}")))
}

fn make(folder: &Path) -> Result<(), Stop> {
    std::fs::create_dir_all(folder).map_err(|e| file(folder, &e))
}

fn file(path: &Path, error: &std::io::Error) -> Stop {
    Stop::Failed(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_found_in_both_formats() {
        let check = |text: &str, mirror: Option<&str>| {
            assert_eq!(parse_sources(text).map(|s| s.mirror).as_deref(), mirror, "{text}");
        };
        check(
            "Types: deb\n# URIs: http://old/debian\nURIs: http://a.test/debian\nSuites: x\n",
            Some("http://a.test/debian"),
        );
        check(
            "deb http://s.test/debian-security x main\ndeb [a=b] http://b.test/debian/ x main\n",
            Some("http://b.test/debian/"),
        );
        check("deb https://c.test/node x main\n", None);
    }

    #[test]
    fn the_newest_fitting_package_is_taken() {
        let package = Package { suite: "s", prefix: "linux-image-6.18.", suffix: "-cloud-amd64" };
        let names = [
            "linux-image-6.18.9+deb13-cloud-amd64",
            "linux-image-6.18.15+deb13-cloud-amd64",
            "linux-image-6.18.20+deb13-amd64",
        ];
        let newest =
            names.iter().filter(|name| middle(name, &package).is_some()).max_by_key(|name| numbers(name));
        assert_eq!(newest, Some(&names[1]));
        let tool = Package { suite: "s", prefix: "bpftool", suffix: "" };
        assert!(middle("bpftool", &tool).is_some() && middle("bpftool-dbg", &tool).is_none());
    }
}
