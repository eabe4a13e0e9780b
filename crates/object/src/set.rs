//! Sets a global variable's initial value, for `--set NAME=VALUE` and a recipe's `set`.

use crate::data::MAX_DATA;
use crate::enum_names;
use crate::model::{Elements, Object, Variable};

/// Why a variable cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// There is no variable of this name.
    #[error("the object has no variable {name}{}", suggest(.close))]
    Unknown {
        /// The requested name.
        name: String,
        /// Variables with similar names, closest first.
        close: Vec<String>,
    },
    /// The variable is an array, a struct or a pointer.
    #[error("variable {0} is not an integer, boolean or enum")]
    NotInteger(String),
    /// A list was given, but the variable is not an array.
    #[error("variable {0} is not an array of integers")]
    NotArray(String),
    /// Bytes were given beyond its end.
    #[error("variable {name} has {size} bytes, but the write ends at {end}")]
    Beyond {
        /// The variable.
        name: String,
        /// Its size in bytes.
        size: u32,
        /// Where the write would end.
        end: u64,
    },
    /// More numbers were given than the array has elements.
    #[error("variable {name} holds {capacity} numbers, not {given}")]
    TooLong {
        /// The variable.
        name: String,
        /// How many were given.
        given: usize,
        /// How many it can hold.
        capacity: u32,
    },
    /// The value isn't a number.
    #[error("variable {name} takes an integer, decimal or hexadecimal, or true or false, not {value:?}")]
    NotANumber {
        /// The variable.
        name: String,
        /// What was given.
        value: String,
    },
    /// The value isn't a boolean's. Compiled programs test either its lowest bit or the whole byte, so 2 would mean
    /// both false and true.
    #[error("variable {name} takes true, false, 1 or 0, not {value:?}")]
    NotBoolean {
        /// The variable.
        name: String,
        /// What was given.
        value: String,
    },
    /// The value is none of the enum's, by name or by number.
    #[error("variable {name} takes {words}, not {value:?}")]
    NotAWord {
        /// The variable.
        name: String,
        /// What was given.
        value: String,
        /// The values that it takes.
        words: String,
    },
    /// The value doesn't fit.
    #[error("variable {name} takes {low} to {high}, not {value}")]
    Range {
        /// The variable.
        name: String,
        /// What was given.
        value: String,
        /// The least value.
        low: i128,
        /// The greatest value.
        high: i128,
    },
}

fn suggest(close: &[String]) -> String {
    if close.is_empty() { String::new() } else { format!("; did you mean {}?", close.join(" or ")) }
}

impl Object {
    /// Returns a global variable by name: the first one, if several files have one of this name.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }

    /// Sets a global variable's initial value: decimal, hexadecimal, negative, `true` or `false`. A boolean takes only
    /// 0 and
    /// 1. An enum takes its values, by number or by name; flags are joined by `+`.
    ///
    /// # Errors
    /// [`SetError`]. Nothing is changed then.
    pub fn set_variable(&mut self, name: &str, value: &str) -> Result<(), SetError> {
        let Some(variable) = self.variable(name) else {
            return Err(SetError::Unknown { name: name.to_owned(), close: self.close_names(name) });
        };
        let not_integer = || SetError::NotInteger(name.to_owned());
        let signed = variable.signed.ok_or_else(not_integer)?;
        let number = number_of(variable, value)?;
        let kind = Elements { size: variable.size, signed, boolean: variable.boolean };
        let bytes = encode(name, kind, number, value)?;
        let (map, start) = (variable.map, variable.offset);
        if self.write(map, start, &bytes) { Ok(()) } else { Err(not_integer()) }
    }

    /// Sets a global variable's initial value to a number.
    ///
    /// # Errors
    /// [`SetError`]. Nothing is changed then.
    pub fn set_number(&mut self, name: &str, number: i128) -> Result<(), SetError> {
        self.set_variable(name, &number.to_string())
    }

    /// Sets the first elements of an array of integers, and leaves the others unchanged. An array that is alone in its
    /// data section grows with the list (`bpf_map__set_value_size()`).
    ///
    /// # Errors
    /// [`SetError`]. Nothing is changed then.
    pub fn set_list(&mut self, name: &str, numbers: &[i128]) -> Result<(), SetError> {
        let Some(variable) = self.variable(name) else {
            return Err(SetError::Unknown { name: name.to_owned(), close: self.close_names(name) });
        };
        let not_array = || SetError::NotArray(name.to_owned());
        let elements = variable.elements.ok_or_else(not_array)?;
        let grows = self.is_alone(variable) && elements.size > 0;
        let capacity = if grows { u32::MAX / elements.size } else { variable.size / elements.size.max(1) };
        if numbers.len() > capacity as usize {
            return Err(SetError::TooLong { name: name.to_owned(), given: numbers.len(), capacity });
        }
        let parts = numbers.iter().map(|&number| encode(name, elements, number, &number.to_string()));
        let bytes = parts.collect::<Result<Vec<_>, _>>()?.concat();
        let (map, start) = (variable.map, variable.offset);
        if bytes.len() > variable.size as usize {
            self.grow(name, bytes.len() as u32);
        }
        if self.write(map, start, &bytes) { Ok(()) } else { Err(not_array()) }
    }

