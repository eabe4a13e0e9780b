//! Draws made-up runs, to look at: `picture CPUS NODES SECONDS OUT.svg`.

use keel_abi::Topology;
use keel_abi::scx::ExitKind;
use keel_check::Judge;
use keel_report::made_up::{MadeUp, shared};
use keel_report::picture::Caption;
use keel_report::{Picture, RunFacts, RunReport, Style};
use keel_trace::Fanout;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| args.get(at).and_then(|arg| arg.parse::<u32>().ok()).unwrap_or(8);
    let (cpus, nodes, seconds) = (number(0), number(1), number(2));
    let topology = Topology::regular(nodes, 1, cpus / nodes, 1);
    let (mut judge, mut picture) = (Judge::default(), Picture::new());
    let mut sinks = Fanout::new().with(&mut judge).with(&mut picture);
    let scenario = shared(&topology, true);
    MadeUp::new(topology, u64::from(seconds) * 1_000_000_000).play(&mut sinks, scenario, |_| None);
    let facts = RunFacts {
        scheduler: "made-up".into(),
        workload: "lost-node".into(),
        machine: format!("{nodes}x{}", cpus / nodes),
        seed: 1,
        noise: Default::default(),
        wall_ns: 0,
        peak_rss_bytes: 0,
        exit: ExitKind::None,
        message: String::new(),
        place: None,
        queues: keel_report::QueueNames::default(),
        costs: None,
    };
    let run = RunReport::new(&facts, &judge.judgement());
    println!("{}", keel_report::table::run(&run, Style::PLAIN));
    std::fs::write(args.get(3).map_or("picture.svg", String::as_str), picture.svg(&Caption::of(&run)))
}
