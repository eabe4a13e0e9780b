//! The table: a row per run, printed at once and written to out/corpus.tsv at the end.

use super::driver::Facts;
use super::verdict::Test;
use crate::Failure;
use crate::tree::root;

/// The columns after the name: title, and width on a terminal.
const COLUMNS: [(&str, usize); 9] = [
    ("CPUs", 4),
    ("callbacks", 9),
    ("by BPF", 6),
    ("bypass", 6),
    ("never ran", 9),
    ("findings", 8),
    ("exit", 11),
    ("verdict", 7),
    ("message", 0),
];

/// One run, or an object that cannot run.
pub(super) struct Row {
    name: String,
    cells: [String; 9],
    is_missing: bool,
    is_wrong: bool,
}

impl Row {
    /// The result of a run.
    pub(super) fn ran(test: &Test, cpus: u32, facts: Facts) -> Self {
        if !facts.text("missing").is_empty() {
            return Self::missing(test, facts.text("missing"));
        }
        let fault = test.fault(&facts);
        let verdict = match &fault {
            Some(_) => "FAIL",
            None if test.wants.is_empty() => "-",
            None => "ok",
        };
        let text = |name: &str| facts.text(name).to_owned();
        let message = match &fault {
            Some(fault) => format!("{fault}; {}", text("message")),
            None if text("message").is_empty() => test.figures(&facts),
            None => text("message"),
        };
        let bypass_ms = facts.number("bypass_ns").unwrap_or(0) / 1_000_000;
        let cells = [
            cpus.to_string(),
            text("callbacks"),
            share(&facts),
            format!("{bypass_ms} ms"),
            text("never_ran"),
            text("findings"),
            text("exit"),
            verdict.to_owned(),
            message,
        ];
        Self { name: test.name.clone(), cells, is_missing: false, is_wrong: fault.is_some() }
    }

    /// The names of what is missing.
    pub(super) fn missing(test: &Test, why: &str) -> Self {
        let mut cells: [String; 9] = std::array::from_fn(|_| "-".to_owned());
        cells[8] = format!("cannot be run: {why}");
        Self { name: test.name.clone(), cells, is_missing: true, is_wrong: false }
    }

    pub(super) fn is_missing(&self) -> bool {
        self.is_missing
    }
}

/// How many of the tasks put into queues the scheduler put there.
fn share(facts: &Facts) -> String {
    let by_scheduler = facts.number("scheduler_inserts").unwrap_or(0);
    match by_scheduler + facts.number("kernel_inserts").unwrap_or(0) {
        0 => "-".to_owned(),
        all => format!("{} %", 100 * by_scheduler / all),
    }
}

/// The rows so far.
#[derive(Default)]
pub(super) struct Table(Vec<Row>);

/// The length of the longest selftest name.
const NAME: usize = 28;

impl Table {
    /// Prints and stores a row.
    pub(super) fn add(&mut self, row: Row) {
        if self.0.is_empty() {
            println!("{}", line("object", &COLUMNS.map(|(title, _)| title.to_owned())));
        }
        println!("{}", line(&row.name, &row.cells));
        self.0.push(row);
    }

    /// Writes the file and prints a summary.
    pub(super) fn finish(self) -> Result<(), Failure> {
        let path = root().join("out/corpus.tsv");
        let head = COLUMNS.map(|(title, _)| title).join("\t");
        let rows = self.0.iter().map(|row| format!("{}\t{}\n", row.name, row.cells.join("\t")));
        let text = format!("object\t{head}\n{}", rows.collect::<String>());
        std::fs::create_dir_all(root().join("out"))
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|e| format!("{}: {e}", path.display()))?;
        let count = |is: &dyn Fn(&Row) -> bool| self.0.iter().filter(|row| is(row)).count();
        let (missing, wrong) = (count(&|row| row.is_missing), count(&|row| row.is_wrong));
        println!("{} runs, {missing} that cannot be run, {wrong} wrong", self.0.len() - missing);
        match wrong {
            0 => Ok(()),
            _ => Err(format!(
                "{wrong} runs did not end as the kernel's selftests want; see the lines with FAIL"
            )),
        }
    }
}

fn line(name: &str, cells: &[String; 9]) -> String {
    let mut line = format!("{name:NAME$}");
    for (cell, (_, width)) in cells.iter().zip(COLUMNS) {
        line.push_str(&format!(" {cell:>width$}"));
    }
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_show_verdicts_and_what_is_missing() {
        let facts = |text: &str| Facts::parse(text);
        let mut test = Test::plain("minimal");
        let row = Row::ran(&test, 2, facts("exit\tNONE\nscheduler_inserts\t1\nkernel_inserts\t3\n"));
        assert_eq!((row.cells[2].as_str(), row.cells[7].as_str(), row.is_wrong), ("25 %", "-", false));
        let row = Row::ran(&test, 2, facts("missing\tno kfunc x\n"));
        assert_eq!((row.is_missing(), row.cells[8].as_str()), (true, "cannot be run: no kfunc x"));
        test.name = "x".to_owned();
        assert!(line(&test.name, &row.cells).starts_with("x      "));
    }
}
