//! Writes the fuzzer's seeds: `seeds FOLDER` creates `FOLDER/TARGET/NAME`. Run it from the repository's root.
#![forbid(unsafe_code)]

use std::path::Path;

/// Files of the project that are used as seeds: target, folder, suffix.
const FILES: &[(&str, &str, &str)] = &[
    ("experiment", "experiments", ".toml"),
    ("machine", "machines", ".toml"),
    ("recipe", "tests/sim/recipe", ".keel.toml"),
    ("recipe", "tests/corpus", ".keel.toml"),
    ("recording", "crates/readers/recordings", ".data"),
    ("recording", "crates/readers/recordings", ".dat"),
    ("recording", "crates/readers/recordings", ".txt"),
    ("replay", "crates/readers/recordings", ".data"),
    ("replay", "crates/readers/recordings", ".txt"),
    ("workload", "workloads", ".json"),
    ("workload", "tests/twin", ".json"),
];

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).expect("usage: seeds FOLDER");
    let folder = Path::new(&folder);
    for (target, name, bytes) in keel_hostile::seeds::all() {
        write(folder, target, &name, &bytes)?;
    }
    for (target, from, ending) in FILES {
        for entry in std::fs::read_dir(from)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.ends_with(ending) {
                write(folder, target, &name, &std::fs::read(&path)?)?;
            }
        }
    }
    Ok(())
}

fn write(folder: &Path, target: &str, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder.join(target))?;
    std::fs::write(folder.join(target).join(name), bytes)
}
