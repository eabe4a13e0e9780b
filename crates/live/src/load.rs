//! Loads an object and attaches its scheduler.

use crate::attached::{Attached, Parts};
use crate::companion::Companions;
use crate::errors::LiveError;
use crate::exit::{ExitReport, Record};
use crate::host::Host;
use crate::kernel_log::KernelLog;
use crate::{libbpf_log, machine, maps, plan, ready};
use keel_object::Outline;
use keel_recipe::{Action, Recipe};
use libbpf_rs::{Link, MapMut, Object, ObjectBuilder, OpenObject};

/// `BPF_F_LINK`: the scheduler lives as long as the link's file descriptor.
const F_LINK: u32 = 1 << 13;

/// A scheduler that was attached, or that the kernel ended while it was being attached.
#[derive(Debug)]
pub enum Outcome {
    /// It is attached.
    Attached(Box<Attached>),
    /// The kernel ended it before it was enabled.
    Ended(ExitReport),
}

/// Loads an object and attaches its scheduler. `name` is for messages. `settings` come from `--set`, after the
/// recipe's. Call [`check`](crate::check()) first.
///
/// # Errors
/// [`LiveError`]. The kernel then schedules as before.
pub fn attach(
    host: &Host,
    name: &str,
    bytes: &[u8],
    recipe: &Recipe,
    settings: &[(String, String)],
) -> Result<Outcome, LiveError> {
    let mut outline = keel_object::outline(bytes)?;
    let actions = recipe.plan(&machine::facts(host))?;
    let companions = Companions::start(&actions)?;
    companions.introduce(&mut outline)?;
    plan::variables(&mut outline, host, &actions, settings)?;
    let scheduler = one_scheduler(&outline, &actions)?;
    let mut log = KernelLog::now(host);
    let (object, said) = libbpf_log::listen(|| {
        let mut open = open(name, &outline)?;
        prepare(host, &outline, &scheduler, &actions, &mut open)?;
        open.load().map_err(|e| LiveError::Refused(e.to_string()))
    });
    let mut object = object.map_err(|error| explain(host, error, &said))?;
    plan::before_attaching(&outline, &actions, &object)?;
    let record = Record::find(&outline);
    let links = others(&actions, &object)?;
    companions.begin(&outline, &object)?;
    let (link, said) = libbpf_log::listen(|| struct_ops(&mut object, &scheduler));
    let link = match link {
        Ok(link) => link,
        Err(error) => return not_attached(&object, record.as_ref(), log.lines(), &error, &said),
    };
    let parts = Parts { name: name.to_owned(), link, links, record, log, companions };
    Ok(Outcome::Attached(Box::new(Attached::new(host, &outline, object, &actions, parts))))
}

fn one_scheduler(outline: &Outline, actions: &[Action]) -> Result<String, LiveError> {
    let chosen = actions.iter().find_map(|action| match action {
        Action::Choose { scheduler } => Some(scheduler),
        _ => None,
    });
    if let Some(chosen) = chosen {
        let known = outline.schedulers().iter().any(|(name, _)| name == chosen);
        let unknown = || LiveError::Unknown { what: "struct sched_ext_ops", name: chosen.clone() };
        return known.then(|| chosen.clone()).ok_or_else(unknown);
    }
    match outline.schedulers()[..] {
        [(name, _)] => Ok(name.to_owned()),
        [] => Err(LiveError::NoScheduler),
        _ => Err(LiveError::ManySchedulers),
    }
}

fn open(name: &str, outline: &Outline) -> Result<OpenObject, LiveError> {
    // libbpf derives map names from it.
    let safe: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let refused = |e: libbpf_rs::Error| LiveError::Refused(e.to_string());
    ObjectBuilder::default().name(safe).map_err(refused)?.open_memory(&outline.bytes).map_err(refused)
}

fn prepare(
    host: &Host,
    outline: &Outline,
    scheduler: &str,
    actions: &[Action],
    open: &mut OpenObject,
) -> Result<(), LiveError> {
    plan::data(outline, open)?;
    let chosen = outline.schedulers().into_iter().find(|(name, _)| *name == scheduler);
    let ty = chosen.map(|(_, ty)| ty).ok_or(LiveError::NoScheduler)?;
    plan::members(outline, (scheduler, ty), host, actions, open)?;
    plan::sizes(actions, open)?;
    plan::programs(outline, actions, open)?;
    // Without a link, the kernel would keep the scheduler when its loader is killed.
    if let Some(mut map) = maps::open_map(open, scheduler) {
        let flags = map.map_flags() | F_LINK;
        map.set_map_flags(flags).map_err(|e| LiveError::Refused(e.to_string()))?;
    }
    Ok(())
}

/// Returns the one sentence about why an object was not loaded. Broken types in the kernel explain everything else.
fn explain(host: &Host, error: LiveError, said: &[String]) -> LiveError {
    let LiveError::Refused(text) = &error else { return error };
    match ready::kernel_types(host).as_ref().and_then(ready::broken) {
        Some(kfunc) => LiveError::BrokenBtf(kfunc),
        None => libbpf_log::refusal(said, text),
    }
}

fn map_of<'o>(object: &'o mut Object, name: &str) -> Option<MapMut<'o>> {
    object.maps_mut().find(|map| libbpf_rs::MapCore::name(map) == name)
}

fn struct_ops(object: &mut Object, scheduler: &str) -> Result<Link, String> {
    let mut map = map_of(object, scheduler).ok_or("libbpf has no such scheduler")?;
    map.attach_struct_ops().map_err(|e| e.to_string())
}

/// Attaches the recipe's other programs.
fn others(actions: &[Action], object: &Object) -> Result<Vec<Link>, LiveError> {
    let mut links = Vec::new();
    for action in actions {
        let Action::Attach { program: name } = action else { continue };
        let failed = |why: String| LiveError::Program { program: name.clone(), why };
        let program = object.progs_mut().find(|program| program.name() == name.as_str());
        let program = program.ok_or_else(|| failed("it is not loaded".to_owned()))?;
        links.push(program.attach().map_err(|e| failed(e.to_string()))?);
    }
    Ok(links)
}

/// Returns why the kernel did not accept it, from the scheduler's own exit record, the kernel's log, or libbpf.
fn not_attached(
    object: &Object,
    record: Option<&Record>,
    log: Vec<String>,
    error: &str,
    said: &[String],
) -> Result<Outcome, LiveError> {
    let report = record.map(|record| record.read(&maps::data(object, &record.section)));
    let report = report.unwrap_or_default().with_log(log);
    if report.is_there() {
        return Ok(Outcome::Ended(report));
    }
    match report.log.is_empty() {
        true => Err(libbpf_log::refusal(said, error)),
        false => Err(LiveError::Refused(report.log.join("; "))),
    }
}
