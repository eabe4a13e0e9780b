//! Tables in keel's style. No line ends within a number, nor between a number and its unit.

use crate::style::Style;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};

/// Returns an empty table in keel's style.
pub(crate) fn plain_table(style: Style) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(style.width);
    table
}

/// What follows a number and stays on its line.
const UNITS: &str = "ns µs ms s % core-ns core-µs core-ms core-seconds KiB MiB GiB k M G";

/// Never broken, unlike a space.
const GLUE: char = '\u{a0}';

/// Returns a cell with this text at its right.
pub(crate) fn right(text: impl AsRef<str>) -> Cell {
    left(text).set_alignment(CellAlignment::Right)
}

/// Returns a cell with this text at its left. Numbers keep their units, and spreads their sign.
pub(crate) fn left(text: impl AsRef<str>) -> Cell {
    let mut glued = String::new();
    let mut last = "";
    for word in text.as_ref().split(' ') {
        let unit = word.trim_end_matches([',', ';', ')']);
        let is_one = last == "±" || is_figure(last) && UNITS.split(' ').any(|known| known == unit);
        if !glued.is_empty() {
            glued.push(if is_one { GLUE } else { ' ' });
        }
        glued += word;
        last = word;
    }
    Cell::new(glued)
}

/// Words longer than this may be broken: they are names, not figures.
pub(crate) const LONGEST_WORD: usize = 20;

/// Returns a table's lines without trailing blanks. No figure is broken, because half a number is a wrong number, so a
/// table may be wider than the terminal.
pub(crate) fn lines_of(table: &Table) -> String {
    let mut table = table.clone();
    table.discover_columns();
    let columns = 0..table.column_iter().count();
    let words: Vec<Vec<String>> = columns.map(|nth| words(&table, nth)).collect();
    let text = trimmed(&table);
    let mut figures =
        text.split([' ', '\n']).filter(|word| is_figure(word.split(GLUE).next().unwrap_or(word)));
    let is_whole = figures.all(|figure| words.iter().flatten().any(|word| word == figure));
    if !is_whole {
        for (column, words) in table.column_iter_mut().zip(&words) {
            let longest = words.iter().map(|word| word.chars().count()).max().unwrap_or(0).min(LONGEST_WORD);
            let width = (longest as u16).saturating_add(column.padding_width());
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
        }
    }
    let text = if is_whole { text } else { trimmed(&table) };
    text.replace(GLUE, " ")
}

fn trimmed(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Returns the words in a column of a table.
fn words(table: &Table, nth: usize) -> Vec<String> {
    let texts = table.column_cells_with_header_iter(nth).flatten().map(Cell::content);
    texts.flat_map(|text| text.split([' ', '\n']).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Returns whether the word is a number, possibly followed by punctuation.
fn is_figure(word: &str) -> bool {
    let may_follow = |c: char| c.is_ascii_digit() || ".,;%)".contains(c);
    word.starts_with(|c: char| c.is_ascii_digit()) && word.chars().all(may_follow)
}

#[cfg(test)]
mod tests {
    use super::{left, lines_of, plain_table};
    use crate::style::Style;

    #[test]
    fn lines_do_not_end_between_a_number_and_its_unit() {
        let check = |width, text: &str, expected: &[&str]| {
            let mut table = plain_table(Style { width, colour: false });
            table.add_row([left(text)]);
            let lines = lines_of(&table);
            assert_eq!(lines.lines().map(str::trim).collect::<Vec<_>>(), expected, "{text:?} at {width}");
        };
        let text = "0.24 % in callbacks; 16.6 core-µs waiting";
        check(24, text, &["0.24 % in callbacks;", "16.6 core-µs waiting"]);
        check(21, text, &["0.24 % in", "callbacks;", "16.6 core-µs", "waiting"]);
        check(14, "500.69 µs ± 222.21 µs", &["500.69 µs", "± 222.21 µs"]);
        check(14, "median; 99 % within 42.33 µs", &["median; 99 %", "within", "42.33 µs"]);
        check(10, "tasks 4 and 5", &["tasks 4", "and 5"]);
        // The table gets wider than this terminal.
        check(8, "in 1,234.5 core-µs", &["in", "1,234.5 core-µs"]);
    }
}
