//! `keel bisect`: finds the commit that changed a run, with `git bisect run`.
//!
//! Git calls this keel once for each commit, with `--step`. Runs repeat exactly, so one run decides whether a commit is
//! good or bad.

use crate::asked::Asked;
use crate::execute::{Place, execute};
use crate::failure::{Code, Failure};
use crate::fuzz_args::BisectArgs;
use crate::gate::Gate;
use crate::inputs::{self, reason};
use crate::interrupt::{self, Process};
use crate::lab::Lab;
use crate::output;
use crate::text::shown;
use keel_front::fuzz::{Judging, check_property};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The exit code for a commit that can't be judged.
const SKIP: i32 = 125;
/// How often a signal is looked for while git runs.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &BisectArgs, lab: &Lab) -> Result<Code, Failure> {
    if args.step {
        // The exit code is git's, not ours.
        std::process::exit(step(args, lab).unwrap_or_else(|failure| {
            output::note(failure.sentence());
            SKIP
        }));
    }
    check(args)?;
    interrupt::listen();
    // A signal ends the search, and then the repository is reset.
    let _work = interrupt::work();
    let started = git(["bisect", "start", &args.bad, &args.good, "--"]);
    if started.is_err() && interrupt::by().is_none() {
        return started.map(|()| Code::Done);
    }
    let searched = started.and_then(|()| search());
    let first_bad = first_bad();
    let reset = reset();
    searched?;
    reset?;
    output::print(&format!("{}\n", first_bad?))?;
    Ok(Code::Done)
}

/// Refuses what would make git skip every commit.
fn check(args: &BisectArgs) -> Result<(), Failure> {
    args.property.as_ref().map_or(Ok(()), check_property)?;
    crate::program::source(&args.build).map(drop)
}

/// Makes git call this keel for each commit.
fn search() -> Result<(), Failure> {
    let own = std::env::current_exe().map_err(|e| Failure::input(format!("keel: {}", reason(&e))))?;
    let mut words: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    // After `bisect`, the first word.
    words.insert(1, "--step".into());
    let all = ["bisect".as_ref(), "run".as_ref(), own.as_os_str()];
    git(all.into_iter().chain(words.iter().map(|word| word.as_os_str())))
}

/// Returns the commit that git found: its hash and its subject.
fn first_bad() -> Result<String, Failure> {
    let shown = Command::new("git").args(["log", "-1", "--format=%h %s", "refs/bisect/bad"]).output();
    let shown = shown.map_err(|e| Failure::input(format!("git cannot be run: {}", reason(&e))))?;
    let subject = String::from_utf8_lossy(&shown.stdout).trim().to_owned();
    Ok(format!("the first bad commit is {}", crate::text::shown(&subject)))
}

/// Builds, runs and judges one commit.
fn step(args: &BisectArgs, lab: &Lab) -> Result<i32, Failure> {
    let (program, rest) = args.build.split_first().expect("clap asks for a command");
    let built = Command::new(program).args(rest).stdin(Stdio::null()).stdout(std::io::stderr()).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err(Failure::input("the build failed; this commit is skipped"));
    }
    let asked = Asked::read(lab, &args.scheduler)?;
    let spec = inputs::specs(lab, &[asked], None, &args.scene.scene(), &Process)?.remove(0);
    let run = execute(lab, &spec, Vec::new(), &Process, Place::Beside)?.report;
    let budgets = Gate::strict(&args.strict)?.budgets();
    let is_strict = args.strict.is_asked() || args.property.is_none();
    let judging = Judging {
        budgets: Some(budgets).filter(|_| is_strict),
        property: args.property.clone(),
        rival: None,
    };
    let failures = judging.failures(&run, None)?;
    for failure in &failures {
        output::note(shown(&failure.text));
    }
    Ok(i32::from(!failures.is_empty()))
}

/// Runs git until it ends or a signal arrives.
fn git<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Result<(), Failure> {
    let mut child = started(words)?;
    loop {
        if let Some(ended) = child.try_wait().transpose() {
            return succeeded(ended);
        }
        if let Some(by) = interrupt::by() {
            end(child);
            return Err(Failure::stopped(by, "before the first bad commit was found"));
        }
        std::thread::sleep(LOOK);
    }
}

/// Returns to the commit from before the search, even after a signal.
fn reset() -> Result<(), Failure> {
    succeeded(started(["bisect", "reset"])?.wait())
}

/// Starts git in its own process group, so that Ctrl-C reaches only keel, which ends the whole group.
fn started<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Result<Child, Failure> {
    let mut command = Command::new("git");
    command.args(words).stdin(Stdio::null()).stdout(std::io::stderr()).process_group(0);
    command.spawn().map_err(|e| Failure::input(format!("git cannot be run: {}", reason(&e))))
}

/// Ends git, the build and the run, so that none of them changes files during the reset.
fn end(mut git: Child) {
    let group = Pid::from_child(&git);
    // What has already ended needs no signal.
    let _ = kill_process_group(group, Signal::TERM);
    let _ = git.wait();
    let _ = kill_process_group(group, Signal::KILL);
}

fn succeeded(ended: std::io::Result<ExitStatus>) -> Result<(), Failure> {
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Failure::input("git bisect failed; its message is above")),
        Err(e) => Err(Failure::input(format!("cannot wait for git: {}", reason(&e)))),
    }
}
