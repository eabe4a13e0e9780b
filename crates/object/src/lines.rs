//! Finds the source lines of functions in `.BTF.ext`.

use crate::ObjectError;
use crate::btf::Btf;
use crate::code::Places;
use crate::ext::{FuncRecord, LineRecord, Records};
use crate::model::{Function, LineInfo};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The maximum size of file names and source text of all lines together, in bytes.
const MAX_TEXT: usize = 32 << 20;

/// Strings by their offsets. Most are asked for several times in a row.
#[derive(Default)]
struct Strings {
    all: BTreeMap<u32, Arc<str>>,
    last: Option<(u32, Arc<str>)>,
}

impl Strings {
    fn get(&mut self, offset: u32, read: impl FnOnce() -> Arc<str>) -> Arc<str> {
        match &self.last {
            Some((last, string)) if *last == offset => string.clone(),
            _ => {
                let string = self.all.entry(offset).or_insert_with(read).clone();
                self.last = Some((offset, string.clone()));
                string
            }
        }
    }
}

/// Gives every function its lines.
pub(crate) fn attach(
    btf: &Btf,
    places: &Places,
    records: &[Records<LineRecord>],
    functions: &mut [Function],
) -> Result<(), ObjectError> {
    let mut bytes = 0;
    // Many lines are in one file, and many instructions are of one line.
    let (mut files, mut texts) = (Strings::default(), Strings::default());
    // Those of one function mostly follow one another.
    let (mut current, mut lines) = (0, Vec::new());
    for group in records {
        for record in &group.records {
            let Some((function, insn)) = places.holding(group.section, u64::from(record.offset / 8)) else {
                continue;
            };
            let file = files.get(record.file, || btf.string_lossy(record.file).into());
            let text = texts.get(record.text, || btf.string_lossy(record.text).trim().into());
            let line = LineInfo { insn: insn as u32, file, line: record.line, text };
            bytes += line.file.len() + line.text.len();
            if bytes > MAX_TEXT {
                return Err(ObjectError::TooLarge { what: "source lines in bytes", limit: MAX_TEXT as u64 });
            }
            if function != current {
                add(&mut functions[current], &mut lines);
                current = function;
            }
            lines.push(line);
        }
    }
    if let Some(last) = functions.get_mut(current) {
        add(last, &mut lines);
    }
    Ok(())
}

/// Moves these lines to a function's, which stay in order: of two of one instruction, the first counts.
fn add(function: &mut Function, lines: &mut Vec<LineInfo>) {
    lines.splice(0..0, function.lines.iter().cloned());
    lines.sort_by_key(|line| line.insn);
    lines.dedup_by_key(|line| line.insn);
    function.lines = lines.drain(..).collect();
}

/// Checks that everything that `.BTF.ext` calls a function is also a function in BTF.
pub(crate) fn check_functions(btf: &Btf, records: &[Records<FuncRecord>]) -> Result<(), ObjectError> {
    let is_function = |record: &FuncRecord| {
        record.offset.is_multiple_of(8) && matches!(btf.kind(record.ty), crate::btf::Kind::Func { .. })
    };
    if records.iter().all(|group| group.records.iter().all(is_function)) {
        Ok(())
    } else {
        Err(ObjectError::BtfExt("its function info names something that is not a function"))
    }
}
