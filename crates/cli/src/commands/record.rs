//! `keel record`: records this machine's kernel to a trace, for a given time, until Ctrl-C, or while a command runs.

use crate::bell::Bell;
use crate::failure::{Code, Failure};
use crate::inputs::reason;
use crate::kernel;
use crate::moments::{Moments, SETTLE};
use crate::output::Output;
use crate::recording_args::RecordArgs;
use crate::text::{shown, shown_lines};
use crate::trailing::begins_with_a_name;
use keel_live::Host;
use keel_live::record::{Beside, RecordError, Recorded, Recorder};
use keel_trace::{Sink, Writer};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// How often the buffers are read if they do not fill up. Rarely, because the recording includes the reader.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &RecordArgs) -> Result<Code, Failure> {
    begins_with_a_name("keel record", &args.command)?;
    let bell = Bell::hang()?;
    let Some(keep) = args.ring else { return whole(args, &bell) };
    let mut moments = Moments::new(keep, &args.output)?;
    bell.listen_to_usr1()?;
    let taken = take(args, &bell, &mut moments)?;
    moments.write()?;
    moments.written()?;
    end(taken)
}

/// Records to a file continuously.
fn whole(args: &RecordArgs, bell: &Bell) -> Result<Code, Failure> {
    let mut output = Output::reserve(&args.output)?;
    let mut writer = Writer::new(output.writer());
    let taken = take(args, bell, &mut writer)?;
    writer.finish().map_err(|e| Failure::input(format!("the trace cannot be written: {e}")))?;
    output.keep()?;
    end(taken)
}

/// A finished recording.
struct Taken {
    summary: String,
    command: Option<Child>,
    status: Option<ExitStatus>,
}

/// The destination of a recording.
trait Place: Sink {
    /// Returns whether nothing more can be written.
    ///
    /// # Errors
    /// The reason why nothing more can be written, if the destination reports it.
    fn is_closed(&mut self) -> Result<bool, Failure>;

    /// Writes the last moments to a file, on request.
    ///
    /// # Errors
    /// The file can't be written.
    fn write_now(&mut self) -> Result<(), Failure>;
}

impl<W: Write> Place for Writer<W> {
    fn is_closed(&mut self) -> Result<bool, Failure> {
        Ok(self.has_failed())
    }

