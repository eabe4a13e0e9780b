//! The kinds of BTF types, as `include/uapi/linux/btf.h` has them.

/// A type's number within its BTF; 0 is `void`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

impl TypeId {
    /// The type of nothing.
    pub const VOID: TypeId = TypeId(0);
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// Offset of its name in the string section; 0 where it has none.
    pub(crate) name: u32,
    /// What it is.
    pub kind: Kind,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Void,
    /// An integer, a boolean or a character.
    Int(Int),
    /// A pointer to a type.
    Ptr(TypeId),
    /// An array.
    Array(Array),
    /// A struct.
    Struct(Struct),
    /// A union.
    Union(Struct),
    /// An enum, of 32 or 64 bits.
    Enum(Enum),
    /// A declaration without a definition.
    Fwd {
        /// Of a union, else of a struct.
        union: bool,
    },
    /// Another name for a type.
    Typedef(TypeId),
    /// `volatile`.
    Volatile(TypeId),
    /// `const`.
    Const(TypeId),
    /// `restrict`.
    Restrict(TypeId),
    /// A function.
    Func {
        /// Its prototype.
        proto: TypeId,
        /// 0 static, 1 global, 2 extern.
        linkage: u32,
    },
    /// A function's prototype.
    FuncProto {
        /// What it returns.
        returns: TypeId,
        /// What it takes.
        params: Vec<Param>,
    },
    /// A variable.
    Var {
        /// Its type.
        ty: TypeId,
        /// 0 static, 1 global, 2 extern.
        linkage: u32,
    },
    /// A section's variables.
    Datasec {
        /// Bytes; 0 where the compiler left it to the linker.
        size: u32,
        /// What is in it.
        vars: Vec<SecVar>,
    },
    /// A floating-point number.
    Float {
        /// Bytes.
        size: u32,
    },
    /// A tag on a declaration; its name is the tag's text.
    DeclTag {
        /// What it tags.
        target: TypeId,
        /// Which member or parameter; -1 for the whole.
        component: i32,
    },
    /// A tag on a type.
    TypeTag(TypeId),
}

/// An integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Int {
    /// Bytes.
    pub size: u32,
    /// Is it signed?
    pub signed: bool,
    /// Is it a character?
    pub character: bool,
    /// Is it a boolean?
    pub boolean: bool,
    /// Bits that it has.
    pub bits: u8,
    /// The offset of its bits, for the bit-fields of old compilers.
    pub offset: u8,
}

/// An array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// What it holds.
    pub element: TypeId,
    /// How many; 0 for a flexible array.
    pub count: u32,
}

/// A struct or a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struct {
    /// Bytes.
    pub size: u32,
    /// Its members, in order.
    pub members: Vec<Member>,
}

/// A member of a struct or a union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Offset of its name in the string section; 0 where it has none.
    pub(crate) name: u32,
    /// Its type.
    pub ty: TypeId,
    /// Its offset in bits.
    pub bit_offset: u32,
    /// How many bits it has, if it is a bit-field, else 0.
    pub bit_size: u32,
}

/// An enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enum {
    /// Bytes.
    pub size: u32,
    /// Are its values signed?
    pub signed: bool,
    /// Its values, in order.
    pub values: Vec<Enumerator>,
}

/// A value of an enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enumerator {
    /// Offset of its name in the string section.
    pub(crate) name: u32,
    /// The value, sign-extended where the enum is signed.
    pub value: u64,
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Offset of its name in the string section.
    pub(crate) name: u32,
    /// Its type.
    pub ty: TypeId,
}

/// A variable's place in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecVar {
    /// The variable, or an extern function.
    pub ty: TypeId,
    /// Bytes from the section's start; 0 where the compiler left it to the linker.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
}
