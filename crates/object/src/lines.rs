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

/// Gives every function its lines.
pub(crate) fn attach(
    btf: &Btf,
    places: &Places,
    records: &[Records<LineRecord>],
    functions: &mut [Function],
) -> Result<(), ObjectError> {
    let mut bytes = 0;
    // Many lines are in one file, and many instructions are of one line.
    let (mut files, mut texts) = (BTreeMap::<u32, Arc<str>>::new(), BTreeMap::<u32, Arc<str>>::new());
    for group in records {
        for record in &group.records {
            let Some((function, insn)) = places.holding(group.section, u64::from(record.offset / 8)) else {
                continue;
            };
            let file = files.entry(record.file).or_insert_with(|| btf.string_lossy(record.file).into());
            let trimmed = || btf.string_lossy(record.text).trim().into();
            let text = texts.entry(record.text).or_insert_with(trimmed);
            let line =
                LineInfo { insn: insn as u32, file: file.clone(), line: record.line, text: text.clone() };
            bytes += line.file.len() + line.text.len();
            if bytes > MAX_TEXT {
                return Err(ObjectError::TooLarge { what: "source lines in bytes", limit: MAX_TEXT as u64 });
            }
            functions[function].lines.push(line);
        }
    }
    for function in functions {
        function.lines.sort_by_key(|line| line.insn);
        function.lines.dedup_by_key(|line| line.insn);
    }
    Ok(())
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
