//! Objects: reads them, relocates them against the simulated kernel's types, translates them with both engines, and
//! attaches them.

use crate::altered::Altered;
use crate::scene::{self, Ended};
use crate::text::sentence;
use keel_abi::Span;
use keel_lab::{Engine, Prepared, RunSpec, SchedulerSource};
use keel_recipe::Recipe;
use keel_trace::NullSink;

/// An input with this prefix is itself an object.
const ELF: &[u8] = b"\x7fELF";

/// Runs the target on one object, or changes to one of the project's objects.
pub fn run(input: &[u8]) {
    if input.starts_with(ELF) {
        load(input, Recipe::default());
    } else if let Some(altered) = Altered::anywhere(input) {
        load(&altered.bytes, altered.base.recipe());
    }
}

fn load(bytes: &[u8], recipe: Recipe) {
    if let Err(error) = keel_object::outline(bytes) {
        sentence(&error);
    }
    scene::with(|scene| {
        let spec = scene.spec(SchedulerSource { name: "odd".into(), bytes: bytes.into(), recipe });
        let prepared = match Prepared::new(&scene.types, &spec) {
            Ok(prepared) => prepared,
            Err(error) => return Ended::of(Err(error)).check(),
        };
        let spec = RunSpec { duration: Span::from_us(1), ..spec };
        let ends = [Engine::Interpreter, Engine::Native].map(|engine| {
            let spec = RunSpec { engine, ..spec.clone() };
            Ended::of(prepared.run(&spec, Some(scene::MOST_INSNS), &mut NullSink)).checked()
        });
        assert_eq!(ends[0], ends[1], "interpreter and native code");
    });
}
