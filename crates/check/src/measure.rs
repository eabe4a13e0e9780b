//! The measures that experiments compare: the numbers that benchmarks print, from a window's figures.

use crate::window::{Counts, Measured};
use keel_abi::Span;

macro_rules! measures {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $unit:literal;)+) => {
        /// What a benchmark measures.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Measure {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Measure {
            /// Every measure.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its name in experiment files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The unit shown after its values; empty for a share.
            pub const fn unit(self) -> &'static str {
                match self {
                    $(Self::$variant => $unit,)+
                }
            }
        }
    };
}

measures! {
    /// Units of the workload per second.
    UnitsPerSecond = "units_per_s", "a second";
    /// Context switches per second, as `vmstat` prints them.
    SwitchesPerSecond = "switches_per_s", "a second";
    /// Migrations per second.
    MigrationsPerSecond = "migrations_per_s", "a second";
    /// Microseconds per unit of the workload.
    MicrosecondsPerUnit = "us_per_unit", "us";
    /// Microseconds per context switch, including waiting CPUs.
    MicrosecondsPerSwitch = "us_per_switch", "us";
    /// Seconds from the run's start until its last task exited, regardless of the warm-up.
    Elapsed = "elapsed_s", "s";
    /// Seconds from the run's start until the last of these tasks exited, no matter which others are left.
    Gone = "gone_s", "s";
    /// Core-seconds for which CPUs idled while tasks that may run there waited, over the whole run.
    Wasted = "wasted_s", "core-s";
    /// Median time from wakeup or fork to running in microseconds, over the whole run.
    DelayHalf = "delay_p50_us", "us";
    /// The 99th percentile of the same.
    DelayMost = "delay_p99_us", "us";
    /// The share of the CPUs' online time in which tasks ran.
    BusyShare = "busy_share", "";
    /// The share of all CPUs' time in the whole run that tasks spent on their own work, not in the kernel: `us` of
    /// `vmstat`.
    UserShare = "user_share", "";
    /// How often tasks gave up a CPU to wait.
    Voluntary = "voluntary", "times";
    /// How often tasks lost a CPU.
    Involuntary = "involuntary", "times";
    /// How often tasks started on another CPU than they last ran on.
    Migrated = "migrated", "times";
    /// Units done by tasks.
    Iterations = "iterations", "units";
    /// Seconds for which tasks had a CPU.
    CpuSeconds = "cpu_s", "s";
    /// Seconds that tasks spent on their own work, summed over the CPUs: `user` of `time`. Counts the whole run, so
    /// there must be no warm-up.
    UserSeconds = "user_s", "s";
    /// Seconds that tasks ran in the kernel: `sys` of `time`. Counts the whole run, too.
    SystemSeconds = "sys_s", "s";
}

impl Measure {
    /// The measure with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|measure| measure.name() == name)
    }

    /// Its value in a window; `None` if there is none, such as the time per unit when no unit was done.
    pub fn of(self, window: &Measured) -> Option<f64> {
        let seconds = window.duration.as_s_f64();
        let each = |of: Span, n: u64| (n > 0).then(|| of.as_s_f64() * 1e6 / n as f64);
        let value = match self {
            Self::UnitsPerSecond => window.units as f64 / seconds,
            Self::SwitchesPerSecond => window.switches as f64 / seconds,
            Self::MigrationsPerSecond => window.migrations as f64 / seconds,
            Self::MicrosecondsPerUnit => each(window.duration, window.units)?,
            Self::MicrosecondsPerSwitch => each(window.duration, window.switches)?,
            Self::Elapsed => window.elapsed?.as_s_f64(),
            Self::DelayHalf => microseconds(window.delay?.p50),
            Self::DelayMost => microseconds(window.delay?.p99),
            Self::BusyShare => window.busy.as_s_f64() / window.machine_time.as_s_f64(),
            Self::UserShare => window.user_share?,
            Self::Gone => last(window.tasks.iter().map(|task| task.gone))?,
            Self::Wasted => window.wasted?.as_s_f64(),
            Self::Voluntary | Self::Involuntary | Self::Migrated | Self::Iterations | Self::CpuSeconds => {
                window.tasks.iter().filter_map(|task| self.of_counts(task)).sum()
            }
            Self::UserSeconds => user_seconds(window)?,
            Self::SystemSeconds => window.busy.as_s_f64() - user_seconds(window)?,
        };
        value.is_finite().then_some(value)
    }

    /// Its total for the tasks with these names, or for all tasks if no names are given; `None` if one of them was not
    /// seen, or if this is not counted per task.
    pub fn of_tasks(self, window: &Measured, names: &[String]) -> Option<f64> {
        if names.is_empty() {
            return self.of(window);
        }
        let one = |name: &String| window.tasks.iter().find(|task| task.name == *name);
        match self {
            Self::Gone => last(names.iter().map(|name| one(name)?.gone)),
            _ => names.iter().map(|name| self.of_counts(one(name)?)).sum(),
        }
    }

    /// Returns whether it can be measured for some tasks alone.
    pub fn is_of_tasks(self) -> bool {
        self == Self::Gone || self.is_counted()
    }

    /// Returns whether it is a count per task that can be summed.
    pub fn is_counted(self) -> bool {
        self.of_counts(&Counts::default()).is_some()
    }

    fn of_counts(self, task: &Counts) -> Option<f64> {
        let count = match self {
            Self::Voluntary => task.voluntary,
            Self::Involuntary => task.involuntary,
            Self::Migrated => task.migrations,
            Self::Iterations => task.units,
            Self::CpuSeconds => return Some(task.cpu.as_s_f64()),
            _ => return None,
        };
        Some(count as f64)
    }

    /// Why [`Measure::of`] has no value: a clause.
    pub const fn absent(self) -> &'static str {
        match self {
            Self::Elapsed => "the workload did not finish",
            Self::Gone => "some of these tasks did not finish, or never started",
            Self::MicrosecondsPerUnit => "the workload completed no unit of work",
            Self::MicrosecondsPerSwitch => "there was no context switch",
            Self::DelayHalf | Self::DelayMost => "nothing was woken",
            Self::Voluntary | Self::Involuntary | Self::Migrated | Self::Iterations | Self::CpuSeconds => {
                "there was no such task"
            }
            _ => "there is nothing to measure",
        }
    }
}

