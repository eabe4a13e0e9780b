//! Each rule of `tests/sim/semantics/rules.tsv` names tests, and these tests exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const RULES: &str = include_str!("../../../../tests/sim/semantics/rules.tsv");

/// The tests of a source file, by their names in the table.
fn tests_of(path: &Path, module: &str) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let name =
        |line: &str| line.strip_prefix("fn ")?.split('(').next().map(|name| format!("{module}::{name}"));
    lines.windows(2).filter(|pair| pair[0] == "#[test]").filter_map(|pair| name(pair[1])).collect()
}

fn sources(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .collect()
}

fn known() -> BTreeSet<String> {
    let own = sources("tests/semantics");
    let stem =
        |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut known: BTreeSet<String> = own.iter().flat_map(|path| tests_of(path, &stem(path))).collect();
    known.extend(sources("tests").iter().flat_map(|path| tests_of(path, &stem(path))));
    known.extend(sources("../kernel/src/state/idle").iter().flat_map(|path| tests_of(path, "kernel")));
    // A macro generates its tests, one per object.
    let expected = include_str!("../../../../tests/objects/expected-7.2.tsv").lines();
    known.extend(expected.filter_map(|line| Some(format!("wrong_on_purpose::{}", line.split('\t').next()?))));
    known
}

#[test]
fn every_rule_has_its_tests_or_says_why_not() {
    let known = known();
    let rows = RULES.lines().filter(|line| !line.starts_with('#')).skip(1);
    for row in rows {
        let fields: Vec<&str> = row.split('\t').collect();
        let [_, function, rule, tests] = fields[..] else { panic!("not four fields: {row}") };
        if let Some(why) = tests.strip_prefix("- ") {
            assert!(!why.is_empty(), "{function}: {rule}: why has it no test?");
            continue;
        }
        assert!(!tests.is_empty(), "{function}: {rule}: no test");
        for test in tests.split(' ') {
            assert!(known.contains(test), "{function}: {rule}: there is no test {test}");
        }
    }
}
