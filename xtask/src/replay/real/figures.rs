//! The figures of a run that are compared: what a load's tasks did, from a recording or a trace. The same code handles
//! real and simulated runs.

use super::loads::Load;
use crate::Failure;
use keel_abi::{Instant, TaskId};
use keel_trace::{Class, Event, Meta, Reader, Sink, What, Why};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// A run's figures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// From the first run of one of the load's tasks to the end of the last task that is waited for. Less is more
    /// throughput.
    pub(super) took_ms: f64,
    /// Time on CPUs.
    pub(super) cpu_ms: f64,
    /// Time in which tasks wanted a CPU and had none.
    pub(super) waited_ms: f64,
    pub(super) switches: f64,
    pub(super) preemptions: f64,
    pub(super) migrations: f64,
    /// From a wakeup to running: the median and the 99th percentile.
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
}

/// The figures' names, in order.
pub(super) const NAMES: [&str; 8] =
    ["took_ms", "cpu_ms", "waited_ms", "switches", "preemptions", "migrations", "p50_us", "p99_us"];

impl Figures {
    /// From a trace.
    ///
    /// # Errors
    /// If it cannot be read, or the load did not end in it.
    pub(super) fn of(trace: &Path, load: &Load) -> Result<Self, Failure> {
        let fail = |why: String| format!("{}: {why}", trace.display());
        let file = File::open(trace).map_err(|e| fail(e.to_string()))?;
        let mut seen = Seen::default();
        let mut reader = Reader::new(BufReader::new(file)).map_err(|e| fail(e.to_string()))?;
        reader.pump(&mut seen).map_err(|e| fail(e.to_string()))?;
        seen.figures(load).ok_or_else(|| fail(format!("{} does not end in it", load.name)))
    }

    pub(super) fn values(&self) -> [f64; 8] {
        let Self { took_ms, cpu_ms, waited_ms, switches, preemptions, migrations, p50_us, p99_us } = *self;
        [took_ms, cpu_ms, waited_ms, switches, preemptions, migrations, p50_us, p99_us]
    }

    pub(super) fn from_values(values: [f64; 8]) -> Self {
        let [took_ms, cpu_ms, waited_ms, switches, preemptions, migrations, p50_us, p99_us] = values;
        Self { took_ms, cpu_ms, waited_ms, switches, preemptions, migrations, p50_us, p99_us }
    }
}

/// One task's state so far.
#[derive(Debug, Default)]
struct Task {
    name: String,
    woken: Option<Instant>,
    /// The instant since which it wants a CPU and has none.
    wants: Option<Instant>,
    runs: Option<Instant>,
    last_cpu: Option<u32>,
    first: Option<Instant>,
    ended: Option<Instant>,
    cpu_ns: u64,
    waited_ns: u64,
    counts: [u64; 3],
    delays_ns: Vec<u64>,
}

#[derive(Debug, Default)]
struct Seen {
    tasks: BTreeMap<TaskId, Task>,
}

impl Seen {
    fn task(&mut self, task: TaskId) -> Option<&mut Task> {
        (!task.is_idle()).then(|| self.tasks.entry(task).or_default())
    }

    fn event(&mut self, event: &Event) {
        let at = event.at;
        match event.what {
            What::Wakeup { task, .. } => {
                if let Some(task) = self.task(task).filter(|task| task.runs.is_none()) {
                    (task.woken, task.wants) = (Some(at), Some(at));
                }
            }
            What::Fork { child, .. } => {
                if let Some(task) = self.task(child) {
                    task.wants = Some(at);
                }
            }
            What::Switch { prev, why, next } => {
                if let Some(task) = self.task(prev) {
                    task.leaves(at, why);
                }
                if let Some(task) = self.task(next) {
                    task.comes(at, event.cpu.0);
                }
            }
            _ => {}
        }
    }

