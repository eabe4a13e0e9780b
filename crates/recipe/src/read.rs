//! Converts a recipe's TOML file to a [`Recipe`], and a recipe and a machine to actions.

mod companion;
mod name;

use crate::action::{Action, Value};
use crate::error::{Problem, RecipeError, Text};
use crate::facts::Facts;
use crate::ops;
use keel_abi::Span;
use name::Name;
use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;

/// The maximum length of any list in a recipe, and the maximum number of its actions.
const MOST: usize = 1 << 16;
/// The maximum interval between runs of a program, in milliseconds.
const LONGEST_MS: u64 = 3_600_000;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    set: std::collections::BTreeMap<Spanned<Name>, Spanned<toml::Value>>,
    #[serde(default)]
    part: Vec<Part>,
    #[serde(default)]
    leave_out: Vec<Name>,
    #[serde(default)]
    queues: std::collections::BTreeMap<Spanned<Name>, Spanned<toml::Value>>,
    #[serde(default)]
    ops: Ops,
    #[serde(default)]
    map: Vec<Spanned<Map>>,
    #[serde(default)]
    run: Vec<Run>,
    #[serde(default)]
    attach: Vec<Name>,
    #[serde(default)]
    companion: Vec<Spanned<companion::Table>>,
    #[serde(default)]
    counters: Vec<Name>,
    restart_ms: Option<Spanned<toml::Value>>,
}

/// Some bytes of a variable: integers of `size` bytes, by default 8.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    variable: Name,
    at: Spanned<toml::Value>,
    size: Option<Spanned<toml::Value>>,
    values: Spanned<toml::Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ops {
    variable: Option<Name>,
    #[serde(default)]
    flags: Vec<Spanned<String>>,
    timeout_ms: Option<Spanned<toml::Value>>,
    dispatch_max_batch: Option<Spanned<toml::Value>>,
    exit_dump_len: Option<Spanned<toml::Value>>,
    hotplug_seq: Option<Spanned<toml::Value>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Map {
    name: Name,
    max_entries: Option<Spanned<toml::Value>>,
    values: Option<Spanned<toml::Value>>,
    inner_maps: Option<Spanned<toml::Value>>,
    #[serde(default)]
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    key: Spanned<toml::Value>,
    cpu: Option<Spanned<toml::Value>>,
    value: Spanned<toml::Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    program: Name,
    every_ms: Option<Spanned<toml::Value>>,
    #[serde(default)]
    args: Vec<Spanned<toml::Value>>,
}

/// A recipe that was read and is not resolved yet.
#[derive(Clone, Debug, Default)]
pub struct Recipe {
    name: String,
    file: File,
    text: String,
}

impl Recipe {
    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Reads a recipe. `name` is the file's name, for messages.
    ///
    /// # Errors
    /// [`RecipeError`], with line and field.
    pub fn read(name: &str, text: &str) -> Result<Self, RecipeError> {
        let file: File = keel_tables::read(text)
            .map_err(|wrong| Text { file: name, text }.error(&wrong.at, "", Problem::Syntax(wrong.said)))?;
        Ok(Self { name: name.to_owned(), file, text: text.to_owned() })
    }

    /// Returns the actions on this machine, in order.
    ///
    /// # Errors
    /// [`RecipeError`], with line and field.
    pub fn plan(&self, facts: &Facts) -> Result<Vec<Action>, RecipeError> {
        let mut plan = Plan { text: Text { file: &self.name, text: &self.text }, facts, actions: Vec::new() };
        let chosen = self.file.ops.variable.iter();
        plan.actions.extend(chosen.map(|name| Action::Choose { scheduler: name.to_string() }));
        let left_out = self.file.leave_out.iter();
        plan.actions.extend(left_out.map(|name| Action::LeaveOut { program: name.to_string() }));
        plan.variables(&self.file)?;
        plan.parts(&self.file.part)?;
        plan.queues(&self.file)?;
        plan.members(&self.file.ops)?;
        plan.sizes(&self.file.map)?;
        for map in &self.file.map {
            plan.contents(map)?;
        }
        plan.programs(&self.file)?;
        plan.companions(&self.file.companion)?;
        if let Some(after) = &self.file.restart_ms {
            if !self.file.companion.is_empty() {
                return Err(plan.text.error(&after.span(), "restart_ms", Problem::RestartBeside));
            }
            let ms = plan.number(after, "restart_ms", 0, LONGEST_MS)?;
            plan.actions.push(Action::Restart { after: Span::from_ms(ms as u64) });
        }
        let counters = self.file.counters.iter();
        plan.actions.extend(counters.map(|name| Action::Count { variable: name.to_string() }));
        Ok(plan.actions)
    }
}

struct Plan<'a> {
    text: Text<'a>,
    facts: &'a Facts,
    actions: Vec<Action>,
}

