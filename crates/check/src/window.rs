//! Figures of a part of a run: from the end of its warm-up until its workload has ended, or else until the run's end.
//!
//! The numbers that a published experiment printed are [`Measure`](crate::Measure)s of this part.

use crate::figures::{Delay, Figures, Summary};
use crate::gone::Gone;
use keel_abi::{Instant, Span};
use keel_trace::{Class, Event, Meta, Sink, What};
use std::collections::BTreeMap;

/// What happened in the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// How long the window is.
    pub duration: Span,
    /// From the run's start until its last task exited; `None` if some are left.
    pub elapsed: Option<Span>,
    /// Context switches, including to and from idle.
    pub switches: u64,
    /// Tasks that became runnable by a wakeup.
    pub wakeups: u64,
    /// Tasks that started on another CPU than they last ran on.
    pub migrations: u64,
    /// Units that the workload has done.
    pub units: u64,
    /// Time that CPUs were online, summed over them.
    pub machine_time: Span,
    /// Time that tasks ran, summed over the CPUs.
    pub busy: Span,
    /// The share of all CPUs' time in the whole run that tasks spent on their own work. Events don't show it: the code
    /// that makes the run fills it in.
    pub user_share: Option<f64>,
    /// Time for which CPUs idled while tasks that may run there waited, over the whole run. The code that makes the run
    /// attaches [`WastedCores`](crate::WastedCores) if this is wanted.
    pub wasted: Option<Span>,
    /// From wakeup or fork to running, over the whole run; `None` if nothing was woken.
    pub delay: Option<Delay>,
    /// What tasks did, by name in alphabetical order; empty if there are more than [`MOST_NAMES`] names.
    pub tasks: Vec<Counts>,
}

/// How many task names are distinguished.
pub const MOST_NAMES: usize = 64;

/// What the tasks of one name did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Their name: untrusted text.
    pub name: String,
    /// How often they gave up a CPU to wait (`nr_voluntary_switches`).
    pub voluntary: u64,
    /// Times that they lost a CPU (`nr_involuntary_switches`).
    pub involuntary: u64,
    /// Times that they started on another CPU than they last ran on.
    pub migrations: u64,
    /// Units that they did.
    pub units: u64,
    /// Time that they had a CPU.
    pub cpu: Span,
    /// From the run's start until the last of them was gone; `None` where some are left.
    pub gone: Option<Span>,
}

/// The tasks of a summary by their names.
fn by_name(summary: &Summary) -> Vec<Counts> {
    let mut names: BTreeMap<&str, Counts> = BTreeMap::new();
    for task in &summary.tasks {
        if names.len() > MOST_NAMES {
            return Vec::new();
        }
        let sum = names.entry(&task.name).or_default();
        sum.voluntary += task.switches - task.preemptions;
        sum.involuntary += task.preemptions;
        sum.migrations += task.migrations;
        sum.units += task.units;
        sum.cpu += task.cpu;
    }
    if names.len() > MOST_NAMES || summary.others.1 > 0 {
        return Vec::new();
    }
    names.into_iter().map(|(name, counts)| Counts { name: name.to_owned(), ..counts }).collect()
}

/// What was done between two moments.
fn between(before: &[Counts], until: &[Counts]) -> Vec<Counts> {
    let none = Counts::default();
    let less = |until: &Counts| {
        let before = before.iter().find(|b| b.name == until.name).unwrap_or(&none);
        Counts {
            name: until.name.clone(),
            voluntary: until.voluntary - before.voluntary,
            involuntary: until.involuntary - before.involuntary,
            migrations: until.migrations - before.migrations,
            units: until.units - before.units,
            cpu: until.cpu.saturating_sub(before.cpu),
            gone: None,
        }
    };
    until.iter().map(less).collect()
}

/// Listens to a run and keeps the figures of its window.
#[derive(Clone, Debug, Default)]
pub struct Window {
    figures: Figures,
    gone: Gone,
    start: Instant,
    warm_up: Span,
    before: Option<Measured>,
    alive: u64,
    ended: Option<(Instant, Measured)>,
}

