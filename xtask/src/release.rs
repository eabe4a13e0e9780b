//! `./x release` builds the keel that is distributed, optimised with a profile of itself.
//!
//! The loop of a simulated machine is about as large as an instruction cache, so the layout of the code matters. With a
//! profile, the compiler knows which paths are common, and moves the rare ones elsewhere. The same program is built
//! twice: the first build counts, and the second uses the counts. A profile is valid for one state of the sources only,
//! so none is kept.

use crate::tree::root;
use crate::{Failure, cargo};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder of both builds and the profile, from the root. Git ignores it.
const FOLDER: &str = "target/release-by-profile";
/// The resulting program, from the root.
const PROGRAM: &str = "out/keel";

/// The runs to profile: small and large machines and schedulers, with all checks, and reading what was written. `TRACE`
/// stands for a file.
const RUNS: [&str; 10] = [
    "sim fifo --machine 4 --workload mix:16:125 --duration 3s --trace TRACE",
    "check TRACE",
    "replay TRACE eevdf",
    "sim fifo --machine 64 --workload mix:1000:80 --duration 300ms",
    "sim eevdf --machine 8 --workload mix:100:110+typist --duration 1s",
    "sim o1 --machine 64 --workload mix:640:80 --duration 100ms",
    "sim ule --machine opteron-6272 --workload mix:640:110 --duration 100ms",
    "sim cfs --machine opteron-6272 --workload tpch:18 --duration 100ms",
    "sim goodness --machine xeon-8 --workload chat:4:20:20 --duration 200ms",
    "sim mq --machine 8 --workload ring:16:64+hogs:9 --duration 200ms",
];

/// Builds it.
pub(crate) fn run() -> Result<(), Failure> {
    let (folder, triple) = (root().join(FOLDER), host()?);
    let merger = merger(&triple)?;
    let counts = folder.join("counts");
    if counts.exists() {
        fs::remove_dir_all(&counts).map_err(|e| format!("{}: {e}", counts.display()))?;
    }
    fs::create_dir_all(&counts).map_err(|e| format!("{}: {e}", counts.display()))?;
    eprintln!("x: building keel with counters");
    let counting = build(&folder.join("counting"), &triple, &flag("-Cprofile-generate=", &counts)?)?;
    eprintln!("x: running it {} times", RUNS.len());
    train(&counting, &folder)?;
    let profile = folder.join("keel.profdata");
    merge(&merger, &counts, &profile)?;
    eprintln!("x: building keel with its profile");
    let flags = format!("{} -Cllvm-args=-enable-split-machine-functions", flag("-Cprofile-use=", &profile)?);
    let built = build(&folder.join("optimised"), &triple, &flags)?;
    let program = root().join(PROGRAM);
    fs::create_dir_all(root().join("out")).map_err(|e| format!("out: {e}"))?;
    fs::copy(&built, &program).map_err(|e| format!("{PROGRAM}: {e}"))?;
    println!("{PROGRAM}");
    Ok(())
}

/// A compiler flag with a path. The path must not contain spaces, because cargo splits flags at spaces.
fn flag(name: &str, path: &Path) -> Result<String, Failure> {
    match path.to_str() {
        Some(path) if !path.contains(' ') => Ok(format!("{name}{path}")),
        _ => Err(format!("{} has a space in it; move the checkout to a folder without one", path.display())),
    }
}

/// Builds keel with these flags into a folder, and returns its path.
fn build(folder: &Path, triple: &str, flags: &str) -> Result<PathBuf, Failure> {
    let target = folder.to_string_lossy();
    // With an explicit target, build scripts and macros are built without the flags.
    let args = ["build", "-q", "--release", "-p", "keel-cli", "--target", triple, "--target-dir", &target];
    cargo::run_with("RUSTFLAGS", flags, &args)?;
    Ok(folder.join(triple).join("release/keel"))
}

/// Runs all commands. Their exit codes don't matter, unless one can't be started.
fn train(keel: &Path, folder: &Path) -> Result<(), Failure> {
    let trace = folder.join("trained.trc");
    let trace = trace.to_string_lossy();
    for run in RUNS {
        let args = run.split(' ').map(|arg| if arg == "TRACE" { trace.as_ref() } else { arg });
        let mut command = Command::new(keel);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.status().map_err(|e| format!("{}: {e}", keel.display()))?;
        // 1 means findings. From 2 on, keel was used wrongly, or has a bug.
        if !matches!(status.code(), Some(0 | 1)) {
            return Err(format!("'keel {run}' ended with {status}, so the profile would lack it"));
        }
    }
    Ok(())
}

/// Merges the counts of all runs into one profile.
fn merge(merger: &Path, counts: &Path, profile: &Path) -> Result<(), Failure> {
    let status = Command::new(merger)
        .args(["merge".as_ref(), "-o".as_ref(), profile.as_os_str(), counts.as_os_str()])
        .status()
        .map_err(|e| format!("{}: {e}", merger.display()))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!(
            "{} can't read this compiler's profiles; 'rustup component add llvm-tools' installs a tool that can",
            merger.display()
        )),
    }
}

/// The tool that merges counts: the compiler's own if it is installed, else that of the LLVM that `./x` installs.
fn merger(triple: &str) -> Result<PathBuf, Failure> {
    let own = PathBuf::from(rustc(&["--print", "sysroot"])?)
        .join("lib/rustlib")
        .join(triple)
        .join("bin/llvm-profdata");
    Ok(if own.exists() { own } else { PathBuf::from("llvm-profdata-19") })
}

/// The platform that the compiler runs on.
fn host() -> Result<String, Failure> {
    let version = rustc(&["-vV"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc -vV names no host".to_owned())
}

/// The output of the checkout's compiler.
fn rustc(args: &[&str]) -> Result<String, Failure> {
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(args)
        .current_dir(root())
        .output()
        .map_err(|e| format!("cannot run rustc: {e}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_a_blank_is_refused() {
        assert_eq!(flag("-Cx=", Path::new("/a/b")).as_deref(), Ok("-Cx=/a/b"));
        let refused = flag("-Cx=", Path::new("/a b")).expect_err("it has a space");
        assert!(refused.contains("/a b has a space in it"), "{refused}");
    }
}
