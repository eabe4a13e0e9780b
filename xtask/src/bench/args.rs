//! The arguments of `./x bench`.

use crate::Failure;

const USAGE: &str = "./x bench [--seconds N] [--runs N] [--cpus 4|8|64] [--no-instructions] [--queue] [--json], \
     ./x bench --recordings [--events N] [--runs N] [--no-instructions] [--json], ./x bench --page [--runs N] [--no-instructions] [--json], \
     or ./x bench --lab [--json]";

/// The default and the maximum number of events in a recording.
const EVENTS: u32 = 10_000_000;
const MOST_EVENTS: u32 = 1_000_000_000;

/// How to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Args {
    /// How long each run is, in virtual time.
    pub(super) seconds: u32,
    /// Each figure is the median of this many runs.
    pub(super) runs: u32,
    /// Only the machine with this many CPUs.
    pub(super) only: Option<u32>,
    /// Also count instructions under valgrind.
    pub(super) instructions: bool,
    /// Also measure the event queue alone.
    pub(super) queue: bool,
    /// Measure only the time of all published experiments together.
    pub(super) lab: bool,
    /// Measure only a report page of ten million events.
    pub(super) page: bool,
    /// Print one JSON object instead of tables.
    pub(super) json: bool,
    /// Measure only how fast recordings of this many events are read.
    pub(super) recordings: Option<u32>,
}

impl Args {
    pub(super) fn parse(given: &[String]) -> Result<Self, Failure> {
        let mut args = Self {
            seconds: 10,
            runs: 3,
            only: None,
            instructions: true,
            queue: false,
            lab: false,
            page: false,
            json: false,
            recordings: None,
        };
        let mut events = None;
        let mut given = given.iter();
        while let Some(arg) = given.next() {
            let mut number = |most| match given.next().and_then(|n| n.parse().ok()) {
                Some(n) if (1..=most).contains(&n) => Ok(n),
                _ => Err(format!("bench: {arg} takes a number from 1 to {most}: {USAGE}")),
            };
            match arg.as_str() {
                "--seconds" => args.seconds = number(3600)?,
                "--runs" => args.runs = number(99)?,
                "--cpus" => args.only = Some(number(64)?),
                "--no-instructions" => args.instructions = false,
                "--queue" => args.queue = true,
                "--lab" => args.lab = true,
                "--page" => args.page = true,
                "--json" => args.json = true,
                "--recordings" => args.recordings = Some(EVENTS),
                "--events" => events = Some(number(MOST_EVENTS)?),
                other => return Err(format!("bench: unknown argument {other}: {USAGE}")),
            }
        }
        if let Some(events) = events {
            *args
                .recordings
                .as_mut()
                .ok_or_else(|| format!("bench: --events goes with --recordings: {USAGE}"))? = events;
        }
        match args.only {
            Some(_) if args.recordings.is_some() => {
                Err(format!("bench: --cpus does not go with --recordings: {USAGE}"))
            }
            Some(cpus) if super::SIZES.iter().all(|size| size.cpus != cpus) => {
                Err(format!("bench: no case has {cpus} CPUs: {USAGE}"))
            }
            None if args.queue && args.recordings.is_some() => {
                Err(format!("bench: --queue does not go with --recordings: {USAGE}"))
            }
            _ if args.queue && args.json => Err("bench: --queue has no JSON; leave one out".to_owned()),
            _ => Ok(args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(given: &[&str]) -> Result<Args, Failure> {
        Args::parse(&given.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let check = |given: &[&str], expected: &str| {
            let reported = parse(given).expect_err("it is wrong");
            assert!(reported.starts_with(expected), "{reported}");
        };
        check(&["--second", "1"], "bench: unknown argument --second");
        check(&["--seconds"], "bench: --seconds takes a number");
        check(&["--runs", "0"], "bench: --runs takes a number from 1 to 99");
        check(&["--cpus", "5"], "bench: no case has 5 CPUs");
        check(&["--queue", "--json"], "bench: --queue has no JSON");
        check(&["--events", "7"], "bench: --events goes with --recordings");
        check(&["--recordings", "--cpus", "8"], "bench: --cpus does not go");
        check(&["--recordings", "--queue"], "bench: --queue does not go");
    }

    #[test]
    fn arguments_come_in_any_order() {
        let args = parse(&["--json", "--runs", "1", "--seconds", "2", "--cpus", "8", "--no-instructions"]);
        let expected = Args {
            seconds: 2,
            runs: 1,
            only: Some(8),
            instructions: false,
            queue: false,
            lab: false,
            page: false,
            json: true,
            recordings: None,
        };
        assert_eq!(args, Ok(expected));
        let recordings = |given: &[&str]| parse(given).map(|args| args.recordings);
        assert_eq!(recordings(&["--recordings"]), Ok(Some(EVENTS)));
        assert_eq!(recordings(&["--events", "500", "--recordings"]), Ok(Some(500)));
    }
}
