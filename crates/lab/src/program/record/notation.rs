//! Writes numbers, lists and elements of maps in a recipe's notation.

use keel_object::{MapDef, Variable};
use keel_program::Fill;

/// The maximum number of elements of a map that are written.
const MOST_ELEMENTS: usize = 4096;
/// The maximum length of a list of integers in a recipe.
const MOST_OF_A_LIST: usize = 1 << 16;
/// The maximum distance, in words, of two differences of a variable that are written in one list.
const MOST_BETWEEN: usize = 8;

/// Returns a variable's bytes in its map. An array that is alone in its section may have grown.
pub(super) fn bytes_of(variable: &Variable, own: &MapDef, bytes: &[u8]) -> Vec<u8> {
    let (from, size) = (variable.offset as usize, variable.size as usize);
    let is_alone = variable.offset == 0 && variable.size == own.value_size && variable.elements.is_some();
    let end = if is_alone { bytes.len().max(size) } else { from + size };
    (from..end).map(|at| bytes.get(at).copied().unwrap_or(0)).collect()
}

/// Returns the value in a recipe's notation. An array is written up to its last element that differs.
pub(super) fn value(variable: &Variable, before: &[u8], after: &[u8]) -> Option<String> {
    if let Some(signed) = variable.signed {
        return Some(number(integer(after, signed)));
    }
    let elements = variable.elements?;
    let size = elements.size.max(1) as usize;
    let last = after.iter().enumerate().rposition(|(at, byte)| before.get(at) != Some(byte))?;
    if last / size >= MOST_OF_A_LIST {
        return None;
    }
    let parts = after.chunks(size).take(last / size + 1).map(|part| number(integer(part, elements.signed)));
    Some(format!("[{}]", parts.collect::<Vec<_>>().join(", ")))
}

/// Returns the elements that the program has put into a map, without those that an array has anyway.
pub(super) fn entries<'a>(fills: impl Iterator<Item = &'a Fill>, is_array: bool) -> String {
    let is_new = |value: &[u8]| !is_array || value.iter().any(|&byte| byte != 0);
    let mut lines: Vec<String> = Vec::new();
    for fill in fills {
        let first = fill.values.first().map_or(&[][..], Vec::as_slice);
        let key = whole(&fill.key);
        let mut add = |cpu: &str, value: &[u8]| {
            if is_new(value) {
                lines.push(format!("    {{ key = {key}, {cpu}value = {} }},\n", whole(value)));
            }
        };
        if fill.values.iter().all(|value| value == first) {
            add("", first);
            continue;
        }
        for (cpu, value) in fill.values.iter().enumerate() {
            add(&format!("cpu = {cpu}, "), value);
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    if lines.len() > MOST_ELEMENTS {
        lines.truncate(MOST_ELEMENTS);
        lines.push("    # there are more\n".to_owned());
    }
    format!("entries = [\n{}]\n", lines.concat())
}

/// Returns the words that differ, for variables whose type can't be set as a whole and variables that have grown.
pub(super) fn parts(name: &str, before: &[u8], after: &[u8]) -> String {
    let size = word_size(after.len());
    let was = |at: usize| before.get(at).copied().unwrap_or(0);
    let mut differs: Vec<bool> = after
        .chunks(size)
        .enumerate()
        .map(|(at, word)| word.iter().zip(at * size..).any(|(&byte, at)| was(at) != byte))
        .collect();
    if let Some(last) = differs.last_mut() {
        // Its length is in its last word.
        *last |= after.len() > before.len();
    }
    let mut text = String::new();
    let mut at = 0;
    while let Some(from) = differs[at..].iter().position(|&differs| differs).map(|found| at + found) {
        // A short gap between two differences is written with them.
        let mut end = from + 1;
        let most = differs.len().min(from + MOST_OF_A_LIST);
        while let Some(more) = differs[end..most.min(end + MOST_BETWEEN)].iter().position(|&differs| differs)
        {
            end += more + 1;
        }
        let words = after[from * size..end * size].chunks(size).map(|word| number(integer(word, false)));
        let values = words.collect::<Vec<_>>().join(", ");
        let width = if size == 8 { String::new() } else { format!("size = {size}\n") };
        let gap = if text.is_empty() { "" } else { "\n" };
        let start = from * size;
        text += &format!("{gap}[[part]]\nvariable = \"{name}\"\nat = {start}\n{width}values = [{values}]\n");
        at = end;
    }
    text
}

/// Returns the largest integer size that divides this number of bytes.
fn word_size(bytes: usize) -> usize {
    [8, 4, 2, 1].into_iter().find(|&size| bytes.is_multiple_of(size)).unwrap_or(1)
}

/// Writes bytes as one number, or as a list of equal parts.
fn whole(bytes: &[u8]) -> String {
    if matches!(bytes.len(), 1 | 2 | 4 | 8) {
        return number(integer(bytes, false));
    }
    let size = word_size(bytes.len());
    let parts: Vec<String> = bytes.chunks(size).map(|part| number(integer(part, false))).collect();
    format!("[{}]", parts.join(", "))
}

/// Reads a little-endian integer. Longer values are truncated.
pub(super) fn integer(bytes: &[u8], signed: bool) -> i128 {
    let len = bytes.len().min(8);
    let fill =
        if signed && bytes.get(len.wrapping_sub(1)).is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
    let mut word = [fill; 16];
    word[..len].copy_from_slice(&bytes[..len]);
    i128::from_le_bytes(word)
}

/// Writes a number. One that doesn't fit into TOML's 64-bit signed integers is written as a string.
pub(super) fn number(value: i128) -> String {
    match i64::try_from(value) {
        Ok(value) => value.to_string(),
        Err(_) => format!("\"{value:#x}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_what_differs() {
        let check = |before: &[u8], after: &[u8], expected: &str| {
            assert_eq!(parts("v", before, after), expected, "{before:?} {after:?}");
        };
        let part = |at: usize, rest: &str| format!("[[part]]\nvariable = \"v\"\nat = {at}\n{rest}");
        check(&[0; 8], &[0; 8], "");
        check(&[0; 6], &[0, 0, 1, 1, 0, 0], &part(2, "size = 2\nvalues = [257]\n"));
        let mut after = vec![0; 160];
        (after[8], after[32], after[152]) = (1, 2, 3);
        // Two near differences share a list; the third has its own.
        let two = format!("{}\n{}", part(8, "values = [1, 0, 0, 2]\n"), part(152, "values = [3]\n"));
        check(&[0; 160], &after, &two);
        // The length of the added part is in its last byte.
        check(&[0], &[0; 7], &part(6, "size = 1\nvalues = [0]\n"));
    }
}
