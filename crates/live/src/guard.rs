//! Limits how often a scheduler is attached again at the kernel's request.

use std::time::{Duration, Instant};

/// The maximum number of restarts within [`WINDOW`].
const MOST: usize = 5;
/// The time in which they are counted.
const WINDOW: Duration = Duration::from_secs(60);

/// Counts restarts.
#[derive(Debug, Default)]
pub struct Restarts {
    made: Vec<Instant>,
}

impl Restarts {
    /// Returns whether it may be attached again at `now`. Counts it if so.
    pub fn allow(&mut self, now: Instant) -> bool {
        self.made.retain(|&made| now.duration_since(made) < WINDOW);
        let allowed = self.made.len() < MOST;
        if allowed {
            self.made.push(now);
        }
        allowed
    }

    /// Returns the limit, in words.
    pub fn bound() -> String {
        format!("{MOST} times within {} s", WINDOW.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_are_bounded() {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let mut restarts = Restarts::default();
        let allowed: Vec<bool> = [0, 1, 2, 3, 4, 5, 59, 60, 60, 61].map(|s| restarts.allow(at(s))).into();
        assert_eq!(allowed, [true, true, true, true, true, false, false, true, false, true]);
    }
}