/// The last of these ends, in seconds; `None` if one is missing or there is none.
fn last(mut ends: impl Iterator<Item = Option<Span>>) -> Option<f64> {
    let first = ends.next()??;
    ends.try_fold(first, |last, end| Some(last.max(end?))).map(Span::as_s_f64)
}

fn microseconds(span: Span) -> f64 {
    span.as_s_f64() * 1e6
}

fn user_seconds(window: &Measured) -> Option<f64> {
    Some(window.user_share? * window.machine_time.as_s_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Delay;

    const WINDOW: Measured = Measured {
        duration: Span::from_ms(500),
        elapsed: Some(Span::from_ms(600)),
        switches: 1000,
        wakeups: 30,
        migrations: 10,
        units: 250,
        machine_time: Span::from_s(1),
        busy: Span::from_ms(250),
        user_share: Some(0.2),
        wasted: Some(Span::from_ms(50)),
        delay: Some(Delay { p50: Span::from_us(8), p99: Span::from_us(500), max: Span::from_ms(2) }),
        tasks: Vec::new(),
    };

    #[test]
    fn each_measure_has_its_value() {
        let check = |name: &str, window: Measured, expected| {
            let measure = Measure::from_name(name).expect(name);
            assert_eq!(measure.of(&window), expected, "{name}");
        };
        check("units_per_s", WINDOW, Some(500.0));
        check("switches_per_s", WINDOW, Some(2000.0));
        check("migrations_per_s", WINDOW, Some(20.0));
        check("us_per_unit", WINDOW, Some(2000.0));
        check("us_per_switch", WINDOW, Some(500.0));
        check("elapsed_s", WINDOW, Some(0.6));
        check("busy_share", WINDOW, Some(0.25));
        check("user_share", WINDOW, Some(0.2));
        check("user_s", WINDOW, Some(0.2));
        check("sys_s", WINDOW, Some(0.25 - 0.2));
        check("us_per_unit", Measured { units: 0, ..WINDOW }, None);
        check("elapsed_s", Measured { elapsed: None, ..WINDOW }, None);
        check("busy_share", Measured::default(), None);
        check("delay_p50_us", WINDOW, Some(8.0));
        check("delay_p99_us", WINDOW, Some(500.0));
        check("delay_p99_us", Measured { delay: None, ..WINDOW }, None);
        check("wasted_s", WINDOW, Some(0.05));
        check("wasted_s", Measured::default(), None);
        assert_eq!(Measure::from_name("speed"), None);
    }

    #[test]
    fn tasks_are_gone_when_the_last_of_them_is() {
        let counts = |name: &str, ms: Option<u64>| Counts {
            name: name.to_owned(),
            gone: ms.map(Span::from_ms),
            ..Counts::default()
        };
        let window = Measured {
            tasks: vec![counts("a", Some(100)), counts("b", Some(300)), counts("c", None)],
            ..WINDOW
        };
        let check = |names: &[&str], expected| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(Measure::Gone.of_tasks(&window, &names), expected, "{names:?}");
        };
        check(&["a"], Some(0.1));
        check(&["b", "a"], Some(0.3));
        check(&["a", "c"], None);
        check(&["a", "nobody"], None);
        check(&[], None);
    }
}
