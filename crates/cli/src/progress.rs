//! Shows the progress of long work: a bar on a terminal, otherwise nothing.

use crate::interrupt::Process;
use crate::terminal::Terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use keel_abi::{Span, Stop};
use keel_front::Caller;
use keel_report::StoppedBy;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Shorter work shows no bar.
const QUIET: Duration = Duration::from_millis(500);
/// Redraws per second.
const HZ: u8 = 10;

/// A bar for the total virtual time of all runs. Any thread may advance it.
pub(crate) struct Bar {
    bar: Option<ProgressBar>,
    begun: Instant,
    shown: Mutex<bool>,
}

impl Bar {
    /// Creates a bar for this much virtual time. It draws nothing unless stderr is a terminal.
    pub(crate) fn new(total: Span) -> Self {
        let wanted = Terminal::of(&std::io::stderr()).is_some_and(|terminal| terminal.cursor);
        let bar = wanted.then(|| {
            let bar = ProgressBar::with_draw_target(Some(total.as_ns()), ProgressDrawTarget::hidden());
            bar.set_style(style());
            bar
        });
        Self { bar, begun: Instant::now(), shown: Mutex::new(false) }
    }

    /// Advances the bar: this much more virtual time has been simulated.
    pub(crate) fn advance(&self, by: Span) {
        let Some(bar) = &self.bar else { return };
        bar.inc(by.as_ns());
        if self.begun.elapsed() < QUIET {
            return;
        }
        let mut shown = self.shown.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !*shown {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(HZ));
            *shown = true;
        }
    }
}

impl Caller for Bar {
    fn stop(&self) -> Stop {
        Process.stop()
    }

    fn stopped_by(&self) -> Option<StoppedBy> {
        Process.stopped_by()
    }

    fn note(&self, text: &str) {
        Process.note(text);
    }

    fn advance(&self, by: Span) {
        Self::advance(self, by);
    }

    fn expect(&self, more: Span) {
        if let Some(bar) = &self.bar {
            bar.inc_length(more.as_ns());
        }
    }

    fn begins(&self) {
        Process.begins();
    }

    fn ends(&self) {
        Process.ends();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{wide_bar} {percent:>3} %  {eta} left").expect("the template is sound")
}
