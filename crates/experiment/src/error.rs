//! What can be wrong with an experiment's file, one sentence each.

use std::fmt;

/// What is wrong, and where. Prints as `yield-8.toml:7: claim[0].of: there is no arm 'x'; ...`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {}{problem}", Field(.field))]
pub struct ExperimentError {
    /// The file, as named by the caller.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The field, such as `arm[1].scheduler`; empty if the TOML itself is broken.
    pub field: String,
    /// What is wrong.
    pub problem: Problem,
}

struct Field<'a>(&'a str);

impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "{}: ", self.0) }
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A measure that is of the whole run.
    #[error(
        "{0} is of the whole run; of tasks there are voluntary, involuntary, migrated, iterations, cpu_s and, but for tables, gone_s"
    )]
    NotOfTasks(&'static str),
    /// An order of nothing.
    #[error("the order needs tasks and published.of, one count for each of them, and neither to nor less")]
    NoOrder,
    /// No TOML, a wrong type, or an unknown field.
    #[error("{0}")]
    Syntax(String),
    /// A name that cannot be one.
    #[error("'{0}' is not a name; use lower-case letters, digits and '-'")]
    BadName(String),
    /// A text that must not be empty.
    #[error("it is empty; say {0}")]
    Empty(&'static str),
    /// Neither or both ways to say how long a run is.
    #[error("give either duration_ms, or ends_within_ms for a workload that ends by itself")]
    NoEnd,
    /// A number out of its range.
    #[error("{value} is out of range; give {least} to {most}")]
    OutOfRange {
        /// What was given.
        value: u64,
        /// The least allowed.
        least: u64,
        /// The most allowed.
        most: u64,
    },
    /// No version as cargo writes them.
    #[error("'{0}' is not a version; write one such as 1.1.4")]
    BadVersion(String),
    /// A version of what is no program of crates.io.
    #[error("a version is of a crate's program; begin with its name, as in 'scx_lavd --performance'")]
    NoProgram,
    /// A list of the wrong length.
    #[error("there are {given}; give {least} to {most}")]
    Count {
        /// How many there are.
        given: usize,
        /// The fewest allowed.
        least: usize,
        /// The most allowed.
        most: usize,
    },
    /// Two arms of one name.
    #[error("an earlier arm is called '{0}' too")]
    Twice(String),
    /// Neither the arm nor the experiment specifies it.
    #[error("no {0} is given, here or for all arms above")]
    Missing(&'static str),
    /// A setting that is neither number, boolean nor text.
    #[error("'{0}' must be a number, true, false or a string")]
    BadSetting(String),
    /// A word that is no level of noise.
    #[error("'{0}' must be none, quiet or busy")]
    BadNoise(String),
    /// An arm that is not described.
    #[error("there is no arm '{name}'; the arms are {known}")]
    NoArm {
        /// As written.
        name: String,
        /// Those that are.
        known: String,
    },
    /// A measure that is not there.
    #[error("there is no measure '{name}'; the measures are {known}")]
    NoMeasure {
        /// As written.
        name: String,
        /// Those that are.
        known: String,
    },
    /// An arm compared with itself.
    #[error("arm '{0}' is compared with itself")]
    Itself(String),
    /// An arm that nothing needs.
    #[error("no claim uses arm '{0}'; remove it, or add a claim")]
    Unused(String),
    /// Published figures that do not fit the claim.
    #[error("{0}")]
    BadPublished(&'static str),
    /// A band that is none.
    #[error(
        "write \"effect\", \"same\", \"order\", [LOW, HIGH], {{ within = SHARE }} or {{ factor = TIMES }}, all above 0"
    )]
    BadBand,
    /// A trend that is no rank correlation above 0.
    #[error("give the least rank correlation, above 0 and up to 1")]
    BadTrend,
    /// An effect, or none, of a claim that compares nothing.
    #[error("a claim without 'to' has no effect; write {{ within = SHARE }} or [LOW, HIGH]")]
    NoEffect,
    /// An off arm that corresponds to neither of the two.
    #[error("the claim does not compare '{0}'; name the arm, of or to, that the off arm stands for")]
    NotCompared(String),
    /// A mechanism of a claim that compares nothing.
    #[error("a claim without 'to' has no mechanism to switch off")]
    NoMechanism,
}
