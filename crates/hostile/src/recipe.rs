//! Recipes: reads them, resolves them for a machine, and follows them with an object on a simulated kernel.

use crate::scene::{self, Ended};
use crate::text::{sentence, text};
use keel_lab::{Prepared, SchedulerSource};
use keel_recipe::Recipe;

/// Runs the target on one recipe.
pub fn run(input: &[u8]) {
    let Some(text) = text(input) else { return };
    let recipe = match Recipe::read("r.keel.toml", text) {
        Ok(recipe) => recipe,
        Err(error) => return sentence(&error),
    };
    scene::with(|scene| {
        let base = crate::bases::named("halved");
        let scheduler = SchedulerSource { name: base.name.into(), bytes: base.bytes.into(), recipe };
        let spec = scene.spec(scheduler);
        match Prepared::new(&scene.types, &spec) {
            Ok(prepared) => {
                Ended::of(prepared.run(&spec, Some(scene::MOST_INSNS), &mut keel_trace::NullSink)).check()
            }
            Err(error) => Ended::of(Err(error)).check(),
        }
    });
}
