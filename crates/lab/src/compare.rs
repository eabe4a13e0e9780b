//! Makes many runs in parallel, on threads of the host.

use crate::spec::RunSpec;
use rayon::prelude::*;
use std::num::NonZeroUsize;

/// Runs every spec `runs` times with `one`, with seeds counting up from the spec's own, and returns the results in the
/// order of the specs, then of the seeds, regardless of the number of threads (`jobs`, as for [`each`]).
///
/// `one` creates its sink, calls [`run`](crate::run()) and keeps what it needs of both; it runs on any thread.
pub fn compare<T: Send>(
    specs: &[RunSpec],
    runs: u32,
    jobs: Option<NonZeroUsize>,
    one: impl Fn(&RunSpec) -> T + Sync,
) -> Vec<Vec<T>> {
    let one = &one;
    let seeded = |spec: &RunSpec| {
        (0..runs)
            .map(|run| RunSpec { seed: spec.seed.wrapping_add(u64::from(run)), ..spec.clone() })
            .collect::<Vec<_>>()
    };
    let all: Vec<RunSpec> = specs.iter().flat_map(seeded).collect();
    let mut results: Vec<T> = each(&all, jobs, one);
    let mut grouped = Vec::with_capacity(specs.len());
    for _ in specs {
        let rest = results.split_off(runs as usize);
        grouped.push(std::mem::replace(&mut results, rest));
    }
    grouped
}

/// Calls `one` for every item on `jobs` threads of the host (by default one per CPU, and never more than there are
/// items), and returns the results in the items' order.
pub fn each<I: Sync, T: Send>(
    items: &[I],
    jobs: Option<NonZeroUsize>,
    one: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    let all = || items.par_iter().with_max_len(1).map(&one).collect();
    let pool = jobs
        .map(|jobs| rayon::ThreadPoolBuilder::new().num_threads(jobs.get().min(items.len()).max(1)).build());
    match pool {
        Some(Ok(pool)) => pool.install(all),
        // If the host allows no further threads, the ones already running do the work.
        Some(Err(_)) | None => all(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Engine, ObjectBytes, SchedulerSource};
    use crate::{Machine, machines};
    use keel_abi::Span;

    fn spec(name: &str) -> RunSpec {
        let machine: Machine = machines::of_cpus(2);
        RunSpec {
            scheduler: SchedulerSource {
                name: name.into(),
                bytes: ObjectBytes::NONE,
                recipe: keel_recipe::Recipe::default(),
            },
            settings: Vec::new(),
            workload: keel_abi::task::Workload::default(),
            machine,
            duration: Span::from_s(1),
            seed: u64::MAX,
            noise: keel_abi::Noise::None,
            engine: Engine::Native,
            order: None,
            checked: false,
        }
    }

    #[test]
    fn results_come_in_a_fixed_order() {
        let one = |spec: &RunSpec| {
            // The first run of each spec takes longest.
            if spec.seed == u64::MAX {
                (0..100_000u64).for_each(|n| drop(std::hint::black_box(n.to_string())));
            }
            (spec.scheduler.name.clone(), spec.seed)
        };
        let results = compare(&[spec("a"), spec("b")], 2, None, one);
        let expected = |name: &str| vec![(name.to_owned(), u64::MAX), (name.to_owned(), 0)];
        assert_eq!(results, [expected("a"), expected("b")]);
        assert_eq!(compare(&[], 3, None, one), Vec::<Vec<_>>::new());
    }

    #[test]
    fn any_number_of_threads_gives_the_same() {
        let items: Vec<u32> = (0..100).collect();
        for jobs in [None, NonZeroUsize::new(1), NonZeroUsize::new(7)] {
            assert_eq!(each(&items, jobs, |n| n * 2), items.iter().map(|n| n * 2).collect::<Vec<_>>());
        }
    }
}
