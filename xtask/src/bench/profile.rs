//! Which functions execute how many instructions: read from what callgrind writes, per event.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How code that has no symbols, because it was made at run time, is called.
const NATIVE: &str = "(the scheduler itself, as native code)";

/// Instructions by function, callees not included, and how many events they made.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts {
    functions: BTreeMap<String, u64>,
    events: f64,
}

impl Counts {
    /// Reads callgrind's format: `ob=` and `fn=` tell where we are, their names spelled out only
    /// the first time; a line of numbers is a cost; the cost behind `calls=` is the callee's.
    pub(super) fn parse(text: &str, events: f64) -> Self {
        let mut names = Names::default();
        let (mut native, mut function, mut skip) = (false, String::new(), false);
        let mut functions = BTreeMap::new();
        for line in text.lines() {
            if let Some(object) = line.strip_prefix("ob=") {
                native = names.objects.resolve(object) == "???";
            } else if let Some(object) = line.strip_prefix("cob=") {
                names.objects.resolve(object);
            } else if let Some(name) = line.strip_prefix("fn=") {
                let name = names.functions.resolve(name);
                function = if native { NATIVE.to_owned() } else { tidy(name) };
            } else if let Some(name) = line.strip_prefix("cfn=") {
                names.functions.resolve(name);
            } else if line.starts_with("calls=") {
                skip = true;
            } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
                let cost = line.split_whitespace().nth(1).and_then(|cost| cost.parse::<u64>().ok());
                if !std::mem::take(&mut skip) {
                    *functions.entry(function.clone()).or_default() += cost.unwrap_or(0);
                }
            }
        }
        Self { functions, events }
    }
}

#[derive(Default)]
struct Names {
    objects: Table,
    functions: Table,
}

/// Names by their numbers: `(7) name` defines, `(7)` refers.
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

/// Instructions an event, all and by function, most first: a run less one of no length.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Profile {
    pub(super) per_event: f64,
    pub(super) functions: Vec<(String, f64)>,
}

/// How many functions are shown.
const SHOWN: usize = 20;

impl Profile {
    pub(super) fn new(whole: &Counts, nothing: &Counts) -> Self {
        let events = (whole.events - nothing.events).max(1.0);
        let less = |name: &String, count: u64| {
            (count as f64 - nothing.functions.get(name).map_or(0.0, |&n| n as f64)) / events
        };
        let mut functions: Vec<(String, f64)> =
            whole.functions.iter().map(|(name, &count)| (name.clone(), less(name, count))).collect();
        let per_event = functions.iter().map(|(_, count)| count).sum();
        functions.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        functions.truncate(SHOWN);
        Self { per_event, functions }
    }

    pub(super) fn json(&self) -> Value {
        let functions: Vec<Value> =
            self.functions.iter().map(|(name, n)| json!({ "name": name, "per_event": n })).collect();
        json!({ "per_event": self.per_event, "functions": functions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = "\
version: 1
events: Ir
ob=(1) /bin/rate
fl=(1) a.rs
fn=(1) keel::run::h0123456789abcdef
0 100
cob=(2) ???
cfn=(2) 0x4838030
calls=5 0
0 5000
fi=(2) b.rs
0 20
ob=(2)
fn=(2)
0 70
fn=(3) 0x4838040
0 7
ob=(1)
fn=(4) keel::step'2
0 300
";

    #[test]
    fn costs_go_to_the_function_that_executes_them() {
        let counts = Counts::parse(WRITTEN, 10.0);
        let found: Vec<(&str, u64)> = counts.functions.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        assert_eq!(found, [(NATIVE, 77), ("keel::run", 120), ("keel::step", 300)]);
    }

    #[test]
    fn a_run_of_no_length_is_taken_off() {
        let nothing = Counts::parse("ob=(1) /bin/rate\nfn=(1) keel::run\n0 20\n", 0.0);
        let profile = Profile::new(&Counts::parse(WRITTEN, 10.0), &nothing);
        let expected = [("keel::step", 30.0), ("keel::run", 10.0), (NATIVE, 7.7)];
        assert_eq!(profile.functions, expected.map(|(name, n)| (name.to_owned(), n)));
        assert_eq!(profile.per_event, 47.7);
    }
}
