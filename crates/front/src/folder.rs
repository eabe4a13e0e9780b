//! Opens folders that `perf record --threads` writes. They hold a head, `data`, and one file per perf thread: `data.0`,
//! `data.1` and so on.

use crate::failure::Failure;
use crate::inputs::reason;
use crate::recording::unreadable;
use std::fs::File;
use std::path::Path;

/// The maximum number of files in a folder: perf has at most one thread per CPU.
const MOST: usize = 8192;
/// The name of the head.
const HEAD: &str = "data";

/// Opens the head of a folder and the files of its threads.
///
/// # Errors
/// It is a different kind of folder, or one of its files is missing or not a regular file.
pub(crate) fn open(path: &Path) -> Result<(File, Vec<File>), Failure> {
    let unreadable = unreadable(path);
    let numbers = numbers(path).map_err(|e| unreadable(reason(&e)))?;
    if !path.join(HEAD).exists() {
        return Err(unreadable(match numbers.is_empty() {
            true => "it is a folder, not a recording".to_owned(),
            false => {
                format!("it lacks the file '{HEAD}', in which perf record --threads describes the events")
            }
        }));
    }
    if numbers.len() > MOST {
        return Err(unreadable(format!("it has more than {MOST} thread files")));
    }
    for (expected, number) in numbers.iter().enumerate() {
        if *number != expected as u64 {
            return Err(unreadable(format!(
                "it lacks the file '{HEAD}.{expected}', which perf record --threads wrote beside '{HEAD}.{number}'"
            )));
        }
    }
    let head = file(path, HEAD)?;
    let parts = (0..numbers.len()).map(|number| file(path, &format!("{HEAD}.{number}")));
    Ok((head, parts.collect::<Result<_, _>>()?))
}

/// Returns the numbers of the threads' files, in order.
fn numbers(path: &Path) -> std::io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(HEAD)?.strip_prefix('.'));
        numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

fn file(folder: &Path, name: &str) -> Result<File, Failure> {
    let unreadable = unreadable(folder);
    let path = folder.join(name);
    let is_file = std::fs::metadata(&path).is_ok_and(|there| there.is_file());
    if !is_file {
        return Err(unreadable(format!("'{name}' in it is not a file, so it is not a recording")));
    }
    File::open(&path).map_err(|e| unreadable(format!("'{name}' in it cannot be opened: {}", reason(&e))))
}
