//! Damaged recordings, made up and given to the replay: it ends with a result or a sentence.

use crate::{Failure, cargo};

/// Gives this many of them to the example of `keel-hostile` that counts the outcomes.
pub(super) fn run(cases: u64) -> Result<(), Failure> {
    let cases = cases.to_string();
    cargo::run(&["run", "-q", "-p", "keel-hostile", "--example", "damaged", "--", &cases])
}
