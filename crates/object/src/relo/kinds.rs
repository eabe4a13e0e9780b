//! The questions that relocations ask (`enum bpf_core_relo_kind`).

/// A question about a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ask {
    FieldOffset,
    FieldSize,
    FieldExists,
    FieldSigned,
    FieldLeftShift,
    FieldRightShift,
    TypeIdLocal,
    TypeIdTarget,
    TypeExists,
    TypeSize,
    EnumExists,
    EnumValue,
    TypeMatches,
}

/// What the question's access string leads into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Field,
    Type,
    Enum,
}

impl Ask {
    pub(super) fn of(kind: u32) -> Option<Ask> {
        const ALL: [Ask; 13] = [
            Ask::FieldOffset,
            Ask::FieldSize,
            Ask::FieldExists,
            Ask::FieldSigned,
            Ask::FieldLeftShift,
            Ask::FieldRightShift,
            Ask::TypeIdLocal,
            Ask::TypeIdTarget,
            Ask::TypeExists,
            Ask::TypeSize,
            Ask::EnumExists,
            Ask::EnumValue,
            Ask::TypeMatches,
        ];
        ALL.get(kind as usize).copied()
    }

    pub(super) fn subject(self) -> Subject {
        match self {
            Ask::FieldOffset
            | Ask::FieldSize
            | Ask::FieldExists
            | Ask::FieldSigned
            | Ask::FieldLeftShift
            | Ask::FieldRightShift => Subject::Field,
            Ask::EnumExists | Ask::EnumValue => Subject::Enum,
            Ask::TypeIdLocal | Ask::TypeIdTarget | Ask::TypeExists | Ask::TypeSize | Ask::TypeMatches => {
                Subject::Type
            }
        }
    }
}
