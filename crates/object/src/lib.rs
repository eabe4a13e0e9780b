//! From the bytes of a compiled BPF object to a typed [`Object`]: ELF, BTF, CO-RE relocation,
//! struct_ops, ksyms, kconfig, global variables.
//!
//! This room reads bytes and never runs them; it knows nothing of any simulated kernel but the
//! BTF that it is given.
#![forbid(unsafe_code)]

pub mod btf;
pub mod model;

pub use btf::{Btf, BtfError, Field, btf_section};
pub use model::{
    Function, Insn, Kfunc, Ksym, LineInfo, MapDef, Object, Poison, Program, StructOps, Variable,
};
