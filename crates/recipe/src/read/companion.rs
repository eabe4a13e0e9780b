//! Reads the companions of a recipe.

use super::name::Name;
use super::{LONGEST_MS, Plan};
use crate::action::Action;
use crate::companion::{Companion, Layout, Rest, compile};
use crate::error::{Problem, RecipeError};
use keel_abi::Span;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// The maximum number of companions in a recipe.
const MOST: usize = 64;

/// A companion as written in the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    name: Option<Name>,
    pid: Option<Name>,
    sleep_us: Option<Spanned<toml::Value>>,
    #[serde(default)]
    set: BTreeMap<Name, Spanned<toml::Value>>,
    #[serde(default)]
    records: BTreeMap<Name, Spanned<toml::Value>>,
    round: Spanned<String>,
}

impl Plan<'_> {
    pub(super) fn companions(&mut self, tables: &[Spanned<Table>]) -> Result<(), RecipeError> {
        if let Some(one_more) = tables.get(MOST) {
            return Err(self.text.error(&one_more.span(), "companion", Problem::TooMany(MOST)));
        }
        for table in tables {
            let companion = self.companion(table.get_ref())?;
            self.actions.push(Action::Accompany(companion));
        }
        Ok(())
    }

    fn companion(&self, table: &Table) -> Result<Companion, RecipeError> {
        let name = table.name.as_deref().unwrap_or("companion").to_owned();
        let field = |part: &str| format!("companion {name}.{part}");
        let rest = match &table.sleep_us {
            None => Rest::Yield,
            Some(us) => {
                let us = self.number(us, &field("sleep_us"), 1, LONGEST_MS * 1000)?;
                Rest::Sleep(Span::from_ns(us as u64 * 1000))
            }
        };
        let mut set = Vec::new();
        for (own, value) in &table.set {
            let number = self.number(value, &field(&format!("set.{own}")), i64::MIN, i64::MAX as u64)?;
            set.push((own.to_string(), number as i64));
        }
        let mut maps = Vec::new();
        for (map, record) in &table.records {
            let layout = layout(map, record.get_ref());
            maps.push(layout.map_err(|problem| {
                self.text.error(&record.span(), field(&format!("records.{map}")), problem)
            })?);
        }
        let program = compile(table.round.get_ref(), maps, &set).map_err(|wrong| {
            let mut error = self.text.error(&table.round.span(), field("round"), Problem::Script(wrong.why));
            error.line += wrong.line - 1 + usize::from(self.begins_below(&table.round.span()));
            error
        })?;
        Ok(Companion { name, pid: table.pid.as_deref().map(str::to_owned), rest, program })
    }

    /// Returns whether the text begins on the next line: TOML drops a newline right after the opening quotes of a
    /// multi-line text.
    fn begins_below(&self, span: &Range<usize>) -> bool {
        let written = self.text.text.get(span.clone()).unwrap_or_default();
        written.starts_with("'''\n") || written.starts_with("\"\"\"\n")
    }
}

fn layout(map: &str, record: &toml::Value) -> Result<Layout, Problem> {
    let fields = |value: Option<&toml::Value>| -> Result<Vec<String>, Problem> {
        let list = value.and_then(toml::Value::as_array).ok_or(Problem::NotRecord)?;
        let texts = list.iter().map(|field| field.as_str().map(str::to_owned).ok_or(Problem::NotRecord));
        texts.collect()
    };
    let (key, value) = match record.as_table() {
        Some(table) if table.keys().all(|part| part == "key" || part == "value") => {
            (fields(table.get("key"))?, fields(table.get("value"))?)
        }
        Some(_) => return Err(Problem::NotRecord),
        None => (Vec::new(), fields(Some(record))?),
    };
    Ok(Layout::new(map, &key, &value)?)
}
