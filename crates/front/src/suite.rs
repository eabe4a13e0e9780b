//! Suites, by which schedulers are scored: named parts, each with a workload, a machine and a figure.

use crate::close::BuiltIn;
use crate::failure::Failure;
use serde::Deserialize;

/// The built-in suites, by name.
const BUILT_IN: &[(&str, &str)] = &[("general", include_str!("../../../suites/general.toml"))];

/// The maximum number of runs of a scheduler in each part.
const MOST_SEEDS: u32 = 100;
/// The maximum duration of a part's runs.
const MOST_MS: u64 = 600_000;

/// The parts of a score. Suites with the same name and version have the same parts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Its name: the built-in one, or the file's.
    #[serde(skip)]
    pub name: String,
    /// Incremented whenever a part changes.
    pub version: u32,
    /// A one-line description.
    pub title: String,
    /// The scheduler that scores 100.
    pub baseline: String,
    /// The duration of each run, in virtual milliseconds.
    pub duration_ms: u64,
    /// The number of runs of each scheduler in each part.
    pub seeds: u32,
    /// The parts.
    #[serde(rename = "part")]
    pub parts: Vec<Part>,
}

/// One workload on one machine, and the figure that counts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// As `--workload` takes it.
    pub workload: String,
    /// As `--machine` takes it.
    pub machine: String,
    /// The figure.
    pub figure: Figure,
    /// For delays: only tasks with this name count.
    pub task: Option<String>,
}

/// The figure that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Units of the workload per second; higher is better.
    Throughput,
    /// The 99th percentile of the delay from wakeup to running; lower is better. Differences below a microsecond count
    /// little.
    WakeupDelayP99,
    /// The share of core time that is not wasted; higher is better.
    Busy,
}

impl Suite {
    /// Returns the names of the built-in suites, each with a one-line description.
    ///
    /// # Errors
    /// A built-in suite is invalid, which is a bug.
    pub fn list() -> Result<Vec<(String, String)>, Failure> {
        let line = |(name, text): &(&str, &str)| Ok(((*name).to_owned(), Self::read(name, text)?.title));
        BUILT_IN.iter().map(line).collect()
    }

    /// Returns the built-in suite of this name, or the one in this file.
    ///
    /// # Errors
    /// There is no such suite, or it is invalid.
    pub fn find(given: &str) -> Result<Self, Failure> {
        match BUILT_IN.iter().find(|(name, _)| *name == given) {
            Some((name, text)) => Self::read(name, text),
            None => {
                let names = || BUILT_IN.iter().map(|(name, _)| ((*name).to_owned(), String::new())).collect();
                let text = crate::inputs::text("suite", &BuiltIn::some("suites", &names), given)?;
                Self::read(given, &text)
            }
        }
    }

    fn read(name: &str, text: &str) -> Result<Self, Failure> {
        let place = crate::text::shown(name);
        let wrong = |why: &str| Failure::input(format!("{place}: {why}"));
        let suite: Self = keel_tables::read(text).map_err(|error| {
            let line = keel_tables::line(text, error.at.start);
            Failure::input(format!("{place}, line {line}: {}", crate::text::shown(&error.said)))
        })?;
        match () {
            () if suite.parts.is_empty() => Err(wrong("there is no [[part]]")),
            () if !(2..=MOST_SEEDS).contains(&suite.seeds) => Err(wrong(&format!(
                "seeds must be 2 to {MOST_SEEDS}: the noise is computed from several runs"
            ))),
            () if !(1..=MOST_MS).contains(&suite.duration_ms) => {
                Err(wrong(&format!("duration_ms must be 1 to {MOST_MS}")))
            }
            () => Ok(Self { name: name.to_owned(), ..suite }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_suites_are_right() {
        assert!(Suite::list().unwrap().iter().any(|(name, _)| name == "general"));
    }

    #[test]
    fn a_wrong_suite_says_what_is_wrong() {
        let good = "version = 1\ntitle = ''\nbaseline = 'eevdf'\nduration_ms = 10\nseeds = 2\n\
                    [[part]]\nname = 'a'\nworkload = 'mix'\nmachine = '2'\nfigure = 'throughput'\n";
        assert_eq!(Suite::read("s", good).unwrap().name, "s");
        let check = |from: &str, to: &str, says: &str| {
            let failure = Suite::read("s", &good.replace(from, to)).unwrap_err();
            assert!(failure.sentence().contains(says), "{}", failure.sentence());
        };
        check("seeds = 2", "seeds = 1", "seeds must be 2 to 100");
        check("duration_ms = 10", "duration_ms = 0", "duration_ms must be 1 to");
        check("'throughput'", "'fun'", "fun");
        check("title", "titel", "line 2: unknown field `titel`");
        check("seeds = 2", "seeds = 'two'", "line 5: invalid type: string \"two\", expected a whole number");
        check("version = 1", "", "version");
    }
}
