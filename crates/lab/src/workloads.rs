//! Workloads by name, or from a file's text.

use crate::error::LabError;
use crate::machines::Machine;
use keel_abi::task::Workload;
use keel_workload::Warning;

/// What runs where nothing else is asked for.
pub const DEFAULT: &str = "mix";

/// A mix for any machine: tasks a CPU, percent of the machine that they want, percent of jitter.
const FITTING: (u32, u32, u8) = (4, 90, 20);

/// One line on each, by name.
const ABOUT: &[(&str, &str)] = &[
    (DEFAULT, "four threads a CPU that run and sleep, 90 % of any machine"),
    ("mix-64", "a few hundred threads of several kinds, about 90 % of 64 CPUs"),
    ("hogs", "threads that only compute"),
    ("pingpong", "pairs of threads that wake each other"),
    ("interactive", "one thread that sleeps and works beside many that only compute"),
];

/// The built-in workloads: name, and one line on what it is.
pub fn list() -> Vec<(String, String)> {
    let about = |name: &str| ABOUT.iter().find(|(n, _)| *n == name).map_or("", |(_, line)| line);
    let names = std::iter::once(DEFAULT).chain(keel_workload::built_in_names());
    let files = names.map(|name| (name.to_owned(), about(name).to_owned()));
    let programs =
        keel_workload::programs().map(|(_, example, about)| (example.to_owned(), about.to_owned()));
    files.chain(programs).collect()
}

/// The text of the built-in workload with this name, an rt-app JSON like any other.
pub fn built_in(name: &str) -> Option<&'static str> {
    keel_workload::built_in(name)
}

/// How a mix is asked for.
pub const MIX: &str = "mix:TASKS:LOAD[:JITTER]";

/// The mix of running and sleeping tasks that a name like `mix:1000:80:40` asks for: so many
/// tasks, which together want LOAD percent of the machine, lengths varying by JITTER percent; or
/// plain `mix`, which fits the machine. `None` where it is no such name.
pub fn made(name: &str, machine: &Machine) -> Option<Result<Workload, LabError>> {
    if name == DEFAULT {
        let (tasks, load, jitter) = FITTING;
        let cpus = machine.topology.cpus();
        return Some(Ok(keel_workload::mix(tasks * cpus, cpus, load, jitter)));
    }
    if let Some(made) = keel_workload::program(name) {
        return Some(made.map_err(LabError::BadInput));
    }
    let numbers: Option<Vec<u32>> =
        name.strip_prefix("mix:")?.split(':').map(|number| number.parse().ok()).collect();
    let (tasks, load, jitter) = match numbers.as_deref() {
        Some(&[tasks, load]) => (tasks, load, 0),
        Some(&[tasks, load, jitter]) => (tasks, load, jitter),
        _ => (0, 0, 0),
    };
    let good = (1..=keel_workload::MAX_INSTANCES).contains(&tasks) && (1..=10_000).contains(&load);
    Some(match u8::try_from(jitter) {
        Ok(jitter @ 0..=100) if good => Ok(keel_workload::mix(tasks, machine.topology.cpus(), load, jitter)),
        _ => Err(LabError::BadInput(format!("'{name}': write {MIX}, as in mix:1000:80:40"))),
    })
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
    fn mixes_are_made_to_measure() {
        let check = |name, expected: Option<bool>| {
            let made = made(name, &crate::machines::of_cpus(4));
            assert_eq!(made.map(|made| made.is_ok()), expected, "{name}");
        };
        check("mix:16:80:40", Some(true));
        check("mix:16:125", Some(true));
        check("mix", Some(true));
        check("mix-64", None);
        for bad in
            ["mix:", "mix:16", "mix:0:80", "mix:16:80:101", "mix:x:80", "mix:1:2:3:4", "mix:9999999999:80"]
        {
            check(bad, Some(false));
        }
    }

    #[test]
    fn every_workload_is_described_and_read() {
        for (name, line) in list() {
            assert!(!line.is_empty(), "{name}");
            let machine = crate::machines::of_cpus(64);
            if made(&name, &machine).is_some_and(|made| made.is_ok()) {
                continue;
            }
            let text = built_in(&name).expect("it is listed");
            read(&name, text, &machine).expect("our own files are right");
        }
    }
}
