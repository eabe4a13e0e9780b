//! The built-in experiments, from `experiments/`.

include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

use crate::model::Experiment;
use crate::read::read;

/// Returns all of them, sorted by name.
///
/// # Panics
/// If one of the project's own files is wrong, which a test rules out.
pub fn all() -> Vec<Experiment> {
    let read = |(file, text): &(&str, &str)| read(file, text).unwrap_or_else(|e| panic!("{e}"));
    let mut all: Vec<Experiment> = FILES.iter().map(read).collect();
    all.sort_by(|a, b| a.id.cmp(&b.id));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_right_and_called_as_its_experiment() {
        for (file, text) in FILES {
            let experiment = read(file, text).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(*file, format!("{}.toml", experiment.id));
        }
        assert_eq!(all().len(), FILES.len());
    }
}
