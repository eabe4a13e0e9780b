//! Reads the bytes of a compiled BPF object into a typed [`Object`]: ELF, BTF, CO-RE relocation, `struct_ops`, ksyms,
//! kconfig, global variables.
//!
//! This crate never runs an object. All it knows about the simulated kernel is the BTF that it is given. The bytes are
//! untrusted input: whatever they contain, [`load()`] returns an [`Object`] or a one-sentence error, in bounded time
//! and memory.
//!
//! Loading:
//!
//! - `load`: the steps in which an object is loaded
//! - [`model`]: what a loaded object consists of: functions, maps, `struct_ops`, variables
//! - `options`: what the kernel that an object is loaded for reports about itself
//! - `outline`: what can be read from an object without any kernel's types
//! - `error`: errors in an object
//! - `budget`: a limit on the work of comparing types
//!
//! File formats:
//!
//! - `elf`: sections, symbols and relocations; the object within a binary
//! - [`btf`]: BTF, the type information of a kernel or an object
//! - `ext`: `.BTF.ext`: source lines, function types and CO-RE relocations
//! - `lines`: source lines of functions
//!
//! Parts of an object:
//!
//! - `code`: functions, cut from the code sections
//! - `data`: global data as array maps
//! - `maps`: maps defined in `.maps`
//! - `struct_ops`: `struct_ops` variables, their callbacks and other members
//! - `externs`: kfuncs, kernel variables and configuration, by libbpf's rules
//! - `kconfig`: variables filled from the kernel's configuration
//! - `queues`: the object's names for its DSQs
//!
//! Relocation:
//!
//! - `refer`: references between parts, by symbol and by offset
//! - `relo`: CO-RE, which adapts the object's accesses to the kernel's types
//!
//! Settings:
//!
//! - `variables`: global variables by name, and constants filled in by a loader
//! - `set`: `--set NAME=VALUE`, a global variable's initial value
//! - `enum_names`: settings of enum types, by the names of the enum's values
#![forbid(unsafe_code)]

pub mod btf;
mod budget;
mod code;
mod data;
mod elf;
mod enum_names;
mod error;
mod ext;
mod externs;
mod kconfig;
mod lines;
mod load;
mod maps;
pub mod model;
mod options;
mod outline;
mod queues;
mod reach;
mod refer;
mod relo;
mod set;
mod struct_ops;
mod variables;

pub use btf::{Btf, BtfError, Field, btf_section};
pub use error::ObjectError;
pub use load::load;
pub use model::{
    Elements, Function, Insn, Kfunc, Ksym, LineInfo, MapDef, Object, Poison, Program, StructOps, Variable,
    Word,
};
pub use options::{KconfigValue, LoadOptions};
pub use outline::{Outline, outline};
pub use set::SetError;
