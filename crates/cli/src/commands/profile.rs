//! `keel profile`: shows where a scheduler's time goes.

use crate::asked::Asked;
use crate::execute::{Executed, Place, execute};
use crate::failure::{Code, Failure};
use crate::inputs;
use crate::interrupt::{self, Process};
use crate::lab::Lab;
use crate::output::{self, Output, print};
use crate::outputs::{both, distinct};
use crate::page::{self, Drawing};
use crate::profile::{self, Format};
use crate::profile_args::ProfileArgs;
use crate::progress::Bar;
use crate::show;
use keel_lab::{RunSpec, SchedulerSource};
use keel_profile::{Profile, diff, growth, text};
use keel_report::RunReport;
use keel_trace::Sink;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &ProfileArgs, lab: &Lab) -> Result<Code, Failure> {
    if args.diff.is_empty() && args.cpus.is_empty() {
        return one(args, lab);
    }
    if !args.cpus.is_empty() {
        return sizes(args, lab);
    }
    let runs_nothing = args.diff.iter().all(|given| is_kept(given));
    if runs_nothing && (args.host.is_some() || !args.scene.is_default()) {
        return Err(Failure::input("--diff: both profiles are files, so options for runs have no effect")
            .help("leave them out, or give a scheduler instead of a file"));
    }
    let mut made = args.diff.iter().map(|given| given_or_made(args, lab, given));
    let ((before, code), (after, other)) = (made.next().expect("two")?, made.next().expect("two")?);
    print(&diff::diff(&before, &after, args.top))?;
    Ok(worse(code, other))
}

/// Returns the more severe exit code.
fn worse(one: Code, other: Code) -> Code {
    if one as u8 >= other as u8 { one } else { other }
}

/// A profile, its run, and the run's exit code.
struct Made {
    profile: Profile,
    code: Code,
    report: RunReport,
}

/// What a file contains.
#[derive(Clone, Copy, PartialEq, Eq)]
enum File {
    Format(Format),
    Page,
}

/// Makes one run, and writes its profile as tables and to files.
fn one(args: &ProfileArgs, lab: &Lab) -> Result<Code, Failure> {
    let spec = spec(args, lab, args.scheduler.as_deref(), None)?;
    if let Some(path) = args.report.as_deref().filter(|path| !page::is_page(path)) {
        return Err(page::refused("--report", path, "keel profile writes HTML pages", ".html"));
    }
    let mut files = reserve(args, lab)?;
    let mut drawing = args.report.as_deref().map(|path| Drawing::of(path, 1));
    let sinks = drawing.as_mut().map(Drawing::sink).into_iter().collect();
    let Made { profile, code, report } = made(lab, spec, sinks)?;
    let mut written = Ok(());
    for (file, mut output) in files.drain(..) {
        let wrote = match (file, drawing.take_if(|_| file == File::Page)) {
            (File::Format(format), _) => output.write(&profile::bytes(&profile, format)),
            (File::Page, Some(drawing)) => drawing.write(&report, Some(&profile), &mut output),
            (File::Page, None) => Ok(()),
        };
        written = both(written, wrote.and_then(|()| output.keep()));
    }
    let mut shown = match args.json {
        true => profile::json(&profile),
        false => text::summary(&profile, args.top),
    };
    if args.annotate {
        shown += &format!("\n{}", profile::annotated(&profile));
    }
    both(written, print(&shown))?;
    Ok(code)
}

/// Reserves the files to write. They must be distinct, and none may be an input.
fn reserve(args: &ProfileArgs, lab: &Lab) -> Result<Vec<(File, Output)>, Failure> {
    let asked = [
        ("--folded", File::Format(Format::Folded), &args.folded),
        ("--pprof", File::Format(Format::Pprof), &args.pprof),
        ("--lcov", File::Format(Format::Lcov), &args.lcov),
        ("--report", File::Page, &args.report),
    ];
    let asked = asked.into_iter().filter_map(|(option, file, path)| Some((option, file, path.as_deref()?)));
    let reserved = asked.map(|(option, file, path)| Ok((option, file, Output::reserve(path)?)));
    let files: Vec<(&str, File, Output)> = reserved.collect::<Result<_, Failure>>()?;
    distinct(files.iter().map(|(option, _, output)| (*option, output)), &read(args, lab)?)?;
    Ok(files.into_iter().map(|(_, file, output)| (file, output)).collect())
}

