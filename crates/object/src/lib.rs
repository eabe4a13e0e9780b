//! From the bytes of a compiled BPF object to a typed [`Object`]: ELF, BTF, CO-RE relocation,
//! struct_ops, ksyms, kconfig, global variables.
//!
//! This room reads bytes and never runs them; it knows nothing of any simulated kernel but the
//! BTF that it is given. Bytes come from strangers: whatever they hold, [`load`] ends in bounded time
//! and memory with an [`Object`] or one sentence.
#![forbid(unsafe_code)]

pub mod btf;
mod budget;
mod code;
mod data;
mod elf;
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
mod refer;
mod relo;
mod set;
mod struct_ops;
mod variables;
mod words;

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
