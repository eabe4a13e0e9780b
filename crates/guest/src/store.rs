//! A cache of kernels, which fetches missing ones. Everything in the cache is complete: it is made in its own folder
//! and then renamed.

use crate::apt::{Apt, Pooled};
use crate::error::{GuestError, at};
use crate::modules;
use crate::release::{Flavour, Release, among, best};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Debian's archives of kernels, those with better kernels first. The last one contains a kernel without sched_ext.
const SUITES: &[&str] = &["sid", "trixie-backports", "trixie", OLD];

/// An archive that is not searched if a kernel is found elsewhere.
const OLD: &str = "bookworm";

/// The names of a kernel's packages. Which of them exist has changed over time.
const PARTS: &[&str] = &["linux-image", "linux-binary", "linux-modules", "linux-base"];

/// The lists of trixie-backports contain only half of this kernel. Mirrors contain all of it.
const POOLED: &[Pooled] = &[
    Pooled {
        package: "linux-modules-7.0.13+deb13-amd64",
        path: "pool/main/l/linux/linux-modules-7.0.13+deb13-amd64_7.0.13-1~bpo13+1_amd64.deb",
        sha256: "787ac652f5fac4805092ed951a6ae617d448684f5f399659f0e5dcfa544fabf4",
    },
    Pooled {
        package: "linux-base-7.0.13+deb13-amd64",
        path: "pool/main/l/linux/linux-base-7.0.13+deb13-amd64_7.0.13-1~bpo13+1_amd64.deb",
        sha256: "3771568c09e1265030da34c0b998fb81d92b933667db0ec5d018c158a86f3706",
    },
];

/// A kernel ready to boot.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// As in `uname -r`.
    pub release: Release,
    folder: PathBuf,
}

impl Kernel {
    /// Returns the compressed image.
    pub fn vmlinuz(&self) -> PathBuf {
        self.folder.join("vmlinuz")
    }

    /// Returns its configuration, if the packages contain it.
    pub(crate) fn config(&self) -> PathBuf {
        self.folder.join("config")
    }

    /// Returns the modules, in loading order.
    pub(crate) fn modules(&self) -> Result<Vec<PathBuf>, GuestError> {
        let folder = self.folder.join("modules");
        let entries = std::fs::read_dir(&folder).map_err(at(&folder))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        Ok(paths)
    }
}

/// The cache.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    apt: Apt,
}

/// A kernel that can be booted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its release.
    pub release: Release,
    /// Whether it is in the cache.
    pub cached: bool,
}

