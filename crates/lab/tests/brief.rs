//! The judge says the same whether it hears wakeups, moves and waits for locks in brief or one by one.

use keel_abi::{Instant, Noise, Span};
use keel_check::{Judge, Judgement};
use keel_lab::run::run;
use keel_lab::{Engine, RunSpec, machines, schedulers};
use keel_trace::{Class, Event, Fanout, Meta, Sink, What};

/// Wants the core events apart, so that everyone else gets them so too.
#[derive(Default)]
struct Apart;

impl Sink for Apart {
    fn wants(&self) -> Class {
        Class::CORE
    }

    fn events(&mut self, events: &[Event]) {
        assert!(!events.iter().any(is_brief), "they are apart");
    }

    fn meta(&mut self, _: Instant, _: &Meta) {}
}

fn is_brief(event: &Event) -> bool {
    matches!(event.what, What::Woken { .. } | What::Pulled { .. } | What::LockWaits { .. })
}

/// A judge, and how many events in brief it has heard.
#[derive(Default)]
struct Counting(Judge, usize);

impl Sink for Counting {
    fn wants(&self) -> Class {
        self.0.wants()
    }

    fn events(&mut self, events: &[Event]) {
        self.1 += events.iter().filter(|event| is_brief(event)).count();
        self.0.events(events);
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        self.0.meta(at, meta);
    }
}

fn spec(scheduler: &str, cpus: u32, load_percent: u32, noise: Noise, engine: Engine, seed: u64) -> RunSpec {
    RunSpec {
        scheduler: schedulers::source(scheduler).expect("it is in the list"),
        settings: Vec::new(),
        workload: keel_workload::mix(6 * cpus, cpus, load_percent, 50),
        machine: machines::of_cpus(cpus),
        duration: Span::from_ms(400 / u64::from(cpus)),
        seed,
        noise,
        engine,
        order: None,
        checked: false,
    }
}

fn judged(spec: &RunSpec, apart: bool) -> (Judgement, usize) {
    let mut judge = Counting::default();
    let mut also = Apart;
    let both = Fanout::new().with(&mut judge);
    let mut both = if apart { both.with(&mut also) } else { both };
    run(spec, &mut both, &mut |_| {}).expect("it runs");
    drop(both);
    (judge.0.judgement(), judge.1)
}

#[test]
fn the_judgement_does_not_depend_on_it() {
    let engines = [Engine::Native, Engine::Cranelift, Engine::Interpreter, Engine::Frames];
    let mut in_brief = 0;
    for (nth, (name, _)) in schedulers::list().into_iter().enumerate() {
        for (cpus, load_percent, noise) in
            [(1, 140, Noise::Busy), (4, 80, Noise::None), (4, 140, Noise::Busy), (64, 80, Noise::Busy)]
        {
            let spec = spec(&name, cpus, load_percent, noise, engines[nth % 4], nth as u64);
            let (brief, heard) = judged(&spec, false);
            assert_eq!((brief, 0), judged(&spec, true), "{name} on {cpus} CPUs");
            in_brief += heard;
        }
    }
    assert!(in_brief > 10_000, "{in_brief} events were in brief");
}
