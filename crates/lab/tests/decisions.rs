//! A scheduler's reports of its decisions are in the stream, with either engine and any listener. Reporting changes
//! nothing except by its own cost.

mod common;

use common::{object, spec, trace, workload};
use keel_abi::scx::ExitKind;
use keel_abi::{CpuId, Instant};
use keel_lab::{Engine, Outcome, RunSpec, machines};
use keel_trace::policy::{Kind, Outcome as Came};
use keel_trace::{Class, Event, Meta, Policy, Reader, Sink};

const CPUS: u32 = 8;
/// More decisions than the ring holds.
const MANY: &str = "{ 'tasks': { 'worker': { 'instance': 12, 'run': 60, 'sleep': 100, 'loop': 400 } } }";

fn spec_of(name: &str, settings: &[(&str, &str)], engine: Engine) -> RunSpec {
    let machine = machines::of_cpus(CPUS);
    let workload = workload(MANY, &machine);
    let mut spec = spec(object(name), workload, machine, 100, 1);
    spec.settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    spec.engine = engine;
    spec
}

/// All events of some classes.
struct Collector {
    wants: Class,
    events: Vec<Event>,
    policies: Vec<(Instant, Policy)>,
    last: Instant,
}

impl Collector {
    fn of(wants: Class) -> Self {
        Self { wants, events: Vec::new(), policies: Vec::new(), last: Instant::ZERO }
    }

    fn reached(&mut self, at: Instant) {
        assert!(at >= self.last, "time runs backwards at {at}");
        self.last = at;
    }
}

impl Sink for Collector {
    fn wants(&self) -> Class {
        self.wants
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            self.reached(event.at);
        }
        self.events.extend(events);
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.reached(at);
        if let Meta::Policy(policy) = meta {
            self.policies.push((at, (**policy).clone()));
        }
    }
}

fn run_collecting(spec: &RunSpec, wants: Class) -> (Collector, Outcome) {
    let mut collector = Collector::of(wants);
    let outcome = keel_lab::run(spec, &mut collector, &mut |_| {}).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(outcome.exit, ExitKind::None, "{}", outcome.message);
    (collector, outcome)
}

fn of(collector: &Collector, kind: Kind) -> impl Iterator<Item = &Policy> {
    collector.policies.iter().map(|(_, policy)| policy).filter(move |policy| policy.kind == kind)
}

#[test]
fn policy_events_are_in_the_stream() {
    let (collector, _) = run_collecting(&spec_of("reports", &[], Engine::Native), Class::ALL);
    assert!(collector.policies.len() > 5000, "only {}: the ring holds 2,427", collector.policies.len());
    let mut chose_another = false;
    for policy in of(&collector, Kind::Wakeup) {
        let chosen = policy.chosen.expect("one is always chosen");
        assert!(policy.considered.contains(chosen), "{policy:?}");
        assert!((1..=2).contains(&policy.considered.len()) && policy.pid.0 > 0, "{policy:?}");
        assert_eq!((policy.outcome, policy.nr_groups, policy.moved), (Some(Came::Chose), 0, 0));
        chose_another |= policy.considered.len() == 2;
    }
    assert!(chose_another);
    for policy in of(&collector, Kind::NewIdle) {
        assert_eq!((policy.level, policy.considered.len(), policy.nr_groups), (1, CPUS as usize, 2));
        let [own, other] = policy.groups[..] else { panic!("{policy:?}") };
        assert_eq!(
            own.first_cpu,
            CpuId(if policy.cpu.0 < 4 { 0 } else { 4 }),
            "the decider's own comes first"
        );
        assert_eq!((own.cpus, other.cpus), (4, 4));
        assert_eq!(own.load, u64::from(own.runnable) * 1024);
        match policy.outcome {
            Some(Came::Nobody) => assert_eq!((own.runnable, policy.chosen, policy.moved), (0, None, 0)),
            Some(Came::Moved) => assert!(own.runnable > 0 && policy.chosen.is_some() && policy.moved == 1),
            Some(Came::Pinned) => assert_eq!(policy.moved, 0),
            other => panic!("{other:?}"),
        }
    }
    assert!(of(&collector, Kind::NewIdle).any(|policy| policy.outcome == Some(Came::Moved)));
}

#[test]
fn both_engines_report_the_same() {
    let [native, interpreted] =
        [Engine::Native, Engine::Interpreter].map(|engine| trace(&spec_of("reports", &[], engine)));
    assert!(native == interpreted);
    let read = Reader::new(&native.0[..]).expect("it is ours");
    let policies = read.map(|item| item.expect("it is sound"));
    assert!(
        policies.filter(|item| matches!(item, keel_trace::Item::Meta(_, Meta::Policy(_)))).count() > 5000
    );
}

#[test]
fn the_listening_sink_makes_no_difference() {
    let spec = spec_of("reports", &[], Engine::Native);
    let (all, with) = run_collecting(&spec, Class::CORE.with(Class::POLICY));
    let (core, without) = run_collecting(&spec, Class::CORE);
    assert!(core.policies.is_empty() && !all.policies.is_empty());
    assert_eq!(with, without);
    assert!(all.events == core.events);
}

#[test]
fn policy_events_are_sent_only_on_request() {
    let (asked, loud) = run_collecting(&spec_of("reports", &[], Engine::Native), Class::ALL);
    let (unasked, silent) =
        run_collecting(&spec_of("reports", &[("tell_policy", "0")], Engine::Native), Class::ALL);
    assert!(unasked.policies.is_empty() && !asked.policies.is_empty());
    assert!(silent.overhead.instructions < loud.overhead.instructions);
}

#[test]
fn garbage_is_left_out() {
    for engine in [Engine::Native, Engine::Interpreter] {
        let (collector, _) = run_collecting(&spec_of("babbles", &[], engine), Class::ALL);
        assert!(
            collector.policies.len() > 100,
            "some of it is sound by chance: {}",
            collector.policies.len()
        );
        for (_, policy) in &collector.policies {
            let named = policy.considered.iter().chain([policy.cpu]).chain(policy.chosen);
            let named = named.chain(policy.groups.iter().map(|group| group.first_cpu));
            assert!(named.map(|cpu| cpu.0).all(|cpu| cpu < CPUS), "{policy:?}");
        }
    }
}