impl Store {
    /// Opens the cache in a folder, which is created if it is missing.
    ///
    /// # Errors
    /// [`GuestError::File`] if it cannot be created.
    pub fn open(folder: &Path) -> Result<Self, GuestError> {
        std::fs::create_dir_all(folder.join("kernels")).map_err(at(folder))?;
        // apt needs absolute paths.
        let folder = std::fs::canonicalize(folder).map_err(at(folder))?;
        let apt = Apt::new(&folder);
        Ok(Self { folder, apt })
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the kernel that `wanted` (`7.2`, `7.2.13`, a whole release) means: the best one in the cache, or else
    /// the best one that can be fetched. `say` receives messages about downloads.
    ///
    /// # Errors
    /// [`GuestError::Input`] if no source has it, [`GuestError::Unavailable`] if it cannot be fetched.
    pub fn kernel(&self, wanted: &str, flavour: Flavour, say: &dyn Fn(&str)) -> Result<Kernel, GuestError> {
        if let Some(kernel) = self.cached_kernel(wanted, flavour) {
            return Ok(kernel);
        }
        let _lock = self.lock()?;
        if let Some(kernel) = self.cached_kernel(wanted, flavour) {
            return Ok(kernel);
        }
        let mut nowhere = Vec::new();
        let mut found: Option<(&str, Release)> = None;
        for suite in SUITES {
            if *suite == OLD && found.is_some() {
                break;
            }
            say(&format!("reading the package lists of Debian's {suite}"));
            self.apt.update(suite)?;
            let releases = self.complete(suite, flavour)?;
            if let Some(release) = best(&releases, wanted, flavour)
                && found.as_ref().is_none_or(|(_, other)| release > other)
            {
                found = Some((suite, release.clone()));
            }
            nowhere.extend(releases);
        }
        let Some((suite, release)) = found else { return Err(nobody_has(wanted, nowhere)) };
        say(&format!("fetching Linux {release} from Debian's {suite}"));
        self.fetch(suite, &release)?;
        Ok(self.place(release))
    }

    /// Returns every kernel of a flavour in the cache and in the lists, better ones first. Lists that were never read
    /// are read. If that fails, the error is returned in addition to what is known.
    pub fn list(&self, flavour: Flavour) -> (Vec<Listed>, Option<GuestError>) {
        let mut listed: Vec<Listed> = self
            .cached()
            .into_iter()
            .filter(|release| release.flavour() == flavour)
            .map(|release| Listed { release, cached: true })
            .collect();
        let mut trouble = None;
        for suite in SUITES {
            match self.read_once(suite).and_then(|()| self.complete(suite, flavour)) {
                Ok(releases) => {
                    for release in releases {
                        if listed.iter().all(|each| each.release != release) {
                            listed.push(Listed { release, cached: false });
                        }
                    }
                }
                Err(error) => trouble = Some(error),
            }
        }
        listed.sort_by(|a, b| b.release.cmp(&a.release));
        (listed, trouble)
    }

    /// Returns the folder with a program's unpacked package, which is fetched if necessary.
    ///
    /// # Errors
    /// [`GuestError::Unavailable`] if it cannot be fetched.
    pub fn tool(&self, suite: &str, package: &str, say: &dyn Fn(&str)) -> Result<PathBuf, GuestError> {
        let place = self.folder.join(package);
        let _lock = self.lock()?;
        if !place.exists() {
            say(&format!("fetching {package} from Debian's {suite}"));
            self.apt.update(suite)?;
            let part = self.part()?;
            self.apt.unpack(suite, &[package], part.path())?;
            keep(part, &place)?;
        }
        Ok(place)
    }

    fn read_once(&self, suite: &str) -> Result<(), GuestError> {
        if self.apt.has_lists(suite) {
            return Ok(());
        }
        let _lock = self.lock()?;
        self.apt.update(suite)
    }

    fn cached(&self) -> Vec<Release> {
        let entries = std::fs::read_dir(self.folder.join("kernels")).into_iter().flatten().flatten();
        entries.filter_map(|entry| Release::parse(entry.file_name().to_str()?)).collect()
    }

    fn cached_kernel(&self, wanted: &str, flavour: Flavour) -> Option<Kernel> {
        let releases = self.cached();
        Some(self.place(best(&releases, wanted, flavour)?.clone()))
    }

    fn place(&self, release: Release) -> Kernel {
        let folder = self.folder.join("kernels").join(release.name());
        Kernel { release, folder }
    }

    /// Returns the releases of a suite that have all packages for a guest of this flavour.
    fn complete(&self, suite: &str, flavour: Flavour) -> Result<Vec<Release>, GuestError> {
        let names = self.apt.names(suite, "linux-")?;
        let (images, modules) = (self.apt.can_have(suite, &of_part(&names, "linux-image-"))?, {
            self.apt.can_have(suite, &of_part(&names, "linux-modules-"))?
        });
        let has_modules = |release: &Release| {
            let package = format!("linux-modules-{release}");
            // Packages before 6.19 contain everything in one.
            modules.contains(&package)
                || !names.contains(&format!("linux-binary-{release}"))
                || POOLED.iter().any(|pooled| pooled.package == package)
        };
        let mut releases = among(&images);
        releases.retain(|release| release.flavour() == flavour);
        releases.retain(|release| flavour == Flavour::Cloud || has_modules(release));
        Ok(releases)
    }

    fn fetch(&self, suite: &str, release: &Release) -> Result<(), GuestError> {
        let part = self.part()?;
        let unpacked = part.path().join("unpacked");
        std::fs::create_dir(&unpacked).map_err(at(&unpacked))?;
        let parts: Vec<String> = PARTS.iter().map(|part| format!("{part}-{release}")).collect();
        let listed = self.apt.can_have(suite, &parts)?;
        let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
        self.apt.unpack(suite, &listed, &unpacked)?;
        for pooled in POOLED.iter().filter(|pooled| parts.iter().any(|part| part == pooled.package)) {
            self.apt.unpack_pooled(suite, pooled, &unpacked)?;
        }
        gather(&unpacked, release, part.path())?;
        std::fs::remove_dir_all(&unpacked).map_err(at(&unpacked))?;
        keep(part, &self.place(release.clone()).folder)
    }

    /// Returns a folder in the cache for something new. The lock is held, so leftovers of others are deleted.
    fn part(&self) -> Result<tempfile::TempDir, GuestError> {
        for entry in std::fs::read_dir(&self.folder).map_err(at(&self.folder))?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(PART) {
                std::fs::remove_dir_all(entry.path()).ok();
            }
        }
        tempfile::Builder::new().prefix(PART).tempdir_in(&self.folder).map_err(at(&self.folder))
    }

