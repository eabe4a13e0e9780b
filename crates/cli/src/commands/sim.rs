//! `keel sim`: one scheduler, one run, one judgement.

use crate::args::{OutputArgs, SimArgs};
use crate::execute::execute;
use crate::failure::{Code, Failure};
use crate::lab::Lab;
use crate::outputs::{self, Outputs};
use crate::page::{self, Drawing};
use crate::progress::Bar;
use crate::{inputs, show};
use keel_lab::RunSpec;
use keel_perfetto::Perfetto;
use keel_report::RunReport;
use keel_trace::{Sink, Writer};
use std::io::BufWriter;

pub(crate) fn run(args: &SimArgs, lab: &Lab) -> Result<Code, Failure> {
    let scene = &args.scene;
    refuse(&args.outputs)?;
    let scheduler = inputs::scheduler_by(lab, &args.scheduler, args.host.as_deref())?;
    let specs = inputs::specs_of(lab, vec![scheduler], scene)?;
    let mut inputs = inputs::workload_files(&scene.workload)?;
    inputs.extend([args.scheduler.as_str(), &scene.machine]);
    let outputs = outputs::reserve(&args.outputs, args.log.as_deref(), &inputs)?;
    let run = simulate(lab, &specs[0], outputs)?;
    show::one(&run, args.outputs.json)?;
    Ok(show::code(&run, args.outputs.strict))
}

/// A page or a picture is what `--report` writes.
fn refuse(outputs: &OutputArgs) -> Result<(), Failure> {
    match &outputs.report {
        Some(path) if !page::is_page(path) && !page::is_picture(path) => {
            Err(page::refused("--report", path, "keel sim writes pages and pictures", ".html or .svg"))
        }
        _ => Ok(()),
    }
}

/// Runs, and keeps the files once all are complete. A scheduler that fails leaves them too: they
/// tell why.
fn simulate(lab: &Lab, spec: &RunSpec, mut outputs: Outputs) -> Result<RunReport, Failure> {
    let mut trace = outputs.trace.as_mut().map(|output| Writer::new(output.writer()));
    let mut others: Vec<&mut dyn Sink> = Vec::new();
    others.extend(trace.as_mut().map(|trace| trace as &mut dyn Sink));
    let mut drawing = outputs.report.as_ref().map(|output| Drawing::of(output.path(), 1));
    others.extend(drawing.as_mut().map(Drawing::sink));
    let mut perfetto = outputs.perfetto.as_mut().map(|output| Perfetto::new(BufWriter::new(output.writer())));
    others.extend(perfetto.as_mut().map(|perfetto| perfetto as &mut dyn Sink));
    let bar = Bar::new(spec.duration);
    let (run, log) = execute(lab, spec, others, &bar)?;
    drop(bar);
    // The kernel refused the scheduler before anything happened: there is nothing to keep.
    if run.cpus == 0 {
        return Ok(run);
    }
    if let Some(Err(e)) = trace.map(Writer::finish) {
        return Err(Failure::input(format!("the trace cannot be written: {e}")));
    }
    if let Some(Err(e)) = perfetto.map(Perfetto::finish) {
        return Err(Failure::input(format!("what is for Perfetto cannot be written: {e}")));
    }
    if let (Some(drawing), Some(output)) = (drawing, &mut outputs.report) {
        drawing.write(&run, output)?;
    }
    outputs.write_log(&log)?;
    outputs.keep()?;
    Ok(run)
}
