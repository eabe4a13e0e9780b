//! `keel run`: attaches a scheduler to this machine's kernel, and stays until the scheduler ends for any reason.

use crate::args::RunArgs;
use crate::bell::Bell;
use crate::failure::{Code, Failure};
use crate::inputs;
use crate::kernel;
use crate::lab::Lab;
use crate::output::print;
use crate::text::{shown, shown_lines};
use keel_lab::SchedulerSource;
use keel_live::{Attached, ExitReport, Host, Outcome, Restarts, Stats};
use std::io::Write;
use std::time::{Duration, Instant};

/// How often to check whether the scheduler is still attached.
const LOOK: Duration = Duration::from_millis(500);

pub(crate) fn run(args: &RunArgs, lab: &Lab) -> Result<Code, Failure> {
    let scheduler = inputs::scheduler_by(lab, &args.scheduler, args.host.as_deref())?;
    if scheduler.bytes.get().is_none() {
        return Err(own(&scheduler.name));
    }
    let host = Host::this();
    keel_live::check(&host).map_err(|e| kernel::failure(None, &e))?;
    let bell = Bell::hang()?;
    let mut restarts = Restarts::default();
    loop {
        let Some(report) = once(args, &scheduler, &host, &bell)? else { return Ok(Code::Done) };
        if !report.is_failure() {
            print(&format!("the kernel ended the scheduler: {}\n", shown(&report.sentence())))?;
            return Ok(Code::Done);
        }
        if !report.wants_restart() {
            return Err(ended(&scheduler.name, &report, ""));
        }
        if !restarts.allow(Instant::now()) {
            let why = format!(", more often than {}", Restarts::bound());
            return Err(ended(&scheduler.name, &report, &why));
        }
        print(&format!("the kernel asks for a restart: {}\n", shown(&report.sentence())))?;
    }
}

/// Returns the failure for a scheduler of the kernel's own: there is nothing to attach.
fn own(name: &str) -> Failure {
    Failure::input(format!(
        "{name} is the kernel's own scheduler: it runs while no sched_ext scheduler is attached"
    ))
    .help("use keel record or keel watch to see what it does")
}

/// Runs the scheduler from when it is attached to its end. Returns `None` if the user ended it.
fn once(
    args: &RunArgs,
    scheduler: &SchedulerSource,
    host: &Host,
    bell: &Bell,
) -> Result<Option<ExitReport>, Failure> {
    let SchedulerSource { name, bytes, recipe } = scheduler;
    let bytes = bytes.get().ok_or_else(|| own(name))?;
    let live = |e| kernel::failure(Some(name), &e);
    let mut attached = match keel_live::attach(host, name, bytes, recipe, &args.settings).map_err(live)? {
        Outcome::Attached(attached) => attached,
        Outcome::Ended(report) => return Ok(Some(report)),
    };
    print(&format!("{} is attached; press Ctrl-C to detach it\n", shown(attached.name())))?;
    let stopped = stay(args, &mut attached, bell)?;
    let name = shown(attached.name());
    let report = attached.end();
    // It may have failed just as the signal arrived.
    match stopped && !report.is_failure() {
        true => print(&format!("{name} is detached: {}\n", shown(&report.sentence()))).map(|()| None),
        false => Ok(Some(report)),
    }
}

/// Waits until the user stops it (returns true) or the kernel ends it (returns false).
fn stay(args: &RunArgs, attached: &mut Attached, bell: &Bell) -> Result<bool, Failure> {
    let begun = Instant::now();
    let every = args.stats.map(|seconds| Duration::from_secs(seconds.into()));
    let mut next_line = every.map(|every| begun + every);
    let mut before = attached.stats();
    while attached.is_in_charge() {
        if bell.asked() {
            return Ok(true);
        }
        let now = Instant::now();
        attached.tick(now).map_err(|e| kernel::failure(None, &e))?;
        for line in attached.lines() {
            print(&format!("{}\n", shown(&line)))?;
        }
        if let (Some(at), Some(every)) = (next_line, every)
            && at <= now
        {
            let stats = attached.stats();
            print(&line(now - begun, &before, &stats))?;
            before = stats;
            next_line = Some((at + every).max(now));
        }
        let next = [attached.next_tick(), next_line].into_iter().flatten().min();
        let wait = next.map_or(LOOK, |next| next.saturating_duration_since(now).min(LOOK));
        bell.wait(None, wait);
    }
    Ok(false)
}

