//! Ids as types, so that they can't be confused: CPUs, tasks, pids, nodes, DSQs.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl $name {
            /// Returns the id as an index into a dense array.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A logical CPU, numbered from 0 without gaps, as in the kernel.
    CpuId(u32)
);
id!(
    /// A task, numbered from 0 without gaps and never reused within a run. Not its pid.
    TaskId(u32)
);
id!(
    /// A task's pid, as users see it.
    Pid(u32)
);
id!(
    /// A NUMA node, numbered from 0 without gaps.
    NodeId(u32)
);
id!(
    /// A last-level cache, numbered from 0 without gaps across the machine.
    LlcId(u32)
);
id!(
    /// A physical core, which its SMT siblings share, numbered from 0 without gaps across the machine.
    CoreId(u32)
);
id!(
    /// A DSQ's 64-bit id. The built-in ones are in [`crate::scx::dsq`].
    DsqId(u64)
);

impl TaskId {
    /// Represents a CPU's idle task.
    pub const IDLE: Self = Self(u32::MAX);

    /// Returns whether this is some CPU's idle task.
    pub const fn is_idle(self) -> bool {
        self.0 == u32::MAX
    }
}
