//! Resolves externs by libbpf's rules: kfuncs and kernel variables (`.ksyms`), and configuration (`.kconfig`).
//!
//! A function is a kfunc only if the kernel's BTF tags it `bpf_kfunc`. Its prototype must be compatible. A weak kfunc
//! that is absent or differs is null.

use std::collections::BTreeMap;

use crate::btf::{Btf, Kind, TypeId, essential_name};
use crate::elf::{Elf, Symbol, SymbolKind};
use crate::kconfig::Kconfig;
use crate::relo::{CoreError, Pair, compatible};
use crate::{LoadOptions, ObjectError};

/// The maximum number of externs.
const MAX_EXTERNS: usize = 1 << 14;

/// What an extern resolves to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Extern {
    /// A kfunc, by its name in the kernel.
    Kfunc(String),
    /// A kernel variable, by its name in the kernel.
    Variable(String),
    /// A kernel symbol without a type, by its name; it may be a function.
    Untyped {
        /// Its name in the kernel.
        name: String,
        /// Whether it is a function there.
        is_function: bool,
    },
    /// A weak symbol that the kernel lacks. The text describes it.
    Null(String),
    /// A configuration value: its offset and size in `.kconfig`.
    Kconfig(u32, u32),
}

/// All externs, by the symbol's name.
#[derive(Debug, Default)]
pub(crate) struct Externs {
    pub(crate) by_name: BTreeMap<String, Extern>,
    pub(crate) kconfig: Kconfig,
}

/// The BTF declaration of an extern.
#[derive(Clone, Copy)]
enum Declared {
    Ksym(TypeId),
    Kconfig(TypeId),
}

/// Returns whether another object or the kernel defines this symbol.
pub(crate) fn is_extern(symbol: &Symbol<'_>) -> bool {
    symbol.undefined && !symbol.local && symbol.kind == SymbolKind::Untyped && !symbol.name.is_empty()
}

impl Externs {
    pub(crate) fn resolve(
        pair: Pair<'_>,
        elf: &Elf<'_>,
        options: &LoadOptions,
    ) -> Result<Externs, ObjectError> {
        let declared = declarations(pair.local);
        let mut externs = Externs::default();
        for symbol in elf.symbols.iter().filter(|symbol| is_extern(symbol)) {
            let found = match declared.get(symbol.name) {
                None => return Err(ObjectError::Extern(symbol.name.to_owned())),
                Some(Declared::Ksym(id)) => ksym(pair, symbol, *id)?,
                Some(Declared::Kconfig(ty)) => {
                    let what = (symbol.name, *ty);
                    let (offset, size) = externs.kconfig.add(pair.local, what, symbol.weak, options)?;
                    Extern::Kconfig(offset, size)
                }
            };
            if externs.by_name.len() >= MAX_EXTERNS {
                return Err(ObjectError::TooLarge { what: "number of externs", limit: MAX_EXTERNS as u64 });
            }
            externs.by_name.insert(symbol.name.to_owned(), found);
        }
        Ok(externs)
    }
}

fn declarations(btf: &Btf) -> BTreeMap<&str, Declared> {
    let mut declared = BTreeMap::new();
    for (id, ty) in btf.types() {
        let Kind::Datasec { vars, .. } = &ty.kind else { continue };
        let section = btf.name(id);
        for var in vars {
            let name = btf.name(var.ty);
            match (section, btf.kind(var.ty)) {
                (".kconfig", Kind::Var { ty, .. }) => declared.insert(name, Declared::Kconfig(*ty)),
                (".ksyms", _) => declared.insert(name, Declared::Ksym(var.ty)),
                _ => None,
            };
        }
    }
    declared
}

fn ksym(pair: Pair<'_>, symbol: &Symbol<'_>, id: TypeId) -> Result<Extern, ObjectError> {
    let name = essential_name(symbol.name);
    match pair.local.kind(id) {
        Kind::Func { proto, .. } => kfunc(pair, symbol, name, *proto),
        Kind::Var { ty, .. } => match pair.local.skip_modifiers(*ty) {
            TypeId::VOID => untyped(pair.kernel, symbol, name),
            ty => variable(pair, symbol, name, ty),
        },
        _ => Err(ObjectError::Extern(symbol.name.to_owned())),
    }
}

fn kfunc(pair: Pair<'_>, symbol: &Symbol<'_>, name: &str, proto: TypeId) -> Result<Extern, ObjectError> {
    let function = pair.kernel.function(name).filter(|f| pair.kernel.has_tag(f.id, "bpf_kfunc"));
    let Some(function) = function else {
        return if symbol.weak {
            Ok(Extern::Null(format!("the kernel has no kfunc {name}")))
        } else {
            Err(ObjectError::UnknownKfunc(name.to_owned()))
        };
    };
    if is_compatible(pair, proto, function.proto)? {
        Ok(Extern::Kfunc(name.to_owned()))
    } else if symbol.weak {
        Ok(Extern::Null(format!("the kernel's kfunc {name} has another prototype")))
    } else {
        Err(ObjectError::KfuncPrototype(name.to_owned()))
    }
}

fn variable(pair: Pair<'_>, symbol: &Symbol<'_>, name: &str, ty: TypeId) -> Result<Extern, ObjectError> {
    let id = pair.kernel.find_kind(name, |kind| matches!(kind, Kind::Var { .. }));
    match id.map(|id| pair.kernel.kind(id)) {
        Some(Kind::Var { ty: theirs, .. }) => {
            let theirs = pair.kernel.skip_modifiers(*theirs);
            // Here even a weak symbol must be compatible: it exists, and would be misread.
            if is_compatible(pair, ty, theirs)? {
                Ok(Extern::Variable(name.to_owned()))
            } else {
                Err(ObjectError::KsymType(name.to_owned()))
            }
        }
        _ => absent(symbol, name),
    }
}

fn untyped(kernel: &Btf, symbol: &Symbol<'_>, name: &str) -> Result<Extern, ObjectError> {
    let kind = |id| match kernel.kind(id) {
        Kind::Var { .. } => Some(false),
        Kind::Func { .. } => Some(true),
        _ => None,
    };
    match kernel.find(name).find_map(kind) {
        Some(is_function) => Ok(Extern::Untyped { name: name.to_owned(), is_function }),
        None => absent(symbol, name),
    }
}

fn absent(symbol: &Symbol<'_>, name: &str) -> Result<Extern, ObjectError> {
    if symbol.weak {
        Ok(Extern::Null(format!("the kernel has no symbol {name}")))
    } else {
        Err(ObjectError::UnknownKsym(name.to_owned()))
    }
}

fn is_compatible(pair: Pair<'_>, local: TypeId, kernel: TypeId) -> Result<bool, ObjectError> {
    match compatible(pair, local, kernel) {
        Ok(compatible) => Ok(compatible),
        Err(CoreError::Malformed(_)) => Ok(false),
        Err(CoreError::TooComplex) => Err(ObjectError::TooComplex),
    }
}
