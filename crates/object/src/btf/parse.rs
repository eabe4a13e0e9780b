//! Parses the bytes of a `.BTF` section to types, and checks all references.

use super::names::Strings;
use super::{
    Array, Btf, BtfError, Enum, Enumerator, Int, Kind, Member, Param, SecVar, Struct, Type, TypeId,
    essential_name,
};

pub(super) const MAGIC: u16 = 0xeb9f;
/// The kernel's own limit (`BTF_MAX_TYPE`).
const MAX_TYPES: usize = 0xf_ffff;

impl Btf {
    /// Parses the bytes of a `.BTF` section.
    ///
    /// # Errors
    /// [`BtfError`] if anything in it is malformed.
    pub fn parse(bytes: &[u8]) -> Result<Btf, BtfError> {
        let mut btf = Btf::parse_without_index(bytes)?;
        btf.index();
        Ok(btf)
    }

    /// Parses types that are not looked up by name: an object's own.
    ///
    /// Sorting names that share their bytes could take far longer than reading the bytes.
    pub(crate) fn parse_without_index(bytes: &[u8]) -> Result<Btf, BtfError> {
        let (types, strings) = split(bytes)?;
        let strings = Strings::new(strings);
        let types = parse_types(types, &strings)?;
        let btf = Btf { strings, types, ..Btf::default() };
        btf.check_references()?;
        Ok(btf)
    }

    fn check_references(&self) -> Result<(), BtfError> {
        let count = self.types.len();
        for (id, ty) in self.types() {
            let check = |target: TypeId| match target.0 as usize {
                target if target < count => Ok(()),
                _ => Err(BtfError::Reference { id: id.0, target: target.0 }),
            };
            match &ty.kind {
                Kind::Void | Kind::Int(_) | Kind::Enum(_) | Kind::Fwd { .. } | Kind::Float { .. } => {}
                Kind::Ptr(to)
                | Kind::Typedef(to)
                | Kind::Volatile(to)
                | Kind::Const(to)
                | Kind::Restrict(to)
                | Kind::TypeTag(to)
                | Kind::Func { proto: to, .. }
                | Kind::Var { ty: to, .. }
                | Kind::DeclTag { target: to, .. } => check(*to)?,
                Kind::Array(array) => check(array.element)?,
                Kind::Struct(s) | Kind::Union(s) => s.members.iter().try_for_each(|m| check(m.ty))?,
                Kind::FuncProto { returns, params } => {
                    check(*returns)?;
                    params.iter().try_for_each(|p| check(p.ty))?;
                }
                Kind::Datasec { vars, .. } => vars.iter().try_for_each(|v| check(v.ty))?,
            }
        }
        Ok(())
    }

    fn index(&mut self) {
        let named = self.types().filter(|(_, t)| t.name != 0);
        let mut by_name: Vec<_> = named.map(|(id, _)| (essential_name(self.name(id)), id)).collect();
        by_name.sort_unstable();
        let by_name = by_name.into_iter().map(|(_, id)| id).collect();
        let mut tags: Vec<(TypeId, TypeId)> = Vec::new();
        let mut enumerators: Vec<(&str, (u32, u64))> = Vec::new();
        for (id, ty) in self.types() {
            match &ty.kind {
                Kind::DeclTag { target, component: -1 } => tags.push((*target, id)),
                Kind::Enum(e) => {
                    enumerators
                        .extend(e.values.iter().map(|v| (self.str_or_empty(v.name), (v.name, v.value))));
                }
                _ => {}
            }
        }
        tags.sort_unstable();
        enumerators.sort_by_key(|&(name, _)| name);
        let enumerators = enumerators.into_iter().map(|(_, enumerator)| enumerator).collect();
        (self.by_name, self.tags, self.enumerators) = (by_name, tags, enumerators);
    }
}

/// Returns the type and the string section.
fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), BtfError> {
    let mut header = Reader { bytes, at: 0, what: "its header" };
    let magic = header.u16()?;
    if magic == MAGIC.swap_bytes() {
        return Err(BtfError::BigEndian);
    }
    if magic != MAGIC {
        return Err(BtfError::Magic(magic));
    }
    let version = header.take(2)?[0];
    if version != 1 {
        return Err(BtfError::Version(version));
    }
    let length = header.u32()?;
    let mut part = |what| -> Result<&[u8], BtfError> {
        let (offset, size) = (header.u32()?, header.u32()?);
        let start = u64::from(length) + u64::from(offset);
        let end = start + u64::from(size);
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        range
            .and_then(|(start, end)| bytes.get(start..end))
            .ok_or(BtfError::Bounds { what, size: bytes.len() })
    };
    Ok((part("type")?, part("string")?))
}

fn parse_types(bytes: &[u8], strings: &Strings) -> Result<Vec<Type>, BtfError> {
    let mut types = vec![super::VOID.clone()];
    let mut reader = Reader { bytes, at: 0, what: "a type" };
    while reader.at < bytes.len() {
        if types.len() > MAX_TYPES {
            return Err(BtfError::TooMany(MAX_TYPES));
        }
        let ty = parse_type(&mut reader, types.len() as u32, strings)?;
        types.push(ty);
    }
    Ok(types)
}

