//! How much goes on in a simulated machine beside its workload.

use std::fmt;

/// What a simulated kernel does beside the workload: interrupts, kernel threads, latencies. All of it follows from the
/// run's seed, so that two seeds differ as two runs on a real machine do.
///
/// The default is [`Noise::None`], so that what a library or a test constructs is exact. The command line's default is
/// [`Noise::Quiet`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Noise {
    /// Nothing happens but the workload. Without `jitter_percent` every seed gives the same run.
    #[default]
    None,
    /// An idle server: a few interrupts and kernel threads a second on each CPU.
    Quiet,
    /// A server with devices at work: some ten interrupts and kernel threads a second on each CPU.
    Busy,
}

impl Noise {
    /// All levels, the least first.
    pub const ALL: [Self; 3] = [Self::None, Self::Quiet, Self::Busy];

    /// The word for it in arguments and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Quiet => "quiet",
            Self::Busy => "busy",
        }
    }

    /// The level that this word names, if it names one.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|noise| noise.name() == word)
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_is_read_back_from_its_name() {
        for noise in Noise::ALL {
            assert_eq!(Noise::named(noise.name()), Some(noise));
        }
        assert_eq!(Noise::named("loud"), None);
    }
}
