//! `./x bench --page`: the cost of a report page of ten million events. Measures its size and the time and memory to
//! make it. If Chromium is installed, also measures the time to the first picture and the frame rate while panning.

use super::callgrind;
use super::profile::Counts;
use super::recordings::out;
use super::watched::{Took, took};
use crate::{Failure, cargo, viewer};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The run that is shown: ten million events on 64 CPUs.
const MS: u64 = 10_000;
/// Two shorter runs whose instructions are counted. Their difference is the cost of the events between them.
const COUNTED_MS: [u64; 2] = [100, 300];
/// The goals.
const GOAL_BYTES: u64 = 10_000_000;
const GOAL_FIRST_MS: f64 = 2000.0;
const GOAL_FRAMES_S: f64 = 30.0;

/// The cost of a page.
pub(super) struct Page {
    events: f64,
    bytes: u64,
    /// Wall time and user time of the fastest run, in seconds.
    wall_s: f64,
    user_s: f64,
    peak_kib: u64,
    insns: Option<f64>,
    browser: Option<Browser>,
}

/// How Chromium performed.
struct Browser {
    first_ms: f64,
    /// Frames per second while panning, the median and the slowest of twenty: for the whole run, then zoomed in 8, 64
    /// and 512 times.
    frames_s: Vec<[f64; 2]>,
}

/// Writes the traces, makes the pages, and opens one of them in a browser.
pub(super) fn measure(runs: u32, count: bool) -> Result<Page, Failure> {
    let folder = tempfile::tempdir_in(out()?).map_err(|e| format!("out/: {e}"))?;
    cargo::run(&["build", "-q", "--release", "-p", "keel-cli"])?;
    cargo::run(&["build", "-q", "--release", "-p", "keel-page", "--example", "pages"])?;
    let keel = cargo::built("keel")?;
    let trace = written(folder.path(), MS)?;
    let page = folder.path().join("large.html");
    let made = (0..runs).map(|_| make(&keel, &trace, &page)).collect::<Result<Vec<_>, _>>()?;
    let of = |of: fn(&Took) -> f64| made.iter().map(of).fold(f64::INFINITY, f64::min);
    let bytes = std::fs::metadata(&page).map_err(|e| format!("{}: {e}", page.display()))?.len();
    Ok(Page {
        events: events(&keel, &trace)?,
        bytes,
        wall_s: of(|made| made.wall_s),
        user_s: of(|made| made.user_s),
        peak_kib: made.iter().map(|made| made.peak_kib).max().unwrap_or(0),
        insns: if count { Some(instructions(&keel, folder.path())?) } else { None },
        browser: looked_at(&page)?,
    })
}

/// A trace of the run's first milliseconds.
fn written(folder: &Path, ms: u64) -> Result<PathBuf, Failure> {
    let example = cargo::built("examples/pages")?;
    let status = Command::new(example).arg(folder).args(["trace", &ms.to_string()]).status();
    match status.map_err(|e| format!("cannot run the pages example: {e}"))?.success() {
        true => Ok(folder.join(format!("{ms}.trc"))),
        false => Err("cannot write the trace; see the message above".to_owned()),
    }
}

/// Makes the page with keel.
fn make(keel: &Path, trace: &Path, page: &Path) -> Result<Took, Failure> {
    took(Command::new(keel).arg("report").arg(trace).arg("-o").arg(page).stdin(Stdio::null()))
}

fn events(keel: &Path, trace: &Path) -> Result<f64, Failure> {
    let output = Command::new(keel).args(["check", "--json"]).arg(trace).output();
    let output = output.map_err(|e| format!("cannot run keel: {e}"))?;
    let reported: Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("keel check printed no JSON: {e}"))?;
    reported["events"].as_f64().ok_or_else(|| "keel check --json reports no events".to_owned())
}

/// Instructions of the host per event.
fn instructions(keel: &Path, folder: &Path) -> Result<f64, Failure> {
    let count = |ms: u64| {
        let trace = written(folder, ms)?;
        let page = folder.join("counted.html");
        let args = ["report", &trace.to_string_lossy(), "-o", &page.to_string_lossy()];
        let (_, reported) = callgrind::written(keel, &args)?;
        Ok::<_, Failure>(Counts::parse(&reported, events(keel, &trace)?))
    };
    let [short, long] = COUNTED_MS.map(count);
    Ok(long?.per_event_beyond(&short?))
}

