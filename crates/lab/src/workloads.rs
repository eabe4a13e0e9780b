//! Workloads by name, or from a file's text.

use crate::error::LabError;
use crate::machines::Machine;
use keel_abi::task::Workload;
use keel_workload::Warning;

/// What runs where nothing else is asked for.
pub const DEFAULT: &str = "mix-64";

/// One line on each, by name.
const ABOUT: &[(&str, &str)] = &[
    ("mix-64", "a few hundred threads of several kinds, about 90 % of 64 CPUs"),
    ("hogs", "threads that only compute"),
    ("pingpong", "pairs of threads that wake each other"),
    ("interactive", "one thread that sleeps and works beside many that only compute"),
];

/// The built-in workloads: name, and one line on what it is.
pub fn list() -> Vec<(String, String)> {
    let about = |name: &str| ABOUT.iter().find(|(n, _)| *n == name).map_or("", |(_, line)| line);
    keel_workload::built_in_names().map(|name| (name.to_owned(), about(name).to_owned())).collect()
}

/// The text of the built-in workload with this name, an rt-app JSON like any other.
pub fn built_in(name: &str) -> Option<&'static str> {
    keel_workload::built_in(name)
}

/// The workload that an rt-app JSON describes, for a machine whose CPUs its affinities must be
/// among; `name` is the file's, for messages. With it come notes on what was ignored.
pub fn read(name: &str, text: &str, machine: &Machine) -> Result<(Workload, Vec<Warning>), LabError> {
    keel_workload::parse(name, text, &machine.topology).map_err(|e| LabError::BadInput(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_is_described_and_read() {
        for (name, line) in list() {
            assert!(!line.is_empty(), "{name}");
            let text = built_in(&name).expect("it is listed");
            read(&name, text, &crate::machines::of_cpus(64)).expect("our own files are right");
        }
    }
}
