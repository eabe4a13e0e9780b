//! Which kernels, and where Debian keeps them.

use super::Stop;
use super::apt::{Package, Store};
use std::path::{Path, PathBuf};

/// A kernel to check on.
#[derive(Debug)]
pub(super) struct Kernel {
    /// As `--kernel` names it.
    pub(super) version: &'static str,
    package: Package,
}

/// The kernels. The rules that we model are 7.2's; 6.18 is to load and to survive. The backport
/// kernels 7.1 and 7.2 are no use: their BTF is broken, and objects fail to load.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel {
        version: "6.18",
        package: Package { suite: "trixie-backports", prefix: "linux-image-6.18.", suffix: "-cloud-amd64" },
    },
    Kernel {
        version: "7.2",
        package: Package { suite: "sid", prefix: "linux-binary-7.2.", suffix: "+deb14-cloud-amd64" },
    },
];

/// bpftool, new enough to know how kfuncs' variants are named.
pub(super) const TOOL: Package = Package { suite: "bookworm-backports", prefix: "bpftool", suffix: "" };

/// A kernel ready to boot.
pub(super) struct Image {
    /// As `uname -r` says.
    pub(super) release: String,
    /// The compressed image.
    pub(super) vmlinuz: PathBuf,
}

/// Fetches a kernel where it is not there yet.
pub(super) fn image(store: &mut Store, kernel: &Kernel) -> Result<Image, Stop> {
    let folder = store.unpack(&kernel.package)?;
    find(&folder).ok_or_else(|| {
        Stop::Failed(format!("{} holds no kernel image; delete it and run again", folder.display()))
    })
}

/// Old packages keep the image in /boot, new ones beside the modules.
fn find(folder: &Path) -> Option<Image> {
    let entries = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
    let in_boot = entries(folder.join("boot")).find_map(|entry| {
        let release = entry.file_name().to_str()?.strip_prefix("vmlinuz-")?.to_owned();
        Some(Image { release, vmlinuz: entry.path() })
    });
    in_boot.or_else(|| {
        entries(folder.join("usr/lib/modules")).find_map(|entry| {
            let vmlinuz = entry.path().join("vmlinuz");
            let release = entry.file_name().to_str()?.to_owned();
            vmlinuz.exists().then_some(Image { release, vmlinuz })
        })
    })
}