/// What Chromium reports, or `None` if Chromium or Node.js is missing.
fn looked_at(page: &Path) -> Result<Option<Browser>, Failure> {
    if let Some(missing) = viewer::missing().or_else(viewer::no_browser) {
        eprintln!("x: the page is not opened in a browser: {missing}");
        return Ok(None);
    }
    let reported = viewer::large(page)?;
    Browser::of(&reported).map(Some).ok_or_else(|| format!("the browser printed something else: {reported}"))
}

impl Browser {
    fn of(reported: &Value) -> Option<Self> {
        let rate = |ms: &Value| Some(1000.0 / ms.as_f64()?);
        let frames = |span: &Value| Some([rate(&span["median_ms"])?, rate(&span["p95_ms"])?]);
        Some(Self {
            first_ms: reported["first_picture_ms"].as_f64()?,
            frames_s: reported["panning"].as_array()?.iter().map(frames).collect::<Option<_>>()?,
        })
    }
}

impl Page {
    /// The results as a few lines.
    pub(super) fn text(&self) -> String {
        let Self { events, bytes, wall_s, user_s, peak_kib, insns, browser } = self;
        let mut text = format!(
            "a page of {:.1} million events: {:.1} MB (goal: below {} MB), made in {wall_s:.1} s ({user_s:.1} s of user time, {:.2} Mev/s), {} MiB at most",
            events / 1e6,
            *bytes as f64 / 1e6,
            GOAL_BYTES / 1_000_000,
            events / 1e6 / user_s.max(1e-3),
            peak_kib >> 10,
        );
        if let Some(insns) = insns {
            text += &format!("\n{insns:.0} instructions an event");
        }
        if let Some(Browser { first_ms, frames_s }) = browser {
            let frames: Vec<String> =
                frames_s.iter().map(|[median, slow]| format!("{median:.0} ({slow:.0})")).collect();
            text += &format!(
                "\nfirst picture after {:.1} s (goal: {} s); frames a second while panning, the median (and the slowest of \
                 twenty), of all of it and 8, 64, 512 times as near: {} (goal: {GOAL_FRAMES_S})",
                first_ms / 1e3,
                GOAL_FIRST_MS / 1e3,
                frames.join(", "),
            );
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let browser = self.browser.as_ref().map(|browser| {
            let frames = |[median, slow]: &[f64; 2]| json!({ "median": median, "slow": slow });
            let frames_s: Value = browser.frames_s.iter().map(frames).collect();
            json!({ "first_picture_ms": browser.first_ms, "frames_s": frames_s })
        });
        let goal =
            json!({ "bytes": GOAL_BYTES, "first_picture_ms": GOAL_FIRST_MS, "frames_s": GOAL_FRAMES_S });
        json!({ "goal": goal, "page": {
            "events": self.events as u64,
            "bytes": self.bytes,
            "wall_s": self.wall_s,
            "user_s": self.user_s,
            "peak_rss_bytes": self.peak_kib << 10,
            "instructions_per_event": self.insns,
            "browser": browser,
        } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_took_is_some_lines() {
        let reported = json!({ "first_picture_ms": 700, "panning": [{ "median_ms": 16.0, "p95_ms": 40.0 }] });
        let page = Page {
            events: 1.04e7,
            bytes: 7_000_000,
            wall_s: 9.0,
            user_s: 8.0,
            peak_kib: 90_000,
            insns: Some(3000.0),
            browser: Browser::of(&reported),
        };
        assert_eq!(
            page.text(),
            "a page of 10.4 million events: 7.0 MB (goal: below 10 MB), made in 9.0 s (8.0 s of user time, 1.30 Mev/s), 87 MiB at \
             most\n3000 instructions an event\nfirst picture after 0.7 s (goal: 2 s); frames a second while panning, the median \
             (and the slowest of twenty), of all of it and 8, 64, 512 times as near: 62 (25) (goal: 30)"
        );
        assert_eq!(page.json()["page"]["browser"]["frames_s"][0]["slow"], 25.0);
        assert!(Browser::of(&json!({})).is_none());
    }
}
