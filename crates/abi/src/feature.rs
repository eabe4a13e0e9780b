//! What a scheduler may find here and how near it is to the kernel's: crates list what they serve in these
//! words, and `keel list features` and LIMITATIONS.md show it.

/// What a feature is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FeatureKind {
    /// A member of `struct sched_ext_ops` that the kernel calls.
    Callback,
    /// A flag of `struct sched_ext_ops`.
    Flag,
    /// A kernel function that BPF may call by name.
    Kfunc,
    /// A function that BPF calls by number.
    Helper,
    /// A kind of map.
    Map,
}

impl FeatureKind {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 5] = [Self::Callback, Self::Flag, Self::Kfunc, Self::Helper, Self::Map];

    /// One word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Callback => "callback",
            Self::Flag => "flag",
            Self::Kfunc => "kfunc",
            Self::Helper => "helper",
            Self::Map => "map",
        }
    }
}

/// How near it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The kernel's rule.
    Exact,
    /// What differs.
    Approximate(&'static str),
    /// It fails by name; empty, or what to know of it.
    Absent(&'static str),
}

/// Something that a scheduler may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// What it is.
    pub kind: FeatureKind,
    /// Its name in the kernel.
    pub name: &'static str,
    /// How near it is.
    pub level: Level,
}

impl Feature {
    /// The features of one kind: the supported ones, with the differences of some, then the absent ones.
    pub fn list(
        kind: FeatureKind,
        served: impl IntoIterator<Item = &'static str>,
        approximate: &[(&'static str, &'static str)],
        absent: &[(&'static str, &'static str)],
    ) -> Vec<Self> {
        let level = |name| {
            let differs = approximate.iter().find(|(of, _)| *of == name);
            differs.map_or(Level::Exact, |(_, how)| Level::Approximate(how))
        };
        let served = served.into_iter().map(|name| Self { kind, name, level: level(name) });
        let absent = absent.iter().map(|&(name, why)| Self { kind, name, level: Level::Absent(why) });
        served.chain(absent).collect()
    }
}
