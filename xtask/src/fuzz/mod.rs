//! Fuzzing. cargo-fuzz builds the targets of `fuzz/` with the pinned toolchain, and they run one after another.
//!
//! Coverage uses stable flags of the compiler. Stable compilers have the flag for AddressSanitizer but reject it.
//! `RUSTC_BOOTSTRAP` makes them accept it, for these programs alone.

mod args;
mod progress;
mod targets;

use crate::tree::root;
use crate::{Failure, cargo};
use args::Args;
use progress::Progress;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use targets::{TARGETS, Target};

/// The folder of builds, growing corpora and findings, from the root. Git ignores it.
const FOLDER: &str = ".cache/fuzz";
/// The version of cargo fuzz.
const CARGO_FUZZ: &str = "0.13.1";
/// The memory limit of a case, in MiB.
const MOST_MB: u32 = 2048;

/// Runs what `args` ask for.
///
/// # Errors
/// If something cannot be built, or a target found something.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let Some(args) = Args::parse(args)? else {
        print!("{}", args::HELP);
        return Ok(());
    };
    let folder = root().join(FOLDER);
    let tool = tool(&folder)?;
    let seeds = folder.join("seeds");
    let wanted: Vec<&Target> = TARGETS.iter().filter(|target| args.wants(target.name)).collect();
    cargo::run(&[
        "run",
        "--quiet",
        "--package",
        "keel-hostile",
        "--example",
        "seeds",
        "--",
        &seeds.to_string_lossy(),
    ])?;
    println!("{:<12} {:>10} {:>8} {:>8} {:>8}  found", "target", "cases", "a second", "edges", "MiB");
    let mut found = 0;
    for target in wanted {
        let program = build(&tool, &folder, &args, target)?;
        let progress = fuzz(&program, &folder, &args, target)?;
        let what = progress.found.as_deref().unwrap_or("nothing");
        println!(
            "{:<12} {:>10} {:>8} {:>8} {:>8}  {what}",
            target.name, progress.cases, progress.rate, progress.edges, progress.memory_mb
        );
        found += usize::from(progress.found.is_some());
        if args.minimise && progress.found.is_none() {
            minimise(&program, &folder, target)?;
        }
    }
    match found {
        0 => Ok(()),
        n => Err(format!("{n} targets found something; see docs/how-to/fuzzing.md")),
    }
}

/// cargo-fuzz in its own folder, installed if it is missing.
fn tool(folder: &Path) -> Result<PathBuf, Failure> {
    let tool = folder.join("bin/cargo-fuzz");
    if tool.exists() {
        return Ok(tool);
    }
    if std::env::var_os("KEEL_NO_INSTALL").is_some_and(|value| !value.is_empty()) {
        return Err(format!(
            "missing: cargo-fuzz {CARGO_FUZZ}. Unset KEEL_NO_INSTALL to let ./x build it below {FOLDER}."
        ));
    }
    eprintln!("x: building cargo-fuzz {CARGO_FUZZ}, which builds fuzz targets, below {FOLDER}");
    let root = folder.to_string_lossy();
    cargo::run(&["install", "--quiet", "cargo-fuzz", "--locked", "--version", CARGO_FUZZ, "--root", &root])?;
    Ok(tool)
}

/// Builds a target's program and returns its path.
fn build(tool: &Path, folder: &Path, args: &Args, target: &Target) -> Result<PathBuf, Failure> {
    /// The sanitizer's library for this target comes with the compiler.
    const TRIPLE: &str = "x86_64-unknown-linux-gnu";
    let kind = if args.sanitizer { "address" } else { "none" };
    let built = folder.join(kind);
    let mut command = Command::new(tool);
    command.args([
        "fuzz",
        "build",
        "--sanitizer",
        kind,
        "--target",
        TRIPLE,
        "--codegen-units",
        "16",
        "--target-dir",
    ]);
    command
        .arg(&built)
        .arg(target.name)
        .current_dir(root())
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC_WRAPPER", root().join("fuzz/rustc.sh"))
        .stdin(Stdio::null());
    if args.sanitizer {
        command.args(["--features", "sanitizer"]);
    }
    let status = command.status().map_err(|e| format!("cannot run cargo-fuzz: {e}"))?;
    match status.success() {
        true => Ok(built.join(TRIPLE).join("release").join(target.name)),
        false => Err(format!("cannot build {}; see cargo's message above", target.name)),
    }
}

