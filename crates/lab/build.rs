//! Compiles the built-in schedulers.
#![forbid(unsafe_code)]

use keel_bpfc::{Compiler, embed};
use std::path::PathBuf;

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where"));
    let compiler = Compiler::new("../..").include("schedulers/include").include("crates/kernel/btf");
    if let Err(failure) = embed(&compiler, "schedulers", &out, "schedulers") {
        println!("cargo::error={}", failure.to_string().replace('\n', " | "));
        std::process::exit(1);
    }
}
