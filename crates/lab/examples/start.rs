//! Start-up of built-in schedulers.
#![forbid(unsafe_code)]
use keel_abi::Span;
use keel_lab::{Engine, RunSpec, machines, schedulers};
fn main() {
    for name in std::env::args().skip(1) {
        let spec = RunSpec {
            scheduler: schedulers::source(&name).expect("built in"),
            settings: Vec::new(),
            workload: keel_workload::mix(16, 4, 80, 50),
            machine: machines::of_cpus(4),
            duration: Span::from_ms(1),
            seed: 1,
            noise: keel_abi::Noise::None,
            engine: Engine::Native,
            order: None,
            checked: false,
        };
        let mut judge = keel_check::Judge::default();
        let outcome = keel_lab::run(&spec, &mut judge, &mut |_| {}).expect("right");
        std::hint::black_box(judge.judgement());
        println!("{name} {} {}", outcome.counters.switches, outcome.overhead.instructions);
    }
}
