//! Tests that the readers of workloads and machines accept a search's inputs.

use keel_lab::{machines, workloads};
use keel_search::genome::{Genome, Range};
use keel_search::rng::Rng;
use keel_search::{draw, mutate, render};

fn is_read(genome: &Genome) {
    let machine =
        machines::read("m.toml", &render::machine(genome, "m")).unwrap_or_else(|e| panic!("{e}\n{genome:?}"));
    assert_eq!(machine.topology.cpus(), genome.machine.cpus());
    let text = render::workload(genome);
    let (read, _) = workloads::read("w.json", &text, &machine).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(read.tasks.len(), genome.tasks.len());
}

#[test]
fn every_input_is_a_run() {
    let ranges = [Range { name: "slice_ns".into(), low: 1000, high: 1_000_000 }];
    let mut rng = Rng::new(3);
    let mut corpus = Vec::new();
    for _ in 0..400 {
        let drawn = draw::genome(&mut rng, &ranges);
        is_read(&drawn);
        corpus.push(drawn);
    }
    for _ in 0..1200 {
        let (a, b) = (rng.pick(&corpus).unwrap().clone(), rng.pick(&corpus).unwrap().clone());
        let made = match rng.once_in(3) {
            true => mutate::crossed(&mut rng, &a, &b, &ranges),
            false => mutate::mutated(&mut rng, &a, &ranges),
        };
        is_read(&made);
        assert_eq!(made.clone().repaired(&ranges), made, "a valid input is left as it is");
        corpus.push(made);
    }
}
