//! The layers of `crates/kernel`. A lower layer never names a higher one, in a path or a method call.
//!
//! `crates/kernel/LAYERS` lists them. `./x check` rejects references upwards. `./x layers` shows the layers, and which
//! files depend on each other in a cycle.

mod circles;
mod names;

use crate::Failure;
use crate::tree::{files, root};
use names::{Names, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// The crate with layers.
const CRATE: &str = "crates/kernel";

/// One file refers to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reference {
    from: String,
    to: String,
    /// The item it refers to, as shown to people.
    what: String,
    is_call: bool,
}

/// The files of a crate, in layers.
struct Crate {
    /// From the bottom up. Each is a module of the root.
    layers: Vec<Layer>,
    /// Lines of each file.
    lines: BTreeMap<String, usize>,
    references: BTreeSet<Reference>,
}

/// `./x check`: nothing refers upwards, and each file is in a layer.
pub(crate) fn check() -> Result<(), Failure> {
    let faults = read()?.faults();
    match faults.is_empty() {
        true => Ok(()),
        false => Err(faults.join("\n")),
    }
}

/// `./x layers`: the layers, and how the files depend on each other.
pub(crate) fn show() -> Result<(), Failure> {
    print!("{}", read()?.table());
    Ok(())
}

fn read() -> Result<Crate, Failure> {
    let table = Path::new(CRATE).join("LAYERS");
    let layers = std::fs::read_to_string(root().join(&table))
        .map_err(|e| format!("{} cannot be read: {e}", table.display()))?;
    let folder = format!("{CRATE}/src/");
    let files = files()?;
    let own = files.iter().filter_map(|file| Some((file.path.strip_prefix(&folder)?, file.text.as_str())));
    let sources = own.filter(|(path, _)| path.ends_with(".rs") && !path.ends_with("tests.rs"));
    Crate::new(&layers, sources)
}

/// A layer, and the lower modules that it must not name.
struct Layer {
    name: String,
    never: Vec<String>,
}

/// The layers of a table, one per line: `NAME -MODULE...: what it is`. The layer must not name these modules.
fn layers(table: &str) -> Vec<Layer> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let layer = |line: &str| {
        let mut words = line.split_once(": ")?.0.split_whitespace();
        let name = words.next()?.to_owned();
        Some(Layer { name, never: words.map(|word| word.trim_start_matches('-').to_owned()).collect() })
    };
    lines.filter_map(layer).collect()
}

