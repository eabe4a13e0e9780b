//! The cases of `tests/bpf`: the value that each program of an object must leave in its variable.
//!
//! A case is a `SEC("syscall")` program NAME, which leaves its result in `got_NAME`. The object contains the expected
//! result in `want_NAME` (64-bit numbers) or `says_NAME` (a text), the first kernel that supports the case in
//! `since_NAME`, and the number of its invalid accesses in `invalid_accesses_NAME`. The runner compares the bytes; the
//! program itself judges nothing.

use crate::Error;
use object::{File, Object, ObjectSection, ObjectSymbol, Symbol, SymbolKind};
use std::fmt::Write;

/// A program and its expected result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The program's name.
    pub name: String,
    /// The variable that contains its result.
    pub got: String,
    /// The offset of that variable in `.bss`.
    pub offset: usize,
    /// The expected contents of the variable.
    pub want: Vec<u8>,
    /// Whether the result is a text, rather than numbers.
    is_text: bool,
    /// The first kernel that can run it: major and minor version.
    pub since: (u32, u32),
    /// The number of invalid accesses that it makes on purpose.
    pub invalid_accesses: u64,
}

impl Case {
    /// Formats a result for people: numbers as signed, or a text without trailing zeros.
    pub fn shown(&self, bytes: &[u8]) -> String {
        if self.is_text {
            let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            return format!("\"{}\"", bytes[..end].escape_ascii());
        }
        let mut shown = String::new();
        for word in bytes.chunks(8) {
            let mut whole = [0; 8];
            whole[..word.len()].copy_from_slice(word);
            let number = i64::from_le_bytes(whole);
            let space = if shown.is_empty() { "" } else { " " };
            // Large numbers are easier to read in hexadecimal.
            let _ = match number.unsigned_abs() {
                0..1_000_000 => write!(shown, "{space}{number}"),
                _ => write!(shown, "{space}{number:#x}"),
            };
        }
        shown
    }
}

/// Returns the cases of an object, in the order of their code.
///
/// # Errors
/// Fails if the object is invalid, or if a program lacks its variables.
pub fn cases(object: &[u8]) -> Result<Vec<Case>, Error> {
    let file = File::parse(object).map_err(|_| Error::NoSection("syscall".into()))?;
    let section = file.section_by_name("syscall").ok_or_else(|| Error::NoSection("syscall".into()))?;
    let is_program = |symbol: &Symbol<'_, '_>| {
        symbol.kind() == SymbolKind::Text && symbol.section_index() == Some(section.index())
    };
    let mut programs: Vec<_> = file.symbols().filter(is_program).collect();
    programs.sort_by_key(ObjectSymbol::address);
    programs.iter().map(|program| case(&file, program.name().unwrap_or_default())).collect()
}

fn case(file: &File<'_>, name: &str) -> Result<Case, Error> {
    let missing = |variable: &str| Error::NoVariable(format!("{variable}{name}"));
    let got = format!("got_{name}");
    let place = find(file, &got).ok_or_else(|| missing("got_"))?;
    let numbers = constant(file, &format!("want_{name}"));
    let is_text = numbers.is_none();
    let want = numbers.or_else(|| constant(file, &format!("says_{name}"))).ok_or_else(|| missing("want_"))?;
    let in_bss = place.section_index() == file.section_by_name(".bss").map(|section| section.index());
    if !in_bss || place.size() != want.len() as u64 {
        return Err(missing("got_"));
    }
    let number = |what: &str| {
        let bytes = constant(file, &format!("{what}_{name}"));
        bytes.and_then(|bytes| Some(u32::from_le_bytes(bytes.try_into().ok()?))).unwrap_or(0)
    };
    let (since, invalid_accesses) = (number("since"), u64::from(number("invalid_accesses")));
    let offset = place.address() as usize;
    let since = (since >> 8, since & 0xff);
    Ok(Case { name: name.to_owned(), got, offset, want, is_text, since, invalid_accesses })
}

fn find<'d, 'f>(file: &'f File<'d>, name: &str) -> Option<Symbol<'d, 'f>> {
    file.symbols().find(|symbol| symbol.name() == Ok(name))
}

/// Returns the bytes of a variable in `.rodata`.
fn constant(file: &File<'_>, name: &str) -> Option<Vec<u8>> {
    let symbol = find(file, name)?;
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let from = symbol.address() as usize;
    let bytes = section.data().ok().filter(|_| section.name() == Ok(".rodata"))?;
    bytes.get(from..from.checked_add(symbol.size() as usize)?).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compiler;

    fn of(source: &str) -> Result<Vec<Case>, Error> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.bpf.c"), source).unwrap();
        cases(&Compiler::new(folder.path()).compile("a.bpf.c").unwrap())
    }

    const PROGRAM: &str = "__attribute__((section(\"syscall\"), used)) int";

    #[test]
    fn a_case_is_a_program_and_its_variables() {
        let source = format!(
            "long got_two[2]; extern const long want_two[2]; const long want_two[2] = {{ -1, 1 << 20 }};\n\
             char got_text[8]; extern const char says_text[8]; const char says_text[8] = \"a\\n\";\n\
             extern const unsigned since_text; const unsigned since_text = 7 << 8 | 2;\n\
             extern const unsigned invalid_accesses_two; const unsigned invalid_accesses_two = 3;\n\
             {PROGRAM} two(void *c) {{ return 0; }}\n{PROGRAM} text(void *c) {{ return 0; }}\n"
        );
        let cases = of(&source).unwrap();
        let shown: Vec<_> = cases.iter().map(|case| (case.name.as_str(), case.shown(&case.want))).collect();
        assert_eq!(shown, [("two", "-1 0x100000".to_owned()), ("text", "\"a\\n\"".to_owned())]);
        assert_eq!((cases[0].since, cases[1].since), ((0, 0), (7, 2)));
        assert_eq!((cases[0].invalid_accesses, cases[1].invalid_accesses), (3, 0));
        assert_ne!(cases[0].offset, cases[1].offset);
    }

    #[test]
    fn a_program_without_its_variables_is_named() {
        let check = |variables: &str, missing: &str| {
            let source = format!("{variables}\n{PROGRAM} lonely(void *c) {{ return 0; }}\n");
            assert!(of(&source).unwrap_err().to_string().ends_with(missing), "{variables}");
        };
        check("", "got_lonely");
        check("long got_lonely;", "want_lonely");
        check("long got_lonely; extern const int want_lonely; const int want_lonely = 1;", "got_lonely");
    }
}
