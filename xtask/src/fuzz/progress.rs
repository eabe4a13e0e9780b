//! libFuzzer's final messages, as a row of a table.

/// The result of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// The number of cases that ran.
    pub(super) cases: u64,
    /// Cases per second.
    pub(super) rate: u64,
    /// Edges of the code that were reached.
    pub(super) edges: u64,
    /// Peak memory in MiB.
    pub(super) memory_mb: u64,
    /// The file with the failed case.
    pub(super) found: Option<String>,
}

impl Progress {
    /// Parses a line of its output. Ignores most lines.
    pub(super) fn add_line(&mut self, line: &str) {
        let number = |text: &str| text.trim().parse().ok();
        if let Some(rest) = line.strip_prefix("stat::") {
            let Some((name, value)) = rest.split_once(':') else { return };
            let Some(value) = number(value) else { return };
            match name {
                "number_of_executed_units" => self.cases = value,
                "average_exec_per_sec" => self.rate = value,
                "peak_rss_mb" => self.memory_mb = value,
                _ => {}
            }
        } else if let Some((_, rest)) = line.split_once(" cov: ") {
            let edges = rest.split_whitespace().next().and_then(number);
            self.edges = edges.unwrap_or(self.edges);
        } else if let Some((_, path)) = line.split_once("Test unit written to ") {
            self.found = Some(path.trim().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_is_taken_from_its_output() {
        let mut progress = Progress::default();
        for line in [
            "#2\tINITED cov: 911 ft: 912 corp: 1/1b exec/s: 0 rss: 31Mb",
            "#4096\tpulse  cov: 1204 ft: 3000 corp: 57/2Kb lim: 17 exec/s: 2048 rss: 40Mb",
            "stat::number_of_executed_units: 4096",
            "stat::average_exec_per_sec:     2048",
            "stat::peak_rss_mb:              40",
            "nothing of all this",
        ] {
            progress.add_line(line);
        }
        let expected = Progress { cases: 4096, rate: 2048, edges: 1204, memory_mb: 40, found: None };
        assert_eq!(progress, expected);
        progress.add_line("artifact_prefix='x/'; Test unit written to x/crash-1");
        assert_eq!(progress.found.as_deref(), Some("x/crash-1"));
    }
}
