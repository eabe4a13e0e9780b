//! `keel sim`: makes one run of one scheduler and judges it.

use crate::args::SimArgs;
use crate::asked::Asked;
use crate::execute::{Executed, Place, execute};
use crate::failure::{Code, Failure};
use crate::gate::Gate;
use crate::interrupt::{self, Process};
use crate::lab::Lab;
use crate::outputs::{self, LogPaths, Outputs, both};
use crate::page::{self, Drawing};
use crate::progress::Bar;
use crate::run_args::OutputArgs;
use crate::stats_socket::StatsSocket;
use crate::{inputs, output, profile, show};
use keel_abi::Span;
use keel_front::inputs::Scene;
use keel_lab::{Clients, RunSpec, SchedulerSource};
use keel_perfetto::Perfetto;
use keel_report::RunReport;
use keel_trace::{Sink, WriteError, Writer};
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

pub(crate) fn run(args: &SimArgs, lab: &Lab) -> Result<Code, Failure> {
    let order = args.order.as_deref().map(keel_front::order::read).transpose()?;
    let scene = Scene { order, ..args.scene.scene() };
    refuse(&args.outputs)?;
    let program = crate::program::source(&args.program)?;
    // With a program this is a placeholder.
    let given = args.scheduler.as_deref().unwrap_or(keel_lab::schedulers::EEVDF);
    let asked = Asked::read(lab, given)?;
    let recipe = inputs::recipe_file(lab, asked.scheduler, args.host.as_deref());
    let scheduler = program.as_ref().map_or(asked.scheduler, |(_, path)| path.as_str());
    let mut specs = inputs::specs(lab, &[asked], args.host.as_deref(), &scene, &Process)?;
    if let Some((source, _)) = &program {
        let bytes = source.bytes.clone().asked_every(args.stats.map(|s| Span::from_s(u64::from(s))));
        let listen = |path| StatsSocket::listen(path, interrupt::stop());
        let socket = args.stats_socket.as_deref().map(listen).transpose()?;
        let bytes = bytes.open_to(socket.map(|socket| socket as Arc<dyn Clients>));
        specs[0].scheduler = SchedulerSource { bytes, ..source.clone() };
    }
    profile::ask(&args.outputs, &mut specs)?;
    let gate = Gate::new(&args.strict, &args.baseline)?;
    gate.fits(&specs, 1)?;
    let mut inputs = inputs::workload_files(&scene.workload)?;
    inputs.push(scheduler);
    inputs.extend(scene.machine.as_deref());
    inputs.extend(args.order.as_deref());
    inputs.extend(recipe.as_deref().and_then(Path::to_str));
    inputs.extend(args.strict.budgets.as_deref().into_iter().chain(args.baseline.baseline.as_deref()));
    let logs = LogPaths { scheduler: args.log.as_deref(), program: args.program_log.as_deref() };
    let outputs = outputs::reserve(&args.outputs, logs, &inputs)?;
    let (mut run, written) = simulate(lab, &specs[0], outputs)?;
    if !run.failed() {
        run.strict = gate.rule(&run.facts());
        if run.partial.is_none() {
            run.baseline = gate.compare(std::slice::from_ref(&run), 1)?;
        }
    }
    // The verdict is printed even if writing the files failed.
    both(written, show::one(&run, args.outputs.json))?;
    Ok(interrupt::code(run.partial.is_some(), show::code(&run)))
}

/// Rejects names with a suffix that `--report` can't write: it writes a page or a picture.
pub(crate) fn refuse(outputs: &OutputArgs) -> Result<(), Failure> {
    match &outputs.report {
        Some(path) if !page::is_page(path) && !page::is_picture(path) => Err(page::refused(
            "--report",
            path,
            "keel sim writes HTML pages and SVG pictures",
            ".html or .svg",
        )),
        _ => Ok(()),
    }
}

/// Makes the run, and keeps its files once they are complete. A failed run's files are kept too, because they show the
/// cause.
pub(crate) fn simulate(
    lab: &Lab,
    spec: &RunSpec,
    mut outputs: Outputs,
) -> Result<(RunReport, Result<(), Failure>), Failure> {
    let mut trace = outputs.trace.as_mut().map(|output| Writer::new(output.writer()));
    let mut others: Vec<&mut dyn Sink> = Vec::new();
    others.extend(trace.as_mut().map(|trace| trace as &mut dyn Sink));
    let mut drawing = outputs.report.as_ref().map(|output| Drawing::of(output.path(), 1));
    others.extend(drawing.as_mut().map(Drawing::sink));
    let mut perfetto = outputs.perfetto.as_mut().map(|output| Perfetto::new(BufWriter::new(output.writer())));
    others.extend(perfetto.as_mut().map(|perfetto| perfetto as &mut dyn Sink));
    let bar = Bar::new(spec.duration);
    // The thread that starts a scheduler's own program must also trace it, and it mostly waits for the host.
    let place = if spec.scheduler.bytes.program().is_some() { Place::Here } else { Place::Beside };
    let executed = execute(lab, spec, others, &bar, place);
    drop(bar);
    let Executed { report: run, log, profile, program } = match executed {
        Ok(executed) => executed,
        Err(failure) => {
            drop((trace, perfetto));
            return Err(outputs.only_program_log(failure));
        }
    };
    // The kernel rejected the scheduler before anything happened, so there is nothing to keep but its program's output.
    if run.cpus == 0 {
        let Some(program) = program else { return Ok((run, Ok(()))) };
        output::tell(&spec.scheduler.name, &program);
        drop((trace, perfetto));
        return Ok((run, outputs.keep_program_log(&program.output)));
    }
    let trace = trace.map_or(Ok(()), |trace| trace.finish().map(drop).map_err(io_of));
    let perfetto = perfetto.map_or(Ok(()), Perfetto::finish);
    let mut written =
        both(outputs::checked(&mut outputs.trace, trace), outputs::checked(&mut outputs.perfetto, perfetto));
    if let (Some(drawing), Some(output)) = (drawing, &mut outputs.report) {
        let drawn = drawing.write(&run, profile.as_deref(), output);
        if drawn.is_err() {
            outputs.report = None;
        }
        written = both(written, drawn);
    }
    if let (Some(profile), Some(output)) = (profile, &mut outputs.profile) {
        let wrote = profile::write(&profile, output);
        if wrote.is_err() {
            outputs.profile = None;
        }
        written = both(written, wrote);
    }
    written = both(written, outputs.write_log(&log));
    if let Some(program) = &program {
        written = both(written, outputs.write_program_log(&program.output));
        output::tell(&spec.scheduler.name, program);
    }
    written = both(written, outputs.keep());
    Ok((run, written))
}

fn io_of(error: WriteError) -> io::Error {
    match error {
        WriteError::Io(error) => error,
        WriteError::NoEnd => io::Error::other(error),
    }
}
