//! Makes a search's runs of one scheduler. An input is converted to the texts of files, then to a spec and a run, and
//! the search gets the run's result.

use super::Asked;
use super::judge::Judging;
use crate::asked;
use crate::caller::Caller;
use crate::execute::executed;
use crate::failure::{Code, Failure};
use crate::inputs;
use crate::lab::Lab;
use keel_abi::{Noise, Span, Stop};
use keel_check::Judge;
use keel_lab::prepared::KernelTypes;
use keel_lab::{Engine, LabError, Outcome, Prepared, Progress, RunSpec, SchedulerSource};
use keel_report::{QueueNames, RunReport};
use keel_search::genome::Genome;
use keel_search::seen::Feature;
use keel_search::states::States;
use keel_search::{Ran, Range, Subject, render};
use keel_trace::{Fanout, Sink};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum number of events in a run; 64 instructions count as one. A run that exceeds it ends there.
const MOST_EVENTS: u64 = 100_000;
/// The maximum number of times that its tasks continue their programs: a real-time task that is alone may yield forever
/// without an event.
const MOST_TURNS: u64 = 500_000;
/// The number of loaded schedulers that are cached; one with large global data takes tens of MiB.
const MOST_PREPARED: usize = 8;

/// A scheduler to run.
struct Who {
    source: SchedulerSource,
    settings: Vec<(String, String)>,
}

/// Makes the runs of a search.
pub(super) struct Runs<'a> {
    lab: &'a Lab,
    who: Who,
    rival: Option<Who>,
    judging: &'a Judging,
    types: KernelTypes,
    /// Keyed by settings and machine shape, because an object's constants depend on these.
    prepared: Mutex<BTreeMap<String, Arc<Prepared>>>,
    jobs: Option<NonZeroUsize>,
    caller: &'a dyn Caller,
    /// The first reason why the search can't continue.
    failed: Mutex<Option<Failure>>,
}

/// Names the option that was given, if a failure is about a range's lowest value: that was set as if by `--set`.
fn about_range(failure: Failure, ranges: &[Range]) -> Failure {
    let said = failure.sentence();
    let about = |range: &Range| {
        let why = said.strip_prefix(&format!("--set {}={}: ", range.name, range.low))?;
        Some(Failure::input(format!("--vary {}: {why}", range.name)))
    };
    ranges.iter().find_map(about).unwrap_or(failure)
}

impl<'a> Runs<'a> {
    /// Reads the schedulers and makes one small run, to detect faulty schedulers before the search begins.
    pub(super) fn new(lab: &'a Lab, asked: &'a Asked<'a>, caller: &'a dyn Caller) -> Result<Self, Failure> {
        let who = |given: &str, recipe, fixed: &[(String, String)]| -> Result<Who, Failure> {
            let name = asked::Asked::read(lab, given)?;
            let source = inputs::source(lab, &name, recipe)?;
            Ok(Who { source, settings: fixed.iter().chain(&name.settings).cloned().collect() })
        };
        let rival = asked.judging.rival.as_ref().map(|rival| who(&rival.scheduler, None, &[])).transpose()?;
        let runs = Self {
            lab,
            who: who(asked.scheduler, asked.recipe, &asked.settings)?,
            rival,
            judging: &asked.judging,
            types: KernelTypes::read().map_err(Failure::from_lab)?,
            prepared: Mutex::default(),
            jobs: crate::host::jobs(asked.jobs),
            caller,
            failed: Mutex::default(),
        };
        let ranges = asked.ranges.iter();
        let settings = ranges.clone().map(|range| (range.name.clone(), range.low)).collect();
        let first = Genome { settings, duration_us: 1000, ..Genome::default() }.repaired(&asked.ranges);
        runs.one(&first).map_err(|failure| about_range(failure, &asked.ranges))?;
        Ok(runs)
    }

