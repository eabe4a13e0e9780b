//! Which functions execute how many instructions per event, read from callgrind's output.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The name for code without symbols, which was generated at run time.
const NATIVE: &str = "(the scheduler itself, as native code)";

/// Instructions by function and by source file, without callees, and the number of events.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts {
    functions: BTreeMap<String, u64>,
    /// An inlined function counts in its own file, but in the function that it is inlined into.
    files: BTreeMap<String, u64>,
    events: f64,
}

impl Counts {
    /// Reads callgrind's format. `ob=`, `fl=` and `fn=` set the current place. `fi=` and `fe=` name the file that
    /// inlined code is from. A name is spelled out only at its first use, which may be a callee's (`cob=`...). A line
    /// of numbers is a cost, but the line after `calls=` is the callee's.
    pub(super) fn parse(text: &str, events: f64) -> Self {
        let mut names = Names::default();
        let (mut native, mut function, mut file, mut skip) = (false, String::new(), String::new(), false);
        let mut counts = Self { events, ..Self::default() };
        for line in text.lines() {
            if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
                let cost = line.split_whitespace().nth(1).and_then(|cost| cost.parse::<u64>().ok());
                if !std::mem::take(&mut skip) {
                    *counts.functions.entry(function.clone()).or_default() += cost.unwrap_or(0);
                    *counts.files.entry(file.clone()).or_default() += cost.unwrap_or(0);
                }
                continue;
            }
            let (key, name) = line.split_once('=').unwrap_or((line, ""));
            match key {
                "ob" => native = names.objects.resolve(name) == "???",
                "cob" => _ = names.objects.resolve(name),
                "fl" | "fi" | "fe" => file = place(names.files.resolve(name), native),
                "cfi" | "cfl" => _ = names.files.resolve(name),
                "fn" => {
                    let name = names.functions.resolve(name);
                    function = if native { NATIVE.to_owned() } else { tidy(name) };
                }
                "cfn" => _ = names.functions.resolve(name),
                "calls" => skip = true,
                _ => {}
            }
        }
        counts
    }

    /// Instructions per event of this run minus those of `shorter`.
    pub(super) fn per_event_beyond(&self, shorter: &Self) -> f64 {
        let all = |counts: &Self| counts.functions.values().sum::<u64>() as f64;
        (all(self) - all(shorter)) / (self.events - shorter.events).max(1.0)
    }
}

#[derive(Default)]
struct Names {
    objects: Table,
    files: Table,
    functions: Table,
}

/// Names by number: `(7) name` defines a name, `(7)` refers to it.
#[derive(Default)]
struct Table(BTreeMap<String, String>);

impl Table {
    fn resolve(&mut self, text: &str) -> &str {
        let (number, name) = text.split_once(' ').unwrap_or((text, ""));
        let known = self.0.entry(number.to_owned()).or_default();
        if !name.is_empty() {
            name.clone_into(known);
        }
        known
    }
}

/// A function's name without the compiler's hash and callgrind's recursion mark.
fn tidy(name: &str) -> String {
    let name = name.split('\'').next().unwrap_or(name);
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            path.to_owned()
        }
        _ => name.to_owned(),
    }
}

/// A source file's path, starting at its crate or at the standard library.
fn place(path: &str, native: bool) -> String {
    if native {
        return NATIVE.to_owned();
    }
    for (folder, keep) in [("/crates/", 1), ("/library/", 1), ("/registry/src/", 0)] {
        if let Some((_, rest)) = path.split_once(folder) {
            // In the registry, the index's name comes first.
            return if keep == 1 { format!("{}{rest}", &folder[1..]) } else { after_slash(rest).to_owned() };
        }
    }
    path.to_owned()
}

fn after_slash(path: &str) -> &str {
    path.split_once('/').map_or(path, |(_, rest)| rest)
}

/// Instructions per event: a run minus one of zero length.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Profile {
    pub(super) per_event: f64,
    /// By function, the largest first.
    pub(super) functions: Vec<(String, f64)>,
    /// By source file, the largest first.
    pub(super) files: Vec<(String, f64)>,
}

/// How many functions and how many files are shown.
const SHOWN: usize = 20;

impl Profile {
    pub(super) fn new(whole: &Counts, nothing: &Counts) -> Self {
        let events = (whole.events - nothing.events).max(1.0);
        let functions = less(&whole.functions, &nothing.functions, events);
        let files = less(&whole.files, &nothing.files, events);
        let per_event = functions.iter().map(|(_, count)| count).sum();
        let most = |mut of: Vec<(String, f64)>| {
            of.truncate(SHOWN);
            of
        };
        Self { per_event, functions: most(functions), files: most(files) }
    }

    pub(super) fn json(&self) -> Value {
        let list = |of: &[(String, f64)]| -> Vec<Value> {
            of.iter().map(|(name, n)| json!({ "name": name, "per_event": n })).collect()
        };
        let (functions, files) = (list(&self.functions), list(&self.files));
        json!({ "per_event": self.per_event, "functions": functions, "files": files })
    }
}

/// The difference by name, divided, the largest first.
fn less(whole: &BTreeMap<String, u64>, nothing: &BTreeMap<String, u64>, by: f64) -> Vec<(String, f64)> {
    let per = |(name, &count): (&String, &u64)| {
        let less = count as f64 - nothing.get(name).map_or(0.0, |&n| n as f64);
        (name.clone(), less / by)
    };
    let mut found: Vec<(String, f64)> = whole.iter().map(per).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = "\
version: 1
events: Ir
ob=(1) /bin/rate
fl=(1) /somewhere/crates/a.rs
fn=(1) keel::run::h0123456789abcdef
0 100
cob=(2) ???
cfn=(2) 0x4838030
calls=5 0
0 5000
fi=(2) /rustc/0123/library/core/b.rs
0 20
ob=(2)
fl=(3) ???
fn=(2)
0 70
fn=(3) 0x4838040
0 7
ob=(1)
fl=(1)
fn=(4) keel::step'2
0 300
";

    #[test]
    fn costs_go_to_the_function_that_executes_them() {
        let counts = Counts::parse(WRITTEN, 10.0);
        let found: Vec<(&str, u64)> = counts.functions.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        assert_eq!(found, [(NATIVE, 77), ("keel::run", 120), ("keel::step", 300)]);
        let files: Vec<(&str, u64)> = counts.files.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        assert_eq!(files, [(NATIVE, 77), ("crates/a.rs", 400), ("library/core/b.rs", 20)]);
    }

    #[test]
    fn a_run_of_no_length_is_taken_off() {
        let nothing = Counts::parse("ob=(1) /bin/rate\nfl=(1) a.rs\nfn=(1) keel::run\n0 20\n", 0.0);
        let profile = Profile::new(&Counts::parse(WRITTEN, 10.0), &nothing);
        let expected = [("keel::step", 30.0), ("keel::run", 10.0), (NATIVE, 7.7)];
        assert_eq!(profile.functions, expected.map(|(name, n)| (name.to_owned(), n)));
        assert_eq!(profile.per_event, 47.7);
    }
}
