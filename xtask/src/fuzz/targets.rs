//! The fuzz targets and their limits.

/// A target of `fuzz/fuzz_targets`.
pub(super) struct Target {
    pub(super) name: &'static str,
    /// The maximum size of an input in bytes.
    pub(super) longest: u32,
    /// Seconds after which a case counts as hanging: about a hundred times what the slowest should take.
    pub(super) timeout_s: u32,
    /// Whether it has a dictionary in `fuzz/dictionaries`.
    pub(super) has_words: bool,
}

/// All targets, those with the fastest cases first.
pub(super) const TARGETS: &[Target] = &[
    Target { name: "experiment", longest: 8192, timeout_s: 10, has_words: true },
    Target { name: "trace", longest: 4096, timeout_s: 10, has_words: false },
    Target { name: "recording", longest: 65536, timeout_s: 10, has_words: true },
    Target { name: "replay", longest: 16384, timeout_s: 20, has_words: false },
    Target { name: "recipe", longest: 2048, timeout_s: 20, has_words: true },
    Target { name: "workload", longest: 4096, timeout_s: 20, has_words: true },
    Target { name: "machine", longest: 8192, timeout_s: 20, has_words: true },
    Target { name: "object", longest: 256, timeout_s: 30, has_words: false },
    Target { name: "run", longest: 256, timeout_s: 30, has_words: false },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_gets_the_fuzzers_instruments() {
        let wrapper = std::fs::read_to_string(crate::tree::root().join("fuzz/rustc.sh")).unwrap();
        let lines = wrapper.lines().filter(|line| line.ends_with("exec \"$compiler\" \"$@\" ;;"));
        let named: Vec<&str> = lines.flat_map(|line| line.split([' ', '|', ')'])).collect();
        for target in TARGETS {
            assert!(named.contains(&target.name), "fuzz/rustc.sh leaves out {}: it won't link", target.name);
        }
    }
}
