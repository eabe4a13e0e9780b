//! Reports data races, as text and for `--json`.

use crate::text::shown;
use keel_lab::races::{RaceSide, RaceTable};
use serde::Serialize;

/// Two lines that race.
#[derive(Clone, Debug, Serialize)]
pub struct RaceFound {
    /// The two lines. They may be the same line on two CPUs.
    pub lines: [RaceLine; 2],
    /// The variable or map that they access.
    pub name: String,
    /// How often they raced, in all runs.
    pub times: u64,
}

/// A line that races.
#[derive(Clone, Debug, Serialize)]
pub struct RaceLine {
    /// `file:line: text`, if the object has line information.
    pub source: Option<String>,
    /// The function.
    pub function: String,
    /// The instruction in the function.
    pub insn: u32,
    /// Its accesses: `reads` and `writes`, with `atomically` for an atomic instruction.
    pub acts: Vec<&'static str>,
}

/// Returns the races in a table, most frequent first.
pub(crate) fn found(table: RaceTable) -> Vec<RaceFound> {
    let mut races: Vec<RaceFound> = table
        .races()
        .into_iter()
        .map(|race| RaceFound { lines: race.sides.map(line), name: race.name, times: race.times })
        .collect();
    races.sort_by_key(|race| std::cmp::Reverse(race.times));
    races
}

fn line(side: RaceSide) -> RaceLine {
    let RaceSide { source, function, insn, acts } = side;
    RaceLine { source, function, insn, acts }
}

/// Returns the races as text.
pub(crate) fn text(races: &[RaceFound]) -> String {
    if races.is_empty() {
        return "\nNo data race was found in these orders.\n".to_owned();
    }
    let pairs = if races.len() == 1 {
        "1 pair of lines races".into()
    } else {
        format!("{} pairs of lines race", races.len())
    };
    let mut text = format!("\n{pairs}:\n");
    for race in races {
        text += &format!("\n  {}, {} times\n", shown(&race.name), race.times);
        for line in &race.lines {
            text +=
                &format!("    {} in {}, insn {}", line.acts.join(" and "), shown(&line.function), line.insn);
            text += &line
                .source
                .as_ref()
                .map_or("\n".to_owned(), |source| format!("\n      {}\n", shown(source)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn races_are_read_in_80_columns() {
        let line = |source: &str, acts: &[&'static str]| RaceLine {
            source: Some(source.into()),
            function: "racy_enqueue".into(),
            insn: 7,
            acts: acts.to_vec(),
        };
        let race = RaceFound {
            lines: [
                line("racy.bpf.c:19: count = count + 1;", &["reads", "writes"]),
                line("racy.bpf.c:19: count = count + 1;", &["writes"]),
            ],
            name: "count".into(),
            times: 12,
        };
        let expected = "\n1 pair of lines races:\n\n  count, 12 times\n    reads and writes in racy_enqueue, insn 7\n      \
                        racy.bpf.c:19: count = count + 1;\n    writes in racy_enqueue, insn 7\n      \
                        racy.bpf.c:19: count = count + 1;\n";
        assert_eq!(text(&[race]), expected);
        assert_eq!(text(&[]), "\nNo data race was found in these orders.\n");
    }
}
