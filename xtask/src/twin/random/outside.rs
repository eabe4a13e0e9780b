//! Every pair of the open half with figures outside their bounds, and the reason: the seeds range over the value of a
//! real run, or the two kernels diverge at an instant.

use super::judge::{Distance, Pair};
use super::plan::Half;
use super::{Options, parting, table};
use crate::Failure;
use std::fmt::Write;

/// The number of pairs in the open half with a figure outside, and how many of these have a real figure in the range of
/// the seeds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pairs: usize,
    outside: usize,
    chance: usize,
}

impl Counts {
    pub(super) fn sentence(&self) -> String {
        let Self { pairs, outside, chance } = self;
        format!(
            "{outside} of {pairs} pairs have a figure outside. In {chance} of these the seeds range over what a real run \
             gave, for all such figures; for the others out/twin/random-outside.tsv has the instant where they part."
        )
    }
}

/// A pair's figures outside their bounds, the one farthest from all seeds first.
fn outside<'a>(pair: &'a Pair<'a>) -> Vec<Distance<'a>> {
    let mut own: Vec<Distance> = pair.distances().into_iter().filter(|d| !d.is_within()).collect();
    own.sort_by(|a, b| {
        (a.is_chance(), b.of_allowed())
            .partial_cmp(&(b.is_chance(), a.of_allowed()))
            .expect("no figure is NaN")
    });
    own
}

pub(super) fn counts(pairs: &[Pair]) -> Counts {
    let mut counts = Counts::default();
    for pair in pairs.iter().filter(|pair| pair.drawn.half != Half::Aside) {
        let own = outside(pair);
        counts.pairs += 1;
        counts.outside += usize::from(!own.is_empty());
        counts.chance += usize::from(own.first().is_some_and(Distance::is_chance));
    }
    counts
}

/// A line for each pair: how many figures are outside, the reason, and the worst figure.
///
/// # Errors
/// If a run cannot be simulated or a recording cannot be read.
pub(super) fn lines(options: &Options, pairs: &[Pair]) -> Result<String, Failure> {
    let mut text = String::from("workload\tscheduler\tfigures outside\treason\tthe worst\n");
    for pair in pairs.iter().filter(|pair| pair.drawn.half != Half::Aside) {
        let own = outside(pair);
        let Some(worst) = own.first() else { continue };
        let reason = match worst.is_chance() {
            true => "chance: the seeds range over it".to_owned(),
            false => format!("unknown: {}", parting(options, worst)?),
        };
        let (of, by) = (&pair.drawn.name, &pair.scheduler);
        writeln!(text, "{of}\t{by}\t{}\t{reason}\t{}", own.len(), table::line(worst))
            .expect("a string takes all");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::super::figures::{Row, Run};
    use super::super::plan::Drawn;
    use super::*;

    #[test]
    fn a_pair_is_chance_where_seeds_range_over_a_real_run() {
        let drawn = Drawn::of_seed(1).unwrap();
        let run = |share| {
            let row = Row { share, counts: [0.0; 3], delay_ms: [0.0; 2] };
            Run { names: [("a".to_owned(), row)].into(), wasted_s: 0.0 }
        };
        let check = |seeds: [f64; 2], expected: [usize; 2]| {
            let pair = Pair {
                drawn: &drawn,
                scheduler: "o1".into(),
                real: vec![run(0.5), run(0.5)],
                simulated: seeds.map(run).into(),
            };
            let [outside, chance] = expected;
            assert_eq!(counts(&[pair]), Counts { pairs: 1, outside, chance });
        };
        check([0.5, 0.51], [0, 0]);
        check([0.49, 0.7], [1, 1]);
        check([0.6, 0.7], [1, 0]);
    }
}
