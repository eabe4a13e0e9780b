//! A constant in a machine file: `{ value = 900, source = "where it is from" }`.
//!
//! A bare number, and a table that lacks the value or the source, are parsed too, so that the error can name the
//! constant and show the expected line.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::fmt;
use toml::Spanned;

/// A constant as given in the file.
#[derive(Debug, Default)]
pub(super) struct Constant {
    given: Given,
    /// A number without a source.
    bare: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    value: Option<Spanned<u64>>,
    source: Option<Spanned<String>>,
}

impl Constant {
    /// Returns the value and its source, or `None` unless both are given.
    pub(super) fn whole(&self) -> Option<(&Spanned<u64>, &Spanned<String>)> {
        self.given.value.as_ref().zip(self.given.source.as_ref())
    }

    /// Returns the expected line, with what the file does give.
    pub(super) fn wanted(&self, name: &str) -> String {
        let value = self.given.value.as_ref().map(|value| value.get_ref().to_string());
        let value = value.or(self.bare.map(|bare| bare.to_string())).unwrap_or_else(|| "900".to_owned());
        format!("{name} = {{ value = {value}, source = \"where it is from\" }}")
    }
}

impl<'de> Deserialize<'de> for Constant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

struct Written;

impl<'de> Visitor<'de> for Written {
    type Value = Constant;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value and its source, as in ipi_ns = { value = 900, source = \"where it is from\" }")
    }

    fn visit_i64<E>(self, bare: i64) -> Result<Constant, E> {
        Ok(Constant { bare: Some(bare), ..Constant::default() })
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Constant, M::Error> {
        let given = Given::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Constant { given, bare: None })
    }
}
