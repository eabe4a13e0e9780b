use super::*;
use crate::genome::{Act, Step};
use crate::shrink::shrunk;

/// Fails if three things come together. Each of them is shown as a feature.
struct Planted;

fn facts(genome: &Genome) -> [bool; 3] {
    let sleeps = |us: u32| (700..30_000).contains(&us);
    [
        genome.tasks.iter().flat_map(|task| &task.steps).any(|s| matches!(s, Step::Sleep(us) if sleeps(*us))),
        genome.timeline.iter().any(|h| matches!(h.what, Act::Offline(cpu, _) if cpu == 3)),
        genome.tasks.iter().any(|task| task.nice == -7 && task.instances > 2),
    ]
}

impl Subject for Planted {
    fn run(&self, genomes: &[Genome]) -> Vec<Ran> {
        let one = |genome: &Genome| {
            let facts = facts(genome);
            let number = facts.iter().fold(0, |number, &fact| number << 1 | u32::from(fact));
            let failure = Failure { kind: "planted".into(), text: "it fails".into() };
            Ran {
                features: vec![Feature::Branch(number)],
                failures: if number == 7 { vec![failure] } else { Vec::new() },
                reached_us: genome.duration_us,
                refused: None,
            }
        };
        genomes.iter().map(one).collect()
    }
}

fn searched(guide: Guide, seed: u64, rounds: usize) -> Fuzz {
    let mut fuzz = Fuzz::new(seed, Vec::new(), guide);
    for _ in 0..rounds {
        fuzz.round(&Planted, ROUND);
    }
    fuzz
}

#[test]
fn what_is_new_leads_to_what_is_rare() {
    let runs = |guide| -> u64 {
        let found = |seed| searched(guide, seed, 600).found().next().map_or(19_200, |found| found.after_runs);
        (0..5).map(found).sum()
    };
    let (guided, drawn) = (runs(Guide::Coverage), runs(Guide::Nothing));
    assert!(guided * 2 < drawn, "guided {guided}, drawn {drawn}");
}

#[test]
fn a_seed_stands_for_a_search() {
    let check = |a: &Fuzz, b: &Fuzz, same: bool| assert_eq!(a.kept() == b.kept(), same);
    check(&searched(Guide::Coverage, 1, 20), &searched(Guide::Coverage, 1, 20), true);
    check(&searched(Guide::Coverage, 1, 20), &searched(Guide::Coverage, 2, 20), false);
}

#[test]
fn what_fails_is_shrunk_to_what_it_takes() {
    let found = searched(Guide::Coverage, 1, 600).found().next().expect("it is found").clone();
    let (small, runs) = shrunk(&Planted, &found.genome, "planted", &[], 2000, &|| false);
    assert!(facts(&small) == [true; 3] && runs <= 2008, "{runs}: {small:?}");
    let size = small.size();
    assert!(small.tasks.len() <= 2 && size.events == 1 && size.threads <= 4 && size.cpus == 4, "{small:?}");
    assert!(size.steps <= 3 && small.duration_us == 1 && !small.noise, "{small:?}");
}

#[test]
fn what_no_longer_fails_stays_as_it_was() {
    let genome = searched(Guide::Coverage, 1, 1).kept()[0].clone();
    assert_eq!(shrunk(&Planted, &genome, "another kind", &[], 200, &|| false).0, genome);
}
