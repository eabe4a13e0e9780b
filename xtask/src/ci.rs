//! `./x test`, `./x check`, and `./x ci`, which runs both and more.
//!
//! Everything is compiled in one profile (dev). Clippy adds a pass without code generation.

use crate::tally::Tally;
use crate::tree::root;
use crate::{Failure, cargo, checks, python, viewer, vm};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// Runs all tests. `extra` is passed to cargo.
pub(crate) fn test(extra: &[String]) -> ExitCode {
    let mut tally = Tally::default();
    add_tests(&mut tally, extra);
    verdict(&tally)
}

/// The checks that only read files and compile nothing.
pub(crate) fn check() -> ExitCode {
    let mut tally = Tally::default();
    add_quick_checks(&mut tally);
    verdict(&tally)
}

/// Everything that CI runs.
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

/// Tests the report page. If the tools or their packages are missing, this is skipped with a message.
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

/// Tests the project's objects on real kernels. If a kernel can't be fetched, this is skipped with a clear message and
/// counts as neither passed nor failed.
fn check_real_kernels(tally: &mut Tally) {
    let run = in_a_process_of_its_own(&["vm", "--quick"]);
    if let Ok(Some(vm::UNAVAILABLE)) = run {
        println!("x: real kernels: NOT CHECKED: they could not be fetched; see above");
        return;
    }
    tally.check(
        "real kernels",
        "the project's objects are accepted by a real verifier and schedule a real kernel",
        || match run? {
            Some(0) => Ok(()),
            status => Err(format!("./x vm --quick ended with {status:?}; see its message above")),
        },
    );
    tally.check("twin", "the simulated kernel gives one workload the same figures as a real one", || {
        match in_a_process_of_its_own(&["twin", "--quick"])? {
            Some(0) => Ok(()),
            status => Err(format!("./x twin --quick ended with {status:?}; see its message above")),
        }
    });
}

/// Runs xtask in another process, so that the last line is printed however it ends. Returns its exit code, or `None` if
/// a signal killed it.
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
