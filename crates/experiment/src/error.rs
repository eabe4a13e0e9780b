//! Errors in an experiment's file. Each has a one-sentence message.

use std::fmt;

/// An error in an experiment's file, with its position. It is displayed as
/// `yield-8.toml:7: claim[0].of: there is no arm 'x'; ...`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {}{problem}", Field(.field))]
pub struct ExperimentError {
    /// The file, as named by the caller.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The field, such as `arm[1].scheduler`. Empty if the TOML itself is invalid.
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
    /// A measure of the whole run where one of tasks is needed.
    #[error(
        "{0} is of the whole run; of tasks there are voluntary, involuntary, migrated, iterations, cpu_s and, but for tables, gone_s"
    )]
    NotOfTasks(&'static str),
    /// An order that compares nothing.
    #[error("the order needs tasks and published.of, one count for each of them, and neither to nor less")]
    NoOrder,
    /// Invalid TOML, a wrong type, or an unknown field.
    #[error("{0}")]
    Syntax(String),
    /// An invalid name.
    #[error("'{0}' is not a name; use lower-case letters, digits and '-'")]
    BadName(String),
    /// An empty text.
    #[error("it is empty; say {0}")]
    Empty(&'static str),
    /// Neither or both ways to specify the length of a run.
    #[error("give either duration_ms, or ends_within_ms for a workload that ends by itself")]
    NoEnd,
    /// A number out of its range.
    #[error("{value} is out of range; give {least} to {most}")]
    OutOfRange {
        /// The given value.
        value: u64,
        /// The minimum.
        least: u64,
        /// The maximum.
        most: u64,
    },
    /// A version that is not written as for cargo.
    #[error("'{0}' is not a version; write one such as 1.1.4")]
    BadVersion(String),
    /// A version of something that is not a program of crates.io.
    #[error("a version is of a crate's program; begin with its name, as in 'scx_lavd --performance'")]
    NoProgram,
    /// A list of the wrong length.
    #[error("there are {given}; give {least} to {most}")]
    Count {
        /// The given length.
        given: usize,
        /// The minimum length.
        least: usize,
        /// The maximum length.
        most: usize,
    },
    /// Two arms with the same name.
    #[error("an earlier arm is called '{0}' too")]
    Twice(String),
    /// Something that neither the arm nor the experiment specifies.
    #[error("no {0} is given, here or for all arms above")]
    Missing(&'static str),
    /// A setting that is neither a number, a boolean nor a text.
    #[error("'{0}' must be a number, true, false or a string")]
    BadSetting(String),
    /// An unknown level of noise.
    #[error("'{0}' must be none, quiet or busy")]
    BadNoise(String),
    /// An unknown arm.
    #[error("there is no arm '{name}'; the arms are {known}")]
    NoArm {
        /// The given name.
        name: String,
        /// The known names.
        known: String,
    },
    /// An unknown measure.
    #[error("there is no measure '{name}'; the measures are {known}")]
    NoMeasure {
        /// The given name.
        name: String,
        /// The known names.
        known: String,
    },
    /// An arm compared with itself.
    #[error("arm '{0}' is compared with itself")]
    Itself(String),
    /// An arm that no claim needs.
    #[error("no claim uses arm '{0}'; remove it, or add a claim")]
    Unused(String),
    /// Published figures that do not fit the claim.
    #[error("{0}")]
    BadPublished(&'static str),
    /// An invalid band.
    #[error(
        "write \"effect\", \"same\", \"order\", [LOW, HIGH], {{ within = SHARE }} or {{ factor = TIMES }}, all above 0"
    )]
    BadBand,
    /// A trend that is not a rank correlation above 0.
    #[error("give the least rank correlation, above 0 and up to 1")]
    BadTrend,
    /// An effect, or none, in a claim that compares nothing.
    #[error("a claim without 'to' has no effect; write {{ within = SHARE }} or [LOW, HIGH]")]
    NoEffect,
    /// An off arm that corresponds to neither of the compared arms.
    #[error("the claim does not compare '{0}'; name the arm, of or to, that the off arm stands for")]
    NotCompared(String),
    /// A mechanism in a claim that compares nothing.
    #[error("a claim without 'to' has no mechanism to switch off")]
    NoMechanism,
}
