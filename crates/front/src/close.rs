//! "Did you mean": built-in names that are spelled like an unknown one.

use crate::lab::Names;

/// Names longer than this are not compared.
const LONGEST: usize = 64;
/// The maximum number of suggestions.
const SHOWN: usize = 3;

/// The built-in names of one kind of input.
pub(crate) struct BuiltIn<'a> {
    /// The word after `keel list`; empty if nothing is built in.
    list: &'a str,
    names: &'a dyn Fn() -> Names,
}

impl<'a> BuiltIn<'a> {
    /// For a kind that has no built-in names.
    pub(crate) const NONE: BuiltIn<'static> = BuiltIn { list: "", names: &Names::new };

    /// Returns the set whose names `keel list` with this word lists.
    pub(crate) fn some(list: &'a str, names: &'a dyn Fn() -> Names) -> Self {
        Self { list, names }
    }

    pub(crate) fn exists(&self) -> bool {
        !self.list.is_empty()
    }

    /// Returns advice for a name that is none of them.
    pub(crate) fn advice(&self, given: &str) -> String {
        let names: Vec<String> = (self.names)().into_iter().map(|(name, _)| name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let all = format!("keel list {} lists the built-in ones", self.list);
        match close(given, &names)[..] {
            [] => all,
            ref close => format!("did you mean {}? {all}", close.join(" or ")),
        }
    }
}

/// Returns the names that the user may have meant, closest first: at most a third of the letters differ. Only what
/// precedes a colon counts, because a generator's numbers follow it, as in `mix:1000:80`.
pub(crate) fn close(given: &str, names: &[&str]) -> Vec<String> {
    let word = |name: &str| name.split(':').next().unwrap_or_default().to_owned();
    let given = word(given);
    let limit = (given.chars().count() / 3).max(1);
    let distance = |name: &str| strsim::damerau_levenshtein(name, &given);
    let is_short = |name: &&&str| name.len() <= LONGEST && given.len() <= LONGEST;
    let compared = names.iter().filter(is_short).map(|name| word(name)).map(|name| (distance(&name), name));
    // A name of one letter is close to every other one.
    let is_close =
        |(distance, name): &(usize, String)| *distance <= limit && *distance < name.chars().count();
    let mut found: Vec<(usize, String)> = compared.filter(is_close).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(SHOWN).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_name_is_close_to_the_right_one() {
        let check = |given: &str, names: &[&str], expected: &[&str]| {
            assert_eq!(close(given, names), expected, "{given}");
        };
        let all = ["fifo", "cfs", "o1", "ule", "mix:TASKS:PERCENT", "mix", "make:JOBS", "r"];
        check("fifoo", &all, &["fifo"]);
        check("ffio", &all, &["fifo"]);
        check("csf", &all, &["cfs"]);
        check("mkae:4", &all, &["make"]);
        check("mxi:8:80", &all, &["mix"]);
        check("eevdf", &all, &[]);
        check("x", &all, &[]);
        check("", &all, &[]);
        check(&"x".repeat(1 << 20), &all, &[]);
    }
}
