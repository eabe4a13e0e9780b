//! Folded stacks: a line for each call chain, as read by flame graph tools.

use crate::model::Profile;
use crate::shown::{clean, place};
use crate::stacks::{Stack, stacks};

/// Returns all chains with their time in nanoseconds. The sum is the run's time in callbacks.
pub fn folded(profile: &Profile) -> String {
    stacks(profile)
        .iter()
        .filter(|(_, cost)| cost.ns > 0)
        .map(|(stack, cost)| format!("{} {}\n", frames(stack).join(";"), cost.ns))
        .collect()
}

/// Returns the origin, then a function and its line each.
fn frames(stack: &Stack) -> Vec<String> {
    let mut frames = vec![frame(&stack.origin)];
    for key in &stack.lines {
        frames.push(frame(&key.function));
        if key.line != 0 {
            frames.push(frame(&place(key)));
        }
    }
    frames
}

/// Removes semicolons from a frame, because they separate frames.
fn frame(text: &str) -> String {
    clean(text).replace(';', ":")
}
