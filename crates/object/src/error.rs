//! Errors in an object, each displayed as one sentence.

use crate::btf::BtfError;

/// Why bytes are not an object that this kernel can run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// It is not an ELF file, or a broken one.
    #[error("it is not a readable ELF file: {0}")]
    Elf(String),
    /// It is an ELF file of another byte order or word size.
    #[error("it is a {0} ELF file; only little-endian 64-bit objects are read")]
    Encoding(&'static str),
    /// It is an ELF file for another machine that contains no object.
    #[error(
        "it is an ELF file for {}, neither BPF nor a binary with a BPF object in a .bpf.objs section",
        architecture(*.0)
    )]
    Machine(u16),
    /// Something exceeds a limit.
    #[error("the object's {what} exceeds {limit}, which is the limit")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// Its types are so entangled that comparing them takes too long.
    #[error("the object's types are too deeply connected to compare with the kernel's")]
    TooComplex,
    /// Its type information is invalid.
    #[error(transparent)]
    Btf(#[from] BtfError),
    /// It has something that needs type information, and no type information.
    #[error("the object has {0} but no .BTF section; compile it with -g")]
    NeedsBtf(&'static str),
    /// Its `.BTF.ext` is malformed.
    #[error("the .BTF.ext section is malformed: {0}")]
    BtfExt(&'static str),
    /// A section is malformed.
    #[error("section {section} is malformed: {why}")]
    Section {
        /// Its name.
        section: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A function's symbol is malformed.
    #[error("function {function} is malformed: {why}")]
    Function {
        /// Its name.
        function: String,
        /// What is wrong.
        why: &'static str,
    },
    /// An instruction is malformed.
    #[error("instruction {insn} of {function} is malformed: {why}")]
    Instruction {
        /// The function.
        function: String,
        /// The slot.
        insn: u32,
        /// What is wrong.
        why: String,
    },
    /// A relocation by symbol cannot be resolved.
    #[error("instruction {insn} of {function} refers to {symbol}, which cannot be resolved: {why}")]
    Relocation {
        /// The function.
        function: String,
        /// The slot.
        insn: u32,
        /// The symbol's name, or its section's.
        symbol: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A CO-RE relocation is malformed, not merely unsatisfied.
    #[error("the CO-RE relocation of instruction {insn} of {function} is malformed: {why}")]
    Core {
        /// The function.
        function: String,
        /// The slot.
        insn: u32,
        /// What is wrong.
        why: String,
    },
    /// A map's definition is malformed.
    #[error("map {map} is malformed: {why}")]
    Map {
        /// Its name.
        map: String,
        /// What is wrong.
        why: String,
    },
    /// A map is defined in the style that libbpf 1.0 dropped.
    #[error("map {0} is defined in the legacy section maps; define it in .maps with BTF")]
    LegacyMap(String),
    /// A struct_ops variable is malformed.
    #[error("struct_ops variable {variable} is malformed: {why}")]
    StructOps {
        /// Its name.
        variable: String,
        /// What is wrong.
        why: String,
    },
    /// The kernel lacks a kind of struct_ops.
    #[error("struct_ops variable {variable} is of type {type_name}, which the kernel doesn't have")]
    StructOpsType {
        /// Its name.
        variable: String,
        /// Its type.
        type_name: String,
    },
    /// The kernel lacks a struct_ops member.
    #[error("struct_ops variable {variable} sets {member}, which the kernel's {type_name} doesn't have")]
    StructOpsMember {
        /// Its name.
        variable: String,
        /// Its type.
        type_name: String,
        /// The member.
        member: String,
    },
    /// It has something that is valid, but not supported.
    #[error("the object has {0}, which is not supported")]
    Unsupported(&'static str),
    /// The kernel lacks a kfunc.
    #[error("the object needs the kfunc {0}, which the kernel doesn't have")]
    UnknownKfunc(String),
    /// The kernel's kfunc has a different prototype.
    #[error("the object needs the kfunc {0} with another prototype than the kernel's")]
    KfuncPrototype(String),
    /// The kernel lacks a kernel variable.
    #[error("the object needs the kernel symbol {0}, which the kernel doesn't have")]
    UnknownKsym(String),
    /// The kernel's variable has a different type.
    #[error("the object declares the kernel variable {0} with another type than the kernel's")]
    KsymType(String),
    /// A kernel configuration value is unknown.
    #[error("the object needs the kernel configuration value {0}, which isn't known")]
    UnknownKconfig(String),
    /// A kernel configuration value doesn't fit its variable.
    #[error("the kernel configuration value {name} is unusable: {why}")]
    Kconfig {
        /// Its name.
        name: String,
        /// What is wrong.
        why: &'static str,
    },
    /// An extern is neither a ksym nor a kconfig value.
    #[error(
        "{0} is declared but not defined; mark it __ksym or __kconfig, or link the object that defines it"
    )]
    Extern(String),
}

impl ObjectError {
    /// Returns whether the object is valid, but needs something that this kernel lacks.
    pub fn is_unsupported(&self) -> bool {
        matches!(
            self,
            Self::StructOpsType { .. }
                | Self::StructOpsMember { .. }
                | Self::Unsupported(_)
                | Self::UnknownKfunc(_)
                | Self::KfuncPrototype(_)
                | Self::UnknownKsym(_)
                | Self::KsymType(_)
                | Self::UnknownKconfig(_)
                | Self::LegacyMap(_)
        )
    }
}

/// Returns the name of an ELF file's machine (`e_machine`), or its number.
fn architecture(machine: u16) -> String {
    match machine {
        3 => "32-bit x86".to_owned(),
        62 => "x86-64".to_owned(),
        183 => "AArch64".to_owned(),
        243 => "RISC-V".to_owned(),
        other => format!("machine {other}"),
    }
}
