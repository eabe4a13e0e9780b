//! Small numbers that must not be mixed up: CPUs, tasks, pids, nodes, dispatch queues.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl $name {
            /// As an index into a dense array.
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
    /// A logical CPU, dense from 0, as the kernel numbers them.
    CpuId(u32)
);
id!(
    /// A task, dense from 0 and never used again within a run. Not its pid.
    TaskId(u32)
);
id!(
    /// A task's number as people see it.
    Pid(u32)
);
id!(
    /// A NUMA node, dense from 0.
    NodeId(u32)
);
id!(
    /// A last-level cache, dense from 0 over the machine.
    LlcId(u32)
);
id!(
    /// A physical core (its SMT threads share it), dense from 0 over the machine.
    CoreId(u32)
);
id!(
    /// A dispatch queue's 64-bit id; built-in ones are in [`crate::scx::dsq`].
    DsqId(u64)
);

impl TaskId {
    /// Stands for a CPU's idle task.
    pub const IDLE: Self = Self(u32::MAX);

    /// Is this the idle task of some CPU?
    pub const fn is_idle(self) -> bool {
        self.0 == u32::MAX
    }
}