    fn write_now(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

impl Place for Moments {
    fn is_closed(&mut self) -> Result<bool, Failure> {
        self.has_failed().map(|()| false)
    }

    fn write_now(&mut self) -> Result<(), Failure> {
        self.write().map(drop)
    }
}

fn take(args: &RecordArgs, bell: &Bell, place: &mut dyn Place) -> Result<Taken, Failure> {
    let ring_bytes = args.buffer.map(|kib| kib.saturating_mul(1024));
    let host = Host::this();
    let beside = Beside { decisions: args.decisions, pipes: args.pipes };
    let mut recorder = Recorder::begin(&host, &workload(args), ring_bytes, beside, place).map_err(failure)?;
    let missing = recorder.missing();
    let mut command = start(args)?;
    let status = stay(args, &mut recorder, &mut command, bell, place);
    let recorded = recorder.finish(place).map_err(failure)?;
    Ok(Taken { summary: summary(&recorded) + &lacking(&missing), command, status: status? })
}

/// Returns the workload's name in the trace.
fn workload(args: &RecordArgs) -> String {
    match args.command.is_empty() {
        true => "all that ran".to_owned(),
        false => args.command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "),
    }
}

fn start(args: &RecordArgs) -> Result<Option<Child>, Failure> {
    let Some((command, rest)) = args.command.split_first() else { return Ok(None) };
    let child = Command::new(command).args(rest).spawn();
    let name = || shown(&command.to_string_lossy());
    child.map(Some).map_err(|e| Failure::input(format!("{} cannot be run: {}", name(), reason(&e))))
}

/// Records until the time is over, the command ends (then returns its status), a stop is requested, or nothing more
/// can be written.
fn stay(
    args: &RecordArgs,
    recorder: &mut Recorder,
    command: &mut Option<Child>,
    bell: &Bell,
    place: &mut dyn Place,
) -> Result<Option<ExitStatus>, Failure> {
    let begun = Instant::now();
    let bound = args.duration.map(|span| Duration::from_nanos(span.as_ns()));
    let waits = |e: std::io::Error| Failure::input(format!("cannot wait for the command: {}", reason(&e)));
    // When everything up to the last SIGUSR1 has arrived.
    let mut due: Option<Instant> = None;
    loop {
        let drained = recorder.drain(place).map_err(failure)?;
        let status = command.as_mut().map(Child::try_wait).transpose().map_err(waits)?.flatten();
        let left = bound.map_or(LOOK, |bound| bound.saturating_sub(begun.elapsed()));
        if status.is_some() || left.is_zero() || bell.asked() || place.is_closed()? {
            return Ok(status);
        }
        if bell.wanted() {
            due = due.or(Some(Instant::now() + SETTLE));
        }
        if drained && due.is_some_and(|due| due <= Instant::now()) {
            due = None;
            place.write_now()?;
        }
        let next = due.map_or(LOOK, |due| due.saturating_duration_since(Instant::now()));
        if drained {
            bell.wait(Some(recorder.filled()), left.min(LOOK).min(next));
        }
    }
}

/// Waits for the command if it is still running, and exits with its exit code.
fn end(Taken { summary, command, status }: Taken) -> Result<Code, Failure> {
    // If stderr is closed there is nobody left to report to.
    let _ = std::io::stderr().write_all(summary.as_bytes());
    let Some(mut command) = command else { return Ok(Code::Done) };
    let status = match status {
        Some(status) => status,
        None => command
            .wait()
            .map_err(|e| Failure::input(format!("cannot wait for the command: {}", reason(&e))))?,
    };
    // The command may return any code; `Code` has only a few.
    std::process::exit(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

fn summary(recorded: &Recorded) -> String {
    let Recorded { duration, events, lost, tasks, late, made_up, decisions } = *recorded;
    let mut text = format!("keel: recorded {events} events of {tasks} tasks in {duration}; {lost} lost\n");
    if lost > 0 {
        let help = "use a larger --buffer, or record for a shorter time";
        text += &format!("help: {help}; {made_up} missing switches were inferred\n");
    } else if made_up > 0 {
        text += &format!("keel: {made_up} missing switches were inferred\n");
    }
    if decisions > 0 {
        text += &format!("keel: {decisions} decisions were recorded\n");
    }
    if late > 0 {
        text += &format!("keel: {late} events arrived late and are recorded with a later time\n");
    }
    text
}

/// Returns a sentence about requested data that is not recorded, because this kernel does not allow some functions to
/// be traced.
fn lacking(missing: &[String]) -> String {
    let line = |what: &String| format!("keel: this kernel does not let keel trace {what}\n");
    missing.iter().map(line).collect()
}

fn failure(error: RecordError) -> Failure {
    Failure::of(kernel::code(error.class()), shown_lines(&error.to_string()), error.help())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_requirements_are_reported() {
        let check = |lost, made_up, late, decisions, expected: &str| {
            let duration = keel_abi::Span::from_s(5);
            let recorded = Recorded { duration, events: 12, lost, tasks: 3, late, made_up, decisions };
            assert_eq!(summary(&recorded), expected);
        };
        let first = |lost| format!("keel: recorded 12 events of 3 tasks in 5.00 s; {lost} lost\n");
        check(0, 0, 0, 0, &first(0));
        check(0, 1, 0, 0, &(first(0) + "keel: 1 missing switches were inferred\n"));
        let help =
            "help: use a larger --buffer, or record for a shorter time; 2 missing switches were inferred\n";
        check(7, 2, 0, 0, &(first(7) + help));
        check(0, 0, 0, 9, &(first(0) + "keel: 9 decisions were recorded\n"));
        check(0, 0, 4, 0, &(first(0) + "keel: 4 events arrived late and are recorded with a later time\n"));
    }
}
