//! One run of a third-party scheduler, for `./x corpus`: `corpus OBJECT CPUS MS WORKLOAD [RECIPE]`.
//!
//! Prints one fact per line, name and value separated by a tab: the run's counts, how it ended, the scheduler's
//! variables; or `missing` if the object cannot be run, and why.
#![forbid(unsafe_code)]

use keel_abi::scx::{ExitKind, Op};
use keel_abi::{Instant, Span};
use keel_check::{Figures, Judge, TaskFigures};
use keel_lab::{Engine, Outcome, RunSpec, SchedulerSource, machines, workloads};
use keel_recipe::Recipe;
use keel_trace::{Class, Event, Fanout, Meta, Sink, What};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const USAGE: &str = "usage: corpus OBJECT CPUS MS WORKLOAD [RECIPE]";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match spec(&args).and_then(|spec| reported(&spec)) {
        Ok(facts) => facts.iter().for_each(|(name, value)| println!("{name}\t{}", plain(value))),
        Err(why) => println!("missing\t{}", plain(&why.replace(".bpf: ", ": "))),
    }
}

fn spec(args: &[String]) -> Result<RunSpec, String> {
    let [object, cpus, ms, workload, rest @ ..] = args else { panic!("{USAGE}") };
    let number = |text: &String| text.parse::<u32>().unwrap_or_else(|_| panic!("{text}: {USAGE}"));
    let bytes = std::fs::read(object).map_err(|e| format!("{object}: {e}"))?;
    let recipe = match rest.first() {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
            Recipe::read(path, &text).map_err(|e| e.to_string())?
        }
        None => Recipe::default(),
    };
    let name = Path::new(object).file_stem().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let machine = machines::of_cpus(number(cpus));
    let made = workloads::made(workload, &machine).map(|made| made.map_err(|e| e.to_string()));
    let workload = made.unwrap_or_else(|| {
        let text = std::fs::read_to_string(workload).map_err(|e| format!("{workload}: {e}"))?;
        let read = workloads::read(workload, &text, &machine).map_err(|e| e.to_string())?;
        Ok(read.0)
    })?;
    Ok(RunSpec {
        scheduler: SchedulerSource { name, bytes: bytes.into(), recipe },
        settings: Vec::new(),
        workload,
        machine,
        duration: Span::from_ms(u64::from(number(ms))),
        seed: 1,
        noise: keel_abi::Noise::None,
        engine: Engine::Native,
        order: None,
        checked: false,
    })
}

type Facts = Vec<(String, String)>;

fn reported(spec: &RunSpec) -> Result<Facts, String> {
    let (mut judge, mut calls) = (Judge::new(Figures::with_costs()), Calls::default());
    let mut both = Fanout::new().with(&mut judge).with(&mut calls);
    let (outcome, variables) =
        keel_lab::run_and_read(spec, &mut both, &mut |_| {}).map_err(|e| e.to_string())?;
    let judgement = judge.judgement();
    let never_ran = judgement.summary.tasks.iter().filter(|task| task.first_run.is_none()).count();
    let findings: u64 = judgement.found.iter().map(|(_, number)| number).sum();
    let mut facts = ended(&outcome);
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    fact("ops", calls.seen.iter().copied().collect::<Vec<_>>().join(" "));
    fact("never_ran", never_ran.to_string());
    fact("findings", findings.to_string());
    for (name, per_mille) in shares(&judgement.summary.tasks) {
        fact(&format!("share.{name}"), per_mille.to_string());
    }
    for (name, value) in variables {
        fact(&format!("var.{name}"), (value as i64).to_string());
    }
    Ok(facts)
}

/// The share of all tasks' CPU time that the tasks of each name got, in thousandths.
fn shares(tasks: &[TaskFigures]) -> BTreeMap<&str, u64> {
    let total: u64 = tasks.iter().map(|task| task.cpu.as_ns()).sum();
    let mut shares = BTreeMap::new();
    for task in tasks {
        *shares.entry(task.name.as_str()).or_default() += task.cpu.as_ns();
    }
    shares.values_mut().for_each(|ns| *ns = *ns * 1000 / total.max(1));
    shares
}

fn ended(outcome: &Outcome) -> Facts {
    let Outcome { exit, code, message, counters, .. } = outcome;
    let facts = [
        ("exit", kind(*exit).to_owned()),
        ("code", code.to_string()),
        ("message", message.clone()),
        ("end_ns", outcome.end.as_ns().to_string()),
        ("callbacks", counters.callbacks.to_string()),
        ("switches", counters.switches.to_string()),
        ("scheduler_inserts", counters.scheduler_inserts.to_string()),
        ("kernel_inserts", counters.kernel_inserts.to_string()),
        ("bad_accesses", counters.bad_accesses.to_string()),
        ("bypass_ns", counters.bypass.as_ns().to_string()),
        ("restarts", counters.restarts.to_string()),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// Its name in `enum scx_exit_kind`, without `SCX_EXIT_`.
fn kind(exit: ExitKind) -> &'static str {
    match exit {
        ExitKind::None => "NONE",
        ExitKind::Done => "DONE",
        ExitKind::Unreg => "UNREG",
        ExitKind::UnregBpf => "UNREG_BPF",
        ExitKind::UnregKern => "UNREG_KERN",
        ExitKind::Error => "ERROR",
        ExitKind::ErrorBpf => "ERROR_BPF",
        ExitKind::ErrorStall => "ERROR_STALL",
    }
}

/// Untrusted text, on one line.
fn plain(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}

/// The callbacks that were called.
#[derive(Default)]
struct Calls {
    seen: BTreeSet<&'static str>,
}

impl Sink for Calls {
    fn wants(&self) -> Class {
        Class::CORE.with(Class::COSTS)
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            if let What::Callback { op, .. } = event.what {
                self.seen.insert(Op::name(op));
            }
        }
    }

    fn meta(&mut self, _: Instant, _: &Meta) {}
}
