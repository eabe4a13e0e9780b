//! Reads an object's fields in rt-app's order, and values of the required type.

use crate::compile::Compiler;
use crate::error::{WorkloadError, shown};
use crate::place::Place;
use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use keel_abi::Span;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// One field of an object.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) key: &'a str,
    pub(crate) value: &'a Value<'a>,
    pub(crate) start: usize,
}

/// An object's fields, as rt-app reads them.
pub(crate) struct Fields<'a> {
    pub(crate) list: Vec<Field<'a>>,
    /// The first repeated key whose value replaced an earlier one.
    pub(crate) displaced: Option<Field<'a>>,
    /// The first repeated key that was kept in addition to the earlier one.
    pub(crate) repeated: Option<Field<'a>>,
}

/// Returns the fields of `object`. The value of a repeated key replaces the earlier one at its place, as in json-c's
/// objects, unless `keep_each` returns true for the key.
pub(crate) fn fields<'a>(object: &'a Object<'a>, keep_each: impl Fn(&str) -> bool) -> Fields<'a> {
    let mut fields = Fields { list: Vec::new(), displaced: None, repeated: None };
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for property in &object.properties {
        let field = field(property);
        match places.get(field.key) {
            None => {
                places.insert(field.key, fields.list.len());
                fields.list.push(field);
            }
            Some(_) if keep_each(field.key) => {
                fields.repeated.get_or_insert(field);
                fields.list.push(field);
            }
            Some(&place) => {
                fields.displaced.get_or_insert(field);
                fields.list[place] = field;
            }
        }
    }
    fields
}

fn field<'a>(property: &'a ObjectProp<'a>) -> Field<'a> {
    Field { key: property.name.as_str(), value: &property.value, start: property.start() }
}

/// Describes a value, for 'must be ..., not ...'.
fn described(value: &Value<'_>) -> String {
    match value {
        Value::StringLit(s) => format!("\"{}\"", shown(&s.value)),
        Value::NumberLit(n) => shown(n.value),
        Value::BooleanLit(b) => b.value.to_string(),
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::NullKeyword(_) => "null".to_owned(),
    }
}

impl Compiler<'_> {
    /// Returns the error for a `value` that is not `wanted`.
    pub(crate) fn wrong_type(&self, at: &Place<'_>, value: &Value<'_>, wanted: &str) -> WorkloadError {
        self.error(at, format!("must be {wanted}, not {}", described(value)))
    }

    /// Reads a whole number within `range`. `what` names it in the error.
    pub(crate) fn integer(
        &self,
        at: &Place<'_>,
        value: &Value<'_>,
        range: RangeInclusive<i64>,
        what: &str,
    ) -> Result<i64, WorkloadError> {
        let wrong = || self.wrong_type(at, value, "a whole number");
        let digits = value.as_number_lit().ok_or_else(wrong)?.value;
        let plain = digits.strip_prefix('-').unwrap_or(digits).bytes().all(|b| b.is_ascii_digit());
        if !plain {
            return Err(wrong());
        }
        let number = digits.parse::<i64>().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let (low, high) = (range.start(), range.end());
            self.error(at, format!("{} is not a {what}; it must be {low} to {high}", shown(digits)))
        })
    }

    /// Reads a time in microseconds, which rt-app stores in 32 bits.
    pub(crate) fn time(&self, at: &Place<'_>, value: &Value<'_>) -> Result<Span, WorkloadError> {
        let negative = value.as_number_lit().is_some_and(|n| n.value.starts_with('-') && n.value != "-0");
        if negative && self.integer(at, value, i64::MIN..=i64::MAX, "time").is_ok() {
            let problem =
                format!("{} is a negative time; times are in microseconds, from 0", described(value));
            return Err(self.error(at, problem));
        }
        let time_us = self.integer(at, value, 0..=i64::from(i32::MAX), "time in microseconds")?;
        Ok(Span::from_us(time_us.unsigned_abs()))
    }

    /// Reads a time in microseconds that may have up to three decimals.
    pub(crate) fn fine_time(&self, at: &Place<'_>, value: &Value<'_>) -> Result<Span, WorkloadError> {
        let split = value.as_number_lit().and_then(|number| number.value.split_once('.'));
        let Some((whole, decimals)) = split else { return self.time(at, value) };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let ns = format!("{decimals:0<3}");
        let us = whole.parse::<u64>().ok().filter(|&us| digits(whole) && us <= i32::MAX as u64);
        match (us, ns.parse::<u64>()) {
            (Some(us), Ok(ns)) if digits(decimals) && decimals.len() <= 3 => {
                Ok(Span::from_ns(us * 1000 + ns))
            }
            _ => Err(self.wrong_type(at, value, "a time in microseconds with at most three decimals")),
        }
    }

    /// Reads a boolean.
    pub(crate) fn boolean(&self, at: &Place<'_>, value: &Value<'_>) -> Result<bool, WorkloadError> {
        let literal = value.as_boolean_lit().ok_or_else(|| self.wrong_type(at, value, "true or false"))?;
        Ok(literal.value)
    }

    /// Reads a string.
    pub(crate) fn string<'v>(&self, at: &Place<'_>, value: &'v Value<'v>) -> Result<&'v str, WorkloadError> {
        let literal = value.as_string_lit().ok_or_else(|| self.wrong_type(at, value, "a string"))?;
        Ok(&literal.value)
    }

    /// Reads an object.
    pub(crate) fn object<'v>(
        &self,
        at: &Place<'_>,
        value: &'v Value<'v>,
    ) -> Result<&'v Object<'v>, WorkloadError> {
        value.as_object().ok_or_else(|| self.wrong_type(at, value, "an object"))
    }

    /// Reads a list of whole numbers from 0 to `highest`, each with its offset in the text.
    pub(crate) fn numbers(
        &self,
        at: &Place<'_>,
        value: &Value<'_>,
        highest: u32,
        what: &str,
    ) -> Result<Vec<u32>, WorkloadError> {
        let array = value.as_array().ok_or_else(|| self.wrong_type(at, value, "a list of numbers"))?;
        let number = |element: &Value<'_>| {
            let here = at.at(element.start());
            let number = self.integer(&here, element, 0..=i64::from(u32::MAX), what)?;
            let number = u32::try_from(number).ok().filter(|&n| n <= highest);
            number.ok_or_else(|| self.error(&here, no_such(what, described(element), u64::from(highest) + 1)))
        };
        array.elements.iter().map(number).collect()
    }
}

/// Describes a CPU or node that the machine does not have. `count` is how many it has.
pub(crate) fn no_such(what: &str, number: impl Display, count: impl Into<u64>) -> String {
    let count = count.into();
    let plural = if count == 1 { "" } else { "s" };
    format!("there is no {what} {number} on this machine of {count} {what}{plural} (numbered from 0)")
}