    /// Sets some bytes of a global variable's initial value, whatever its type: a member of a struct, for example. An
    /// array that is alone in its data section grows if they are beyond its end.
    ///
    /// # Errors
    /// [`SetError`]. Nothing is changed then.
    pub fn set_bytes(&mut self, name: &str, at: u64, bytes: &[u8]) -> Result<(), SetError> {
        let Some(variable) = self.variable(name) else {
            return Err(SetError::Unknown { name: name.to_owned(), close: self.close_names(name) });
        };
        let (map, size, end) = (variable.map, variable.size, at.saturating_add(bytes.len() as u64));
        let start = u64::from(variable.offset).saturating_add(at);
        let grows = end > u64::from(size);
        let may_grow = variable.elements.is_some() && self.is_alone(variable) && end <= MAX_DATA;
        if grows && may_grow {
            self.grow(name, end as u32);
        }
        let done = (!grows || may_grow) && self.write(map, start as u32, bytes);
        done.then_some(()).ok_or_else(|| SetError::Beyond { name: name.to_owned(), size, end })
    }

    /// Returns whether it is alone in its data section, which must not be one of those that every object has.
    fn is_alone(&self, variable: &Variable) -> bool {
        let others = self.variables.iter().filter(|other| other.map == variable.map).count() > 1;
        let map = self.maps.get(variable.map as usize);
        let fills = map.is_some_and(|map| {
            let is_own = ![".data", ".rodata", ".bss"].contains(&map.name.as_str());
            is_own && map.initial.len() == variable.size as usize
        });
        !others && variable.offset == 0 && fills
    }

    /// Resizes a variable that is alone in its section to this many bytes.
    fn grow(&mut self, name: &str, bytes: u32) {
        let Some(variable) = self.variables.iter_mut().find(|variable| variable.name == name) else { return };
        variable.size = bytes;
        let map = &mut self.maps[variable.map as usize];
        map.value_size = bytes;
        map.initial.resize(bytes as usize, 0);
    }

    /// Writes to a map's initial bytes. Returns false if it has none there.
    fn write(&mut self, map: u32, start: u32, bytes: &[u8]) -> bool {
        let start = start as usize;
        let Some(map) = self.maps.get_mut(map as usize) else { return false };
        let Some(place) = map.initial.get_mut(start..start + bytes.len()) else { return false };
        place.copy_from_slice(bytes);
        map.is_zero &= bytes.iter().all(|&byte| byte == 0);
        true
    }

    fn close_names(&self, name: &str) -> Vec<String> {
        const SHOWN: usize = 3;
        let limit = (name.len() / 3).max(1);
        let distance = |found: &Variable| distance(&found.name, name).filter(|&d| d <= limit);
        let mut close: Vec<(usize, &str)> =
            self.variables.iter().filter_map(|v| Some((distance(v)?, v.name.as_str()))).collect();
        close.sort_unstable();
        close.dedup();
        close.into_iter().take(SHOWN).map(|(_, name)| name.to_owned()).collect()
    }
}

/// Encodes a number in the bytes of an integer. `value` is how it was written.
fn encode(name: &str, integer: Elements, number: i128, value: &str) -> Result<Vec<u8>, SetError> {
    if integer.boolean && !(0..=1).contains(&number) {
        return Err(SetError::NotBoolean { name: name.to_owned(), value: value.to_owned() });
    }
    let bits = integer.size * 8;
    let (low, high) = match integer.signed {
        true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        false => (0, (1i128 << bits) - 1),
    };
    if !(low..=high).contains(&number) {
        let (name, value) = (name.to_owned(), value.to_owned());
        return Err(SetError::Range { name, value, low, high });
    }
    Ok(number.to_le_bytes()[..integer.size as usize].to_vec())
}

/// Returns the number of letters that differ, or `None` for names that are too long to compare.
fn distance(a: &str, b: &str) -> Option<usize> {
    const LONGEST: usize = 128;
    (a.len() <= LONGEST && b.len() <= LONGEST).then(|| strsim::damerau_levenshtein(a, b))
}

fn number_of(variable: &Variable, value: &str) -> Result<i128, SetError> {
    let (name, given) = (variable.name.clone(), value.to_owned());
    let words = &variable.words;
    if words.is_empty() {
        let wrong = || match variable.boolean {
            true => SetError::NotBoolean { name, value: given },
            false => SetError::NotANumber { name, value: given },
        };
        return parse(value).ok_or_else(wrong);
    }
    let of_enum = |value: u64| match variable.signed {
        Some(true) => i128::from(value as i64),
        _ => i128::from(value),
    };
    let found = match parse(value) {
        Some(number) => enum_names::takes(words, number, of_enum).then_some(number),
        None => enum_names::value(words, value).map(of_enum),
    };
    found.ok_or_else(|| SetError::NotAWord { name, value: given, words: enum_names::listed(words) })
}

fn parse(value: &str) -> Option<i128> {
    match value {
        "true" => return Some(1),
        "false" => return Some(0),
        _ => {}
    }
    let (negative, digits) = match value.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, value),
    };
    let number = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i128::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    // Both parsers accept a sign, so reject it here.
    let number = number.ok().filter(|_| !digits.contains(['+', '-']))?;
    Some(if negative { -number } else { number })
}
