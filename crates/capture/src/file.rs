//! Writes the machine as text: each constant with its source, and at the end what could not be read.

use crate::shape::{Node, Shape};
use keel_abi::CpuSet;
use std::fmt::Write;

/// A constant of a machine file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Its table.
    pub table: &'static str,
    /// Its name, with the unit.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
    /// Its source.
    pub source: String,
}

/// What is known about a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) hz: Option<(u64, String)>,
    pub(crate) skew_tick: Option<bool>,
    pub(crate) autogroup: Option<bool>,
    pub(crate) shape: Shape,
    pub(crate) capacity: Vec<(CpuSet, u64)>,
    constants: Vec<Constant>,
    remarks: Vec<String>,
}

const TABLES: [&str; 3] = ["costs", "lines", "frequency"];

impl Machine {
    pub(crate) fn named(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    /// Adds a constant. A later one with the same name replaces it.
    pub(crate) fn constant(&mut self, table: &'static str, name: &'static str, value: u64, source: String) {
        self.constants.retain(|constant| (constant.table, constant.name) != (table, name));
        self.constants.push(Constant { table, name, value, source });
    }

    /// Adds a remark that has no place in a machine file.
    pub(crate) fn remark(&mut self, text: &str) {
        self.remarks.push(text.to_owned());
    }

    pub(crate) fn text(&self, unseen: &[String]) -> String {
        let mut text = String::new();
        self.write(&mut text, unseen).expect("a string takes all");
        text
    }

    fn write(&self, text: &mut String, unseen: &[String]) -> std::fmt::Result {
        writeln!(text, "name = {}", quoted(&self.name))?;
        if let Some((hz, source)) = &self.hz {
            writeln!(text, "hz = {hz} # {}", comment(source))?;
        }
        for (name, value) in [("skew_tick", self.skew_tick), ("autogroup", self.autogroup)] {
            if let Some(value) = value {
                writeln!(text, "{name} = {value}")?;
            }
        }
        self.shape.nodes.iter().try_for_each(|node| self.node(text, node))?;
        if !self.shape.hops.is_empty() {
            let row = |row: &Vec<u32>| format!("    {row:?},\n");
            let rows: String = self.shape.hops.iter().map(row).collect();
            write!(text, "\n[topology]\nhops = [\n{rows}]\n")?;
        }
        for table in TABLES {
            let mut constants = self.constants.iter().filter(|constant| constant.table == table).peekable();
            if constants.peek().is_some() {
                writeln!(text, "\n[{table}]")?;
            }
            for Constant { name, value, source, .. } in constants {
                writeln!(text, "{name} = {{ value = {value}, source = {} }}", quoted(source))?;
            }
        }
        for (cpus, value) in &self.capacity {
            write!(text, "\n[[capacity]]\ncpus = \"{cpus}\"\nvalue = {value}\nsource = \"cpu_capacity\"\n")?;
        }
        if !self.shape.offline.is_empty() {
            write!(text, "\n[[timeline]]\nat = 0\noffline = \"{}\"\n", self.shape.offline)?;
        }
        for (title, lines) in [("Seen, and not part of a machine", &self.remarks[..]), ("Not seen", unseen)] {
            if !lines.is_empty() {
                writeln!(text, "\n# {title}:")?;
            }
            lines.iter().try_for_each(|line| writeln!(text, "# - {}", comment(line)))?;
        }
        Ok(())
    }

    fn node(&self, text: &mut String, node: &Node) -> std::fmt::Result {
        let list =
            |sets: &[CpuSet]| sets.iter().map(|cpus| format!("\"{cpus}\"")).collect::<Vec<_>>().join(", ");
        writeln!(text, "\n[[node]]\ncpus = \"{}\"", node.cpus)?;
        writeln!(text, "llcs = [{}]", list(&node.llcs))?;
        writeln!(text, "cores = [{}]", list(&node.cores))
    }
}

/// Returns a TOML string with any contents.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Returns text for a comment, which ends with its line and in which TOML allows no control characters.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
