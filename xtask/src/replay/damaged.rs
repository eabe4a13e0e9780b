//! Damaged recordings, made up and given to the replay: it ends with a result or a sentence.

use crate::{Failure, cargo};

/// Gives so many of them to the example of `keel-hostile` that counts what came of them.
pub(super) fn run(cases: u64) -> Result<(), Failure> {
    let cases = cases.to_string();
    cargo::run(&["run", "-q", "-p", "keel-hostile", "--example", "damaged", "--", &cases])
}
