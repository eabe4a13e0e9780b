//! Converts arguments (built-in names, numbers, files) to the parts of a run's spec.

use crate::asked::Asked;
use crate::caller::Caller;
use crate::close::BuiltIn;
use crate::failure::Failure;
use crate::lab::Lab;
use crate::text::shown;
use keel_abi::cpuset::MAX_CPUS;
use keel_abi::order::Holds;
use keel_abi::task::Workload;
use keel_abi::{Noise, Span};
use keel_experiment::Arm;
use keel_lab::workloads::Setting;
use keel_lab::{Engine, LabError, Machine, RunSpec, SchedulerSource};
use keel_recipe::Recipe;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The maximum size of a scheduler in bytes; it may be a whole user-space program.
const MAX_OBJECT: u64 = 256 << 20;
/// The maximum size of a workload or machine in bytes.
const MAX_TEXT: u64 = 64 << 20;
/// The duration of a run that neither the arguments nor the workload limit.
pub const DEFAULT_DURATION: Span = Span::from_s(10);

/// What to run, on which machine, for how long.
#[derive(Clone, Debug)]
pub struct Scene {
    /// A built-in name, a file, a generator, several of them, or a recording.
    pub workload: String,
    /// A built-in name, a number of CPUs, or a file; if absent, the recording's machine or [`DEFAULT_MACHINE`].
    pub machine: Option<String>,
    /// The duration; if absent, the workload's, or 10 s.
    pub duration: Option<Span>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The background noise.
    pub noise: Noise,
    /// Global variables to set in every scheduler.
    pub settings: Vec<(String, String)>,
    /// The points at which callbacks let others run first.
    pub order: Option<Holds>,
    /// Whether to end a scheduler at its first invalid access.
    pub checked: bool,
    /// The engine that executes instructions.
    pub engine: Engine,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            workload: keel_lab::workloads::DEFAULT.to_owned(),
            machine: None,
            duration: None,
            seed: DEFAULT_SEED,
            noise: Noise::Quiet,
            settings: Vec::new(),
            order: None,
            checked: false,
            engine: Engine::Native,
        }
    }
}

/// The seed of a run that specifies none.
pub const DEFAULT_SEED: u64 = 1;

/// The machine of a scene that specifies none.
pub const DEFAULT_MACHINE: &str = "8";

/// Returns a scheduler whose name may contain settings, or a scheduler's own program with its arguments.
pub fn source(lab: &Lab, asked: &Asked<'_>, recipe: Option<&Path>) -> Result<SchedulerSource, Failure> {
    if let Some(argv) = asked.command(lab)?
        && let Some((source, _)) = crate::program::source(&argv)?
    {
        // Two schedulers with the same program differ in their arguments.
        return Ok(SchedulerSource { name: asked.scheduler.trim().to_owned(), ..source });
    }
    let source = scheduler_by(lab, asked.scheduler, recipe)?;
    Ok(SchedulerSource { name: source.name + &asked.suffix(), ..source })
}

