//! Replays damaged recordings. Each replay must end with a result or an error message.

use crate::{Failure, cargo};

/// Makes this many recordings and passes them to the example of `keel-hostile` that counts the outcomes.
pub(super) fn run(cases: u64) -> Result<(), Failure> {
    let cases = cases.to_string();
    cargo::run(&["run", "-q", "-p", "keel-hostile", "--example", "damaged", "--", &cases])
}
