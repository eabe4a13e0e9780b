//! Names of kernels: in packages, in requests, and which of two is better.

use std::cmp::Ordering;
use std::fmt;

/// The default kernel: its rules are the simulated ones.
pub const DEFAULT: &str = "7.2";

/// The part after a kernel's numbers: `7.2.13+deb14-amd64`, and before 6.12 `6.1.0-56-amd64`.
const VERSION_ENDS: [char; 2] = ['+', '-'];

/// What a package's kernel is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Everything, with the modules that a guest needs to access its host.
    Full,
    /// Virtual machines in clouds: smaller, and cannot access its host.
    Cloud,
}

/// A kernel's release, as in `uname -r`: `7.2.13+deb14-amd64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release(String);

impl Release {
    /// Returns the release of a package that contains the kernel itself, if the name is of such a package.
    fn of_package(name: &str) -> Option<Self> {
        let release = name.strip_prefix("linux-image-")?;
        Self::parse(release)
    }

    /// Returns a release's name, if it is of one of these flavours for this processor.
    pub fn parse(release: &str) -> Option<Self> {
        let release = Self(release.to_owned());
        let (_, rest) = release.0.split_once(VERSION_ENDS)?;
        let known = matches!(rest.split_once('-')?.1, "amd64" | "cloud-amd64");
        (known && release.version().len() >= 2).then_some(release)
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Returns its flavour.
    pub fn flavour(&self) -> Flavour {
        if self.0.contains("-cloud-") { Flavour::Cloud } else { Flavour::Full }
    }

    /// Returns the numbers before the distribution's own: `[7, 2, 13]`.
    fn version(&self) -> Vec<u32> {
        self.number().split('.').map_while(|digits| digits.parse().ok()).collect()
    }

    /// `7.2.13`.
    pub fn number(&self) -> &str {
        self.0.split(VERSION_ENDS).next().unwrap_or_default()
    }

    /// Returns whether its BTF matches the kernel's source. The backports of 7.1 and 7.2 show the implicit argument of
    /// a dozen kfuncs or more, and most scheduler objects fail to load on them.
    pub fn has_clean_btf(&self) -> bool {
        let version = self.version();
        !(self.0.contains("+deb13") && version >= vec![7, 1] && version < vec![7, 3])
    }

    /// Returns whether it has sched_ext at all.
    pub fn has_sched_ext(&self) -> bool {
        self.version() >= vec![6, 12]
    }

    /// Returns whether `wanted`, such as `7.2`, `7.2.13` or `7.2.13+deb14-amd64`, means this release.
    pub fn is_meant_by(&self, wanted: &str) -> bool {
        let number = self.number();
        wanted == self.0
            || number == wanted
            || number.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Ord for Release {
    /// Compares releases: one with clean BTF is better than any other, then the newer one.
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |release: &Self| (release.has_clean_btf(), release.version(), release.0.clone());
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Release {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns the best matching release of a flavour.
pub(crate) fn best<'a>(
    releases: impl IntoIterator<Item = &'a Release>,
    wanted: &str,
    flavour: Flavour,
) -> Option<&'a Release> {
    releases.into_iter().filter(|each| each.flavour() == flavour && each.is_meant_by(wanted)).max()
}

/// Returns the releases among packages' names, better ones last.
pub(crate) fn among(packages: &[String]) -> Vec<Release> {
    let mut releases: Vec<Release> = packages.iter().filter_map(|name| Release::of_package(name)).collect();
    releases.sort();
    releases.dedup();
    releases
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in the output of `apt-cache pkgnames linux-image-`.
    const NAMES: &str = "linux-image-6.18.9+deb13-cloud-amd64
linux-image-6.18.15+deb13-amd64
linux-image-6.18.15+deb13-cloud-amd64
linux-image-6.18.15+deb13-cloud-amd64-dbg
linux-image-6.18.15+deb13-cloud-amd64-unsigned
linux-image-6.18.20+deb13-rt-amd64
linux-image-7.2.12+deb13-amd64
linux-image-7.2.13+deb14-amd64
linux-image-7.2.9+deb14-amd64
linux-image-7.20.1+deb14-amd64
linux-image-7.3-amd64
linux-image-6.1.0-55-amd64
linux-image-6.1.0-56-amd64
linux-image-6.1.0-57-rt-amd64
linux-image-6.1.0-56-cloud-amd64
linux-image-amd64";

    fn check(wanted: &str, flavour: Flavour, expected: Option<&str>) {
        let names: Vec<String> = NAMES.lines().map(str::to_owned).collect();
        let releases = among(&names);
        assert_eq!(best(&releases, wanted, flavour).map(Release::name), expected, "{wanted}");
    }

    #[test]
    fn a_series_selects_its_newest_release() {
        check("6.18", Flavour::Cloud, Some("6.18.15+deb13-cloud-amd64"));
        check("6.18", Flavour::Full, Some("6.18.15+deb13-amd64"));
        check("6.18.9", Flavour::Cloud, Some("6.18.9+deb13-cloud-amd64"));
        check("6.18.9", Flavour::Full, None);
        check("6.1", Flavour::Full, Some("6.1.0-56-amd64"));
        check("7.20", Flavour::Full, Some("7.20.1+deb14-amd64"));
        check("7", Flavour::Full, Some("7.20.1+deb14-amd64"));
        for bad in ["", "x", ".", "7.2.", "6.18.20", "99"] {
            check(bad, Flavour::Full, None);
        }
    }

    #[test]
    fn old_kernels_have_no_sched_ext() {
        assert!(!Release::parse("6.1.0-56-amd64").unwrap().has_sched_ext());
        assert!(Release::parse("6.18.15+deb13-amd64").unwrap().has_sched_ext());
    }

    #[test]
    fn clean_btf_is_better_than_broken() {
        check("7.2", Flavour::Full, Some("7.2.13+deb14-amd64"));
        check("7.2.12", Flavour::Full, Some("7.2.12+deb13-amd64"));
        assert!(Release::parse("7.0.13+deb13-amd64").unwrap().has_clean_btf());
        assert!(!Release::parse("7.2.99+deb13-amd64").unwrap().has_clean_btf());
        assert!(!Release::parse("7.1.3+deb13-amd64").unwrap().has_clean_btf());
        assert!(Release::parse("7.3.4+deb13-amd64").unwrap().has_clean_btf());
        assert!(Release::parse("7.2.99+deb13-amd64") < Release::parse("7.2.1+deb14-amd64"));
    }
}