impl Crate {
    /// From the table and the crate's sources, by their paths below `src`.
    fn new<'s>(table: &str, sources: impl Iterator<Item = (&'s str, &'s str)>) -> Result<Self, Failure> {
        let mut lines = BTreeMap::new();
        let mut all = Vec::new();
        for (path, text) in sources.filter(|(path, _)| *path != "lib.rs") {
            lines.insert(path.to_owned(), text.lines().count());
            let source = Source::new(path);
            let names = Names::of(&source, text).map_err(|e| format!("{path} cannot be parsed: {e}"))?;
            all.push((source, names));
        }
        Ok(Self { layers: layers(table), lines, references: references(&all) })
    }

    /// The number of a file's layer, or `None` if it has no layer.
    fn layer(&self, path: &str) -> Option<usize> {
        let module = path.split('/').next()?.trim_end_matches(".rs");
        self.layers.iter().position(|layer| layer.name == module)
    }

    fn upwards(&self) -> impl Iterator<Item = &Reference> {
        self.references.iter().filter(|r| self.layer(&r.from) < self.layer(&r.to))
    }

    /// A sentence for each file without a layer, and for each reference to a higher layer.
    fn faults(&self) -> Vec<String> {
        let lost = self.lines.keys().filter(|path| self.layer(path).is_none());
        let lost =
            lost.map(|path| format!("{CRATE}/src/{path} is in no layer of {CRATE}/LAYERS; move it into one"));
        let up = self.upwards().map(|Reference { from, to, what, .. }| {
            format!(
                "{CRATE}/src/{from} names {what} of {to}, which is in a higher layer; move what it needs down, or what \
                 needs it up"
            )
        });
        lost.chain(up).chain(self.banned()).collect()
    }

    /// A sentence for each name that a layer must not use, in whichever layer it is defined.
    fn banned(&self) -> impl Iterator<Item = String> {
        let is_banned = |r: &&Reference| {
            let layer = self.layer(&r.from).map(|layer| &self.layers[layer]);
            layer.is_some_and(|layer| layer.never.iter().any(|module| r.what.starts_with(module.as_str())))
        };
        self.references.iter().filter(is_banned).map(|Reference { from, what, .. }| {
            format!("{CRATE}/src/{from} names {what}, which {CRATE}/LAYERS forbids in its layer; move it up")
        })
    }

    /// For people.
    fn table(&self) -> String {
        let mut text = String::from("layer         files  lines  names files of\n");
        for (number, layer) in self.layers.iter().enumerate().rev() {
            let own: Vec<&usize> = self
                .lines
                .iter()
                .filter(|(path, _)| self.layer(path) == Some(number))
                .map(|(_, n)| n)
                .collect();
            let lines: usize = own.iter().copied().sum();
            let (name, needs) = (&layer.name, self.needs(number));
            _ = writeln!(text, "{name:<12} {:>6} {lines:>6}  {needs}", own.len());
        }
        for (what, is_call) in [("paths", false), ("calls of methods", true)] {
            let all = self.references.iter().filter(|r| r.is_call == is_call).count();
            let up = self.upwards().filter(|r| r.is_call == is_call).count();
            _ = writeln!(text, "\nnames of other files in {what}: {all}, upwards: {up}");
        }
        for (what, with_calls) in [("paths", false), ("paths and calls", true)] {
            let edges = self.references.iter().filter(|r| with_calls || !r.is_call);
            let edges: Vec<(&str, &str)> = edges.map(|r| (r.from.as_str(), r.to.as_str())).collect();
            let circles = circles::circles(&edges);
            let sizes: Vec<String> = circles.iter().map(|circle| circle.len().to_string()).collect();
            _ = writeln!(text, "\nfiles in circles by {what}: {}", sizes.join(", "));
            for circle in circles.iter().filter(|circle| circle.len() > 2) {
                _ = writeln!(text, "  {}", circle.join(" "));
            }
        }
        text
    }

    /// How often a layer refers to files of each layer.
    fn needs(&self, layer: usize) -> String {
        let mut counts = BTreeMap::new();
        for r in self.references.iter().filter(|r| self.layer(&r.from) == Some(layer)) {
            if let Some(to) = self.layer(&r.to).filter(|&to| to != layer) {
                *counts.entry(to).or_insert(0) += 1;
            }
        }
        let words =
            counts.iter().map(|(&to, count): (&usize, &u32)| format!("{} {count}", self.layers[to].name));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// Which file refers to which: each pair of files once for each name.
fn references(all: &[(Source, Names)]) -> BTreeSet<Reference> {
    let files: BTreeMap<&[String], &str> =
        all.iter().map(|(source, _)| (source.module.as_slice(), source.path.as_str())).collect();
    let mut homes: BTreeMap<&(String, String), BTreeSet<&str>> = BTreeMap::new();
    for (source, names) in all {
        for method in &names.defined {
            homes.entry(method).or_default().insert(&source.path);
        }
    }
    let mut references = BTreeSet::new();
    for (source, names) in all {
        let mut add = |to: &str, what: String, is_call| {
            if to != source.path {
                references.insert(Reference { from: source.path.clone(), to: to.to_owned(), what, is_call });
            }
        };
        for path in &names.paths {
            let file = (1..=path.len()).rev().find_map(|len| files.get(&path[..len]));
            if let Some(file) = file {
                add(file, path.join("::"), false);
            }
        }
        for call in &names.called {
            for home in homes.get(call).into_iter().flatten() {
                add(home, format!("{}::{}()", call.0, call.1), true);
            }
        }
    }
    references
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# A comment: none.\nground: a\nmiddle -ground::deep: b\ntop: c\n";

    fn check(sources: &[(&str, &str)], expected: &[&str]) {
        let sources = sources.iter().copied();
        let faults = Crate::new(TABLE, sources).expect("it can be parsed").faults();
        let short: Vec<&str> = faults
            .iter()
            .map(|fault| {
                fault.trim_start_matches("crates/kernel/src/").split(", which").next().unwrap_or_default()
            })
            .map(|fault| fault.split(" of crates").next().unwrap_or_default())
            .collect();
        assert_eq!(short, expected);
    }

    #[test]
    fn names_run_downwards() {
        check(&[("top/mod.rs", "use crate::ground::A;"), ("ground.rs", "struct A;")], &[]);
        check(&[("middle/x.rs", "use crate::middle::y::A;"), ("middle/y.rs", "use super::x::B;")], &[]);
        check(
            &[
                ("top/x.rs", "struct A;"),
                ("ground/y.rs", "use {super::super::top::x::{A as B, self}, std::fmt};"),
            ],
            &["ground/y.rs names top::x of top/x.rs", "ground/y.rs names top::x::A of top/x.rs"],
        );
        check(
            &[("top.rs", ""), ("ground.rs", "fn f() { assert!(crate::top::g() == 1); }")],
            &["ground.rs names top::g of top.rs"],
        );
        check(&[("top.rs", ""), ("ground.rs", "#[cfg(test)] mod tests { use crate::top::A; }")], &[]);
        check(&[("other/x.rs", "")], &["other/x.rs is in no layer"]);
    }

    #[test]
    fn a_layer_keeps_away_from_what_is_kept_from_it() {
        let ground = [("ground/deep.rs", ""), ("ground/flat.rs", "use crate::ground::deep::A;")];
        let of = |layer| (layer, "use crate::ground::{deep::A, flat::B};");
        check(&[ground[0], ground[1], of("top.rs")], &[]);
        check(&[ground[0], ground[1], of("middle.rs")], &["middle.rs names ground::deep::A"]);
    }

    #[test]
    fn methods_are_names_too() {
        let top = "impl Kernel { fn f(&self) {} } impl<E: Engine> crate::top::Sim<E> { fn g(&self) {} }";
        let kernel = |body: &str| format!("impl Kernel {{ fn h(&mut self) {{ {body} }} }}");
        check(
            &[("top.rs", top), ("ground.rs", &kernel("self.f(); self.g(); other.f();"))],
            &["ground.rs names Kernel::f() of top.rs"],
        );
        let sim = "impl<E> Sim<E> { fn k(&mut self) { self.k.f(); self.go(|sim| sim.g()); } }";
        check(
            &[("top.rs", top), ("middle.rs", sim)],
            &["middle.rs names Kernel::f() of top.rs", "middle.rs names Sim::g() of top.rs"],
        );
        check(&[("ground.rs", top), ("middle.rs", sim)], &[]);
    }
}
