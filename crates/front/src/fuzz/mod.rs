//! `keel fuzz`: searches for runs that break a scheduler, and writes reproducers of what it finds.
//!
//! `keel_search` chooses what to try; this module makes the runs, judges them, and writes files.
//!
//! - `subject`: runs of one scheduler
//! - `judge`: what counts as a failure
//! - `corpus`: a folder of inputs
//! - `reproducer`: a shrunk failure, as files and one command

mod corpus;
mod judge;
mod reproducer;
mod subject;
#[cfg(test)]
mod tests;

use crate::caller::{Caller, work};
use crate::failure::Failure;
use crate::lab::Lab;
pub(crate) use corpus::{writable, write};
pub use judge::{Judging, Rival, check_property};
use keel_abi::numbers::counted;
use keel_search::fuzz::{Found, Fuzz, Guide, ROUND};
use keel_search::{Range, Subject, shrink};
pub use reproducer::Reproducer;
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use subject::Runs;

/// The maximum number of runs for shrinking one failure.
const SHRINK_RUNS: usize = 1200;

/// The maximum time for it, if the search is bounded by time.
const SHRINK_TIME: Duration = Duration::from_secs(30);

/// The request.
pub struct Asked<'a> {
    /// The scheduler, as for `keel sim`.
    pub scheduler: &'a str,
    /// Its recipe.
    pub recipe: Option<&'a Path>,
    /// Its variables with fixed values.
    pub settings: Vec<(String, String)>,
    /// Its variables that vary.
    pub ranges: Vec<Range>,
    /// The seed of the search.
    pub seed: u64,
    /// The number of runs, not counting those for the corpus and for shrinking; `None` for as many as time allows.
    pub runs: Option<u64>,
    /// The maximum time.
    pub time: Duration,
    /// What counts as a failure.
    pub judging: Judging,
    /// The initial inputs, and where new ones are added: a folder or one file.
    pub corpus: Option<PathBuf>,
    /// The folder for reproducers.
    pub out: PathBuf,
    /// Whether to continue after a failure.
    pub keep_going: bool,
    /// How inputs are chosen.
    pub guide: Guide,
    /// The number of parallel runs.
    pub jobs: Option<NonZeroUsize>,
}

/// The result of a search.
#[derive(Debug, Serialize)]
pub struct Fuzzed {
    /// The scheduler.
    pub scheduler: String,
    /// The seed of the search.
    pub seed: u64,
    /// The number of runs, not counting those for shrinking.
    pub runs: u64,
    /// The number of runs that shrinking took.
    pub shrink_runs: u64,
    /// The time it took on the host, in nanoseconds.
    pub wall_ns: u64,
    /// The number of branch directions taken at the scheduler's conditional jumps.
    pub branches: usize,
    /// The number of distinct states of runs.
    pub states: usize,
    /// The number of rejected inputs.
    pub refused: u64,
    /// Why the first one was rejected.
    pub refusal: Option<String>,
    /// How the numbers of branches and states grew.
    pub growth: Vec<Growth>,
    /// The failures.
    pub failures: Vec<Reproducer>,
    /// The number of inputs added to the corpus.
    pub added: usize,
    /// Whether a signal ended it early.
    pub stopped: bool,
}

/// The coverage after some number of runs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Growth {
    /// The number of runs.
    pub runs: u64,
    /// The time on the host, in nanoseconds.
    pub wall_ns: u64,
    /// The number of branch directions.
    pub branches: usize,
    /// The number of states.
    pub states: usize,
}

/// Runs the search.
///
/// # Errors
/// The scheduler or the corpus can't be read, a property names no figure, or a file can't be written.
pub fn fuzz(lab: &Lab, asked: &Asked<'_>, caller: &dyn Caller) -> Result<Fuzzed, Failure> {
    let subject = Runs::new(lab, asked, caller)?;
    writable(&asked.out)?;
    let inputs = asked.corpus.as_deref().map(corpus::read).transpose()?.unwrap_or_default();
    if inputs.is_empty() {
        has_runs(asked)?;
    }
    let _work = work(caller);
    let begun = Instant::now();
    let mut search = Search {
        fuzz: Fuzz::new(asked.seed, asked.ranges.clone(), asked.guide),
        subject: &subject,
        asked,
        caller,
        begun,
        growth: Vec::new(),
        failures: Vec::new(),
        shrink_runs: 0,
    };
    let found = search.fuzz.replay(&subject, inputs.clone());
    search.note(found)?;
    search.go_on()?;
    let added = match &asked.corpus {
        Some(corpus) => corpus::add(corpus, &inputs, &search.fuzz.corpus())?,
        None => 0,
    };
    if let Some(failure) = subject.failure() {
        return Err(failure);
    }
    let seen = search.fuzz.seen();
    Ok(Fuzzed {
        scheduler: asked.scheduler.to_owned(),
        seed: asked.seed,
        runs: search.fuzz.runs(),
        shrink_runs: search.shrink_runs,
        wall_ns: search.wall_ns(),
        branches: seen.branches(),
        states: seen.states(),
        refused: search.fuzz.refused().0,
        refusal: search.fuzz.refused().1.map(str::to_owned),
        growth: search.growth,
        failures: search.failures,
        added,
        stopped: caller.stopped_by().is_some(),
    })
}

