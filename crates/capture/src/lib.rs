//! Describes the machine that a process runs on as a machine file, from /sys, /proc and short benchmarks.
//!
//! Nothing here needs privileges. Values that can't be read remain the default machine's, and a note says so.
//!
//! - `tree`: reading files of /sys and /proc, which may be missing
//! - `shape`: CPUs, cores, caches, nodes and their distances
//! - `caches`: the caches of a CPU
//! - `speed`: capacities and frequencies
//! - `settings`: how the kernel was built and configured
//! - `file`: the machine as text
//! - [`measure`]: the cost of switches, wakeups and cache lines here
#![forbid(unsafe_code)]

mod caches;
mod file;
pub mod measure;
mod settings;
mod shape;
mod speed;
#[cfg(test)]
mod tests;
mod tree;

pub use file::Constant;
use keel_abi::cpuset::MAX_CPUS;
use measure::Measured;
use shape::Shape;
use std::path::Path;
use tree::Tree;

/// A captured machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The machine file.
    pub text: String,
    /// One sentence for each value that could not be read and remains the default machine's.
    pub unseen: Vec<String>,
}

/// Why a machine cannot be captured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// The kernel does not list the CPUs, or there are more than a machine file can describe.
    #[error(
        "/sys/devices/system/cpu/online is not a list of CPUs below {MAX_CPUS}; mount /sys, and try again"
    )]
    NoCpus,
}

/// Captures the machine whose /sys and /proc are below `root`. `measured` are the measurements made on it.
///
/// # Errors
/// Fails if the kernel does not list the CPUs.
pub fn capture(root: &Path, measured: Option<&Measured>) -> Result<Captured, CaptureError> {
    let tree = Tree::new(root);
    let mut unseen = Vec::new();
    let shape = Shape::seen(&tree, &mut unseen)?;
    let mut machine = file::Machine::named(settings::name(&tree, &shape));
    settings::see(&tree, &mut machine, &mut unseen);
    caches::see(&tree, &mut machine, &mut unseen);
    speed::see(&tree, &shape, &mut machine, &mut unseen);
    machine.shape = shape;
    match measured {
        Some(measured) => measured.put(&mut machine, &mut unseen),
        None => unseen.push("costs were not measured (--measure)".to_owned()),
    }
    Ok(Captured { text: machine.text(&unseen), unseen })
}
