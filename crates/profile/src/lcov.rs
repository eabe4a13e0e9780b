//! Coverage of the scheduler's source, in lcov's format.
//!
//! Lines and jumps are those of the compiled object. A line that the compiler removed does not appear, and a condition
//! may have become several jumps or no jump.

use crate::lines::{Key, Line, lines};
use crate::model::Profile;
use crate::shown::clean;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns the tracefile of a profile.
pub fn lcov(profile: &Profile) -> String {
    let mut files = BTreeMap::<String, BTreeMap<(u32, String), Line>>::new();
    for (Key { function, file, line }, cost) in lines(profile) {
        if line > 0 {
            files.entry(file).or_default().insert((line, function), cost);
        }
    }
    let mut text = String::new();
    for (file, lines) in &files {
        let _ = writeln!(text, "TN:\nSF:{}", clean(file));
        functions(&mut text, profile, file);
        data(&mut text, lines);
        text += "end_of_record\n";
    }
    text
}

/// The functions that begin in a file.
fn functions(text: &mut String, profile: &Profile, file: &str) {
    let (mut found, mut hit) = (0, 0);
    for (number, function) in (0..).zip(&profile.functions) {
        let Some(first) = function.lines.first().filter(|line| line.file == file) else { continue };
        let calls: u64 = profile.in_callbacks().filter(|n| n.function == number).map(|n| n.calls).sum();
        found += 1;
        hit += u32::from(calls > 0);
        let name = clean(&function.name);
        let _ = writeln!(text, "FN:{},{name}\nFNDA:{calls},{name}", first.line);
    }
    let _ = writeln!(text, "FNF:{found}\nFNH:{hit}");
}

/// Lines and jumps. A line in a header is part of each function that contains it.
fn data(text: &mut String, lines: &BTreeMap<(u32, String), Line>) {
    let mut hits = BTreeMap::<u32, u64>::new();
    let (mut found, mut taken) = (0, 0);
    let mut blocks = BTreeMap::<u32, u32>::new();
    for ((line, _), cost) in lines {
        *hits.entry(*line).or_default() += cost.hits;
        for (executed, jumped) in &cost.branches {
            let block = blocks.entry(*line).or_default();
            for (way, count) in [(0, *jumped), (1, executed - jumped)] {
                let count = if *executed == 0 { "-".to_owned() } else { count.to_string() };
                found += 1;
                taken += u32::from(count != "-" && count != "0");
                let _ = writeln!(text, "BRDA:{line},{block},{way},{count}");
            }
            *block += 1;
        }
    }
    let _ = writeln!(text, "BRF:{found}\nBRH:{taken}");
    for (line, hits) in &hits {
        let _ = writeln!(text, "DA:{line},{hits}");
    }
    let _ = writeln!(text, "LF:{}\nLH:{}", hits.len(), hits.values().filter(|hits| **hits > 0).count());
}
