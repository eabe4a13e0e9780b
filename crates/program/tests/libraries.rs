//! Programs that are linked statically, and those on another C library, live in virtual time as others do.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles `tests/programs/waits.c` in another way; `None` where the compiler is missing.
fn compiled(compiler: &str, option: Option<&str>, folder: &Path) -> Option<PathBuf> {
    let program = folder.join(format!("{compiler}{}", option.unwrap_or_default()));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/waits.c");
    let mut command = Command::new(compiler);
    command.args(option).arg("-o").arg(&program).arg(source).arg("-lpthread");
    let built = command.status().ok()?;
    assert!(built.success(), "{compiler} {option:?}");
    Some(program)
}

#[test]
fn the_c_library_makes_no_difference() {
    let folder = tempfile::tempdir().unwrap();
    let usual = common::compiled("waits", folder.path());
    // Not every machine has musl.
    let others = [("cc", Some("-static")), ("musl-gcc", None), ("musl-gcc", Some("-static"))]
        .map(|(compiler, option)| compiled(compiler, option, folder.path()));
    for how in ["select", "alarm", "suspend", "signalfd", "threads", "timerfd"] {
        let expected = common::run(&usual, &[how]);
        for program in others.iter().flatten() {
            assert_eq!(common::run(program, &[how]), expected, "{how} by {}", program.display());
        }
    }
}
