//! `./x test`, `./x check` and `./x ci`, which is both and more.
//!
//! Everything is compiled in one profile (dev); clippy adds a pass without code generation.

use crate::tally::Tally;
use crate::tree::root;
use crate::{Failure, cargo, checks, python, viewer, vm};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// Every test; `extra` goes to cargo.
pub(crate) fn test(extra: &[String]) -> ExitCode {
    let mut tally = Tally::default();
    add_tests(&mut tally, extra);
    verdict(&tally)
}

/// The checks that read and compile nothing.
pub(crate) fn check() -> ExitCode {
    let mut tally = Tally::default();
    add_quick_checks(&mut tally);
    verdict(&tally)
}

/// All that CI runs.
pub(crate) fn run() -> ExitCode {
    let mut tally = Tally::default();
    add_tests(&mut tally, &[]);
    add_quick_checks(&mut tally);
    tally.check("formatting", "one layout for all Rust files, so that diffs show changes of meaning", || {
        cargo::run(&["fmt", "--all", "--check"]).map_err(|_| "run ./x fmt".into())
    });
    tally.check(
        "clippy",
        "code without warnings; virtual time and determinism in the crates that ban wall clocks",
        || {
            let args = ["clippy", "-q", "--workspace", "--all-targets", "--", "-D", "warnings"];
            cargo::run(&args)
        },
    );
    check_viewer(&mut tally);
    python::check(&mut tally);
    check_real_kernels(&mut tally);
    verdict(&tally)
}

fn add_tests(tally: &mut Tally, extra: &[String]) {
    let begun = Instant::now();
    match cargo::test(extra) {
        Ok(tests) => {
            tally.add(tests.passed, tests.failed);
            println!(
                "x: tests: {} passed, {} failed ({:.1} s with compiling)",
                tests.passed,
                tests.failed,
                begun.elapsed().as_secs_f64()
            );
        }
        Err(failure) => {
            tally.add(0, 1);
            println!("x: tests: {failure}");
        }
    }
}

fn add_quick_checks(tally: &mut Tally) {
    for check in checks::ALL {
        tally.check(check.name, check.guards, check.run);
    }
}

/// The report page. Where its tools are not there, or their packages cannot be fetched, nothing is learnt, and that is said.
fn check_viewer(tally: &mut Tally) {
    if let Some(why) = viewer::missing().or_else(|| viewer::packages().err()) {
        println!("x: report page: NOT CHECKED: {why}");
        return;
    }
    tally.check(
        "viewer",
        "the viewer that keel puts into pages is built from this source",
        viewer::check_built,
    );
    match viewer::no_browser() {
        Some(why) => println!("x: report page: NOT CHECKED: {why}"),
        None => tally.check("report page", "pages show what is in them, in a real browser", viewer::test),
    }
}

/// Our objects on real kernels. Where a kernel can't be fetched nothing is learnt about our
/// objects: that is said loudly, and counts as neither passed nor failed.
fn check_real_kernels(tally: &mut Tally) {
    let run = in_a_process_of_its_own(&["vm", "--quick"]);
    if let Ok(Some(vm::UNAVAILABLE)) = run {
        println!("x: real kernels: NOT CHECKED: they could not be fetched; see above");
        return;
    }
    tally.check(
        "real kernels",
        "our objects are accepted by a real verifier and schedule a real kernel",
        || match run? {
            Some(0) => Ok(()),
            status => Err(format!("./x vm --quick ended with {status:?}; its message is above")),
        },
    );
    tally.check("twin", "the simulated kernel gives one workload the same figures as a real one", || {
        match in_a_process_of_its_own(&["twin", "--quick"])? {
            Some(0) => Ok(()),
            status => Err(format!("./x twin --quick ended with {status:?}; its message is above")),
        }
    });
}

/// Runs xtask once more: however it ends, the last line is still printed. Gives its exit
/// code; none where a signal ended it.
fn in_a_process_of_its_own(args: &[&str]) -> Result<Option<i32>, Failure> {
    let program = std::env::current_exe().map_err(|e| format!("xtask cannot find itself: {e}"))?;
    let status = Command::new(program)
        .args(args)
        .current_dir(root())
        .stdin(Stdio::null())
        .status()
        .map_err(|e| format!("xtask cannot run itself: {e}"))?;
    Ok(status.code())
}

fn verdict(tally: &Tally) -> ExitCode {
    println!("{}", tally.line());
    ExitCode::from(u8::from(!tally.is_good()))
}
