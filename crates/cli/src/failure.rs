//! Exit codes, and failures as people read them: one sentence, and what to do.

use keel_lab::LabError;
use keel_live::{Class, LiveError};
use std::fmt;

/// How `keel` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Done.
    Done = 0,
    /// `--strict`, and a budget is exceeded; `--baseline`, and a figure regressed.
    Found = 1,
    /// Bad input or usage, or a file that could not be written.
    Input = 2,
    /// The scheduler failed.
    Scheduler = 3,
    /// The object or workload needs something that we do not support.
    Unsupported = 4,
    /// An internal error of keel.
    Bug = 70,
    /// SIGHUP: what was printed and written is of a part.
    HungUp = 129,
    /// The same by Ctrl-C.
    Interrupted = 130,
    /// The same by SIGTERM.
    Terminated = 143,
}

/// Why `keel` could not do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) code: Code,
    /// One sentence without a full stop: where, and what.
    message: String,
    /// What to do about it.
    help: Option<String>,
}

impl Failure {
    /// Bad input or usage.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self { code: Code::Input, message: message.into(), help: None }
    }

    /// A scheduler that failed.
    pub(crate) fn scheduler(message: impl Into<String>) -> Self {
        Self { code: Code::Scheduler, message: message.into(), help: None }
    }

    /// Work that a signal ended before it gave anything.
    pub(crate) fn stopped(code: Code, message: String) -> Self {
        Self { code, message, help: None }
    }

    /// Both, in one sentence, with the first one's exit code.
    pub(crate) fn and(self, other: Self) -> Self {
        let message = format!("{}; and {}", self.message, other.message);
        Self { message, help: self.help.or(other.help), ..self }
    }

    /// The same, with what to do about it.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same, at this place of the input.
    pub(crate) fn at(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// What happened, without what to do about it.
    pub(crate) fn sentence(&self) -> &str {
        &self.message
    }

    /// Something that a kernel does not have.
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self { code: Code::Unsupported, message: message.into(), help: None }
    }

    /// Why a scheduler is not in the kernel, with the scheduler's name.
    pub(crate) fn from_live(name: Option<&str>, error: &LiveError) -> Self {
        let text = crate::text::shown_lines(&error.to_string());
        let message = name.map_or(text.clone(), |name| format!("{}: {text}", crate::text::shown(name)));
        Self::of_class(error.class(), message, error.help())
    }

    /// What a kernel refuses, of such a class, with what to do about it.
    pub(crate) fn of_class(class: Class, message: String, help: Option<&str>) -> Self {
        let code = match class {
            Class::Input => Code::Input,
            Class::Scheduler => Code::Scheduler,
            Class::Unsupported => Code::Unsupported,
        };
        Self { code, message, help: help.map(str::to_owned) }
    }

    /// What a run could not begin for. An internal error names the command that shows it.
    pub(crate) fn from_lab(error: LabError) -> Self {
        let (code, message, help) = match error {
            LabError::BadInput(message) => (Code::Input, message, None),
            // As on a real kernel.
            LabError::Program(message) => (Code::Scheduler, message, None),
            LabError::Unsupported(message) => {
                (Code::Unsupported, message, Some("LIMITATIONS.md lists what keel supports".to_owned()))
            }
            LabError::Bug(message) => {
                (Code::Bug, format!("internal error: {message}"), Some(crate::bug::reproduce()))
            }
        };
        Self { code, message, help }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "keel: {}", self.message)?;
        match &self.help {
            Some(help) => writeln!(f, "help: {help}"),
            None => Ok(()),
        }
    }
}
