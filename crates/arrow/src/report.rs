//! The lists of a run's report, each as a record batch.

use crate::columns::Columns;
use arrow_array::builder::{ListBuilder, MapBuilder, MapFieldNames, UInt32Builder, UInt64Builder};
use arrow_array::{ListArray, MapArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use keel_report::picture::MapCell;
use keel_report::run::{FindingReport, NameReport, TaskReport};
use keel_report::{LinesReport, LockReport, RunReport};
use std::collections::BTreeMap;

/// A list of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// `tasks`: one row per task.
    Tasks,
    /// `names`: one row per task name.
    Names,
    /// `findings`: one row per listed finding.
    Findings,
    /// `lines`: one row per variable that CPUs waited for.
    Lines,
    /// `locks`: one row per lock.
    Locks,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 5] = [Self::Tasks, Self::Names, Self::Findings, Self::Lines, Self::Locks];

    /// Returns the name of the list in the JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Names => "names",
            Self::Findings => "findings",
            Self::Lines => "lines",
            Self::Locks => "locks",
        }
    }

    /// Returns the table with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }
}

/// Returns a list of the report as a record batch, whose columns are the list's JSON fields.
pub fn table(run: &RunReport, of: Table) -> RecordBatch {
    match of {
        Table::Tasks => tasks(&run.tasks),
        Table::Names => names(&run.names),
        Table::Findings => findings(&run.findings),
        Table::Lines => lines(&run.lines),
        Table::Locks => locks(&run.locks),
    }
}

/// Returns what each CPU did in each bucket of time. The buckets of a CPU are consecutive rows.
pub fn map(cells: &[MapCell]) -> RecordBatch {
    let cpus: UInt32Array = cells.iter().map(|cell| Some(cell.cpu)).collect();
    Columns::default()
        .with("cpu", cpus)
        .with("at_ns", u64s(cells, |cell| cell.at_ns))
        .with("for_ns", u64s(cells, |cell| cell.for_ns))
        .with("runnable_ns", u64s(cells, |cell| cell.runnable_ns))
        .with("wasted_ns", u64s(cells, |cell| cell.wasted_ns))
        .batch()
}

fn u64s<T>(rows: &[T], value: impl Fn(&T) -> u64) -> UInt64Array {
    rows.iter().map(|row| Some(value(row))).collect()
}

fn maybe_u64s<T>(rows: &[T], value: impl Fn(&T) -> Option<u64>) -> UInt64Array {
    rows.iter().map(value).collect()
}

fn texts<T>(rows: &[T], value: impl Fn(&T) -> &str) -> StringArray {
    StringArray::from_iter_values(rows.iter().map(value))
}

fn tasks(rows: &[TaskReport]) -> RecordBatch {
    let pids: UInt32Array = rows.iter().map(|row| Some(row.pid)).collect();
    Columns::default()
        .with("name", texts(rows, |row| &row.name))
        .with("pid", pids)
        .with_some("first_run_ns", maybe_u64s(rows, |row| row.first_run_ns))
        .with("cpu_ns", u64s(rows, |row| row.cpu_ns))
        .with("wait_ns", u64s(rows, |row| row.wait_ns))
        .with("switches", u64s(rows, |row| row.switches))
        .with("migrations", u64s(rows, |row| row.migrations))
        .with("preemptions", u64s(rows, |row| row.preemptions))
        .with("cpus", times_by_cpu(rows.iter().map(|row| &row.cpus)))
        .batch()
}

/// Returns a map from CPUs to nanoseconds for each row.
fn times_by_cpu<'a>(rows: impl Iterator<Item = &'a BTreeMap<u32, u64>>) -> MapArray {
    let names = MapFieldNames { entry: "entries".into(), key: "key".into(), value: "value".into() };
    let mut maps = MapBuilder::new(Some(names), UInt32Builder::new(), UInt64Builder::new());
    for row in rows {
        for (&cpu, &ns) in row {
            maps.keys().append_value(cpu);
            maps.values().append_value(ns);
        }
        maps.append(true).expect("every key has a value");
    }
    maps.finish()
}

