//! Parses the output of `tests/live/rt_migrate.c`: what the kernel counted for each thread.

use crate::Failure;

/// How often a thread gave up a CPU, lost one and was moved to another, and the number of its passes.
pub(super) type Counts = [u64; 4];

/// Their names in the published tables.
pub(super) const HEADS: [&str; 4] = ["vol", "nonvol", "migrated", "iterations"];

/// A run's counts, starting with thread 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run(pub(super) Vec<Counts>);

impl Run {
    /// Reads a table: its header, a line for each thread from 0 on, and the sums.
    pub(super) fn read(text: &str) -> Result<Self, Failure> {
        let mut lines = text.lines();
        let head: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
        if head.split_first() != Some((&"Task", &HEADS)) {
            return Err(format!("no table, but '{}'", text.trim()));
        }
        let mut rows: Vec<Counts> = Vec::new();
        for line in lines {
            let (name, counts) = row(line).ok_or_else(|| format!("'{line}' is not a line of a table"))?;
            if name == "total" {
                let sums = sums(&rows);
                return match sums == counts && !rows.is_empty() {
                    true => Ok(Self(rows)),
                    false => Err(format!("'{line}' is not the sum of {} threads", rows.len())),
                };
            }
            if name != rows.len().to_string() {
                return Err(format!("'{line}' where thread {} should be", rows.len()));
            }
            rows.push(counts);
        }
        Err(format!("a table ends after {} threads", rows.len()))
    }
}

fn row(line: &str) -> Option<(&str, Counts)> {
    let (name, counts) = line.split_once(':')?;
    let counts: Option<Vec<u64>> = counts.split_whitespace().map(|count| count.parse().ok()).collect();
    Some((name.trim(), counts?.try_into().ok()?))
}

fn sums(rows: &[Counts]) -> Counts {
    std::array::from_fn(|column| rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row[column])))
}

/// The mean of runs with the same number of threads: a rounded row for each thread.
pub(super) fn mean(runs: &[Run]) -> Vec<Counts> {
    let of = runs.len().max(1) as u64;
    each(runs, |values| (values.iter().sum::<u64>() + of / 2) / of)
}

/// An aggregate of each count over the runs: a row for each thread.
fn each(runs: &[Run], of: impl Fn(&[u64]) -> u64) -> Vec<Counts> {
    let threads = runs.iter().map(|run| run.0.len()).min().unwrap_or(0);
    let count =
        |thread: usize, column: usize| -> Vec<u64> { runs.iter().map(|run| run.0[thread][column]).collect() };
    (0..threads).map(|thread| std::array::from_fn(|column| of(&count(thread, column)))).collect()
}

/// How much runs differ: the minimum and maximum of each count, and of the sums.
pub(super) fn spread(runs: &[Run]) -> String {
    let with_sums = |run: &Run| Run(run.0.iter().copied().chain([sums(&run.0)]).collect());
    let runs: Vec<Run> = runs.iter().map(with_sums).collect();
    let least = each(&runs, |values| values.iter().copied().min().unwrap_or(0));
    let most = each(&runs, |values| values.iter().copied().max().unwrap_or(0));
    let line = |name: &str, cells: [String; 4]| {
        let cells = cells.map(|cell| format!(" {cell:>14}")).concat();
        format!("{name:>9}:{cells}\n")
    };
    let mut text = line("Task", HEADS.map(str::to_owned));
    for (thread, (least, most)) in least.iter().zip(&most).enumerate() {
        let is_sum = thread + 1 == runs[0].0.len();
        let name = if is_sum { "total".to_owned() } else { format!("thread-{thread}") };
        text += &line(&name, std::array::from_fn(|at| format!("{} .. {}", least[at], most[at])));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = " Task        vol    nonvol  migrated   iterations\n";

    fn check(rows: &str, expected: Result<&[Counts], &str>) {
        let read = Run::read(&format!("{HEAD}{rows}"));
        assert_eq!(read.as_ref().map(|run| run.0.as_slice()).map_err(String::as_str), expected, "{rows}");
    }

    #[test]
    fn tables_are_read_or_refused() {
        check("0: 1 2 3 4\n 1: 10 20 30 40\ntotal: 11 22 33 44\n", Ok(&[[1, 2, 3, 4], [10, 20, 30, 40]]));
        check("0: 1 2 3 4\ntotal: 1 2 3 5\n", Err("'total: 1 2 3 5' is not the sum of 1 threads"));
        check("total: 0 0 0 0\n", Err("'total: 0 0 0 0' is not the sum of 0 threads"));
        check("0: 1 2 3 4\n", Err("a table ends after 1 threads"));
        check("1: 1 2 3 4\n", Err("'1: 1 2 3 4' where thread 0 should be"));
        check("0: 1 2 3\n", Err("'0: 1 2 3' is not a line of a table"));
        check("0: 1 2 3 -4\n", Err("'0: 1 2 3 -4' is not a line of a table"));
        assert_eq!(Run::read("rt_migrate: no\n"), Err("no table, but 'rt_migrate: no'".to_owned()));
        assert_eq!(Run::read(""), Err("no table, but ''".to_owned()));
    }

    #[test]
    fn runs_are_summed_up() {
        let runs = [Run(vec![[1, 2, 3, 4], [0, 0, 0, 9]]), Run(vec![[2, 2, 5, 4], [0, 0, 7, 0]])];
        assert_eq!(mean(&runs), [[2, 2, 4, 4], [0, 0, 4, 5]]);
        let spread = spread(&runs);
        let words: Vec<Vec<&str>> = spread.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[2].join(" "), "thread-1: 0 .. 0 0 .. 0 0 .. 7 0 .. 9");
        assert_eq!(words[3].join(" "), "total: 1 .. 2 2 .. 2 3 .. 12 4 .. 13");
    }
}
