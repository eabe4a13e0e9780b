//! `keel compare`: several schedulers on the same machine and workload, each run with several
//! seeds, on all threads of the host.

use crate::args::CompareArgs;
use crate::execute::execute;
use crate::failure::{Code, Failure};
use crate::lab::Lab;
use crate::progress::Bar;
use crate::{absent, inputs, show};
use keel_lab::RunSpec;
use keel_report::RunReport;

pub(crate) fn run(args: &CompareArgs, lab: &Lab) -> Result<Code, Failure> {
    refuse(args)?;
    let mut specs = inputs::specs(lab, &args.schedulers, &args.scene)?;
    tell_apart(&mut specs);
    let total = specs[0].duration * (specs.len() as u64 * u64::from(args.runs));
    let bar = Bar::new(total);
    let results =
        keel_lab::compare(&specs, args.runs, |spec| execute(lab, spec, Vec::new(), &bar).map(|(run, _)| run));
    drop(bar);
    let runs: Vec<RunReport> = results.into_iter().flatten().collect::<Result<_, _>>()?;
    show::many(&runs, args.outputs.json)?;
    let codes = runs.iter().map(|run| show::code(run, args.outputs.strict));
    Ok(codes.max_by_key(|code| *code as u8).unwrap_or(Code::Done))
}

/// Schedulers of one name (`a/x.bpf.o,b/x.bpf.o`) get numbers, so that their rows are told apart.
fn tell_apart(specs: &mut [RunSpec]) {
    let names: Vec<String> = specs.iter().map(|spec| spec.scheduler.name.clone()).collect();
    for (at, spec) in specs.iter_mut().enumerate() {
        let before = names[..at].iter().filter(|name| **name == names[at]).count();
        if before > 0 {
            spec.scheduler.name = format!("{}#{}", names[at], before + 1);
        }
    }
}

/// What one run writes is not for many.
fn refuse(args: &CompareArgs) -> Result<(), Failure> {
    absent::refuse_outputs(&args.outputs)?;
    let one_run = [("--trace", &args.outputs.trace), ("--report", &args.outputs.report)];
    match one_run.iter().find(|(_, path)| path.is_some()) {
        Some((option, _)) => {
            Err(Failure::input(format!("{option} is about one run, and keel compare makes many"))
                .help(format!("use keel sim SCHED {option} OUT")))
        }
        None => match args.schedulers.iter().any(String::is_empty) {
            true => Err(Failure::input("an empty name among the schedulers; write SCHED,SCHED,...")),
            false => Ok(()),
        },
    }
}
