//! Compiles the built-in schedulers.
#![forbid(unsafe_code)]

use keel_bpfc::{Compiler, count_all, embed};
use std::path::PathBuf;

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where"));
    let compiler = Compiler::new("../..").include("schedulers/include").include("crates/kernel/btf");
    let made = embed(&compiler, "schedulers", &out, "schedulers");
    if let Err(failure) = made.and_then(|()| count_all(&compiler, "schedulers", &out, "counts")) {
        println!("cargo::error={}", failure.to_string().replace('\n', " | "));
        std::process::exit(1);
    }
}
