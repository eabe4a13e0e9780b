//! The fair class's settings, under the kernel's names.

use keel_abi::Span;
use std::ops::RangeInclusive;

/// Settings of the kernel's own scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FairSettings {
    /// How long a task may run before others are considered (`/sys/kernel/debug/sched/base_slice_ns`). `None` is the
    /// kernel's default, which depends on the number of CPUs.
    pub base_slice: Option<Span>,
    /// Whether a timer ends slices (`HRTICK` in `/sys/kernel/debug/sched/features`), which is Linux's default since
    /// 7.1. Otherwise a slice ends at the first tick after its time.
    pub hrtick: bool,
    /// Whether to report what placements and balancing attempts considered, as policy events. This costs no simulated
    /// time.
    pub tell_policy: bool,
}

impl Default for FairSettings {
    /// Returns the settings of Linux 7.2.
    fn default() -> Self {
        Self { base_slice: None, hrtick: true, tell_policy: false }
    }
}

impl FairSettings {
    /// The names that [`FairSettings::set`] knows.
    pub const NAMES: [&str; 3] = ["base_slice_ns", "hrtick", "tell_policy"];

    /// The slices that the kernel accepts from a task (`sched_attr::sched_runtime`), in nanoseconds. Base slices have
    /// the same bounds.
    const SLICE_NS: RangeInclusive<u64> = 100_000..=100_000_000;

    /// Sets a setting by its name.
    ///
    /// # Errors
    /// Returns a description of the expected value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "base_slice_ns" => {
                let ns = value.parse().ok().filter(|ns| Self::SLICE_NS.contains(ns));
                self.base_slice = Some(Span::from_ns(ns.ok_or("a slice is 100000 to 100000000 ns")?));
            }
            "hrtick" => self.hrtick = bool(value).ok_or("it is 0 or 1")?,
            "tell_policy" => self.tell_policy = bool(value).ok_or("it is 0 or 1")?,
            _ => return Err(format!("the kernel's own scheduler has {}", Self::NAMES.join(", "))),
        }
        Ok(())
    }
}

fn bool(value: &str) -> Option<bool> {
    match value {
        "0" | "false" => Some(false),
        "1" | "true" => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_set_by_name_within_bounds() {
        let check = |name: &str, value: &str, expected: Result<FairSettings, &str>| {
            let mut settings = FairSettings::default();
            let reported = settings.set(name, value).map(|()| settings);
            assert_eq!(reported, expected.map_err(str::to_owned), "{name}={value}");
        };
        let none = FairSettings::default();
        let slice = |ns| Ok(FairSettings { base_slice: Some(Span::from_ns(ns)), ..none });
        check("base_slice_ns", "3000000", slice(3_000_000));
        check("base_slice_ns", "100000", slice(100_000));
        for bad in ["99999", "100000001", "-1", "x", ""] {
            check("base_slice_ns", bad, Err("a slice is 100000 to 100000000 ns"));
        }
        check("tell_policy", "1", Ok(FairSettings { tell_policy: true, ..none }));
        check("hrtick", "0", Ok(FairSettings { hrtick: false, ..none }));
        check("tell_policy", "2", Err("it is 0 or 1"));
        check("slice", "1", Err("the kernel's own scheduler has base_slice_ns, hrtick, tell_policy"));
    }
}
