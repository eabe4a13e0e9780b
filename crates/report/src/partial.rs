//! Marks results that a signal cut short. The text begins by saying so, and `--json` has `"partial": true`, which
//! complete results don't have.

use crate::style::{Paint, Style};
use keel_abi::{Instant, Span};
use serde::Serialize;

/// The signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum StoppedBy {
    /// Ctrl-C.
    #[serde(rename = "SIGINT")]
    Interrupt,
    /// SIGTERM, as from `kill` or a service manager.
    #[serde(rename = "SIGTERM")]
    Terminate,
    /// The terminal was closed.
    #[serde(rename = "SIGHUP")]
    HangUp,
}

impl StoppedBy {
    /// Returns its common name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "Ctrl-C",
            Self::Terminate => "SIGTERM",
            Self::HangUp => "SIGHUP",
        }
    }
}

/// Describes how one run or recording was cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Partial {
    /// Always true.
    partial: bool,
    /// The signal.
    stopped_by: StoppedBy,
    /// The virtual or recorded instant that was reached.
    stopped_at_ns: u64,
    /// How long it should have been; null if unknown.
    stopped_of_ns: Option<u64>,
}

impl Partial {
    /// Describes a stream that was stopped at this instant. `of` is its full length, if known.
    pub fn new(by: StoppedBy, at: Instant, of: Option<Span>) -> Self {
        Self { partial: true, stopped_by: by, stopped_at_ns: at.as_ns(), stopped_of_ns: of.map(Span::as_ns) }
    }

    /// Returns `Stopped by Ctrl-C at 3.20 s of 10.0 s`.
    pub fn words(&self) -> String {
        let at = Span::from_ns(self.stopped_at_ns);
        let of = match self.stopped_of_ns {
            Some(of) => Span::from_ns(of).to_string(),
            None => "the recording".to_owned(),
        };
        format!("Stopped by {} at {at} of {of}", self.stopped_by.name())
    }
}

/// Describes how a series of runs was cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PartialRuns {
    /// Always true.
    partial: bool,
    /// The signal.
    stopped_by: StoppedBy,
    /// The number of runs that completed.
    runs_complete: usize,
    /// The number of runs that were requested.
    runs_asked: usize,
}

impl PartialRuns {
    /// Describes a series of which `complete` of `asked` runs completed.
    pub fn new(by: StoppedBy, complete: usize, asked: usize) -> Self {
        Self { partial: true, stopped_by: by, runs_complete: complete, runs_asked: asked }
    }

    /// Returns `Stopped by Ctrl-C: 3 of 6 runs are complete`.
    pub fn words(&self) -> String {
        let Self { runs_complete: complete, runs_asked: asked, .. } = self;
        let are = if *complete == 1 { "is" } else { "are" };
        format!("Stopped by {}: {complete} of {asked} runs {are} complete", self.stopped_by.name())
    }

    /// Returns the text above a table of them, with an empty line after it.
    pub fn head(&self, style: Style) -> String {
        style.paint(Paint::Doubtful, &format!("{}.", self.words())) + "\n\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_say_by_what_and_until_when() {
        let at = Instant::ZERO + Span::from_ms(3_200);
        let check = |by, of, expected: &str| assert_eq!(Partial::new(by, at, of).words(), expected);
        check(StoppedBy::Interrupt, Some(Span::from_s(10)), "Stopped by Ctrl-C at 3.20 s of 10.00 s");
        check(StoppedBy::HangUp, None, "Stopped by SIGHUP at 3.20 s of the recording");
        let many = PartialRuns::new(StoppedBy::Terminate, 1, 6);
        assert_eq!(many.words(), "Stopped by SIGTERM: 1 of 6 runs is complete");
        let json = serde_json::to_value(Partial::new(StoppedBy::Interrupt, at, None)).unwrap();
        let expected = serde_json::json!({
            "partial": true, "stopped_by": "SIGINT", "stopped_at_ns": 3_200_000_000_u64, "stopped_of_ns": null,
        });
        assert_eq!(json, expected);
    }
}