impl Window {
    /// A window that opens `warm_up` after the run's start.
    pub fn after(warm_up: Span) -> Self {
        Self { figures: Figures::new(), warm_up, ..Self::default() }
    }

    /// What happened in the window; `None` where the run was over before it opened. Call it at the
    /// end.
    pub fn measured(&self) -> Option<Measured> {
        let before = self.before.as_ref()?;
        let (elapsed, until) = match &self.ended {
            Some((at, sums)) => (Some(at.since(self.start)), sums.clone()),
            None => (None, sums(&self.figures.summary())),
        };
        let duration = until.duration.saturating_sub(before.duration);
        (duration > Span::ZERO).then(|| Measured {
            duration,
            elapsed,
            switches: until.switches - before.switches,
            wakeups: until.wakeups - before.wakeups,
            migrations: until.migrations - before.migrations,
            units: until.units - before.units,
            machine_time: until.machine_time.saturating_sub(before.machine_time),
            busy: until.busy.saturating_sub(before.busy),
            user_share: None,
            wasted: None,
            delay: until.delay,
            tasks: self.with_ends(between(&before.tasks, &until.tasks)),
        })
    }

    fn with_ends(&self, mut tasks: Vec<Counts>) -> Vec<Counts> {
        for task in &mut tasks {
            task.gone = self.gone.at(&task.name).map(|at| at.since(self.start));
        }
        tasks
    }

    /// Opens the window if it is time to, and keeps what happened before.
    #[inline]
    fn open(&mut self, now: Instant) {
        let opens = self.start + self.warm_up;
        if self.before.is_none() && now >= opens {
            self.figures.meta(opens, &Meta::End);
            self.before = Some(sums(&self.figures.summary()));
        }
    }

    /// The window ends with the last task, unless another comes.
    fn ended(&mut self, at: Instant) {
        self.figures.meta(at, &Meta::End);
        self.ended = Some((at, sums(&self.figures.summary())));
    }

    /// Passes on the events before `to`, which does not decrease.
    fn pass(&mut self, events: &[Event], from: &mut usize, to: usize) {
        self.figures.events(&events[*from..to]);
        *from = to;
    }
}

fn sums(summary: &Summary) -> Measured {
    let busy_ns = summary.busy_share * summary.machine_time.as_ns() as f64;
    Measured {
        duration: summary.duration,
        elapsed: None,
        switches: summary.switches,
        wakeups: summary.wakeups,
        migrations: summary.migrations,
        units: summary.units,
        machine_time: summary.machine_time,
        busy: Span::from_ns(busy_ns.round() as u64),
        user_share: None,
        wasted: None,
        delay: (summary.wakeups + summary.forks > 0).then_some(summary.wakeup_delay),
        tasks: by_name(summary),
    }
}

impl Sink for Window {
    fn wants(&self) -> Class {
        // Units before the window opens don't belong to it.
        self.figures.wants().with(Class::COUNTS)
    }

