//! Embeds every file of `experiments/`, so that adding one needs no code.
#![forbid(unsafe_code)]

use std::fmt::Write;
use std::path::Path;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("the folder experiments/ is there")
        .filter_map(|entry| entry.expect("its entries can be read").file_name().into_string().ok())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    names.sort();
    let mut table =
        String::from("/// Name and text of each file.\npub(crate) static FILES: &[(&str, &str)] = &[\n");
    for name in names {
        let _ = writeln!(table, "    ({name:?}, include_str!({:?})),", folder.join(&name));
    }
    table += "];\n";
    let out = std::env::var_os("OUT_DIR").expect("cargo says where");
    std::fs::write(Path::new(&out).join("experiments.rs"), table).expect("the table can be written");
}
