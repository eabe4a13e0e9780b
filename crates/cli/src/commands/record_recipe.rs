//! `keel record-recipe`: records the setup that a scheduler's own program performs, as a recipe.

use crate::args::RecordRecipeArgs;
use crate::failure::{Code, Failure};
use crate::inputs;
use crate::lab::Lab;
use crate::output::{self, Output};
use crate::run_args::DEFAULT_SEED;
use crate::text::shown;
use keel_abi::task::Workload;
use keel_abi::{Noise, Span};
use keel_lab::{Engine, RunSpec};

pub(crate) fn run(args: &RecordRecipeArgs, lab: &Lab) -> Result<Code, Failure> {
    let source = crate::program::source(&args.program)?;
    let (scheduler, path) = source.ok_or_else(|| Failure::input("no program is given".to_owned()))?;
    let object = args.object.as_ref().map_or(path, |path| path.to_string_lossy().into_owned());
    let object = inputs::scheduler(lab, &object)?;
    let machine = inputs::machine(lab, &args.machine)?;
    let head = format!(
        "# What {} sets up on {}, written by keel record-recipe.\n\n",
        shown(&scheduler.name),
        shown(&machine.name)
    );
    let spec = RunSpec {
        scheduler,
        settings: Vec::new(),
        workload: Workload::default(),
        machine,
        duration: Span::ZERO,
        seed: DEFAULT_SEED,
        noise: Noise::None,
        engine: Engine::Native,
        order: None,
        checked: false,
    };
    let bytes = object.bytes.get().unwrap_or_default();
    let recipe = (lab.recorded_recipe)(&spec, bytes).map_err(|failure| {
        let failure = Failure::from_lab(failure);
        match args.object {
            None => failure.help("if another file has the object, use --object OBJ"),
            Some(_) => failure,
        }
    })?;
    // A program that never attaches its scheduler is ended with Ctrl-C, so nothing may be reserved before.
    let output = args.output.as_deref().map(Output::reserve).transpose()?;
    output::write_or_print(output, &(head + &recipe))?;
    Ok(Code::Done)
}