impl Plan<'_> {
    fn variables(&mut self, file: &File) -> Result<(), RecipeError> {
        for (name, value) in &file.set {
            let variable = name.get_ref().to_string();
            let value = self.value(value, &format!("set.{variable}"))?;
            self.actions.push(Action::Set { variable, value });
        }
        Ok(())
    }

    fn parts(&mut self, parts: &[Part]) -> Result<(), RecipeError> {
        for part in parts {
            let (name, at) = (&part.variable, part.values.span());
            let field = format!("part {name}.values");
            if self.actions.len() >= MOST {
                return Err(self.text.error(&at, field, Problem::TooMany(MOST)));
            }
            let from = self.number(&part.at, &format!("part {name}.at"), 0, u32::MAX.into())? as u64;
            let size = match &part.size {
                Some(size) => self.number(size, &format!("part {name}.size"), 1, 8)? as usize,
                None => 8,
            };
            let values = match self.value(&part.values, &field)? {
                Value::One(one) => vec![one],
                Value::List(list) => list,
            };
            let bytes = Value::List(values.clone()).bytes(size * values.len());
            let bytes = bytes.ok_or_else(|| self.text.error(&at, &field, Problem::Part(size)))?;
            self.actions.push(Action::SetPart { variable: name.to_string(), at: from, bytes });
        }
        Ok(())
    }

    /// Names the scheduler's own queues. The highest bit of a number is reserved for the kernel's queues.
    fn queues(&mut self, file: &File) -> Result<(), RecipeError> {
        for (name, id) in &file.queues {
            let name = name.get_ref().to_string();
            let id = self.number(id, &format!("queues.{name}"), 0, i64::MAX as u64)? as u64;
            self.actions.push(Action::NameQueue { id, name });
        }
        Ok(())
    }

    fn members(&mut self, table: &Ops) -> Result<(), RecipeError> {
        let mut flags = 0;
        for flag in &table.flags {
            let name = flag.get_ref();
            let unknown = || self.text.error(&flag.span(), "ops.flags", Problem::NoFlag(name.clone()));
            flags |= ops::flag(name).ok_or_else(unknown)?;
        }
        if flags != 0 {
            self.actions.push(Action::AddFlags(flags));
        }
        let members = [
            ("timeout_ms", &table.timeout_ms),
            ("dispatch_max_batch", &table.dispatch_max_batch),
            ("exit_dump_len", &table.exit_dump_len),
        ];
        for (member, value) in members {
            let Some(value) = value else { continue };
            let number = self.number(value, &format!("ops.{member}"), 0, u32::MAX.into())?;
            self.actions.push(Action::SetMember { member, value: number as u64 });
        }
        if let Some(value) = &table.hotplug_seq {
            let value = self.number(value, "ops.hotplug_seq", 0, u64::MAX)? as u64;
            self.actions.push(Action::SetMember { member: "hotplug_seq", value });
        }
        Ok(())
    }

    fn sizes(&mut self, maps: &[Spanned<Map>]) -> Result<(), RecipeError> {
        for map in maps {
            let (at, map) = (map.span(), map.get_ref());
            let has_content = map.values.is_some() || map.inner_maps.is_some() || !map.entries.is_empty();
            if map.max_entries.is_none() && !has_content {
                return Err(self.text.error(&at, format!("map {}", map.name), Problem::EmptyMap));
            }
            let Some(entries) = &map.max_entries else { continue };
            let field = format!("map {}.max_entries", map.name);
            let entries = self.number(entries, &field, 1, u32::MAX.into())? as u32;
            self.actions.push(Action::Resize { map: map.name.to_string(), entries });
        }
        Ok(())
    }

    fn contents(&mut self, map: &Spanned<Map>) -> Result<(), RecipeError> {
        let (at, map) = (map.span(), map.get_ref());
        let name = &map.name;
        if let Some(values) = &map.values {
            let field = format!("map {name}.values");
            let Value::List(values) = self.value(values, &field)? else {
                return Err(self.text.error(&values.span(), field, Problem::NotList));
            };
            for (key, value) in values.into_iter().enumerate() {
                self.put(&at, name, (Value::One(key as i128), Value::One(value)), None)?;
            }
        }
        if let Some(maps) = &map.inner_maps {
            let field = format!("map {name}.inner_maps");
            let maps = self.number(maps, &field, 1, MOST as u64)? as u32;
            self.actions.push(Action::Nest { map: name.to_string(), maps });
        }
        for entry in &map.entries {
            let key = self.value(&entry.key, &format!("map {name}.entries.key"))?;
            let value = self.value(&entry.value, &format!("map {name}.entries.value"))?;
            let cpu = match &entry.cpu {
                Some(cpu) => {
                    Some(self.number(cpu, &format!("map {name}.entries.cpu"), 0, MOST as u64)? as u32)
                }
                None => None,
            };
            self.put(&at, name, (key, value), cpu)?;
        }
        Ok(())
    }

    fn put(
        &mut self,
        at: &Range<usize>,
        map: &str,
        (key, value): (Value, Value),
        cpu: Option<u32>,
    ) -> Result<(), RecipeError> {
        if self.actions.len() >= MOST {
            return Err(self.text.error(at, format!("map {map}"), Problem::TooMany(MOST)));
        }
        self.actions.push(Action::Put { map: map.to_owned(), key, value, cpu });
        Ok(())
    }

    /// Adds programs that run once, programs that are attached, and programs that run repeatedly.
    fn programs(&mut self, file: &File) -> Result<(), RecipeError> {
        let mut again = Vec::new();
        for run in &file.run {
            let program = run.program.to_string();
            let field = format!("run {program}");
            let args = run.args.iter().map(|arg| {
                let number = self.number(arg, &format!("{field}.args"), i64::MIN, u64::MAX);
                number.map(|number| number as u64)
            });
            let args = args.collect::<Result<Vec<u64>, _>>()?;
            match &run.every_ms {
                None => self.actions.push(Action::Run { program, args }),
                Some(every) => {
                    let ms = self.number(every, &format!("{field}.every_ms"), 1, LONGEST_MS)?;
                    again.push(Action::RunEvery { program, args, every: Span::from_ms(ms as u64) });
                }
            }
        }
        let attach = file.attach.iter().map(|program| Action::Attach { program: program.to_string() });
        self.actions.extend(attach);
        self.actions.append(&mut again);
        Ok(())
    }

    /// Returns one number within bounds.
    fn number(
        &self,
        value: &Spanned<toml::Value>,
        field: &str,
        low: i64,
        high: u64,
    ) -> Result<i128, RecipeError> {
        let error = |problem| Err(self.text.error(&value.span(), field, problem));
        match self.value(value, field)? {
            Value::List(_) => error(Problem::NotOne),
            Value::One(found) if !(low.into()..=high.into()).contains(&found) => {
                error(Problem::Range { low, high, found: found.to_string() })
            }
            Value::One(found) => Ok(found),
        }
    }

    /// Returns a constant, or a fact of the machine.
    fn value(&self, value: &Spanned<toml::Value>, field: &str) -> Result<Value, RecipeError> {
        let error = |problem| self.text.error(&value.span(), field, problem);
        match value.get_ref() {
            item @ toml::Value::String(name) => {
                let number = constant(item).map(Value::One);
                number.or_else(|| self.facts.get(name)).ok_or_else(|| error(Problem::NoFact(name.clone())))
            }
            toml::Value::Array(list) if list.len() > MOST => Err(error(Problem::TooMany(MOST))),
            toml::Value::Array(list) => {
                let numbers = list.iter().map(|item| constant(item).ok_or_else(|| error(Problem::BadValue)));
                Ok(Value::List(numbers.collect::<Result<_, _>>()?))
            }
            other => constant(other).map(Value::One).ok_or_else(|| error(Problem::BadValue)),
        }
    }
}

fn constant(value: &toml::Value) -> Option<i128> {
    match value {
        toml::Value::Integer(number) => Some((*number).into()),
        toml::Value::Boolean(truth) => Some((*truth).into()),
        // Numbers that are too large for TOML are written as text.
        toml::Value::String(text) => {
            let hex = text.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
            hex.map(Into::into)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
