//! Whether the host's virtualization works. A `/dev/kvm` that opens may still fail at a kernel's first instructions,
//! and only a boot shows it. The result is remembered until the host reboots.

use std::fs::File;
use std::path::{Path, PathBuf};

/// The host's KVM.
#[derive(Debug)]
pub struct Kvm {
    /// The file that records in which of the host's boots it failed.
    note: PathBuf,
    boot: String,
}

impl Kvm {
    /// Returns what a cache's folder knows about it.
    pub fn on_this_host(cache: &Path) -> Self {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self { note: cache.join("kvm-fails"), boot }
    }

    /// Returns whether it may be used, and is not known to fail.
    pub fn may_work(&self) -> bool {
        let fails = std::fs::read_to_string(&self.note).is_ok_and(|boot| boot == self.boot);
        !fails && File::options().read(true).write(true).open("/dev/kvm").is_ok()
    }

    /// Spares the next guest the attempt. If the file cannot be written, the attempt is repeated.
    pub fn remember_that_it_fails(&self) {
        std::fs::write(&self.note, &self.boot).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_remembered_for_one_boot() {
        let folder = tempfile::tempdir().unwrap();
        let kvm = Kvm::on_this_host(folder.path());
        kvm.remember_that_it_fails();
        assert!(!kvm.may_work());
        let later = Kvm { boot: "another".into(), ..Kvm::on_this_host(folder.path()) };
        let usable = File::options().read(true).write(true).open("/dev/kvm").is_ok();
        assert_eq!(later.may_work(), usable);
    }
}
