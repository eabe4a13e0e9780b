//! The files that a run writes besides what it prints: all reserved before it, and all kept, or
//! none, after it.

use crate::absent;
use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::output::Output;
use crate::text::shown_path;

/// The files that were asked for.
pub(crate) struct Outputs {
    pub(crate) trace: Option<Output>,
    pub(crate) report: Option<Output>,
}

/// Reserves the files; `inputs` must not be among them.
pub(crate) fn reserve(args: &OutputArgs, inputs: &[&str]) -> Result<Outputs, Failure> {
    absent::refuse_outputs(args)?;
    let reserve = |path: &Option<_>| path.as_deref().map(Output::reserve).transpose();
    let outputs = Outputs { trace: reserve(&args.trace)?, report: reserve(&args.report)? };
    let paths: Vec<_> = outputs.trace.iter().chain(&outputs.report).map(|o| o.path().to_owned()).collect();
    let device = |path: &std::path::Path| std::fs::metadata(path).is_ok_and(|there| !there.is_file());
    if let [a, b] = &paths[..]
        && a == b
        && !device(a)
    {
        return Err(Failure::input(format!("--trace and --report both name {}", shown_path(a)))
            .help("give each a file of its own"));
    }
    for input in inputs.iter().filter_map(|input| std::fs::canonicalize(input).ok()) {
        if paths.contains(&input) {
            return Err(Failure::input(format!(
                "{} is an input, and would be overwritten",
                shown_path(&input)
            )));
        }
    }
    Ok(outputs)
}

impl Outputs {
    /// Every file is complete.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        self.trace.into_iter().chain(self.report).try_for_each(Output::keep)
    }
}
