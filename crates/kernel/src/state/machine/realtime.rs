//! The rules of the real-time class in a machine's kernel: the `[realtime]` table.

use crate::state::machine::MachineError;
use crate::state::machine::text::{Text, in_range};
use keel_abi::Span;
use serde::Deserialize;
use std::ops::RangeInclusive;
use toml::Spanned;

/// When a waking real-time task looks for a CPU other than its previous one.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum WakeupRule {
    /// If any real-time task runs there, so that the running task keeps its caches (Linux up to 2.6.36).
    Before,
    /// If a more urgent task runs there, as in Rostedt's change of September 2010.
    Posted,
    /// If a task runs there that is at least as urgent, or that may not run elsewhere. This is the current rule (since
    /// 3.2).
    #[default]
    After,
}

/// How a CPU whose priority drops gets waiting tasks from other CPUs.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Pull {
    /// It takes the other runqueues' locks, and pulls the tasks (Linux up to 4.0, and later without `RT_PUSH_IPI`).
    Take,
    /// It asks the overloaded CPUs, one by one, to push their tasks (`RT_PUSH_IPI`).
    #[default]
    Ask,
}

/// How much of each CPU real-time tasks can use per period (`sched_rt_runtime_us`, `sched_rt_period_us`), in kernels
/// before 6.12, which have no deadline servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// `runtime_us`: at most the period. If it equals the period, there is no limit.
    pub runtime: Span,
    /// `period_us`.
    pub period: Span,
    /// `spares_boosted`: whether a CPU is exempt while it has a runnable task with an inherited priority. Only kernels
    /// with `RT_GROUP_SCHED` do this (`rt_nr_boosted`).
    pub spares_boosted: bool,
}

/// The rules of a machine's real-time class. The default is the current kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Realtime {
    /// `wakeup`.
    pub wakeup: WakeupRule,
    /// `pull`.
    pub pull: Pull,
    /// `spin`: whether the first waiter of a mutex with priority inheritance spins while the owner runs (since 5.15).
    pub spin: bool,
    /// `throttle`: without it, deadline servers keep real-time tasks from starving others.
    pub throttle: Option<Throttle>,
    /// `watchdog_ms`: how often the watchdog thread of each CPU runs briefly, above all other real-time tasks (2.6.36
    /// to 4.18, kernel/watchdog.c). `None` for kernels whose watchdog has no thread.
    pub watchdog: Option<Span>,
}

impl Default for Realtime {
    fn default() -> Self {
        Self { wakeup: WakeupRule::After, pull: Pull::Ask, spin: true, throttle: None, watchdog: None }
    }
}

/// The `[realtime]` table of the file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a [realtime] table: wakeup = \"after\", pull = \"ask\"")]
pub(super) struct Table {
    wakeup: WakeupRule,
    pull: Pull,
    spin: Option<bool>,
    throttle: Option<ThrottleTable>,
    watchdog_ms: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "{ runtime_us = 950000, period_us = 1000000 }")]
struct ThrottleTable {
    runtime_us: Spanned<u64>,
    period_us: Spanned<u64>,
    #[serde(default)]
    spares_boosted: bool,
}

/// The range of a period in microseconds, from what ticks can resolve (the kernel's own minimum is 1) to the kernel's
/// maximum.
const PERIOD_US: RangeInclusive<u64> = 1000..=i32::MAX as u64;

/// The range of the watchdog's period in milliseconds. The kernel counts it in seconds, up to a day.
const WATCHDOG_MS: RangeInclusive<u64> = 1..=86_400_000;

/// Returns the rules that a table sets, with defaults for the rest.
pub(super) fn read(text: Text<'_>, table: &Table) -> Result<Realtime, MachineError> {
    let throttle = table.throttle.as_ref().map(|table| table.read(text)).transpose()?;
    let spin = table.spin.unwrap_or(Realtime::default().spin);
    let watchdog = table.watchdog_ms.as_ref().map(|ms| watchdog(text, ms)).transpose()?;
    Ok(Realtime { wakeup: table.wakeup, pull: table.pull, spin, throttle, watchdog })
}

fn watchdog(text: Text<'_>, ms: &Spanned<u64>) -> Result<Span, MachineError> {
    let value = *ms.get_ref();
    in_range(value, WATCHDOG_MS)
        .map(|()| Span::from_ms(value))
        .map_err(|problem| text.error(ms.span(), "realtime.watchdog_ms".to_owned(), problem))
}

impl ThrottleTable {
    fn read(&self, text: Text<'_>) -> Result<Throttle, MachineError> {
        let within = |name, value: &Spanned<u64>, range| {
            in_range(*value.get_ref(), range)
                .map(|()| Span::from_us(*value.get_ref()))
                .map_err(|problem| text.error(value.span(), format!("realtime.throttle.{name}"), problem))
        };
        let period = within("period_us", &self.period_us, PERIOD_US)?;
        let runtime = within("runtime_us", &self.runtime_us, 1..=*self.period_us.get_ref())?;
        Ok(Throttle { runtime, period, spares_boosted: self.spares_boosted })
    }
}
