//! Finds workloads by name, or reads them from a file's text.

use crate::error::LabError;
use crate::machines::Machine;
use keel_abi::task::Workload;
pub use keel_workload::Setting;
use keel_workload::Warning;

/// The default workload.
pub const DEFAULT: &str = "mix";

/// A one-line description of each file, by name.
const ABOUT: &[(&str, &str)] = &[
    ("mix-64", "a few hundred threads of several kinds that load 64 CPUs to about 90 %"),
    ("hogs", "threads that only compute"),
    ("pingpong", "pairs of threads that wake each other"),
    ("interactive", "one thread that sleeps and works, among many that only compute"),
    ("typist", "one thread that sleeps and works, to be joined with others: typist+hogs:1000"),
];

/// Returns the built-in workloads, files first: the name of each, and a one-line description.
pub fn list() -> Vec<(String, String)> {
    let about = |name: &str| ABOUT.iter().find(|(n, _)| *n == name).map_or("", |(_, line)| line);
    let files = keel_workload::built_in_names().map(|name| (name.to_owned(), about(name).to_owned()));
    let generators = keel_workload::generators().map(|generator| {
        let keel_workload::Generator { form, example, about, .. } = generator;
        let example = (form != example).then(|| format!("as in {example}"));
        let limits = Some(generator.limits()).filter(|limits| !limits.is_empty());
        let line = [Some(about.to_owned()), example, limits].into_iter().flatten().collect::<Vec<_>>();
        (form.to_owned(), line.join("; "))
    });
    files.chain(generators).collect()
}

/// Returns the text of the built-in workload with this name: ordinary rt-app JSON.
pub fn built_in(name: &str) -> Option<&'static str> {
    keel_workload::built_in(name)
}

/// Returns the workload for a generator's name like `mix:1000:80:40`, or just `mix`, which adapts to the machine.
/// Returns `None` if it is not a generator's name.
pub fn made(name: &str, machine: &Machine) -> Option<Result<Workload, LabError>> {
    let made = keel_workload::generated(name, machine.topology.cpus())?;
    Some(made.map_err(LabError::BadInput))
}

/// Splits a name like `typist+hogs:1000` into its parts. A piece for which `is_file` returns true is one part, whatever
/// it contains.
pub fn parts(name: &str, is_file: impl Fn(&str) -> bool) -> Result<Vec<&str>, LabError> {
    keel_workload::parts(name, is_file).map_err(|why| LabError::BadInput(format!("'{name}': {why}")))
}

/// Splits a workload's own name from the settings after it: `lu:16@nodes=1,2`. If `is_file` returns true for the whole,
/// it is a file's name, whatever it contains.
pub fn settings(name: &str, is_file: impl Fn(&str) -> bool) -> Result<(&str, Vec<Setting>), LabError> {
    keel_workload::settings(name, is_file).map_err(|why| LabError::BadInput(format!("'{name}': {why}")))
}

/// Applies the settings to the workload called `name`.
pub fn apply(
    name: &str,
    workload: &mut Workload,
    settings: &[Setting],
    machine: &Machine,
) -> Result<(), LabError> {
    keel_workload::apply(workload, settings, &machine.topology)
        .map_err(|why| LabError::BadInput(format!("'{name}': {why}")))
}

/// Joins the parts into one workload called `name`.
pub fn join(name: &str, parts: Vec<Workload>) -> Result<Workload, LabError> {
    keel_workload::join(parts).map_err(|why| LabError::BadInput(format!("'{name}': {why}")))
}

/// Reads the workload that rt-app JSON describes, for a machine that must have the CPUs in its affinities. `name` is
/// the file's name, for messages. Also returns notes on what was ignored.
pub fn read(name: &str, text: &str, machine: &Machine) -> Result<(Workload, Vec<Warning>), LabError> {
    keel_workload::parse(name, text, &machine.topology).map_err(|e| match e.unsupported {
        true => LabError::Unsupported(e.to_string()),
        false => LabError::BadInput(e.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_fits_the_machine() {
        let tasks = |cpus| {
            let made = made(DEFAULT, &crate::machines::of_cpus(cpus)).unwrap().unwrap();
            made.tasks.iter().map(|task| task.instances).sum::<u32>()
        };
        assert_eq!((tasks(1), tasks(8)), (4, 32));
        assert!(made("mix-64", &crate::machines::of_cpus(4)).is_none());
    }

    #[test]
    fn every_workload_is_described_and_every_file_read() {
        assert!(list().iter().all(|(name, line)| !name.is_empty() && !line.is_empty()));
        for name in keel_workload::built_in_names() {
            let text = built_in(name).expect("it is listed");
            read(name, text, &crate::machines::of_cpus(64)).expect("our own files are right");
        }
    }
}
