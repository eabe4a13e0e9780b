//! Fills `.kconfig`: variables that the loader sets from the kernel's configuration.

use crate::btf::{Btf, Kind, TypeId};
use crate::model::MapDef;
use crate::options::KconfigValue;
use crate::{LoadOptions, ObjectError};

/// `BPF_MAP_TYPE_ARRAY`.
pub(crate) const ARRAY: u32 = 2;
/// `BPF_F_RDONLY_PROG`.
pub(crate) const READ_ONLY_PROG: u32 = 1 << 7;
/// `BPF_F_MMAPABLE`.
pub(crate) const MMAPABLE: u32 = 1 << 10;
/// The maximum length of a configuration text, in bytes.
const MAX_TEXT: u32 = 64 << 10;

/// The kinds of variables that libbpf fills.
enum Shape {
    Bool,
    Char,
    Tristate,
    Int { size: u32, signed: bool },
    Text { size: u32 },
}

/// The map `.kconfig`, while variables are added.
#[derive(Debug, Default)]
pub(crate) struct Kconfig {
    bytes: Vec<u8>,
}

impl Kconfig {
    /// Adds a variable and returns its offset and size.
    pub(crate) fn add(
        &mut self,
        btf: &Btf,
        (name, ty): (&str, TypeId),
        weak: bool,
        options: &LoadOptions,
    ) -> Result<(u32, u32), ObjectError> {
        let shape = shape(btf, ty).map_err(|why| bad(name, why))?;
        let bytes = match options.kconfig.get(name) {
            Some(value) => encode(&shape, value).map_err(|why| bad(name, why))?,
            None if weak => vec![0; size(&shape) as usize],
            None => return Err(ObjectError::UnknownKconfig(name.to_owned())),
        };
        let align = match shape {
            Shape::Text { .. } => 1,
            _ => bytes.len(),
        };
        self.bytes.resize(self.bytes.len().next_multiple_of(align), 0);
        let offset = self.bytes.len();
        if offset + bytes.len() > MAX_TEXT as usize * 4 {
            return Err(ObjectError::TooLarge { what: "bytes of .kconfig", limit: u64::from(MAX_TEXT) * 4 });
        }
        self.bytes.extend_from_slice(&bytes);
        Ok((offset as u32, bytes.len() as u32))
    }

    /// Returns the map, if there is any variable.
    pub(crate) fn into_map(self) -> Option<MapDef> {
        (!self.bytes.is_empty()).then(|| MapDef {
            name: ".kconfig".to_owned(),
            kind: ARRAY,
            key_size: 4,
            value_size: self.bytes.len() as u32,
            max_entries: 1,
            flags: MMAPABLE | READ_ONLY_PROG,
            extra: 0,
            inner: None,
            initial: self.bytes,
            is_zero: false,
            read_only: true,
            has_lock: false,
            kptrs: Vec::new(),
            is_shared: false,
            values: Vec::new(),
        })
    }
}

fn bad(name: &str, why: &'static str) -> ObjectError {
    ObjectError::Kconfig { name: name.to_owned(), why }
}

fn shape(btf: &Btf, ty: TypeId) -> Result<Shape, &'static str> {
    let ty = btf.skip_modifiers(ty);
    match btf.kind(ty) {
        Kind::Int(int) if int.boolean && int.size == 1 => Ok(Shape::Bool),
        Kind::Int(int) if int.size == 1 => Ok(Shape::Char),
        Kind::Int(int) if matches!(int.size, 2 | 4 | 8) => {
            Ok(Shape::Int { size: int.size, signed: int.signed })
        }
        Kind::Enum(e) if e.size == 4 && btf.name(ty) == "libbpf_tristate" => Ok(Shape::Tristate),
        Kind::Array(array) => match btf.kind(btf.skip_modifiers(array.element)) {
            Kind::Int(int) if int.size == 1 && !int.boolean && (1..=MAX_TEXT).contains(&array.count) => {
                Ok(Shape::Text { size: array.count })
            }
            _ => Err("its variable is an array, but not of characters"),
        },
        _ => Err("its variable is not an integer, boolean, tristate, character or string"),
    }
}

fn size(shape: &Shape) -> u32 {
    match shape {
        Shape::Bool | Shape::Char => 1,
        Shape::Tristate => 4,
        Shape::Int { size, .. } | Shape::Text { size } => *size,
    }
}

fn encode(shape: &Shape, value: &KconfigValue) -> Result<Vec<u8>, &'static str> {
    match (shape, value) {
        (Shape::Text { size }, KconfigValue::Text(text)) => {
            // As in libbpf, a text that is too long is truncated, but still terminated by NUL.
            let mut bytes = text.as_bytes()[..text.len().min(*size as usize - 1)].to_vec();
            bytes.resize(*size as usize, 0);
            Ok(bytes)
        }
        (Shape::Text { .. }, KconfigValue::Integer(_)) => Err("it is a number, but its variable is a string"),
        (Shape::Char, KconfigValue::Text(text)) if matches!(text.as_str(), "y" | "n" | "m") => {
            Ok(text.as_bytes().to_vec())
        }
        _ => number(shape, number_of(shape, value)?),
    }
}

fn number_of(shape: &Shape, value: &KconfigValue) -> Result<i64, &'static str> {
    let tristate = matches!(shape, Shape::Bool | Shape::Tristate);
    match value {
        KconfigValue::Integer(value) => Ok(*value),
        KconfigValue::Text(text) => match text.as_str() {
            "n" if tristate => Ok(0),
            "y" if tristate => Ok(1),
            "m" if tristate => Ok(2),
            text => text.parse().map_err(|_| "it is a string, but its variable is a number"),
        },
    }
}

fn number(shape: &Shape, value: i64) -> Result<Vec<u8>, &'static str> {
    let range = match shape {
        Shape::Bool => 0..=1,
        Shape::Tristate => 0..=2,
        Shape::Int { size: 8, signed: true } => i64::MIN..=i64::MAX,
        Shape::Int { size: 8, signed: false } => 0..=i64::MAX,
        Shape::Int { size, signed: true } => -(1 << (size * 8 - 1))..=(1 << (size * 8 - 1)) - 1,
        Shape::Int { size, signed: false } => 0..=(1 << (size * 8)) - 1,
        Shape::Char | Shape::Text { .. } => -128..=255,
    };
    if !range.contains(&value) {
        return Err("it doesn't fit into its variable");
    }
    Ok(value.to_le_bytes()[..size(shape) as usize].to_vec())
}