    fn lock(&self) -> Result<File, GuestError> {
        let path = self.folder.join("lock");
        let file = File::create(&path).map_err(at(&path))?;
        file.lock().map_err(at(&path))?;
        Ok(file)
    }
}

const PART: &str = ".part-";

fn of_part(names: &[String], part: &str) -> Vec<String> {
    let known = |name: &&String| name.strip_prefix(part).is_some_and(|rest| Release::parse(rest).is_some());
    names.iter().filter(known).cloned().collect()
}

/// Takes what a guest needs from unpacked packages: image, configuration, a few modules.
fn gather(unpacked: &Path, release: &Release, into: &Path) -> Result<(), GuestError> {
    let trees = ["usr/lib/modules", "lib/modules"].map(|tree| unpacked.join(tree).join(release.name()));
    let tree = trees.iter().find(|tree| tree.exists()).unwrap_or(&trees[0]);
    let in_boot = |name: &str| unpacked.join(format!("boot/{name}-{release}"));
    let first = |places: [PathBuf; 2]| places.into_iter().find(|place| place.exists());
    let copy = |from: &Path, to: &str| std::fs::copy(from, into.join(to)).map(drop).map_err(at(from));
    let image = first([in_boot("vmlinuz"), tree.join("vmlinuz")]).ok_or_else(|| {
        GuestError::Unavailable(format!("Debian's packages of Linux {release} hold no kernel image"))
    })?;
    copy(&image, "vmlinuz")?;
    if let Some(config) = first([in_boot("config"), tree.join("config")]) {
        copy(&config, "config")?;
    }
    let folder = into.join("modules");
    std::fs::create_dir(&folder).map_err(at(&folder))?;
    if release.flavour() == Flavour::Cloud {
        return Ok(());
    }
    for (number, module) in modules::collect(&tree.join("kernel"))?.iter().enumerate() {
        let path = folder.join(format!("{number:02}-{}.ko", module.name));
        std::fs::write(&path, &module.bytes).map_err(at(&path))?;
    }
    Ok(())
}

/// Renames the finished folder.
fn keep(part: tempfile::TempDir, place: &Path) -> Result<(), GuestError> {
    let path = part.keep();
    std::fs::rename(&path, place).map_err(|error| {
        std::fs::remove_dir_all(&path).ok();
        at(place)(error)
    })
}

fn nobody_has(wanted: &str, mut releases: Vec<Release>) -> GuestError {
    releases.sort_by(|a, b| b.cmp(a));
    let mut numbers: Vec<&str> = releases.iter().map(Release::number).collect();
    numbers.dedup();
    let shown: String = wanted.chars().take(40).flat_map(char::escape_default).collect();
    GuestError::Input(format!(
        "Debian has no kernel '{shown}' for guests; it has {}",
        if numbers.is_empty() { "none".to_owned() } else { numbers.join(", ") }
    ))
}

#[cfg(test)]
mod tests;
