//! The functions that programs call most often.

#[cfg(doc)]
use super::Host;

/// How a program names a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By<'a> {
    /// A helper's number.
    Number(i32),
    /// A kfunc's name.
    Name(&'a str),
}

/// Each function: how a program names it, and how many arguments it takes.
macro_rules! functions {
    ($($(#[$doc:meta])* $function:ident: $by:expr, $args:literal;)*) => {
        /// A helper or kfunc that programs call so often that an engine may have an entry of its own for it
        /// ([`Host::call_frequent`]).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Frequent {
            $($(#[$doc])* $function,)*
        }

        impl Frequent {
            /// All of them, in their order.
            pub const ALL: [Self; [$($args),*].len()] = [$(Self::$function),*];

            const fn by(self) -> By<'static> {
                match self {
                    $(Self::$function => $by,)*
                }
            }

            /// How many arguments it takes.
            pub const fn args(self) -> usize {
                match self {
                    $(Self::$function => $args,)*
                }
            }
        }
    };
}

functions! {
    /// `bpf_map_lookup_elem()`.
    MapLookup: By::Number(1), 2;
    /// `bpf_spin_lock()`.
    SpinLock: By::Number(93), 1;
    /// `bpf_spin_unlock()`.
    SpinUnlock: By::Number(94), 1;
    /// `scx_bpf_select_cpu_dfl()`.
    SelectCpuDfl: By::Name("scx_bpf_select_cpu_dfl"), 4;
    /// `scx_bpf_dsq_insert()`, as its second version.
    DsqInsert: By::Name("scx_bpf_dsq_insert___v2"), 4;
    /// `scx_bpf_dsq_insert_vtime()`, with its arguments in a structure.
    DsqInsertVtime: By::Name("__scx_bpf_dsq_insert_vtime"), 2;
    /// `scx_bpf_dsq_move_to_local()`, as its first version.
    DsqMoveToLocalV1: By::Name("scx_bpf_dsq_move_to_local"), 1;
    /// The same, as its second version.
    DsqMoveToLocal: By::Name("scx_bpf_dsq_move_to_local___v2"), 2;
    /// `scx_bpf_task_set_slice()`.
    TaskSetSlice: By::Name("scx_bpf_task_set_slice"), 2;
    /// `scx_bpf_task_set_dsq_vtime()`.
    TaskSetVtime: By::Name("scx_bpf_task_set_dsq_vtime"), 2;
    /// `scx_bpf_task_cpu()`.
    TaskCpu: By::Name("scx_bpf_task_cpu"), 1;
    /// `bpf_task_from_pid()`.
    TaskFromPid: By::Name("bpf_task_from_pid"), 1;
    /// `bpf_task_release()`.
    TaskRelease: By::Name("bpf_task_release"), 1;
    /// `scx_bpf_kick_cpu()`.
    KickCpu: By::Name("scx_bpf_kick_cpu"), 2;
}

impl Frequent {
    /// The helper with this number, if it is one of them.
    pub fn helper(number: i32) -> Option<Self> {
        Self::find(By::Number(number))
    }

    /// The kfunc with this name, if it is one of them.
    pub fn kfunc(name: &str) -> Option<Self> {
        Self::find(By::Name(name))
    }

    fn find(by: By<'_>) -> Option<Self> {
        Self::ALL.into_iter().find(|which| which.by() == by)
    }

    /// Whether serving a usual call of it takes so little that it must not panic.
    pub const fn is_simple(self) -> bool {
        matches!(
            self,
            Self::MapLookup
                | Self::SpinLock
                | Self::SpinUnlock
                | Self::DsqInsert
                | Self::DsqInsertVtime
                | Self::TaskSetSlice
                | Self::TaskSetVtime
                | Self::TaskCpu
                | Self::TaskFromPid
                | Self::TaskRelease
        )
    }

    /// Whether calls of it that are served in turn are frequent, too.
    pub const fn is_served_in_turn(self) -> bool {
        // `ops.dispatch` inserts any tasks, and as many as it likes.
        !self.is_simple() || matches!(self, Self::DsqInsert)
    }
}