/// Returns one spec per scheduler, with the recipe in this file or the one beside the scheduler. The specs differ only
/// in the scheduler and its own settings.
pub fn specs(
    lab: &Lab,
    schedulers: &[Asked<'_>],
    recipe: Option<&Path>,
    scene: &Scene,
    caller: &dyn Caller,
) -> Result<Vec<RunSpec>, Failure> {
    let named = schedulers.iter().map(|asked| source(lab, asked, recipe));
    let sources: Vec<SchedulerSource> = named.collect::<Result<_, _>>()?;
    for (asked, source) in schedulers.iter().zip(&sources) {
        crate::program::note_half(asked.scheduler, source, caller);
    }
    let (machine, workload) = crate::replay::machine_and_workload(
        lab,
        scene.machine.as_deref(),
        &scene.workload,
        DEFAULT_MACHINE,
        caller,
    )?;
    let duration = scene.duration.or(workload.duration).unwrap_or(DEFAULT_DURATION);
    let spec = |(scheduler, asked): (_, &Asked<'_>)| RunSpec {
        scheduler,
        // The last value counts, so a scheduler's own settings win.
        settings: scene.settings.iter().chain(&asked.settings).cloned().collect(),
        workload: workload.clone(),
        machine: machine.clone(),
        duration,
        seed: scene.seed,
        noise: scene.noise,
        engine: scene.engine,
        order: scene.order.clone(),
        checked: scene.checked,
    };
    Ok(sources.into_iter().zip(schedulers).map(spec).collect())
}

/// Returns the spec of an experiment's arm, with this duration and noise. Programs with versions are in `programs`.
pub fn arm(
    lab: &Lab,
    arm: &Arm,
    programs: &Path,
    duration: Span,
    noise: Noise,
    caller: &dyn Caller,
) -> Result<RunSpec, Failure> {
    let machine = machine(lab, &arm.machine)?;
    Ok(RunSpec {
        scheduler: of_arm(lab, arm, programs)?,
        settings: arm.settings.clone(),
        workload: workload(lab, &arm.workload, &machine, caller)?,
        machine,
        duration,
        seed: 0,
        noise,
        engine: Engine::Native,
        order: None,
        checked: false,
    })
}

fn of_arm(lab: &Lab, arm: &Arm, programs: &Path) -> Result<SchedulerSource, Failure> {
    match &arm.version {
        Some(version) => crate::program::of_version(&arm.scheduler, version, programs),
        None => source(lab, &Asked { scheduler: &arm.scheduler, settings: Vec::new() }, None),
    }
}

/// Returns a built-in scheduler, or one in a file with the recipe beside it.
pub fn scheduler(lab: &Lab, given: &str) -> Result<SchedulerSource, Failure> {
    scheduler_by(lab, given, None)
}

/// Returns a scheduler, with the recipe in this file if given, otherwise with the one beside it.
pub fn scheduler_by(lab: &Lab, given: &str, recipe: Option<&Path>) -> Result<SchedulerSource, Failure> {
    if let Some(built_in) = (lab.scheduler)(given) {
        let recipe = recipe.map(read_recipe).transpose()?.unwrap_or_default();
        return Ok(SchedulerSource { recipe, ..built_in });
    }
    let bytes = file("scheduler", &BuiltIn::some("schedulers", &lab.schedulers), given, MAX_OBJECT)?;
    refuse_source(given, &bytes)?;
    let name = Path::new(given).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let recipe = recipe_file(lab, given, recipe).as_deref().map(read_recipe).transpose()?.unwrap_or_default();
    Ok(SchedulerSource { name, bytes: bytes.into(), recipe })
}

/// Returns the file of a scheduler's recipe: the given one, or `NAME.keel.toml` beside `NAME.bpf.o` if it exists.
pub fn recipe_file(lab: &Lab, scheduler: &str, given: Option<&Path>) -> Option<PathBuf> {
    if given.is_some() || (lab.scheduler)(scheduler).is_some() {
        return given.map(Path::to_owned);
    }
    let name = Path::new(scheduler.strip_suffix(".bpf.o").unwrap_or(scheduler));
    Some(name.with_added_extension("keel.toml")).filter(|path| path.exists())
}

/// Rejects C source files: keel needs the object that clang compiles from them.
fn refuse_source(given: &str, bytes: &[u8]) -> Result<(), Failure> {
    let Some(stem) = given.strip_suffix(".c").filter(|_| !bytes.starts_with(b"\x7fELF")) else {
        return Ok(());
    };
    let (source, object) = (shown(given), shown(&format!("{stem}.o")));
    Err(Failure::input(format!("{source}: it is C source, not a compiled object")).help(format!(
        "compile it: clang -target bpf -mcpu=v3 -O2 -g -I schedulers/include -I crates/kernel/btf -c {source} -o \
         {object} (docs/how-to/compile.md), and give keel {object}"
    )))
}

fn read_recipe(path: &Path) -> Result<Recipe, Failure> {
    let given = path.to_string_lossy();
    let text = document("recipe", &given)?;
    Recipe::read(&shown(&given), &text).map_err(|e| Failure::input(shown(&e.to_string())))
}

/// Returns a built-in machine, one with this many CPUs, or one in a file.
pub fn machine(lab: &Lab, given: &str) -> Result<Machine, Failure> {
    if let Some(machine) = (lab.machine)(given) {
        return Ok(machine);
    }
    let digits = given.strip_prefix('-').unwrap_or(given);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return match given.parse::<u32>() {
            Ok(cpus) if (1..=MAX_CPUS).contains(&cpus) => Ok((lab.machine_of_cpus)(cpus)),
            _ => {
                Err(Failure::input(format!("--machine {}: a machine has 1 to {MAX_CPUS} CPUs", shown(given))))
            }
        };
    }
    let text = text("machine", &BuiltIn::some("machines", &lab.machines), given)?;
    (lab.read_machine)(&shown(given), &text).map_err(Failure::from_lab)
}

