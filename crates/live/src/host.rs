//! Reads the running kernel's files about sched_ext. Tests read them below their own folder.

use std::path::{Path, PathBuf};

/// A running kernel's files.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
}

/// `/sys/kernel/sched_ext/state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No scheduler is attached.
    Disabled,
    /// One is being attached or detached.
    Changing,
    /// One is attached.
    Enabled,
}

impl Host {
    /// Returns this machine's kernel.
    pub fn this() -> Self {
        Self::at("/")
    }

    /// Returns a kernel whose files are below `root`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns a file's path.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Returns a small file's text without its last newline, or `None` if it cannot be read.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.path(path)).ok()?;
        Some(text.trim_end().to_owned())
    }

    /// Returns whether there is such a file or folder.
    pub(crate) fn has(&self, path: &str) -> bool {
        Path::exists(&self.path(path))
    }

    /// Returns whether a scheduler is attached, or `None` if the kernel has no sched_ext.
    pub fn state(&self) -> Option<State> {
        Some(match self.text("sys/kernel/sched_ext/state")?.as_str() {
            "disabled" => State::Disabled,
            "enabled" => State::Enabled,
            _ => State::Changing,
        })
    }

    /// Returns the attached scheduler's name.
    pub fn scheduler(&self) -> Option<String> {
        self.text("sys/kernel/sched_ext/root/ops").filter(|name| !name.is_empty())
    }

    /// Returns how many schedulers have been attached since boot.
    pub fn enable_seq(&self) -> Option<u64> {
        self.text("sys/kernel/sched_ext/enable_seq")?.parse().ok()
    }

    /// Returns how many tasks were kept out of `SCHED_EXT` (`p->scx.disallow`).
    pub fn rejected(&self) -> Option<u64> {
        self.text("sys/kernel/sched_ext/nr_rejected")?.parse().ok()
    }

    /// Returns how often CPUs came online or went offline, for `.hotplug_seq`.
    pub(crate) fn hotplug_seq(&self) -> Option<u64> {
        self.text("sys/kernel/sched_ext/hotplug_seq")?.parse().ok()
    }

    /// Returns the kernel's counts about the attached scheduler (`SCX_EV_*`): names and values.
    pub fn events(&self) -> Vec<(String, u64)> {
        let text = self.text("sys/kernel/sched_ext/root/events").unwrap_or_default();
        let event = |line: &str| {
            let (name, count) = line.rsplit_once(' ')?;
            Some((name.trim().to_owned(), count.parse().ok()?))
        };
        text.lines().filter_map(event).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a kernel with these files.
    pub(crate) fn fake(files: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let host = Host::at(root.path());
        (root, host)
    }

    #[test]
    fn the_kernels_files_are_read() {
        let (_root, host) = fake(&[
            ("sys/kernel/sched_ext/state", "enabled\n"),
            ("sys/kernel/sched_ext/root/ops", "o1\n"),
            ("sys/kernel/sched_ext/enable_seq", "7\n"),
            ("sys/kernel/sched_ext/nr_rejected", "2\n"),
            (
                "sys/kernel/sched_ext/root/events",
                "SCX_EV_SELECT_CPU_FALLBACK 3\nSCX_EV_BYPASS_ACTIVATE 1\nodd\n",
            ),
        ]);
        assert_eq!(host.state(), Some(State::Enabled));
        assert_eq!(host.scheduler().as_deref(), Some("o1"));
        assert_eq!((host.enable_seq(), host.rejected(), host.hotplug_seq()), (Some(7), Some(2), None));
        let events = [("SCX_EV_SELECT_CPU_FALLBACK".to_owned(), 3), ("SCX_EV_BYPASS_ACTIVATE".to_owned(), 1)];
        assert_eq!(host.events(), events);
    }

    #[test]
    fn every_state_is_known() {
        let check = |text, expected| {
            let (_root, host) = fake(&[("sys/kernel/sched_ext/state", text)]);
            assert_eq!(host.state(), expected, "{text}");
        };
        check("disabled\n", Some(State::Disabled));
        check("enabling\n", Some(State::Changing));
        check("disabling\n", Some(State::Changing));
        assert_eq!(fake(&[]).1.state(), None);
        assert_eq!(fake(&[]).1.events(), []);
    }
}
