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
use crate::interrupt::Process;
use crate::lab::Lab;
use crate::output;
use crate::text::shown;
use keel_front::fuzz::Judging;
use std::ffi::OsStr;
use std::process::{Command, ExitStatus, Stdio};

/// The exit code for a commit that can't be judged.
const SKIP: i32 = 125;

pub(crate) fn run(args: &BisectArgs, lab: &Lab) -> Result<Code, Failure> {
    if args.step {
        // The exit code is git's, not ours.
        std::process::exit(step(args, lab).unwrap_or_else(|failure| {
            output::note(failure.sentence());
            SKIP
        }));
    }
    git(["bisect", "start", &args.bad, &args.good, "--"])?;
    let searched = search();
    let first_bad = first_bad();
    let reset = git(["bisect", "reset"]);
    searched?;
    reset?;
    output::print(&format!("{}\n", first_bad?))?;
    Ok(Code::Done)
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

fn git<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Result<(), Failure> {
    let mut command = Command::new("git");
    command.args(words).stdout(std::io::stderr());
    let status: ExitStatus =
        command.status().map_err(|e| Failure::input(format!("git cannot be run: {}", reason(&e))))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::input("git bisect failed; its message is above")),
    }
}
