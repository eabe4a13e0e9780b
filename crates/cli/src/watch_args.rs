//! The arguments of `keel watch`.

use crate::failure::Failure;
use crate::parse;
use clap::Args;
use keel_abi::Span;
use std::path::PathBuf;

/// `keel watch`.
#[derive(Clone, Debug, Args)]
pub(crate) struct WatchArgs {
    /// How often to check
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse::duration, allow_hyphen_values = true)]
    pub(crate) every: Span,
    /// How long waste must last to count as a finding
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = parse::duration, allow_hyphen_values = true)]
    pub(crate) confirm: Span,
    /// How long to watch: 10s, 2m [default: until you press Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = parse::duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Span>,
    /// Save a 20 ms recording of each finding in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Record continuously, keep only this much, such as 30s, and write it at a finding and at each SIGUSR1
    #[arg(
        long,
        value_name = "TIME",
        requires = "output",
        conflicts_with_all = ["keep", "cost"],
        value_parser = parse::duration,
        allow_hyphen_values = true
    )]
    pub(crate) ring: Option<Span>,
    /// The trace to write with --ring
    // As for --program-log of keel sim: what conflicts with --ring would make clap drop `requires`.
    #[arg(short, long, value_name = "OUT", requires = "ring", conflicts_with_all = ["keep", "cost"])]
    pub(crate) output: Option<PathBuf>,
    /// CPU time that keel may use, in percent of one CPU; if it needs more, it checks less often [default: 1 for every
    /// 16 CPUs]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..=1000), allow_negative_numbers = true)]
    pub(crate) cost: Option<u32>,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with 1 if there is a finding
    #[arg(long)]
    pub(crate) strict: bool,
}

impl WatchArgs {
    /// Rejects times that make no sense.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.every < Span::from_ms(10) {
            return Err(Failure::input(format!("--every {} is too often: the minimum is 10ms", self.every)));
        }
        if self.confirm < Span::from_ms(1) {
            return Err(Failure::input(format!(
                "--confirm {} is too short: the minimum is 1ms",
                self.confirm
            )));
        }
        if self.confirm > self.every {
            return Err(Failure::input(format!(
                "--confirm {} is longer than --every {}",
                self.confirm, self.every
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_make_no_sense_are_refused() {
        let check = |every_ms, confirm_us, expected: Option<&str>| {
            let (every, confirm) = (Span::from_ms(every_ms), Span::from_us(confirm_us));
            let args = WatchArgs {
                every,
                confirm,
                duration: None,
                keep: None,
                ring: None,
                output: None,
                cost: None,
                json: false,
                strict: false,
            };
            assert_eq!(args.check().err().map(|failure| failure.sentence().to_owned()).as_deref(), expected);
        };
        check(1000, 100_000, None);
        check(10, 10_000, None);
        check(9, 1000, Some("--every 9.00 ms is too often: the minimum is 10ms"));
        check(1000, 999, Some("--confirm 999.00 µs is too short: the minimum is 1ms"));
        check(100, 200_000, Some("--confirm 200.00 ms is longer than --every 100.00 ms"));
    }
}
