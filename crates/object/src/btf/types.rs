//! The kinds of BTF types, as in `include/uapi/linux/btf.h`.

/// A type's number within its BTF; 0 is `void`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

impl TypeId {
    /// The type `void`.
    pub const VOID: TypeId = TypeId(0);
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The offset of its name in the string section; 0 if it has none.
    pub(crate) name: u32,
    /// Its kind.
    pub kind: Kind,
}

/// The kind of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `void`.
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
        /// Whether it declares a union; otherwise it declares a struct.
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
        /// Its return type.
        returns: TypeId,
        /// Its parameters.
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
        /// The size in bytes; 0 if the compiler left it to the linker.
        size: u32,
        /// The variables in it.
        vars: Vec<SecVar>,
    },
    /// A floating-point number.
    Float {
        /// The size in bytes.
        size: u32,
    },
    /// A tag on a declaration; its name is the tag's text.
    DeclTag {
        /// The tagged type.
        target: TypeId,
        /// The tagged member or parameter; -1 for the whole.
        component: i32,
    },
    /// A tag on a type.
    TypeTag(TypeId),
}

/// An integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Int {
    /// The size in bytes.
    pub size: u32,
    /// Whether it is signed.
    pub signed: bool,
    /// Whether it is a character.
    pub character: bool,
    /// Whether it is a boolean.
    pub boolean: bool,
    /// The number of bits.
    pub bits: u8,
    /// The offset of its bits, for the bit-fields of old compilers.
    pub offset: u8,
}

/// An array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// The type of its elements.
    pub element: TypeId,
    /// The number of elements; 0 for a flexible array.
    pub count: u32,
}

/// A struct or a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struct {
    /// The size in bytes.
    pub size: u32,
    /// Its members, in order.
    pub members: Vec<Member>,
}

/// A member of a struct or a union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The offset of its name in the string section; 0 if it has none.
    pub(crate) name: u32,
    /// Its type.
    pub ty: TypeId,
    /// Its offset in bits.
    pub bit_offset: u32,
    /// The number of bits of a bit-field; otherwise 0.
    pub bit_size: u32,
}

/// An enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enum {
    /// The size in bytes.
    pub size: u32,
    /// Whether its values are signed.
    pub signed: bool,
    /// Its values, in order.
    pub values: Vec<Enumerator>,
}

/// A value of an enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enumerator {
    /// The offset of its name in the string section.
    pub(crate) name: u32,
    /// The value, sign-extended if the enum is signed.
    pub value: u64,
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// The offset of its name in the string section.
    pub(crate) name: u32,
    /// Its type.
    pub ty: TypeId,
}

/// A variable's place in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecVar {
    /// The variable, or an extern function.
    pub ty: TypeId,
    /// The offset from the section's start, in bytes; 0 if the compiler left it to the linker.
    pub offset: u32,
    /// The size in bytes.
    pub size: u32,
}