    /// Returns why the search can't continue, if it can't.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure().is_some()
    }

    /// Returns the result of an input. Fails if every other input would fail in the same way.
    fn one(&self, genome: &Genome) -> Result<Ran, Failure> {
        let spec = match self.spec(&self.who, genome) {
            Ok(spec) => spec,
            Err(refused) => return Ok(Ran { refused: Some(refused.to_string()), ..Ran::default() }),
        };
        let (run, features) = self.report(&spec, true)?;
        let rival = match &self.rival {
            Some(rival) if !run.failed() => {
                // Only as far as this run got.
                let reached = Span::from_ns(run.duration_ns);
                let spec = self.spec(rival, genome).map_err(Failure::from_lab)?;
                let (rival, _) = self.report(&RunSpec { duration: reached, ..spec }, false)?;
                Some(rival).filter(|rival| !rival.failed())
            }
            _ => None,
        };
        let failures = self.judging.failures(&run, rival.as_ref())?;
        let reached_us = u32::try_from(run.duration_ns.div_ceil(1000)).unwrap_or(u32::MAX);
        Ok(Ran { features, failures, reached_us, refused: None })
    }

    fn spec(&self, who: &Who, genome: &Genome) -> Result<RunSpec, LabError> {
        let machine = (self.lab.read_machine)("fuzz.toml", &render::machine(genome, "fuzz"))?;
        let (workload, _) = (self.lab.read_workload)("fuzz.json", &render::workload(genome), &machine)?;
        let varied = genome.settings.iter().map(|(name, value)| (name.clone(), value.to_string()));
        // A rival doesn't have these variables.
        let varied = varied.filter(|_| std::ptr::eq(who, &self.who));
        Ok(RunSpec {
            scheduler: who.source.clone(),
            settings: who.settings.iter().cloned().chain(varied).collect(),
            workload,
            machine,
            duration: Span::from_us(u64::from(genome.duration_us)),
            seed: genome.seed,
            noise: if genome.noise { Noise::Quiet } else { Noise::None },
            engine: Engine::Native,
            order: None,
            checked: false,
        })
    }

    fn report(&self, spec: &RunSpec, guides: bool) -> Result<(RunReport, Vec<Feature>), Failure> {
        let (mut judge, mut queues) = (Judge::default(), QueueNames::default());
        let stop = Stop::default();
        let mut states = States::new(MOST_EVENTS, stop.clone());
        let mut sinks = Fanout::new().with(&mut judge).with(&mut queues);
        if guides {
            sinks = sinks.with(&mut states);
        }
        let (outcome, branches) = self.simulate(spec, guides, &mut sinks, stop).map_err(Failure::from_lab)?;
        drop(sinks);
        let mut features: Vec<Feature> = states.features().collect();
        let taken = branches.iter().enumerate().filter(|(_, way)| **way != 0);
        features.extend(taken.map(|(at, _)| Feature::Branch(at as u32)));
        let report = executed(spec, outcome, 0, &mut judge, queues, self.caller).report;
        Ok((report, features))
    }

    fn simulate(
        &self,
        spec: &RunSpec,
        guides: bool,
        sink: &mut dyn Sink,
        stop: Stop,
    ) -> Result<(Outcome, Vec<u8>), LabError> {
        let mut progress = |progress: Progress| {
            // A rival runs as far as the scheduler's run got.
            if guides && progress.programs_went_on > MOST_TURNS {
                stop.ask();
            }
        };
        if spec.scheduler.bytes.get().is_none() || !guides {
            let outcome = (self.lab.run)(spec, sink, &mut progress, &stop)?;
            return Ok((outcome, Vec::new()));
        }
        self.prepared(spec)?.run_covered(spec, sink, stop.clone(), &mut progress)
    }

    fn prepared(&self, spec: &RunSpec) -> Result<Arc<Prepared>, LabError> {
        let key = format!("{:?} {:?}", spec.settings, spec.machine.topology);
        let kept = || self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = kept().get(&key) {
            return Ok(prepared.clone());
        }
        let prepared = Arc::new(Prepared::new(&self.types, spec)?);
        let mut kept = kept();
        if kept.len() >= MOST_PREPARED {
            kept.clear();
        }
        kept.insert(key, prepared.clone());
        Ok(prepared)
    }
}

impl Subject for Runs<'_> {
    fn run(&self, genomes: &[Genome]) -> Vec<Ran> {
        let one = |genome: &Genome| {
            if self.caller.stopped_by().is_some() || self.has_failed() {
                return Ran::default();
            }
            match self.one(genome) {
                Ok(ran) => ran,
                // This input found a bug in keel.
                Err(failure) if failure.code == Code::Bug => {
                    let text = failure.sentence().to_owned();
                    let failures = vec![keel_search::Failure { kind: "internal error".into(), text }];
                    Ran { failures, reached_us: genome.duration_us, ..Ran::default() }
                }
                // A program may exit at any time, for example when a CPU goes online or offline. The first run
                // succeeded.
                Err(failure) if self.who.source.bytes.program().is_some() => {
                    Ran { refused: Some(failure.sentence().to_owned()), ..Ran::default() }
                }
                Err(failure) => {
                    self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
                    Ran::default()
                }
            }
        };
        keel_lab::each(genomes, self.jobs, one)
    }
}
