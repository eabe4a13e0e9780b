//! Compares what `bpf_cases` printed about an object's cases with their own expectations.

use super::outcome::verdict;
use keel_bpfc::Case;

/// What is wrong with the first bad case. `said` contains a line for each case, and the loader's messages.
pub(super) fn fault(said: &[String], cases: &[Case], kernel: &str) -> Option<String> {
    cases.iter().find_map(|case| {
        let start = format!("{} is ", case.name);
        let want = match is_for(case, kernel) {
            true => case.shown(&case.want),
            false => "not for this kernel".to_owned(),
        };
        match said.iter().find_map(|line| line.strip_prefix(&start)) {
            Some(found) if found == want => None,
            // The loader prints the reason if it knows it.
            Some(found) if found.ends_with(&format!(", not {want}")) => Some(format!("{start}{found}")),
            Some(found) => Some(format!("{start}{found}, not {want}")),
            None => Some(format!("{}: {}", case.name, verdict(said))),
        }
    })
}

/// Whether this kernel, such as `7.2`, has what the case needs.
fn is_for(case: &Case, kernel: &str) -> bool {
    let mut numbers = kernel.split('.').map(|number| number.parse().unwrap_or(0));
    case.since <= (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_must_have_its_expected_result() {
        let source = "extern const long want_a; const long want_a = 5; long got_a;\n\
                      extern const unsigned since_a; const unsigned since_a = 7 << 8;\n\
                      __attribute__((section(\"syscall\"), used)) int a(void *c) { return 0; }\n";
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.bpf.c"), source).unwrap();
        let object = keel_bpfc::Compiler::new(folder.path()).compile("a.bpf.c").unwrap();
        let cases = keel_bpfc::cases(&object).unwrap();
        let check = |said: &[&str], kernel, expected: Option<&str>| {
            let said: Vec<_> = said.iter().map(|&line| line.to_owned()).collect();
            assert_eq!(fault(&said, &cases, kernel).as_deref(), expected, "{said:?}");
        };
        check(&["a is 5"], "7.2", None);
        check(&["a is 6, not 5"], "7.2", Some("a is 6, not 5"));
        check(&["a is not for this kernel"], "7.2", Some("a is not for this kernel, not 5"));
        check(&["a is not for this kernel"], "6.18", None);
        check(&[], "7.2", Some("a: the loader said nothing"));
        check(&["R1 is bad", "processed 3 insns"], "7.2", Some("a: R1 is bad"));
    }
}