/// Refuses a search that makes no run: it would end as if nothing failed.
fn has_runs(asked: &Asked<'_>) -> Result<(), Failure> {
    let limit = match asked.runs {
        Some(0) => "--runs 0",
        None if asked.time.is_zero() => "--seconds 0",
        _ => return Ok(()),
    };
    let lack = match &asked.corpus {
        Some(corpus) => format!("{} has none", crate::text::shown_path(corpus)),
        None => "there is no --corpus".to_owned(),
    };
    Err(Failure::input(format!("{limit} only reruns the inputs of the corpus, but {lack}"))
        .help("name a folder with .fuzz.json files, or ask for at least one run"))
}

struct Search<'a> {
    fuzz: Fuzz,
    subject: &'a Runs<'a>,
    asked: &'a Asked<'a>,
    caller: &'a dyn Caller,
    begun: Instant,
    growth: Vec<Growth>,
    failures: Vec<Reproducer>,
    shrink_runs: u64,
}

impl Search<'_> {
    fn wall_ns(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn is_over(&self) -> bool {
        let enough = !self.asked.keep_going && !self.failures.is_empty();
        enough
            || self.begun.elapsed() >= self.asked.time
            || self.caller.stopped_by().is_some()
            || self.subject.has_failed()
    }

    fn go_on(&mut self) -> Result<(), Failure> {
        let mut left = self.asked.runs.unwrap_or(u64::MAX);
        while left > 0 && !self.is_over() {
            let most = left.min(ROUND as u64);
            let found = self.fuzz.round(self.subject, most as usize);
            left -= most;
            self.grow();
            self.note(found)?;
        }
        Ok(())
    }

    /// Records the coverage, at growing intervals.
    fn grow(&mut self) {
        let (runs, seen) = (self.fuzz.runs(), self.fuzz.seen());
        let last = self.growth.last().map_or(0, |last| last.runs);
        if runs > last + last / 4 {
            let wall_ns = self.wall_ns();
            self.growth.push(Growth { runs, wall_ns, branches: seen.branches(), states: seen.states() });
        }
    }

    /// Shrinks the new failures and writes their reproducers.
    fn note(&mut self, found: Vec<Found>) -> Result<(), Failure> {
        // If the search ends at the first failure, one is enough.
        let most = if self.asked.keep_going { usize::MAX } else { 1 };
        for found in found.into_iter().take(most) {
            if self.caller.stopped_by().is_some() {
                break;
            }
            let kind = &found.failure.kind;
            self.caller.note(&format!(
                "run {}: {}; shrinking it",
                found.after_runs,
                crate::text::shown(&found.failure.text)
            ));
            let ranges = &self.asked.ranges;
            let (small, runs) = {
                let began = Instant::now();
                // If the number of runs is given, the search must be repeatable, so time doesn't bound it.
                let is_over = || self.asked.runs.is_none() && began.elapsed() >= SHRINK_TIME;
                shrink::shrunk(self.subject, &found.genome, kind, ranges, SHRINK_RUNS, &is_over)
            };
            self.shrink_runs += runs as u64;
            // Shrinking may have changed the numbers in its message.
            let again = self.subject.run(std::slice::from_ref(&small));
            let said = again.into_iter().flat_map(|ran| ran.failures).find(|failure| failure.kind == *kind);
            let text = said.map_or(found.failure.text.clone(), |failure| failure.text);
            let reproducer = Reproducer::new(self.asked, &found, &small, text, runs)?;
            self.failures.push(reproducer);
        }
        Ok(())
    }
}

impl Fuzzed {
    /// Returns the result as text.
    pub fn text(&self) -> String {
        let seconds = self.wall_ns as f64 / 1e9;
        let shrinking = match self.shrink_runs {
            0 => String::new(),
            more => format!(", and {more} for shrinking,"),
        };
        let mut text = format!(
            "{}: {}{shrinking} in {seconds:.1} s; {} and {}\n",
            crate::text::shown(&self.scheduler),
            counted(self.runs, "run"),
            counted(self.branches as u64, "branch direction"),
            counted(self.states as u64, "state"),
        );
        if let Some(why) = &self.refusal {
            let were = if self.refused == 1 { "was" } else { "were" };
            text += &format!(
                "{} {were} refused; the first one: {}\n",
                counted(self.refused, "input"),
                crate::text::shown(why)
            );
        }
        if self.added > 0 {
            text += &format!("Added to the corpus: {}\n", counted(self.added as u64, "input"));
        }
        for failure in &self.failures {
            text += &failure.text();
        }
        match self.failures.len() {
            0 => text += "\nNo failure was found.\n",
            1 => text += "\n1 failure was found.\n",
            many => text += &format!("\n{many} failures were found.\n"),
        }
        text
    }

    /// Returns the lines for CI, one per failure.
    pub fn tests(&self) -> String {
        self.failures.iter().map(|failure| failure.test.clone() + "\n").collect()
    }
}
