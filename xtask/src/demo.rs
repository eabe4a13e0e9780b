//! `./x demo`: the main job in one go. Two schedulers side by side on a machine that nobody has
//! at home, then the picture of the one that wastes cores.

use crate::tree::root;
use crate::{Failure, cargo};
use keel_bpfc::Compiler;
use std::process::Command;

/// A plain scheduler, and the source and object of one that leaves cores idle on purpose.
const GOOD: &str = "fifo";
const WASTEFUL_SOURCE: &str = "tests/objects/wasteful.bpf.c";
const WASTEFUL: &str = "out/wasteful.bpf.o";
/// What both run, where, for how long.
const SCENE: &[&str] = &["--workload", "mix-64", "--machine", "64", "--duration", "2s", "--seed", "1"];
/// The picture, from the root.
const PICTURE: &str = "out/demo.svg";

/// Builds keel, compares, draws.
pub(crate) fn run() -> Result<(), Failure> {
    eprintln!("x: building keel (some minutes the first time)");
    cargo::run(&["build", "-q", "--release", "-p", "keel-cli"])?;
    std::fs::create_dir_all(root().join("out")).map_err(|e| format!("the folder out cannot be made: {e}"))?;
    let compiler = Compiler::new(root()).include("schedulers/include").include("crates/kernel/btf");
    let object = compiler.compile(WASTEFUL_SOURCE).map_err(|e| e.to_string())?;
    std::fs::write(root().join(WASTEFUL), object)
        .map_err(|e| format!("{WASTEFUL} cannot be written: {e}"))?;
    keel(&["compare", &format!("{GOOD},{WASTEFUL}")])?;
    println!();
    keel(&["sim", WASTEFUL, "--report", PICTURE])?;
    println!("\nThe picture of the second run is {PICTURE}.");
    Ok(())
}

/// Runs the keel that was just built, its command shown first so that it can be repeated.
fn keel(args: &[&str]) -> Result<(), Failure> {
    let args: Vec<&str> = args.iter().chain(SCENE).copied().collect();
    println!("$ keel {}", args.join(" "));
    let status = Command::new(cargo::built("keel")?)
        .args(&args)
        .current_dir(root())
        .status()
        .map_err(|e| format!("keel cannot be run: {e}"))?;
    match status.success() {
        true => Ok(()),
        false => Err("keel failed; its message is above".into()),
    }
}
