//! Runs the driver, crates/lab/examples/rate.rs, and parses its output.

use crate::Failure;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// One run to measure.
pub(super) struct Case {
    pub(super) cpus: u32,
    pub(super) tasks: u32,
    pub(super) load_percent: u32,
    pub(super) ms: u32,
    /// The observer: `none`, `judge` or `trace`.
    pub(super) sink: &'static str,
    /// The path of the scheduler's source, or `fifo`.
    pub(super) source: Option<&'static str>,
}

impl Case {
    /// The arguments for the driver.
    pub(super) fn args(&self) -> Vec<String> {
        let Self { cpus, tasks, load_percent, ms, sink, source } = self;
        let mut args = [cpus, tasks, load_percent, ms].map(u32::to_string).to_vec();
        args.push((*sink).to_owned());
        args.extend(source.map(str::to_owned));
        args
    }
}

/// What the driver counts and measures, by the names it prints.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facts(BTreeMap<String, u64>);

impl Facts {
    pub(super) fn parse(printed: &[u8]) -> Result<Self, Failure> {
        let text = String::from_utf8_lossy(printed);
        let words: Vec<&str> = text.split_whitespace().collect();
        let fact = |pair: &[&str]| match pair {
            [name, number] => Some(((*name).to_owned(), number.parse().ok()?)),
            _ => None,
        };
        let facts = words.chunks(2).map(fact).collect::<Option<_>>();
        facts.map(Self).ok_or_else(|| format!("the driver printed no names and numbers, but: {text}"))
    }

    pub(super) fn get(&self, name: &str) -> Result<f64, Failure> {
        self.0.get(name).map(|&n| n as f64).ok_or_else(|| format!("the driver does not report {name}"))
    }

    /// Switches and wakeups.
    pub(super) fn events(&self) -> Result<f64, Failure> {
        Ok(self.get("switches")? + self.get("wakeups")?)
    }
}

/// The cost of several runs of a case.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    /// Million events per second of user CPU time: lowest, median and highest.
    pub(super) mev_s: [f64; 3],
    /// The highest memory use of any run.
    pub(super) peak_rss_bytes: f64,
    /// Switches and wakeups of one run.
    pub(super) events: f64,
    /// Callbacks of the scheduler per event.
    pub(super) callbacks: f64,
    /// Callbacks delayed by another CPU's earlier event, per event.
    pub(super) suspensions: f64,
    /// BPF instructions per event.
    pub(super) bpf_insns: f64,
}

impl Measured {
    fn new(runs: &[Facts]) -> Result<Self, Failure> {
        let first = runs.first().ok_or("no run was measured")?;
        let mut rates = Vec::new();
        let mut peak_rss_bytes = 0f64;
        for run in runs {
            rates.push(run.events()? * 1e3 / run.get("user_ns")?.max(1.0));
            peak_rss_bytes = peak_rss_bytes.max(run.get("peak_rss_bytes")?);
        }
        rates.sort_by(f64::total_cmp);
        let events = first.events()?;
        let each = |name| Ok::<f64, Failure>(first.get(name)? / events.max(1.0));
        Ok(Self {
            mev_s: [rates[0], rates[rates.len() / 2], rates[rates.len() - 1]],
            peak_rss_bytes,
            events,
            callbacks: each("callbacks")?,
            suspensions: each("suspensions")?,
            bpf_insns: each("bpf_insns")?,
        })
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "mev_s": { "low": self.mev_s[0], "median": self.mev_s[1], "high": self.mev_s[2] },
            "peak_rss_bytes": self.peak_rss_bytes as u64,
            "events": self.events as u64,
            "callbacks_per_event": self.callbacks,
            "suspensions_per_event": self.suspensions,
            "bpf_insns_per_event": self.bpf_insns,
        })
    }
}

/// Runs a case this many times. All runs make the same events. Only their cost may differ.
pub(super) fn median(rate: &Path, case: &Case, runs: u32) -> Result<Measured, Failure> {
    let one = |_| facts(Command::new(rate).args(case.args()));
    Measured::new(&(0..runs).map(one).collect::<Result<Vec<_>, _>>()?)
}

/// Runs the driver and parses its output.
pub(super) fn facts(command: &mut Command) -> Result<Facts, Failure> {
    Facts::parse(&said(command)?)
}

/// Runs a program, directly or under another one, and returns its output.
pub(super) fn said(command: &mut Command) -> Result<Vec<u8>, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("cannot run {name}: {e}"))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("{name} failed: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(user_ns: u64, peak_rss_bytes: u64) -> Facts {
        let text = format!(
            "switches 600 wakeups 400 callbacks 4000 suspensions 10 bpf_insns 9000 user_ns {user_ns} \
             peak_rss_bytes {peak_rss_bytes}\n"
        );
        Facts::parse(text.as_bytes()).expect("names and numbers")
    }

    #[test]
    fn one_wild_run_moves_no_median() {
        let measured = Measured::new(&[facts(100_000, 5), facts(1_000, 7), facts(200_000, 6)]).unwrap();
        assert_eq!(measured.mev_s, [5.0, 10.0, 1000.0]);
        assert_eq!((measured.peak_rss_bytes, measured.callbacks, measured.bpf_insns), (7.0, 4.0, 9.0));
    }

    #[test]
    fn missing_figures_are_reported() {
        let check = |printed: &str, expected: &str| {
            let reported = Facts::parse(printed.as_bytes()).and_then(|facts| Measured::new(&[facts]));
            assert!(reported.clone().is_err_and(|reported| reported.contains(expected)), "{reported:?}");
        };
        check("usage: rate", "the driver printed no names and numbers, but: usage: rate");
        check("switches 1", "does not report wakeups");
        check("switches", "no names and numbers");
    }
}
