//! The source lines of a profile as a record batch.

use crate::columns::Columns;
use arrow_array::{RecordBatch, StringArray, UInt32Array, UInt64Array};
use keel_profile::Profile;
use keel_profile::lines::{Key, Line, lines};

/// Returns each line of each function, including those that never ran, the most expensive first. Times are in
/// picoseconds, except waits.
pub fn table(profile: &Profile) -> RecordBatch {
    let mut rows: Vec<(Key, Line)> = lines(profile).into_iter().collect();
    rows.sort_by_key(|(_, line)| std::cmp::Reverse(line.ps()));
    let texts = |of: fn(&(Key, Line)) -> &str| StringArray::from_iter_values(rows.iter().map(of));
    let sums = |of: fn(&Line) -> u64| UInt64Array::from_iter_values(rows.iter().map(|(_, line)| of(line)));
    Columns::default()
        .with("function", texts(|(key, _)| &key.function))
        .with("file", texts(|(key, _)| &key.file))
        .with("line", UInt32Array::from_iter_values(rows.iter().map(|(key, _)| key.line)))
        .with("text", texts(|(_, line)| &line.text))
        .with("hits", sums(|line| line.hits))
        .with("instructions", sums(|line| line.executed))
        .with("total_ps", sums(Line::ps))
        .with("instructions_ps", sums(|line| line.insn_ps))
        .with("entry_ps", sums(|line| line.entry_ps))
        .with("calls_ps", sums(|line| line.calls_ps))
        .with("cache_lines_ps", sums(|line| line.lines_ps))
        .with("lock_waits_ns", sums(|line| line.waits_ns))
        .batch()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;
    use keel_profile::{Count, Function, Node, SourceLine};

    #[test]
    fn each_line_has_a_row_and_the_dearest_comes_first() {
        let line = |insn, line| SourceLine { insn, file: "a.c".into(), line, text: format!("line {line}") };
        let count = |insn, executed| Count { insn, executed, ..Count::default() };
        let profile = Profile {
            insn_ps: 100,
            functions: vec![Function {
                name: "enqueue".into(),
                lines: vec![line(0, 7), line(2, 9)],
                branches: Vec::new(),
            }],
            nodes: vec![Node {
                in_callbacks: true,
                caller: Some((0, 0)),
                counts: vec![count(0, 3), count(2, 5)],
                ..Node::default()
            }],
            ..Profile::default()
        };
        let table = table(&profile);
        let column = |name: &str| table.column_by_name(name).expect(name).clone();
        let ps: Vec<u64> = column("total_ps").to_data().buffers()[0].typed_data::<u64>().to_vec();
        assert_eq!((table.num_rows(), ps), (2, vec![500, 300]));
        let lines: Vec<u32> = column("line").to_data().buffers()[0].typed_data::<u32>().to_vec();
        assert_eq!(lines, [9, 7]);
    }
}
