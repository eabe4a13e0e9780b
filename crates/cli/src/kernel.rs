//! Converts errors of the running kernel to failures that users can read.

use crate::failure::{Code, Failure};
use crate::text::{shown, shown_lines};
use keel_live::{Class, LiveError};

/// Returns why a scheduler, if it has a name, could not be loaded into the kernel.
pub(crate) fn failure(name: Option<&str>, error: &LiveError) -> Failure {
    let text = shown_lines(&error.to_string());
    let message = name.map_or(text.clone(), |name| format!("{}: {text}", shown(name)));
    Failure::of(code(error.class()), message, error.help())
}

/// Returns the exit code for a kernel's error.
pub(crate) fn code(class: Class) -> Code {
    match class {
        Class::Input => Code::Input,
        Class::Scheduler => Code::Scheduler,
        Class::Unsupported => Code::Unsupported,
    }
}
