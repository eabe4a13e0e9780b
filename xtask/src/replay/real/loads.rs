//! The recorded loads. `tests/replay/loads.sh` runs them.

/// A load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    /// Its function in the script.
    pub(super) name: &'static str,
    /// The prefix of its tasks' names.
    pub(super) tasks: &'static [&'static str],
    /// The same for the tasks whose end is the load's end.
    pub(super) awaited: &'static [&'static str],
}

/// The names of a compiler's tasks.
const BUILD: &[&str] = &["make", "cc", "as", "gcc"];

/// All loads.
pub(super) const LOADS: [Load; 7] = [
    Load { name: "hackbench_pipes", tasks: &["hackbench"], awaited: &["hackbench"] },
    Load { name: "build", tasks: BUILD, awaited: BUILD },
    Load { name: "redis", tasks: &["redis"], awaited: &["redis-benchmark"] },
    Load { name: "nginx_pages", tasks: &["nginx", "ab"], awaited: &["ab"] },
    Load { name: "stress_pipes", tasks: &["stress-ng"], awaited: &["stress-ng"] },
    Load { name: "stress_forks", tasks: &["stress-ng"], awaited: &["stress-ng"] },
    Load {
        name: "periodic",
        tasks: &["rt-app", "frame", "server", "client", "batch"],
        awaited: &["frame", "server", "client", "batch"],
    },
];

impl Load {
    pub(super) fn has(&self, name: &str) -> bool {
        self.tasks.iter().any(|begin| name.starts_with(begin))
    }

    pub(super) fn awaits(&self, name: &str) -> bool {
        self.awaited.iter().any(|begin| name.starts_with(begin))
    }
}
