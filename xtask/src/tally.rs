//! Runs checks one after another. Prints each with its time, and a failed one with what it guards.

use crate::Failure;
use std::time::Instant;

/// The numbers of passed and failed checks.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    passed: u64,
    failed: u64,
}

impl Tally {
    /// Adds many at once.
    pub(crate) fn add(&mut self, passed: u64, failed: u64) {
        self.passed += passed;
        self.failed += failed;
    }

    /// Runs one check and prints the result. `guards` is what is at risk if the check fails.
    pub(crate) fn check(&mut self, name: &str, guards: &str, check: impl FnOnce() -> Result<(), Failure>) {
        let begun = Instant::now();
        println!("x: {name} ...");
        let result = check();
        let took_s = begun.elapsed().as_secs_f64();
        match result {
            Ok(()) => {
                self.passed += 1;
                println!("x: {name}: good ({took_s:.1} s)");
            }
            Err(failure) => {
                self.failed += 1;
                println!("x: {name}: FAILED ({took_s:.1} s). It guards: {guards}\n{failure}");
            }
        }
    }

    /// Whether all passed.
    pub(crate) fn is_good(&self) -> bool {
        self.failed == 0
    }

    /// The line that CI reads.
    pub(crate) fn line(&self) -> String {
        format!("{} passed, {} failed", self.passed, self.failed)
    }
}
