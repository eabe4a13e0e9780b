//! Handles Ctrl-C, SIGTERM and SIGHUP for commands that have a verdict to print and files to finish.
//!
//! The first signal asks the work to stop; the command then prints its verdict, marked as partial. A second signal, or
//! the first if no work is in progress, ends the process at once. Neither leaves a half-written file.
//! SIGHUP stays ignored if the parent process ignored it, as `nohup` does.

use crate::failure::Code;
use crate::output;
use keel_abi::Stop;
use keel_front::Caller;
use keel_report::StoppedBy;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::io::Write;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

/// One per process, because signals go to a process.
static STOP: LazyLock<Stop> = LazyLock::new(Stop::default);
/// The signal that requested a stop; 0 if none has.
static BY: AtomicI32 = AtomicI32::new(0);
/// The number of pieces of work in progress that stop on request.
static WORK: AtomicUsize = AtomicUsize::new(0);

/// Starts listening for signals.
pub(crate) fn listen() {
    static LISTENS: OnceLock<()> = OnceLock::new();
    LISTENS.get_or_init(|| {
        // Exceeding ulimit -f becomes a write error and doesn't kill the process.
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
        let ignored = std::fs::read_to_string("/proc/self/status").map_or(0, |status| ignored_in(&status));
        let hangs_up = ignored >> (SIGHUP - 1) & 1 == 0;
        let signals: Vec<i32> = [SIGINT, SIGTERM].into_iter().chain(hangs_up.then_some(SIGHUP)).collect();
        // If the signals cannot be caught, they end the process as usual.
        if let Ok(mut signals) = Signals::new(signals) {
            std::thread::spawn(move || signals.forever().for_each(on_signal));
        }
    });
}

fn on_signal(signal: i32) {
    let is_first = BY.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    if is_first && WORK.load(Ordering::SeqCst) > 0 {
        STOP.ask();
        return;
    }
    let by = stopped_by(signal);
    output::abandon();
    if is_first {
        // If stderr is closed there is nobody left to report to.
        let _ = writeln!(std::io::stderr(), "keel: stopped by {}", by.name());
    }
    signal_hook::low_level::exit(Code::of(by) as i32);
}

/// Returns the bits of `SigIgn` in the text of `/proc/PID/status`.
fn ignored_in(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0)
}

fn stopped_by(signal: i32) -> StoppedBy {
    match signal {
        SIGTERM => StoppedBy::Terminate,
        SIGHUP => StoppedBy::HangUp,
        _ => StoppedBy::Interrupt,
    }
}

/// Returns the handle by which signals stop the work in progress.
pub(crate) fn stop() -> Stop {
    STOP.clone()
}

/// Returns the signal that requested a stop, if any.
pub(crate) fn by() -> Option<StoppedBy> {
    let signal = BY.load(Ordering::SeqCst);
    (signal != 0).then(|| stopped_by(signal))
}

/// Returns the exit code for a partial result, or `whole` for a complete one.
pub(crate) fn code(is_partial: bool, whole: Code) -> Code {
    match by() {
        Some(by) if is_partial => Code::of(by),
        _ => whole,
    }
}

/// Work in progress that stops on request. While this exists, the first signal only requests a stop.
pub(crate) struct Work(());

/// Begins a piece of work.
pub(crate) fn work() -> Work {
    Process.begins();
    Work(())
}

impl Drop for Work {
    fn drop(&mut self) {
        Process.ends();
    }
}

/// The caller whose work is stopped by signals.
pub(crate) struct Process;

impl Caller for Process {
    fn stop(&self) -> Stop {
        stop()
    }

    fn stopped_by(&self) -> Option<StoppedBy> {
        by()
    }

    fn note(&self, text: &str) {
        output::note(text);
    }

    fn begins(&self) {
        WORK.fetch_add(1, Ordering::SeqCst);
    }

    fn ends(&self) {
        WORK.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::ignored_in;

    #[test]
    fn ignored_signals_are_known() {
        let check = |text, expected| assert_eq!(ignored_in(text), expected, "{text}");
        check("Name:\tkeel\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n", 0x1001);
        check("SigIgn:\tx\n", 0);
        check("", 0);
    }
}