/// Runs a target's program on the stored inputs, and on inputs that it derives from them.
fn fuzz(program: &Path, folder: &Path, args: &Args, target: &Target) -> Result<Progress, Failure> {
    let name = target.name;
    let found = folder.join("found").join(name);
    let growing = folder.join("corpus").join(name);
    for made in [&found, &growing] {
        std::fs::create_dir_all(made).map_err(|e| format!("{}: {e}", made.display()))?;
    }
    let mut command = program_of(program, target);
    command.arg(format!("-artifact_prefix={}/", found.display())).arg("-print_final_stats=1");
    let kept = ["corpus", "regressions"].map(|kept| root().join("fuzz").join(kept).join(name));
    let kept = kept.into_iter().filter(|kept| kept.is_dir());
    match args.replay {
        true => command.arg("-runs=0").args(kept),
        false => command
            .arg(format!("-runs={}", args.cases))
            .arg(growing)
            .args(kept)
            .arg(folder.join("seeds").join(name)),
    };
    if let Some(seconds) = args.seconds {
        command.arg(format!("-max_total_time={seconds}"));
    }
    listen(command, &folder.join("found").join(format!("{name}.log")))
}

/// The limits that every case must keep to.
fn program_of(program: &Path, target: &Target) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null());
    // Freed memory is kept for a while so that a use after free is detected, but only as long as the memory limit
    // allows. Each fiber that is dropped before its end would leak 11 MiB of the sanitizer's fake stack, so fake stacks
    // are off.
    command
        .env("ASAN_OPTIONS", "detect_odr_violation=0:quarantine_size_mb=64:detect_stack_use_after_return=0");
    command.arg(format!("-timeout={}", target.timeout_s)).arg(format!("-max_len={}", target.longest));
    command.arg(format!("-rss_limit_mb={MOST_MB}"));
    if target.has_words {
        let words = root().join("fuzz/dictionaries").join(format!("{}.dict", target.name));
        command.arg(format!("-dict={}", words.display()));
    }
    command
}

/// Runs the program, writes its output to a log, and returns the results. If it fails, prints its messages.
fn listen(mut command: Command, log: &Path) -> Result<Progress, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |e: std::io::Error| format!("{name}: {e}");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    let (mut progress, mut said) = (Progress::default(), String::new());
    for line in BufReader::new(child.stderr.take().expect("stderr is piped")).split(b'\n') {
        let line = String::from_utf8_lossy(&line.map_err(failed)?).into_owned();
        progress.add_line(&line);
        said += &line;
        said.push('\n');
    }
    let status = child.wait().map_err(failed)?;
    std::fs::write(log, said).map_err(|e| format!("{}: {e}", log.display()))?;
    if !status.success() {
        eprintln!("x: {name} ended with {status}; its output is in {}", log.display());
        progress.found.get_or_insert_with(|| log.display().to_string());
    }
    Ok(progress)
}

/// Puts the smallest set of cases with the same coverage into `fuzz/corpus`.
fn minimise(program: &Path, folder: &Path, target: &Target) -> Result<(), Failure> {
    let kept = root().join("fuzz/corpus").join(target.name);
    let fewest = folder.join("fewest").join(target.name);
    let in_the_way = |e: std::io::Error| format!("{}: {e}", fewest.display());
    let _ = std::fs::remove_dir_all(&fewest);
    std::fs::create_dir_all(&fewest).map_err(in_the_way)?;
    let mut command = program_of(program, target);
    // Only the edges count, not how often each was taken, which gives a few hundred small files per target.
    command
        .args(["-set_cover_merge=1", "-use_counters=0"])
        .arg(&fewest)
        .args(Some(&kept).filter(|kept| kept.is_dir()));
    command.arg(folder.join("seeds").join(target.name)).arg(folder.join("corpus").join(target.name));
    let progress = listen(command, &folder.join("found").join(format!("{}-merge.log", target.name)))?;
    if let Some(found) = progress.found {
        return Err(format!("{}: the corpus cannot be minimised: {found}", target.name));
    }
    let _ = std::fs::remove_dir_all(&kept);
    std::fs::create_dir_all(&kept).map_err(|e| format!("{}: {e}", kept.display()))?;
    for entry in std::fs::read_dir(&fewest).map_err(in_the_way)? {
        let entry = entry.map_err(in_the_way)?;
        std::fs::copy(entry.path(), kept.join(entry.file_name())).map_err(in_the_way)?;
    }
    Ok(())
}