    fn events(&mut self, events: &[Event]) {
        self.gone.events(events);
        let mut passed = 0;
        for (at, event) in events.iter().enumerate() {
            if self.before.is_none() && event.at >= self.start + self.warm_up {
                self.pass(events, &mut passed, at);
                self.open(event.at);
            }
            match event.what {
                What::Fork { .. } => {
                    self.alive += 1;
                    self.ended = None;
                }
                What::Exit { .. } => {
                    self.alive = self.alive.saturating_sub(1);
                    if self.alive == 0 {
                        self.pass(events, &mut passed, at + 1);
                        self.ended(event.at);
                    }
                }
                _ => {}
            }
        }
        self.pass(events, &mut passed, events.len());
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        if let Meta::Start { .. } = meta {
            self.start = at;
        } else {
            self.open(at);
        }
        self.figures.meta(at, meta);
        self.gone.meta(meta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::play;

    /// Two tasks by turns on one of two CPUs; the last one ends at 400 µs of 500.
    const RUN: &str = "0    0 fork A 0
         0    0 fork B 0
         0    0 switch - idle A
         100  0 switch A preempted B
         150  0 count B 1
         200  0 switch B preempted A
         250  0 count A 2
         300  0 exit A
         300  0 switch A exited B
         400  0 count B 4
         400  0 exit B
         400  0 switch B exited -
         500  end";

    fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    fn window(warm_up_us: u64, lines: &str) -> Option<Measured> {
        let mut window = Window::after(us(warm_up_us));
        play(&mut window, 2, lines);
        window.measured()
    }

    #[test]
    fn a_window_opens_after_the_warm_up_and_ends_with_the_last_task() {
        let check = |warm_up_us, duration_us, switches, units, busy_us| {
            let got = window(warm_up_us, RUN).expect("it opens");
            assert_eq!(got.duration, us(duration_us), "{warm_up_us}");
            assert_eq!((got.switches, got.units, got.busy), (switches, units, us(busy_us)), "{warm_up_us}");
            assert_eq!(got.elapsed, Some(us(400)), "{warm_up_us}: elapsed is from the run's start");
            assert_eq!(got.machine_time, us(2 * duration_us), "{warm_up_us}");
        };
        check(0, 400, 4, 7, 400);
        check(100, 300, 3, 7, 300);
        check(120, 280, 2, 7, 280);
        check(151, 249, 2, 6, 249);
        assert_eq!(window(400, RUN), None, "over before it opens");
        assert_eq!(window(501, RUN), None, "never opens");
    }

    #[test]
    fn tasks_are_counted_by_name_within_the_window() {
        let check = |warm_up_us, expected: [(&str, [u64; 5]); 2]| {
            let got = window(warm_up_us, RUN).expect("it opens").tasks;
            let got = got.iter().take(2).map(|t| {
                (t.name.as_str(), [t.voluntary, t.involuntary, t.migrations, t.units, t.cpu.as_ns() / 1000])
            });
            assert_eq!(got.collect::<Vec<_>>(), expected, "{warm_up_us}");
        };
        // The window ends with the last task, before that one has left its CPU.
        check(0, [("task-a", [1, 1, 0, 2, 200]), ("task-b", [0, 1, 0, 5, 200])]);
        check(151, [("task-a", [1, 0, 0, 2, 100]), ("task-b", [0, 1, 0, 4, 149])]);
    }

    #[test]
    fn a_name_is_gone_with_the_last_that_has_it() {
        let check = |lines: &str, expected: [Option<Span>; 2]| {
            let got = window(0, lines).expect("it opens");
            let gone = |name: &str| got.tasks.iter().find(|task| task.name == name)?.gone;
            assert_eq!([gone("task-a"), gone("task-b")], expected, "{lines}");
        };
        check(RUN, [Some(us(300)), Some(us(400))]);
        let left = RUN.replace("400  0 exit B", "").replace("B exited -", "B blocked -");
        check(&left, [Some(us(300)), None]);
    }

    #[test]
    fn a_workload_without_end_lasts_as_long_as_the_run() {
        let lines = "0 0 fork A 0
             0 0 switch - idle A
             90 0 count A 9
             100 end";
        let got = window(40, lines).unwrap();
        assert_eq!((got.duration, got.elapsed, got.units, got.busy), (us(60), None, 9, us(60)));
    }

    #[test]
    fn a_task_that_comes_when_all_are_gone_goes_on() {
        let lines = "0 0 fork A 0
             0 0 switch - idle A
             90 0 exit A
             90 0 switch A exited -
             100 0 fork B 0
             100 0 switch - idle B
             150 0 exit B
             150 0 switch B exited -
             200 end";
        assert_eq!(window(0, lines).unwrap().elapsed, Some(us(150)));
    }
}
