//! How much two runs differ.

use super::figures::{COUNTS, Figures, Name};

/// CPU shares may differ by this much.
const SHARE: f64 = 0.05;
/// Counts may differ by this part of the greater.
const COUNT: f64 = 0.15;

/// The comparison of two runs of one workload.
pub(super) struct Distance {
    /// The mean of all differences, each in units of the allowed difference. For a count, the unit also includes
    /// chance, so that one rare event does not weigh too much.
    pub(super) mean: f64,
    /// The figures that differ by more than is allowed.
    pub(super) beyond: Vec<Beyond>,
}

/// A figure that differs by more than is allowed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Beyond {
    /// The name it belongs to.
    pub(super) name: String,
    /// The figure.
    pub(super) figure: &'static str,
    /// The difference, in units of the allowed difference.
    pub(super) by: f64,
}

impl Distance {
    /// The distance from one run to another.
    pub(super) fn between(a: &Figures, b: &Figures) -> Self {
        let mut beyond = Vec::new();
        let mut differences = Vec::new();
        for (name, of_a) in &a.names {
            for Difference { figure, of_allowed, of_expected } in differences_of(of_a, &b.names[name]) {
                differences.push(of_expected);
                if of_allowed > 1.0 {
                    beyond.push(Beyond { name: name.clone(), figure, by: of_allowed });
                }
            }
        }
        Self { mean: differences.iter().sum::<f64>() / differences.len().max(1) as f64, beyond }
    }

    /// Whether nothing differs by more than is allowed.
    pub(super) fn holds(&self) -> bool {
        self.beyond.is_empty()
    }

    /// How much this figure of this name differs, in units of the allowed difference, if that is more than is allowed.
    pub(super) fn beyond(&self, name: &str, figure: &str) -> Option<f64> {
        self.beyond
            .iter()
            .find(|beyond| beyond.name == name && beyond.figure == figure)
            .map(|beyond| beyond.by)
    }
}

/// How much a figure of two runs differs.
struct Difference {
    figure: &'static str,
    /// In units of the allowed difference.
    of_allowed: f64,
    /// In units of the allowed difference plus, for a count, chance: its square root.
    of_expected: f64,
}

fn differences_of(a: &Name, b: &Name) -> impl Iterator<Item = Difference> {
    let share = (a.share - b.share).abs() / SHARE;
    let share = Difference { figure: "share", of_allowed: share, of_expected: share };
    let counts = [0, 1, 2].map(|at| {
        let (x, y) = (a.counts[at], b.counts[at]);
        let (difference, most) = ((x - y).abs(), x.max(y).max(1.0));
        let expected = (COUNT * most).hypot(most.sqrt());
        Difference {
            figure: COUNTS[at],
            of_allowed: difference / most / COUNT,
            of_expected: difference / expected,
        }
    });
    std::iter::once(share).chain(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(share: f64, counts: [f64; 3]) -> Figures {
        let name = Name { tasks: 1, share, counts, ..Name::default() };
        Figures { names: [("a".to_owned(), name)].into(), ..Figures::default() }
    }

    #[test]
    fn what_differs_by_more_than_is_allowed_is_named() {
        let check = |share, counts, expected: &[&str]| {
            let distance = Distance::between(&figures(0.5, [100.0, 10.0, 0.0]), &figures(share, counts));
            assert_eq!(distance.beyond.iter().map(|beyond| beyond.figure).collect::<Vec<_>>(), expected);
            assert_eq!(distance.holds(), expected.is_empty());
        };
        check(0.5, [100.0, 10.0, 0.0], &[]);
        check(0.549, [114.0, 9.0, 0.0], &[]);
        check(0.56, [119.0, 8.0, 0.0], &["share", "switches", "preemptions"]);
        check(0.5, [100.0, 10.0, 1.0], &["migrations"]);
        assert_eq!(Distance::between(&figures(0.5, [0.0; 3]), &figures(0.25, [0.0; 3])).mean, 1.25);
        let rare = Distance::between(&figures(0.5, [0.0; 3]), &figures(0.5, [0.0, 1.0, 0.0])).mean;
        assert!(rare < 0.25, "one rare event is no more than chance: {rare}");
    }
}
