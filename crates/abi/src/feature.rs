//! The kernel features that schedulers can use in the simulation, and how exact each is. Crates list the features that
//! they provide in these terms; `keel list features` and LIMITATIONS.md show them.

/// A kind of feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FeatureKind {
    /// A member of `struct sched_ext_ops` that the kernel calls.
    Callback,
    /// A flag of `struct sched_ext_ops`.
    Flag,
    /// A kernel function that BPF can call by name.
    Kfunc,
    /// A function that BPF calls by number.
    Helper,
    /// A kind of map.
    Map,
}

impl FeatureKind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [Self; 5] = [Self::Callback, Self::Flag, Self::Kfunc, Self::Helper, Self::Map];

    /// Returns its name, one word.
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

/// How exactly a feature is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// As in the kernel.
    Exact,
    /// Not quite as in the kernel. The text says what differs.
    Approximate(&'static str),
    /// Missing: a scheduler that uses it fails with an error that names it. The text is a remark, or empty.
    Absent(&'static str),
}

/// A feature that a scheduler can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Its kind.
    pub kind: FeatureKind,
    /// Its name in the kernel.
    pub name: &'static str,
    /// How exactly it is simulated.
    pub level: Level,
}

impl Feature {
    /// Returns the features of one kind: the supported ones, with the differences of some, then the absent ones.
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
