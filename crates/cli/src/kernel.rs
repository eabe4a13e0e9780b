//! Failures of the running kernel, for people.

use crate::failure::{Code, Failure};
use crate::text::{shown, shown_lines};
use keel_live::{Class, LiveError};

/// Why a scheduler could not be loaded into the kernel, with the scheduler's name.
pub(crate) fn failure(name: Option<&str>, error: &LiveError) -> Failure {
    let text = shown_lines(&error.to_string());
    let message = name.map_or(text.clone(), |name| format!("{}: {text}", shown(name)));
    Failure::of(code(error.class()), message, error.help())
}

/// The exit code for a kernel's error.
pub(crate) fn code(class: Class) -> Code {
    match class {
        Class::Input => Code::Input,
        Class::Scheduler => Code::Scheduler,
        Class::Unsupported => Code::Unsupported,
    }
}
