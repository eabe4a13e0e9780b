//! The kernels, and where they are stored.

use super::Stop;
use crate::tree::root;
use keel_guest::{Flavour, GuestError, Kernel, Store};
use std::path::PathBuf;

/// The kernels, as in `--kernel`. The simulated rules are 7.2's. On the others, objects must only load and survive.
pub(crate) const KERNELS: &[&str] = &["6.18", "7.0", "7.2"];

/// The kernels of a quick check: the oldest and the newest.
pub(super) const QUICK: &[&str] = &["6.18", "7.2"];

/// The first two numbers of a kernel's version, such as `7.2.13`.
pub(crate) fn version_of(kernel: &str) -> Option<(u32, u32)> {
    let mut numbers = kernel.split('.').map_while(|number| number.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

/// Opens the store, which git ignores.
pub(super) fn store() -> Result<Store, Stop> {
    Ok(Store::open(&root().join(".cache/vm"))?)
}

/// A kernel, fetched if it is missing: the cloud flavour, which is smaller, and needs no files of the host.
pub(super) fn kernel(store: &Store, version: &str) -> Result<Kernel, Stop> {
    Ok(store.kernel(version, Flavour::Cloud, &say)?)
}

/// bpftool, new enough to know how kfuncs' variants are named.
pub(super) fn tool(store: &Store) -> Result<PathBuf, Stop> {
    Ok(store.tool("bookworm-backports", "bpftool", &say)?)
}

fn say(text: &str) {
    println!("{text}");
}

impl From<GuestError> for Stop {
    fn from(error: GuestError) -> Self {
        match error {
            GuestError::Unavailable(_) => Self::Unavailable(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}