/// Returns a workload, or several joined by `+` as one.
pub fn workload(lab: &Lab, given: &str, machine: &Machine, caller: &dyn Caller) -> Result<Workload, Failure> {
    let parts = workload_parts(given)?;
    if parts.len() == 1 {
        return one_workload(lab, given, machine, caller);
    }
    let read = |(at, part): (usize, &&str)| {
        let place = format!("part {} of the workload, '{}'", at + 1, shown(part));
        // A pipe could be read only once.
        if Path::new(part).is_file() && crate::replay::is_recording(Path::new(part)) {
            return Err(Failure::input(format!("{place}: a recording can't be joined with other workloads"))
                .help("make a workload of it with keel workload from, and join that"));
        }
        one_workload(lab, part, machine, caller).map_err(|failure| failure.at(&place))
    };
    let workloads = parts.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    keel_lab::workloads::join(given, workloads).map_err(shown_failure)
}

/// Returns the names and files that a workload consists of, without their settings.
pub fn workload_files(given: &str) -> Result<Vec<&str>, Failure> {
    workload_parts(given)?.into_iter().map(|part| Ok(own_name(part)?.0)).collect()
}

fn workload_parts(given: &str) -> Result<Vec<&str>, Failure> {
    keel_lab::workloads::parts(given, |path| Path::new(path).exists()).map_err(shown_failure)
}

/// Converts an error of the `lab` crate about a name, which is untrusted text.
fn shown_failure(error: LabError) -> Failure {
    Failure::input(shown(&error.to_string()))
}

/// Returns one workload, with the settings after its name.
fn one_workload(lab: &Lab, given: &str, machine: &Machine, caller: &dyn Caller) -> Result<Workload, Failure> {
    let (own, settings) = own_name(given)?;
    let mut workload = plain_workload(lab, own, machine, caller)?;
    if !settings.is_empty() {
        given.clone_into(&mut workload.name);
    }
    keel_lab::workloads::apply(own, &mut workload, &settings, machine).map_err(shown_failure)?;
    Ok(workload)
}

fn own_name(given: &str) -> Result<(&str, Vec<Setting>), Failure> {
    keel_lab::workloads::settings(given, |path| Path::new(path).exists()).map_err(shown_failure)
}

fn plain_workload(
    lab: &Lab,
    given: &str,
    machine: &Machine,
    caller: &dyn Caller,
) -> Result<Workload, Failure> {
    if let Some(made) = (lab.made_workload)(given, machine) {
        return made.map_err(Failure::from_lab);
    }
    let read = match (lab.workload)(given) {
        Some(text) => (lab.read_workload)(given, text, machine),
        None => {
            let text = text("workload", &BuiltIn::some("workloads", &lab.workloads), given)?;
            (lab.read_workload)(&shown(given), &text, machine)
        }
    };
    let (workload, remarks) = read.map_err(Failure::from_lab)?;
    remarks.iter().for_each(|remark| caller.note(remark));
    Ok(workload)
}

/// Returns a file's text.
pub(crate) fn text(kind: &str, built_in: &BuiltIn<'_>, given: &str) -> Result<String, Failure> {
    let bytes = file(kind, built_in, given, MAX_TEXT)?;
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Failure::input(format!("{} is not UTF-8 text: byte {at} is invalid", shown(given)))
    })
}

/// Returns a file's text, for a kind of input that has no built-in names.
pub fn document(kind: &str, given: &str) -> Result<String, Failure> {
    text(kind, &BuiltIn::NONE, given)
}

/// Returns a file's bytes. Fails if there are more than `limit`.
fn file(kind: &str, built_in: &BuiltIn<'_>, given: &str, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let opened = crate::pipe::open(Path::new(given));
    let read = opened.and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
    let looks_like_name = !given.contains(['/', '.']);
    match read {
        Ok(_) if bytes.len() as u64 > limit => Err(Failure::input(format!(
            "{} is too large: a {kind} can have up to {} MiB",
            shown(given),
            limit >> 20
        ))),
        Ok(_) => Ok(bytes),
        Err(e) if looks_like_name && built_in.exists() && e.kind() == std::io::ErrorKind::NotFound => {
            Err(Failure::input(format!("no built-in {kind} and no file is named '{}'", shown(given)))
                .help(built_in.advice(given)))
        }
        Err(e) => Err(Failure::input(format!("{} cannot be read: {}", shown(given), reason(&e)))),
    }
}

/// Returns the reason for an error, without its number.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}
