//! What can be wrong with an object, each a sentence of its own.

use crate::btf::BtfError;

/// Why bytes are no object that this kernel can run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// No ELF file, or a broken one.
    #[error("it is not a readable ELF file: {0}")]
    Elf(String),
    /// ELF of another byte order or word size.
    #[error("it is a {0} ELF file; only little-endian 64-bit objects are read")]
    Encoding(&'static str),
    /// ELF for another machine that carries no object.
    #[error(
        "it is an ELF file for {}, neither BPF nor a binary with a BPF object in a .bpf.objs section",
        architecture(*.0)
    )]
    Machine(u16),
    /// Something beyond a limit.
    #[error("the object's {what} exceeds {limit}, which is the limit")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// How many are allowed.
        limit: u64,
    },
    /// Types so intertwined that comparing them takes too long.
    #[error("the object's types are too deeply connected to compare with the kernel's")]
    TooComplex,
    /// Its type information.
    #[error(transparent)]
    Btf(#[from] BtfError),
    /// Something that needs type information.
    #[error("the object has {0} but no .BTF section; compile it with -g")]
    NeedsBtf(&'static str),
    /// `.BTF.ext`.
    #[error("the .BTF.ext section is malformed: {0}")]
    BtfExt(&'static str),
    /// A section.
    #[error("section {section} is malformed: {why}")]
    Section {
        /// Which.
        section: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A function's symbol.
    #[error("function {function} is malformed: {why}")]
    Function {
        /// Which.
        function: String,
        /// What is wrong.
        why: &'static str,
    },
    /// An instruction.
    #[error("instruction {insn} of {function} is malformed: {why}")]
    Instruction {
        /// In which function.
        function: String,
        /// Which slot.
        insn: u32,
        /// What is wrong.
        why: String,
    },
    /// A relocation by symbol.
    #[error("instruction {insn} of {function} refers to {symbol}, which cannot be resolved: {why}")]
    Relocation {
        /// In which function.
        function: String,
        /// Which slot.
        insn: u32,
        /// The symbol's name, or its section's.
        symbol: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A CO-RE relocation that is itself broken, not merely unsatisfied.
    #[error("the CO-RE relocation of instruction {insn} of {function} is malformed: {why}")]
    Core {
        /// In which function.
        function: String,
        /// Which slot.
        insn: u32,
        /// What is wrong.
        why: String,
    },
    /// A map's definition.
    #[error("map {map} is malformed: {why}")]
    Map {
        /// Which.
        map: String,
        /// What is wrong.
        why: String,
    },
    /// A map of the style that libbpf 1.0 dropped.
    #[error("map {0} is defined in the legacy section maps; define it in .maps with BTF")]
    LegacyMap(String),
    /// A struct_ops variable.
    #[error("struct_ops variable {variable} is malformed: {why}")]
    StructOps {
        /// Which.
        variable: String,
        /// What is wrong.
        why: String,
    },
    /// A kind of struct_ops that the kernel lacks.
    #[error("struct_ops variable {variable} is of type {type_name}, which the kernel doesn't have")]
    StructOpsType {
        /// Which.
        variable: String,
        /// Its type.
        type_name: String,
    },
    /// A struct_ops member that the kernel lacks.
    #[error("struct_ops variable {variable} sets {member}, which the kernel's {type_name} doesn't have")]
    StructOpsMember {
        /// Which.
        variable: String,
        /// Its type.
        type_name: String,
        /// The member.
        member: String,
    },
    /// Something that is sound, but not read.
    #[error("the object has {0}, which is not supported")]
    Unsupported(&'static str),
    /// A kfunc that the kernel lacks.
    #[error("the object needs the kfunc {0}, which the kernel doesn't have")]
    UnknownKfunc(String),
    /// A kfunc that takes or returns something else.
    #[error("the object needs the kfunc {0} with another prototype than the kernel's")]
    KfuncPrototype(String),
    /// A kernel variable that the kernel lacks.
    #[error("the object needs the kernel symbol {0}, which the kernel doesn't have")]
    UnknownKsym(String),
    /// A kernel variable of another type.
    #[error("the object declares the kernel variable {0} with another type than the kernel's")]
    KsymType(String),
    /// A kernel configuration value that isn't known.
    #[error("the object needs the kernel configuration value {0}, which isn't known")]
    UnknownKconfig(String),
    /// A kernel configuration value that doesn't fit its variable.
    #[error("the kernel configuration value {name} is unusable: {why}")]
    Kconfig {
        /// Which.
        name: String,
        /// What is wrong.
        why: &'static str,
    },
    /// An extern that is neither ksym nor kconfig.
    #[error(
        "{0} is declared but not defined; mark it __ksym or __kconfig, or link the object that defines it"
    )]
    Extern(String),
}

impl ObjectError {
    /// Is the object sound, but in need of something that this kernel lacks?
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

/// The name of an ELF file's machine (`e_machine`), or its number.
fn architecture(machine: u16) -> String {
    match machine {
        3 => "32-bit x86".to_owned(),
        62 => "x86-64".to_owned(),
        183 => "AArch64".to_owned(),
        243 => "RISC-V".to_owned(),
        other => format!("machine {other}"),
    }
}
