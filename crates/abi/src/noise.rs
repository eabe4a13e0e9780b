//! The background activity of a simulated machine.

use std::fmt;

/// How much a simulated kernel does besides the workload: interrupts, kernel threads, latencies. All of it follows from
/// the run's seed, so that two seeds differ as two runs on a real machine do.
///
/// The default is [`Noise::None`], so that runs of libraries and tests are exact. The command line's default is
/// [`Noise::Quiet`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Noise {
    /// Nothing but the workload. Every seed gives the same run, unless `jitter_percent` is set.
    #[default]
    None,
    /// An idle server: a few interrupts and kernel threads per second on each CPU.
    Quiet,
    /// A server with active devices: some tens of interrupts and kernel threads per second on each CPU.
    Busy,
}

impl Noise {
    /// All levels, lowest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Quiet, Self::Busy];

    /// Returns its name in arguments and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Quiet => "quiet",
            Self::Busy => "busy",
        }
    }

    /// Returns the level with this name.
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
