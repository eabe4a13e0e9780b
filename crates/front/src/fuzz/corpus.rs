//! A corpus of inputs: a folder with one JSON file per input, named by a hash of its content. You can keep it in a
//! repository.

use crate::failure::Failure;
use crate::inputs::reason;
use crate::text::shown_path;
use keel_search::Genome;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

/// The maximum number of inputs in a folder.
const MOST: usize = 100_000;
/// The suffix of the files' names.
const SUFFIX: &str = ".fuzz.json";

/// Reads the inputs in a folder, sorted by name, or the one input in a file. A folder that doesn't exist has none.
pub(super) fn read(from: &Path) -> Result<Vec<Genome>, Failure> {
    if !from.exists() {
        return Ok(Vec::new());
    }
    if !from.is_dir() {
        return Ok(vec![genome(from)?]);
    }
    let wrong = |e: io::Error| Failure::input(format!("{} cannot be read: {}", shown_path(from), reason(&e)));
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(from).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.to_string_lossy().ends_with(SUFFIX) {
            paths.push(path);
        }
    }
    if paths.len() > MOST {
        return Err(Failure::input(format!("{}: a corpus has at most {MOST} inputs", shown_path(from))));
    }
    paths.sort();
    paths.iter().map(|path| genome(path)).collect()
}

fn genome(path: &Path) -> Result<Genome, Failure> {
    let text = crate::inputs::document("input of keel fuzz", &path.to_string_lossy())?;
    serde_json::from_str(&text).map_err(|e| {
        let what = crate::text::shown(&e.to_string());
        Failure::input(format!("{} is not an input of keel fuzz: {what}", shown_path(path)))
    })
}

/// Adds the inputs that are not `there` yet, and returns how many there were. Does nothing if `to` is a file.
pub(super) fn add(to: &Path, there: &[Genome], genomes: &[&Genome]) -> Result<usize, Failure> {
    if to.is_file() {
        return Ok(0);
    }
    let there: BTreeSet<&Genome> = there.iter().collect();
    let new: Vec<&&Genome> = genomes.iter().filter(|genome| !there.contains(**genome)).collect();
    for genome in &new {
        write(&to.join(name(genome)), &text(genome))?;
    }
    Ok(new.len())
}

/// Returns the name of an input's file.
pub(super) fn name(genome: &Genome) -> String {
    format!("{:016x}{SUFFIX}", hash(&text(genome)))
}

/// Returns the text of an input's file.
pub(super) fn text(genome: &Genome) -> String {
    serde_json::to_string_pretty(genome).expect("an input has only string keys") + "\n"
}

/// Returns the FNV-1a hash, which is the same on every host.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Checks that [`write`] can write into this folder, so that a long search doesn't end in vain.
pub(crate) fn writable(folder: &Path) -> Result<(), Failure> {
    let exists = |folder: &&Path| !folder.as_os_str().is_empty() && folder.exists();
    let there = folder.ancestors().find(exists).unwrap_or(Path::new("."));
    let tried = match there.is_dir() {
        true => tempfile::NamedTempFile::new_in(there).map(drop),
        false => Err(io::ErrorKind::NotADirectory.into()),
    };
    tried.map_err(|e| Failure::input(format!("{} cannot be written: {}", shown_path(there), reason(&e))))
}

/// Writes a file atomically, and creates its folder if necessary.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = || {
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        // The usual mode of a new file. By default, only the owner can read a temporary one.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        file.as_file().set_permissions(mode)?;
        file.persist(path).map_err(|e| e.error).map(drop)
    };
    written().map_err(|e: io::Error| {
        Failure::input(format!("{} cannot be written: {}", shown_path(path), reason(&e)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corpus_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let corpus = folder.path().join("corpus");
        assert_eq!(read(&corpus).unwrap(), []);
        let genomes: Vec<Genome> =
            (0..3).map(|seed| Genome { seed, ..Genome::default() }.repaired(&[])).collect();
        let all: Vec<&Genome> = genomes.iter().collect();
        assert_eq!(add(&corpus, &genomes[..1], &all).unwrap(), 2);
        assert_eq!(add(&corpus, &[], &all).unwrap(), 3);
        let mut there = read(&corpus).unwrap();
        there.sort();
        assert_eq!(there, genomes);
        assert_eq!(read(&corpus.join(name(&genomes[1]))).unwrap(), genomes[1..2]);
    }

    #[test]
    fn what_is_no_input_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.fuzz.json");
        for text in ["", "[]", "{}", "{\"machine\": 1}"] {
            std::fs::write(&path, text).unwrap();
            let failure = read(folder.path()).unwrap_err();
            assert!(failure.sentence().contains("x.fuzz.json is not an input of keel fuzz: "), "{failure}");
        }
    }
}
