//! Exit codes, and failures as users see them: one sentence, and advice.

use keel_lab::LabError;
use keel_report::StoppedBy;
use std::fmt;

/// The exit codes of `keel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Success.
    Done = 0,
    /// A budget was exceeded (with `--strict`), or a figure regressed (with `--baseline`).
    Found = 1,
    /// Bad input or usage, or a file that could not be written.
    Input = 2,
    /// The scheduler failed.
    Scheduler = 3,
    /// The object or workload needs something that keel does not support.
    Unsupported = 4,
    /// An internal error of keel.
    Bug = 70,
    /// Stopped by SIGHUP: the output covers only part of the work.
    HungUp = 129,
    /// Stopped by Ctrl-C, likewise.
    Interrupted = 130,
    /// Stopped by SIGTERM, likewise.
    Terminated = 143,
}

impl Code {
    /// Returns the exit code after this kind of stop.
    pub fn of(by: StoppedBy) -> Self {
        match by {
            StoppedBy::Interrupt => Self::Interrupted,
            StoppedBy::Terminate => Self::Terminated,
            StoppedBy::HangUp => Self::HungUp,
        }
    }
}

/// Why `keel` could not do what was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub code: Code,
    /// One sentence without a full stop: the place and the problem.
    message: String,
    /// Advice.
    help: Option<String>,
    /// The output that the scheduler's own program had printed before it failed.
    printed: Vec<u8>,
}

impl Failure {
    /// Returns a failure for bad input or usage.
    pub fn input(message: impl Into<String>) -> Self {
        Self { code: Code::Input, message: message.into(), help: None, printed: Vec::new() }
    }

    /// Returns a failure for a scheduler that failed.
    pub fn scheduler(message: impl Into<String>) -> Self {
        Self { code: Code::Scheduler, message: message.into(), help: None, printed: Vec::new() }
    }

    /// Returns a failure for work that was stopped before it had a result.
    pub fn stopped(by: StoppedBy, why: &str) -> Self {
        Self {
            code: Code::of(by),
            message: format!("stopped by {} {why}", by.name()),
            help: None,
            printed: Vec::new(),
        }
    }

    /// Joins both into one sentence, with the exit code of the first.
    pub fn and(self, other: Self) -> Self {
        let message = format!("{}; and {}", self.message, other.message);
        Self { message, help: self.help.or(other.help), ..self }
    }

    /// Adds advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the place in the input.
    pub fn at(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// Returns the advice, if there is any.
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Returns the output that the scheduler's own program had printed before it failed. It is untrusted.
    pub fn printed(&self) -> &[u8] {
        &self.printed
    }

    /// Returns the sentence without the advice.
    pub fn sentence(&self) -> &str {
        &self.message
    }

    /// Returns a failure for a feature that keel does not support.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { code: Code::Unsupported, message: message.into(), help: None, printed: Vec::new() }
    }

    /// Returns a failure with this exit code, sentence and advice.
    pub fn of(code: Code, message: String, help: Option<&str>) -> Self {
        Self { code, message, help: help.map(str::to_owned), printed: Vec::new() }
    }

    /// Converts the error of a run that could not start.
    pub fn from_lab(error: LabError) -> Self {
        let (code, message, help) = match error {
            LabError::BadInput(message) => (Code::Input, message, None),
            // As on a real kernel.
            LabError::Program(message) => (Code::Scheduler, message, None),
            LabError::Unsupported(message) => {
                (Code::Unsupported, message, Some("LIMITATIONS.md lists what keel supports".to_owned()))
            }
            LabError::AfterOutput { error, output } => {
                return Self { printed: output, ..Self::from_lab(*error) };
            }
            LabError::Bug(message) => (Code::Bug, format!("internal error: {message}"), None),
        };
        Self { code, message, help, printed: Vec::new() }
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
