//! Converts Python arguments to schedulers, machines and workloads: names and paths as on the command line, or text and
//! bytes.

use keel_abi::task::Workload;
use keel_front::Caller;
use keel_front::asked::Asked;
use keel_front::failure::Failure;
use keel_front::inputs::{self, DEFAULT_MACHINE};
use keel_front::lab::REAL;
use keel_front::replay::machine_and_workload;
use keel_front::text::shown;
use keel_lab::{Machine, SchedulerSource};
use keel_recipe::Recipe;
use pyo3::prelude::*;
use std::path::Path;

/// A machine or a workload.
#[derive(Clone, Debug, FromPyObject)]
pub(crate) enum Given {
    /// As on the command line.
    Named(String),
    /// A name for messages, and the contents of a file of that kind.
    Text(String, String),
}

/// A scheduler.
#[derive(Debug, FromPyObject)]
pub(crate) enum GivenScheduler {
    /// As on the command line, with its settings or arguments.
    Named(String),
    /// As on the command line, with the path of a recipe.
    WithRecipe(String, String),
    /// A name, the object's bytes, and a recipe's text, which may be empty.
    Object(String, Vec<u8>, String),
}

/// A scheduler with the settings after its name.
pub(crate) type Settings = Vec<(String, String)>;

impl GivenScheduler {
    /// Returns the scheduler, named as in `keel compare`, and the settings in its name.
    pub(crate) fn read(&self) -> Result<(SchedulerSource, Settings), Failure> {
        match self {
            Self::Named(given) => named(given, None),
            Self::WithRecipe(given, recipe) => named(given, Some(Path::new(recipe))),
            Self::Object(name, bytes, recipe) => {
                let wrong = |e: keel_recipe::RecipeError| Failure::input(shown(&e.to_string()));
                let recipe = match recipe.is_empty() {
                    true => Recipe::default(),
                    false => {
                        Recipe::read(&format!("the recipe of {}", shown(name)), recipe).map_err(wrong)?
                    }
                };
                let source = SchedulerSource { name: name.clone(), bytes: bytes.as_slice().into(), recipe };
                Ok((source, Vec::new()))
            }
        }
    }
}

fn named(given: &str, recipe: Option<&Path>) -> Result<(SchedulerSource, Settings), Failure> {
    let asked = Asked::read(&REAL, given)?;
    let source = inputs::source(&REAL, &asked, recipe)?;
    Ok((source, asked.settings))
}

/// Returns a machine by name, number of CPUs, path or text.
pub(crate) fn machine(given: &Given) -> Result<Machine, Failure> {
    match given {
        Given::Named(given) => inputs::machine(&REAL, given),
        Given::Text(name, text) => (REAL.read_machine)(&shown(name), text).map_err(Failure::from_lab),
    }
}

/// Returns the machine and its workload. If no machine is named, it is a recording's machine, or the default one.
pub(crate) fn scene(
    given: Option<&Given>,
    workload: &Given,
    caller: &dyn Caller,
) -> Result<(Machine, Workload), Failure> {
    match (given, workload) {
        (None | Some(Given::Named(_)), Given::Named(workload)) => {
            let name = match given {
                Some(Given::Named(name)) => Some(name.as_str()),
                _ => None,
            };
            machine_and_workload(&REAL, name, workload, DEFAULT_MACHINE, caller)
        }
        (given, workload) => {
            let machine = given.map_or_else(|| inputs::machine(&REAL, DEFAULT_MACHINE), machine)?;
            let workload = match workload {
                Given::Named(name) => inputs::workload(&REAL, name, &machine, caller)?,
                Given::Text(name, text) => {
                    let read = (REAL.read_workload)(&shown(name), text, &machine);
                    let (workload, remarks) = read.map_err(Failure::from_lab)?;
                    remarks.iter().for_each(|remark| caller.note(remark));
                    workload
                }
            };
            Ok((machine, workload))
        }
    }
}