fn parse_type(reader: &mut Reader<'_>, id: u32, strings: &Strings) -> Result<Type, BtfError> {
    let name = reader.name(strings)?;
    let info = reader.u32()?;
    let size = reader.u32()?;
    let to = TypeId(size);
    let count = (info & 0xffff) as usize;
    let flag = info >> 31 == 1;
    let kind = match info >> 24 & 0x1f {
        1 => Kind::Int(parse_int(size, reader.u32()?)),
        2 => Kind::Ptr(to),
        3 => {
            let (element, _index, count) = (TypeId(reader.u32()?), reader.u32()?, reader.u32()?);
            Kind::Array(Array { element, count })
        }
        4 => Kind::Struct(parse_struct(reader, size, count, flag, strings)?),
        5 => Kind::Union(parse_struct(reader, size, count, flag, strings)?),
        6 => Kind::Enum(Enum { size, signed: flag, values: parse_enum(reader, count, flag, strings)? }),
        7 => Kind::Fwd { union: flag },
        8 => Kind::Typedef(to),
        9 => Kind::Volatile(to),
        10 => Kind::Const(to),
        11 => Kind::Restrict(to),
        12 => Kind::Func { proto: to, linkage: info & 0xffff },
        13 => {
            let param = |r: &mut Reader<'_>| Ok(Param { name: r.name(strings)?, ty: TypeId(r.u32()?) });
            Kind::FuncProto { returns: to, params: reader.many(count, 8, param)? }
        }
        14 => Kind::Var { ty: to, linkage: reader.u32()? },
        15 => {
            let var =
                |r: &mut Reader<'_>| Ok(SecVar { ty: TypeId(r.u32()?), offset: r.u32()?, size: r.u32()? });
            Kind::Datasec { size, vars: reader.many(count, 12, var)? }
        }
        16 => Kind::Float { size },
        17 => Kind::DeclTag { target: to, component: reader.u32()? as i32 },
        18 => Kind::TypeTag(to),
        19 => Kind::Enum(Enum { size, signed: flag, values: parse_enum64(reader, count, strings)? }),
        kind => return Err(BtfError::Kind { id, kind }),
    };
    Ok(Type { name, kind })
}

fn parse_int(size: u32, word: u32) -> Int {
    let encoding = word >> 24 & 0xf;
    Int {
        size,
        signed: encoding & 1 != 0,
        character: encoding & 2 != 0,
        boolean: encoding & 4 != 0,
        bits: (word & 0xff) as u8,
        offset: (word >> 16 & 0xff) as u8,
    }
}

fn parse_struct(
    reader: &mut Reader<'_>,
    size: u32,
    count: usize,
    bitfields: bool,
    strings: &Strings,
) -> Result<Struct, BtfError> {
    let members = reader.many(count, 12, |r| {
        let (name, ty, offset) = (r.name(strings)?, TypeId(r.u32()?), r.u32()?);
        let (bit_offset, bit_size) = if bitfields { (offset & 0xff_ffff, offset >> 24) } else { (offset, 0) };
        Ok(Member { name, ty, bit_offset, bit_size })
    })?;
    Ok(Struct { size, members })
}

fn parse_enum(
    reader: &mut Reader<'_>,
    count: usize,
    signed: bool,
    strings: &Strings,
) -> Result<Vec<Enumerator>, BtfError> {
    reader.many(count, 8, |r| {
        let (name, value) = (r.name(strings)?, r.u32()?);
        let value = if signed { i64::from(value as i32) as u64 } else { u64::from(value) };
        Ok(Enumerator { name, value })
    })
}

fn parse_enum64(
    reader: &mut Reader<'_>,
    count: usize,
    strings: &Strings,
) -> Result<Vec<Enumerator>, BtfError> {
    reader.many(count, 12, |r| {
        let (name, low, high) = (r.name(strings)?, r.u32()?, r.u32()?);
        Ok(Enumerator { name, value: u64::from(high) << 32 | u64::from(low) })
    })
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    what: &'static str,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], BtfError> {
        let taken = self.bytes.get(self.at..).and_then(|rest| rest.get(..count));
        let taken = taken.ok_or(BtfError::Truncated { what: self.what, offset: self.at })?;
        self.at += count;
        Ok(taken)
    }

    fn u16(&mut self) -> Result<u16, BtfError> {
        self.take(2).map(|b| u16::from_le_bytes([b[0], b[1]]))
    }

    fn u32(&mut self) -> Result<u32, BtfError> {
        self.take(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// Reads the offset of a name, and checks that the name can be read.
    fn name(&mut self, strings: &Strings) -> Result<u32, BtfError> {
        let offset = self.u32()?;
        strings.get(offset).map(|_| offset)
    }

    /// Reads `count` items of `size` bytes. Checks that they exist before it allocates memory for them.
    fn many<T>(
        &mut self,
        count: usize,
        size: usize,
        mut item: impl FnMut(&mut Self) -> Result<T, BtfError>,
    ) -> Result<Vec<T>, BtfError> {
        let left = self.bytes.len() - self.at;
        if left / size < count {
            return Err(BtfError::Truncated { what: self.what, offset: self.at });
        }
        (0..count).map(|_| item(self)).collect()
    }
}
