//! No file of the project has more than [`MAX`] lines.

use super::all_or;
use crate::Failure;
use crate::tree::files;

/// The maximum number of lines in a file.
const MAX: usize = 800;

/// Files that people write and read: no data, goldens or lock files.
const WRITTEN: &[&str] = &["rs", "c", "h", "toml", "md", "py", "ts", "css", "sh"];

pub(super) fn run() -> Result<(), Failure> {
    let too_long = |path: &str, lines: usize| is_written(path) && lines > MAX;
    let faults = files()?
        .iter()
        .map(|file| (&file.path, file.text.lines().count()))
        .filter(|(path, lines)| too_long(path, *lines))
        .map(|(path, lines)| format!("{path} has {lines} lines; at most {MAX}: split it by idea"))
        .collect();
    all_or(faults)
}

fn is_written(path: &str) -> bool {
    path == "x"
        || !path.starts_with("viewer/dist/")
            && path.rsplit_once('.').is_some_and(|(_, ext)| WRITTEN.contains(&ext))
}

#[cfg(test)]
mod tests {
    use super::is_written;

    #[test]
    fn only_what_people_write_counts() {
        let check = |path, expected| assert_eq!(is_written(path), expected);
        check("crates/abi/src/lib.rs", true);
        check("x", true);
        check("viewer/src/style.css", true);
        check("viewer/dist/viewer.css", false);
        check("Cargo.lock", false);
        check("crates/check/src/snapshots/a.snap", false);
        check("LICENSE-GPL-2.0", false);
    }
}