/// Returns the counters that changed since the last line, each with the change.
fn line(at: Duration, before: &Stats, now: &Stats) -> String {
    let mut parts = vec![format!("{:>7.1} s", at.as_secs_f64())];
    let counts = now.counters.iter().chain(&now.events);
    let counted = before.counters.iter().chain(&before.events);
    for (name, count) in counts {
        let old = counted.clone().find(|(other, _)| other == name).map_or(0, |(_, count)| *count);
        match count.wrapping_sub(old) {
            0 => {}
            grown => parts.push(format!("{} +{grown}", shown(name))),
        }
    }
    if now.rejected != before.rejected {
        parts.push(format!("rejected tasks {}", now.rejected));
    }
    if parts.len() == 1 {
        parts.push("nothing counted".to_owned());
    }
    parts.join("  ") + "\n"
}

/// Returns the failure for a scheduler that the kernel ended: the kernel's report, its log and its dump.
fn ended(name: &str, report: &ExitReport, why: &str) -> Failure {
    let mut beside = shown_lines(&report.dump);
    for line in &report.log {
        beside += &format!("\nkernel: {}", shown(line));
    }
    // If stderr is closed there is nobody left to report to.
    let _ = writeln!(std::io::stderr(), "{}", beside.trim());
    let sentence = format!("the kernel ended {}{why}: {}", shown(name), shown(&report.sentence()));
    Failure::scheduler(sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn a_line_reports_growth() {
        let stats = |rejected, events: &[(&str, u64)], counters: &[(&str, u64)]| {
            let own = |list: &[(&str, u64)]| list.iter().map(|(n, c)| ((*n).to_owned(), *c)).collect();
            Stats { rejected, events: own(events), counters: own(counters) }
        };
        let check = |before: &Stats, now: &Stats, expected: &str| {
            assert_eq!(line(Duration::from_millis(2500), before, now), expected);
        };
        let before = stats(0, &[("SCX_EV_A", 1), ("SCX_EV_B", 5)], &[("picked", u64::MAX)]);
        check(&before, &before, "    2.5 s  nothing counted\n");
        let now = stats(1, &[("SCX_EV_A", 4), ("SCX_EV_B", 5)], &[("picked", 1)]);
        check(&before, &now, "    2.5 s  picked +2  SCX_EV_A +3  rejected tasks 1\n");
    }

    #[test]
    fn recipes_are_read_before_the_kernel_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        std::fs::write(at("mine.bpf.o"), "object").unwrap();
        std::fs::write(at("mine.keel.toml"), "[set]\na = 1.5").unwrap();
        std::fs::write(at("good.toml"), "").unwrap();
        std::fs::write(at("bad.toml"), "runs = 1").unwrap();
        let check = |args: &[&str], expected: &str| {
            let cli = crate::args::Cli::try_parse_from(["keel"].iter().chain(args)).expect("they are right");
            let failure = crate::run(&cli, &crate::fake::FAKE).unwrap_err();
            assert_eq!(failure.code, Code::Input, "{args:?}");
            let reported = failure.sentence();
            assert!(reported.contains(expected), "{args:?}: {reported} should contain {expected}");
        };
        check(&["run", "good", "--host", &at("bad.toml")], "bad.toml, line 1: unknown field `runs`");
        check(&["run", "good", "--host", &at("none.toml")], "none.toml cannot be read: no such file");
        check(&["run", &at("other.bpf.o")], "other.bpf.o cannot be read");
        std::fs::write(at("mine.keel.toml"), "[set\n").unwrap();
        check(&["run", &at("mine.bpf.o")], "mine.keel.toml, line 1: ");
        check(&["sim", &at("mine.bpf.o")], "mine.keel.toml, line 1: ");
        // Replaced by another scheduler below.
        let cli = ["keel", "sim", &at("mine.bpf.o"), "--host", &at("good.toml")];
        let cli = crate::args::Cli::try_parse_from(cli).expect("they are right");
        assert_eq!(crate::run(&cli, &crate::fake::FAKE).map_err(|e| e.code), Ok(Code::Done));
    }
}
