//! Exit codes, and failures as people read them: one sentence, and what to do.

use keel_lab::LabError;
use keel_report::StoppedBy;
use std::fmt;

/// How `keel` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
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

impl Code {
    /// How `keel` ends when it is stopped so.
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
    /// One sentence without a full stop: where, and what.
    message: String,
    /// What to do about it.
    help: Option<String>,
    /// What a scheduler's own program has printed, if it failed.
    printed: Vec<u8>,
}

impl Failure {
    /// Bad input or usage.
    pub fn input(message: impl Into<String>) -> Self {
        Self { code: Code::Input, message: message.into(), help: None, printed: Vec::new() }
    }

    /// A scheduler that failed.
    pub fn scheduler(message: impl Into<String>) -> Self {
        Self { code: Code::Scheduler, message: message.into(), help: None, printed: Vec::new() }
    }

    /// Work that was stopped before it gave anything to show.
    pub fn stopped(by: StoppedBy, why: &str) -> Self {
        Self {
            code: Code::of(by),
            message: format!("stopped by {} {why}", by.name()),
            help: None,
            printed: Vec::new(),
        }
    }

    /// Both, in one sentence, with the first one's exit code.
    pub fn and(self, other: Self) -> Self {
        let message = format!("{}; and {}", self.message, other.message);
        Self { message, help: self.help.or(other.help), ..self }
    }

    /// The same, with what to do about it.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same, at this place of the input.
    pub fn at(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// What to do about it, if anything can be done.
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// What happened, without what to do about it.
    pub fn sentence(&self) -> &str {
        &self.message
    }

    /// What a scheduler's own program has printed, if this is about one. Untrusted.
    pub fn printed(&self) -> &[u8] {
        &self.printed
    }

    /// Something that a kernel does not have.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { code: Code::Unsupported, message: message.into(), help: None, printed: Vec::new() }
    }

    /// One sentence with this exit code, and what to do about it.
    pub fn of(code: Code, message: String, help: Option<&str>) -> Self {
        Self { code, message, help: help.map(str::to_owned), printed: Vec::new() }
    }

    /// What a run could not begin for.
    pub fn from_lab(error: LabError) -> Self {
        if let LabError::OwnProgram { why, printed } = error {
            return Self { printed, ..Self::scheduler(why) };
        }
        let (code, message, help) = match error {
            LabError::BadInput(message) => (Code::Input, message, None),
            // As on a real kernel.
            LabError::Program(message) | LabError::OwnProgram { why: message, .. } => {
                (Code::Scheduler, message, None)
            }
            LabError::Unsupported(message) => {
                (Code::Unsupported, message, Some("LIMITATIONS.md lists what keel supports".to_owned()))
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