fn names(rows: &[NameReport]) -> RecordBatch {
    Columns::default()
        .with("name", texts(rows, |row| &row.name))
        .with("tasks", u64s(rows, |row| row.tasks))
        .with("woken", u64s(rows, |row| row.woken))
        .with("wakeup_delay_p50_ns", u64s(rows, |row| row.wakeup_delay_ns.p50))
        .with("wakeup_delay_p99_ns", u64s(rows, |row| row.wakeup_delay_ns.p99))
        .with("wakeup_delay_max_ns", u64s(rows, |row| row.wakeup_delay_ns.max))
        .batch()
}

fn findings(rows: &[FindingReport]) -> RecordBatch {
    Columns::default()
        .with("kind", texts(rows, |row| &row.kind))
        .with("blame", texts(rows, |row| &row.blame))
        .with("start_ns", u64s(rows, |row| row.start_ns))
        .with("duration_ns", u64s(rows, |row| row.duration_ns))
        .with("threshold_ns", u64s(rows, |row| row.threshold_ns))
        .with("cpus", lists(rows.iter().map(|row| &row.cpus)))
        .with("tasks", lists(rows.iter().map(|row| &row.tasks)))
        .with("text", texts(rows, |row| &row.text))
        .batch()
}

fn lists<'a>(rows: impl Iterator<Item = &'a Vec<u32>>) -> ListArray {
    let mut lists = ListBuilder::new(UInt32Builder::new());
    for row in rows {
        lists.values().append_slice(row);
        lists.append(true);
    }
    lists.finish()
}

fn lines(rows: &[LinesReport]) -> RecordBatch {
    Columns::default()
        .with("name", texts(rows, |row| &row.name))
        .with("lines", u64s(rows, |row| row.lines))
        .with("moves", u64s(rows, |row| row.moves))
        .with("stall_ns", u64s(rows, |row| row.stall_ns))
        .with_some("worst_offset", maybe_u64s(rows, |row| row.worst_offset))
        .with_some("worst_ns", maybe_u64s(rows, |row| row.worst_ns))
        .batch()
}

fn locks(rows: &[LockReport]) -> RecordBatch {
    Columns::default()
        .with("name", texts(rows, |row| &row.name))
        .with("taken", u64s(rows, |row| row.taken))
        .with("contended", u64s(rows, |row| row.contended))
        .with("wait_ns", u64s(rows, |row| row.wait_ns))
        .with("held_ns", u64s(rows, |row| row.held_ns))
        .with("most_waiters", u64s(rows, |row| row.most_waiters))
        .batch()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt64Type;
    use keel_report::RunFacts;

    #[test]
    fn a_column_holds_the_field_of_its_name() {
        let judgement = keel_check::Judge::default().judgement();
        let mut run = RunReport::new(&RunFacts::default(), &judgement);
        let lock = |name: &str, taken, wait_ns| LockReport {
            name: name.into(),
            taken,
            wait_ns,
            ..LockReport::default()
        };
        run.locks = vec![lock("a", 1, 10), lock("b", 2, 20)];
        run.tasks = vec![TaskReport { cpus: BTreeMap::from([(3, 7)]), ..TaskReport::default() }];
        let check = |of, rows, column: &str, expected: &[u64]| {
            let batch = table(&run, of);
            assert_eq!(batch.num_rows(), rows);
            if let Some(values) = batch.column_by_name(column) {
                assert_eq!(values.as_primitive::<UInt64Type>().values(), expected, "{column}");
            }
        };
        check(Table::Locks, 2, "taken", &[1, 2]);
        check(Table::Locks, 2, "wait_ns", &[10, 20]);
        check(Table::Tasks, 1, "wait_ns", &[0]);
        check(Table::Names, 0, "woken", &[]);
        let cpus = table(&run, Table::Tasks);
        let cpus = cpus.column_by_name("cpus").expect("tasks have it").as_map();
        assert_eq!(cpus.values().as_primitive::<UInt64Type>().values(), &[7]);
    }

    #[test]
    fn every_table_is_found_by_its_name() {
        for table in Table::ALL {
            assert_eq!(Table::from_name(table.name()), Some(table));
        }
        assert_eq!(Table::from_name("cpus"), None);
    }
}
