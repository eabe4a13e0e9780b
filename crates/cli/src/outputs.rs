//! The output files of a run. All are reserved before the run, and the complete ones are kept after it.

use crate::failure::Failure;
use crate::output::Output;
use crate::run_args::OutputArgs;
use crate::text::shown_path;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// The requested files.
pub(crate) struct Outputs {
    pub(crate) trace: Option<Output>,
    pub(crate) report: Option<Output>,
    pub(crate) perfetto: Option<Output>,
    pub(crate) profile: Option<Output>,
    pub(crate) log: Option<Log>,
    pub(crate) program_log: Option<Log>,
}

/// The destination of a scheduler's log.
pub(crate) enum Log {
    File(Output),
    Stderr,
}

/// The requested logs, of the scheduler and of its own program.
#[derive(Clone, Copy, Default)]
pub(crate) struct LogPaths<'a> {
    pub(crate) scheduler: Option<&'a Path>,
    pub(crate) program: Option<&'a Path>,
}

/// Reserves the files. They must be distinct, and none may be one of the `inputs`.
pub(crate) fn reserve(args: &OutputArgs, logs: LogPaths<'_>, inputs: &[&str]) -> Result<Outputs, Failure> {
    let reserve = |path: &Option<_>| path.as_deref().map(Output::reserve).transpose();
    let [log, program_log] = [logs.scheduler, logs.program].map(Log::reserve);
    let (log, program_log) = (log?, program_log?);
    let [trace, report, perfetto, profile] =
        [&args.trace, &args.report, &args.perfetto, &args.profile].map(reserve);
    let (trace, report) = (trace?, report?);
    let outputs = Outputs { trace, report, perfetto: perfetto?, profile: profile?, log, program_log };
    let named = [
        ("--trace", outputs.trace.as_ref()),
        ("--report", outputs.report.as_ref()),
        ("--perfetto", outputs.perfetto.as_ref()),
        ("--profile", outputs.profile.as_ref()),
        ("--log", outputs.log.as_ref().and_then(Log::file)),
        ("--program-log", outputs.program_log.as_ref().and_then(Log::file)),
    ];
    let named = named.into_iter().filter_map(|(option, output)| Some((option, output?)));
    distinct(named, inputs)?;
    Ok(outputs)
}

/// Checks that no two options name the same file, in any spelling, and that none names an input. A device may be named
/// twice.
pub(crate) fn distinct<'a, I: AsRef<Path>>(
    named: impl IntoIterator<Item = (&'a str, &'a Output)>,
    inputs: &[I],
) -> Result<(), Failure> {
    let mut seen: BTreeMap<&Path, &str> = BTreeMap::new();
    for (option, output) in named {
        let path = output.path();
        let is_device = std::fs::metadata(path).is_ok_and(|there| !there.is_file());
        if let Some(first) = seen.insert(path, option).filter(|_| !is_device) {
            return Err(Failure::input(format!("{first} and {option} both name {}", shown_path(path)))
                .help("give each its own file"));
        }
        output.spare(inputs)?;
    }
    Ok(())
}

impl Outputs {
    /// After a failed run, keeps only the output of the scheduler's own program.
    pub(crate) fn only_program_log(self, failure: Failure) -> Failure {
        match self.keep_program_log(failure.printed()) {
            Ok(()) => failure,
            Err(other) => failure.and(other),
        }
    }

    /// Keeps the output of the scheduler's own program, and nothing else.
    pub(crate) fn keep_program_log(mut self, bytes: &[u8]) -> Result<(), Failure> {
        match (self.write_program_log(bytes), self.program_log.take()) {
            (Ok(()), Some(Log::File(output))) => output.keep(),
            (written, _) => written,
        }
    }

    /// Writes the program's output, if requested.
    pub(crate) fn write_program_log(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match &mut self.program_log {
            Some(Log::File(output)) => output.write(bytes),
            Some(Log::Stderr) => {
                // If stderr is closed there is nobody left to report to.
                let _ = std::io::stderr().write_all(bytes);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Writes the scheduler's output, if requested.
    pub(crate) fn write_log(&mut self, log: &keel_lab::Log) -> Result<(), Failure> {
        match &mut self.log {
            Some(Log::File(output)) => {
                let written = output.write(crate::log::text(log).as_bytes());
                if written.is_err() {
                    self.log = None;
                }
                written
            }
            Some(Log::Stderr) => {
                // If stderr is closed there is nobody left to report to.
                let _ = std::io::stderr().write_all(crate::log::text(log).as_bytes());
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Gives the complete files their names. Reports all errors together.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        let file = |log| match log {
            Some(Log::File(output)) => Some(output),
            Some(Log::Stderr) | None => None,
        };
        let logs = [self.log, self.program_log].into_iter().filter_map(file);
        let outputs =
            self.trace.into_iter().chain(self.report).chain(self.perfetto).chain(self.profile).chain(logs);
        outputs.map(Output::keep).fold(Ok(()), both)
    }
}

/// Combines two results, and reports both failures.
pub(crate) fn both(one: Result<(), Failure>, other: Result<(), Failure>) -> Result<(), Failure> {
    match (one, other) {
        (Err(one), Err(other)) => Err(one.and(other)),
        (one, other) => one.and(other),
    }
}

/// Checks the result of writing a file. Removes the temporary file if it failed.
pub(crate) fn checked(output: &mut Option<Output>, written: io::Result<()>) -> Result<(), Failure> {
    match (written, output.take()) {
        (Err(e), Some(failed)) => Err(failed.failed(&e)),
        (_, there) => {
            *output = there;
            Ok(())
        }
    }
}

impl Log {
    /// Reserves the file, if one is requested; `-` is stderr.
    fn reserve(path: Option<&Path>) -> Result<Option<Self>, Failure> {
        match path {
            Some(path) if path == Path::new("-") => Ok(Some(Self::Stderr)),
            Some(path) => Ok(Some(Self::File(Output::reserve(path)?))),
            None => Ok(None),
        }
    }

    fn file(&self) -> Option<&Output> {
        match self {
            Self::File(output) => Some(output),
            Self::Stderr => None,
        }
    }
}
