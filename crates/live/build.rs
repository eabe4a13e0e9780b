//! Compiles the programs that record.
#![forbid(unsafe_code)]

use keel_bpfc::{Compiler, embed};
use std::path::PathBuf;

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where"));
    let compiler = Compiler::new("../..").include("crates/live/bpf").include("schedulers/include");
    if let Err(failure) = embed(&compiler, "crates/live/bpf", &out, "programs") {
        println!("cargo::error={}", failure.to_string().replace('\n', " | "));
        std::process::exit(1);
    }
}