/// Returns the files that the run reads.
fn read(args: &ProfileArgs, lab: &Lab) -> Result<Vec<PathBuf>, Failure> {
    let asked = args.scheduler.as_deref().map(|given| Asked::read(lab, given)).transpose()?;
    let recipe = asked.as_ref().and_then(|it| inputs::recipe_file(lab, it.scheduler, args.host.as_deref()));
    let mut names = inputs::workload_files(&args.scene.workload)?;
    names.extend(asked.as_ref().map(|asked| asked.scheduler));
    names.extend(args.scene.machine.as_deref());
    Ok(names.into_iter().map(PathBuf::from).chain(recipe).collect())
}

/// Makes one run on each machine size.
fn sizes(args: &ProfileArgs, lab: &Lab) -> Result<Code, Failure> {
    let (mut profiles, mut worst) = (Vec::new(), Code::Done);
    for cpus in &args.cpus {
        let spec = spec(args, lab, args.scheduler.as_deref(), Some(&cpus.to_string()))?;
        let Made { profile, code, .. } = made(lab, spec, Vec::new())?;
        profiles.push(profile);
        worst = worse(worst, code);
    }
    print(&growth::growth(&profiles, args.top))?;
    Ok(worst)
}

/// Returns a profile from an earlier file, or from a new run of a scheduler.
/// Returns whether the name is that of an earlier profile's file, and not of a scheduler to run.
fn is_kept(given: &str) -> bool {
    Format::of(Path::new(given)) == Format::Json
}

fn given_or_made(args: &ProfileArgs, lab: &Lab, given: &str) -> Result<(Profile, Code), Failure> {
    let path = Path::new(given);
    if !is_kept(given) {
        let Made { profile, code, .. } = made(lab, spec(args, lab, Some(given), None)?, Vec::new())?;
        return Ok((profile, code));
    }
    let shown = crate::text::shown_path(path);
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::input(format!("{shown} cannot be read: {}", inputs::reason(&e))))?;
    let profile: Profile = serde_json::from_str(&text).map_err(|e| {
        Failure::input(format!("{shown} is not a profile: {e}"))
            .help("write one with keel profile SCHED --json")
    })?;
    if let Err(why) = profile.check() {
        return Err(Failure::input(format!("{shown} is not a profile: {why}")));
    }
    Ok((profile, Code::Done))
}

/// Returns the spec of the run, on the scene's machine or on this one.
fn spec(
    args: &ProfileArgs,
    lab: &Lab,
    given: Option<&str>,
    machine: Option<&str>,
) -> Result<RunSpec, Failure> {
    let program = crate::program::source(&args.program)?;
    let asked = Asked::read(lab, given.unwrap_or(keel_lab::schedulers::EEVDF))?;
    let mut scene = args.scene.scene();
    if scene.engine != keel_lab::Engine::Native {
        return Err(Failure::input("--engine: keel profile uses its own engine; leave the option out"));
    }
    if let Some(machine) = machine {
        scene.machine = Some(machine.to_owned());
    }
    let mut specs = inputs::specs(lab, &[asked], args.host.as_deref(), &scene, &Process)?;
    if let Some((source, _)) = program {
        specs[0].scheduler = SchedulerSource { ..source };
    }
    profile::keep(&mut specs)?;
    Ok(specs.remove(0))
}

fn made(lab: &Lab, spec: RunSpec, others: Vec<&mut dyn Sink>) -> Result<Made, Failure> {
    let bar = Bar::new(spec.duration);
    let Executed { report, profile, program, .. } = execute(lab, &spec, others, &bar, Place::Here)?;
    drop(bar);
    if let Some(program) = &program {
        output::tell(&spec.scheduler.name, program);
    }
    let Some(profile) = profile else { return Err(refused(&report)) };
    if report.failed() {
        output::note(format_args!(
            "the scheduler failed, and the profile ends there: {}",
            crate::text::shown(&report.exit.reason)
        ));
    }
    let code = interrupt::code(report.partial.is_some(), show::code(&report));
    Ok(Made { profile: *profile, code, report })
}

/// Returns the failure for a scheduler that the kernel did not attach, so that nothing was counted.
fn refused(report: &RunReport) -> Failure {
    let why = crate::text::shown(&report.exit.reason);
    let name = crate::text::shown(&report.scheduler);
    Failure::scheduler(format!("the kernel refused {name}: {why}"))
}
