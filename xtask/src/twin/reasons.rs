//! Why the two kernels differ: reads `tests/twin/reasons.tsv`, which people write.

use super::SCENARIOS;
use crate::Failure;
use crate::tree::root;

/// One reason and what it covers. `*` matches anything.
#[derive(Debug, PartialEq, Eq)]
struct Reason {
    scenario: String,
    scheduler: String,
    name: String,
    figure: String,
}

/// All reasons.
#[derive(Debug, Default)]
pub(super) struct Reasons(Vec<Reason>);

impl Reasons {
    /// Reads the file.
    pub(super) fn read() -> Result<Self, Failure> {
        let file = format!("{SCENARIOS}/reasons.tsv");
        let text = std::fs::read_to_string(root().join(&file)).map_err(|e| format!("{file}: {e}"))?;
        Self::parse(&text).map_err(|line| {
            format!("{file}:{line}: write workload, scheduler, name, figure and reason, with tabs between")
        })
    }

    /// The error is the number of a wrong line.
    fn parse(text: &str) -> Result<Self, usize> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let reason = |(at, line): (usize, &str)| match line.split('\t').collect::<Vec<_>>()[..] {
            [scenario, scheduler, name, figure, why] if !why.trim().is_empty() => Ok(Reason {
                scenario: scenario.into(),
                scheduler: scheduler.into(),
                name: name.into(),
                figure: figure.into(),
            }),
            _ => Err(at + 1),
        };
        lines.map(reason).collect::<Result<_, _>>().map(Self)
    }

    /// Whether there is a reason for this difference.
    pub(super) fn cover(&self, scenario: &str, scheduler: &str, name: &str, figure: &str) -> bool {
        let is = |pattern: &str, word: &str| pattern == "*" || pattern == word;
        self.0.iter().any(|r| {
            is(&r.scenario, scenario)
                && is(&r.scheduler, scheduler)
                && is(&r.name, name)
                && is(&r.figure, figure)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_covers_what_it_says() {
        let reasons = Reasons::parse("# words\n\nnice\t*\tmeek\tswitches\tbecause\n").unwrap();
        assert!(reasons.cover("nice", "o1", "meek", "switches"));
        assert!(!reasons.cover("nice", "o1", "meek", "share"));
        assert!(!reasons.cover("churn", "o1", "meek", "switches"));
        assert_eq!(Reasons::parse("a\tb\tc\td\t \n").unwrap_err(), 1);
        assert_eq!(Reasons::parse("#\na b c d e\n").unwrap_err(), 2);
    }
}