    /// `None` if no task that is waited for ended.
    fn figures(&self, load: &Load) -> Option<Figures> {
        let of_load: Vec<&Task> = self.tasks.values().filter(|task| load.has(&task.name)).collect();
        let first = of_load.iter().filter_map(|task| task.first).min()?;
        let awaited: Vec<_> = of_load.iter().filter(|task| load.awaits(&task.name)).collect();
        // A task that has not ended is not done.
        let ends: Option<Vec<Instant>> = awaited.iter().map(|task| task.ended).collect();
        let last = ends?.into_iter().max()?;
        let ms = |ns: u64| ns as f64 / 1e6;
        let sum = |of: fn(&Task) -> u64| of_load.iter().map(|task| of(task)).sum::<u64>();
        let mut delays: Vec<u64> = of_load.iter().flat_map(|task| task.delays_ns.iter().copied()).collect();
        delays.sort_unstable();
        let quantile = |percent: usize| {
            delays.get(delays.len().saturating_sub(1) * percent / 100).map_or(0.0, |&ns| ns as f64 / 1e3)
        };
        Some(Figures {
            took_ms: ms(last.since(first).as_ns()),
            cpu_ms: ms(sum(|task| task.cpu_ns)),
            waited_ms: ms(sum(|task| task.waited_ns)),
            switches: sum(|task| task.counts[0]) as f64,
            preemptions: sum(|task| task.counts[1]) as f64,
            migrations: sum(|task| task.counts[2]) as f64,
            p50_us: quantile(50),
            p99_us: quantile(99),
        })
    }
}

impl Task {
    fn leaves(&mut self, at: Instant, why: Why) {
        self.cpu_ns += self.runs.take().map_or(0, |since| at.since(since).as_ns());
        self.counts[0] += 1;
        match why {
            Why::Preempted | Why::Yielded => {
                self.counts[1] += u64::from(why == Why::Preempted);
                self.wants = Some(at);
            }
            Why::Exited => self.ended = Some(at),
            Why::Blocked | Why::WasIdle => {}
        }
    }

    fn comes(&mut self, at: Instant, cpu: u32) {
        self.waited_ns += self.wants.take().map_or(0, |since| at.since(since).as_ns());
        if let Some(woken) = self.woken.take() {
            self.delays_ns.push(at.since(woken).as_ns());
        }
        self.counts[2] += u64::from(self.last_cpu.replace(cpu).is_some_and(|last| last != cpu));
        self.first.get_or_insert(at);
        self.runs = Some(at);
    }
}

impl Sink for Seen {
    fn wants(&self) -> Class {
        Class::CORE
    }

    fn events(&mut self, events: &[Event]) {
        events.iter().for_each(|event| self.event(event));
    }

    fn meta(&mut self, _: Instant, meta: &Meta) {
        if let Meta::Task(info) = meta
            && let Some(task) = self.task(info.task)
        {
            task.name.clone_from(&info.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::{CpuId, CpuSet, Pid};
    use keel_trace::TaskInfo;

    #[test]
    fn only_the_tasks_of_a_load_count() {
        let load = Load { name: "it", tasks: &["work", "serve"], awaited: &["work"] };
        let mut seen = Seen::default();
        for (task, name) in [(0, "worker"), (1, "server"), (2, "other")] {
            let info = TaskInfo {
                task: TaskId(task),
                pid: Pid(task + 1),
                name: name.to_owned(),
                nice: 0,
                cpus: CpuSet::first(2),
            };
            seen.meta(Instant::ZERO, &Meta::Task(info));
        }
        let task = |n| if n == 9 { TaskId::IDLE } else { TaskId(n) };
        let mut event = |ms: u64, cpu, what| {
            seen.events(&[Event { at: Instant::from_ns(ms * 1_000_000), cpu: CpuId(cpu), what }]);
        };
        let switch = |prev, why, next| What::Switch { prev: task(prev), why, next: task(next) };
        event(10, 0, switch(9, Why::WasIdle, 0));
        event(11, 0, What::Wakeup { task: task(1), target: CpuId(0), waker: task(0) });
        event(14, 0, switch(0, Why::Preempted, 1));
        event(16, 0, switch(1, Why::Blocked, 2));
        event(18, 1, switch(9, Why::WasIdle, 0));
        event(20, 1, switch(0, Why::Exited, 9));
        event(50, 0, switch(2, Why::Exited, 9));
        let expected = Figures {
            took_ms: 10.0,
            cpu_ms: 8.0,
            waited_ms: 7.0,
            switches: 3.0,
            preemptions: 1.0,
            migrations: 1.0,
            p50_us: 3000.0,
            p99_us: 3000.0,
        };
        assert_eq!(seen.figures(&load), Some(expected));
        let endless = Load { awaited: &["serve"], ..load };
        assert_eq!(seen.figures(&endless), None);
    }
}
