//! Reports how much of a replay is known, and what had to be guessed, before any result.

use crate::groups::GroupsKept;
use keel_abi::Span;
use keel_abi::numbers::count;
use std::fmt;

/// What ended the waits, and everything else that decides how reliable a replay is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    /// The number of waits that another task's wakeup ended.
    pub by_task: u64,
    /// The number of waits that a recorded timer ended.
    pub timers: u64,
    /// The number of waits for a disk.
    pub disks: u64,
    /// The number of waits that another task ended with a packet that it sent within the machine.
    pub sent: u64,
    /// Whether the recording contains the class of system call in which a task waited.
    pub tells_waits: bool,
    /// The number of waits that an unknown source ended: a timer, an interrupt or a device. They last as long as in the
    /// recording.
    pub outside: u64,
    /// The number of such waits of tasks whose wakeups follow a clock.
    pub clocked: u64,
    /// The number of waits for a task that is left out.
    pub left_out: u64,
    /// The number of waits that began before the recording, or whose beginning it does not show.
    pub unbegun: u64,
    /// The number of waits that had not ended when the recording did.
    pub open: u64,
    /// The number of yields.
    pub yields: u64,
    /// The work of all tasks.
    pub work: Span,
    /// The number of events that were lost during the recording.
    pub lost: u64,
    /// How often a limit kept a task off every CPU.
    pub throttled: u64,
    /// The number of cgroups whose limit was inferred from when they were throttled.
    pub limits: u64,
    /// The number of cgroups that were throttled, but whose limit could not be inferred.
    pub unknown_limits: u64,
    /// The number of pipes and local sockets with a full record of their transfers.
    pub pipes: u64,
    /// The number of those at which tasks would wait forever. They are replayed by their wakeups.
    pub pipes_by_wakeups: u64,
    /// The groups in the recording.
    pub groups: GroupsKept,
    /// How often a task got a deadline policy, which is not supported here.
    pub deadlines: u64,
    /// The number of changes from outside that were left out because there were too many.
    pub changes_left_out: u64,
}

impl Causes {
    /// Returns all waits that ended.
    pub const fn waits(&self) -> u64 {
        self.by_task + self.timers + self.disks + self.outside + self.clocked + self.left_out + self.unbegun
    }

    /// Returns the number of waits whose cause is recorded.
    pub const fn known(&self) -> u64 {
        self.by_task + self.timers + self.disks
    }
}

/// How reliable a replay is, as sentences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confidence {
    /// The counts.
    pub causes: Causes,
    /// Whether the recording contains exactly what each task itself did.
    pub exact: bool,
    /// Whether the recording contains the CPUs that tasks may use.
    pub knows_affinity: bool,
    /// Why the recording is incomplete, if it is.
    pub incomplete: Option<String>,
}

fn percent(part: u64, all: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / all.max(1) as f64)
}

impl Confidence {
    /// Returns high, medium or low, depending on the share of waits whose cause is known.
    pub fn level(&self) -> &'static str {
        let Causes { lost, .. } = self.causes;
        let (known, all) = (self.causes.known() + self.causes.clocked, self.causes.waits());
        match () {
            () if lost > 0 && lost * 20 > all => "low",
            () if self.exact && lost == 0 => "high",
            () if known * 10 >= all * 9 && lost == 0 => "high",
            () if known * 2 >= all => "medium",
            () => "low",
        }
    }

    /// Returns what is exact and what was guessed, with a sentence for each. The first is the verdict.
    pub fn sentences(&self) -> Vec<String> {
        let c = &self.causes;
        let all = c.waits();
        let mut lines = vec![format!(
            "confidence {}: of {} waits, another task's wakeup ended {}, a known timer{} {}; {} had a cause outside the \
             recording",
            self.level(),
            count(all),
            percent(c.by_task, all),
            if c.disks > 0 { " or disk" } else { "" },
            percent(c.timers + c.disks, all),
            percent(c.outside + c.clocked + c.left_out + c.unbegun, all),
        )];
        let mut say = |is: bool, text: String| lines.extend(is.then_some(text));
        say(
            self.incomplete.is_some(),
            format!("the recording is incomplete: {}", self.incomplete.as_deref().unwrap_or_default()),
        );
        say(
            !self.exact,
            "the recording does not say how much of a task's time scheduling took; the machine's own costs were taken \
             off"
                .to_owned(),
        );
        let ends = if c.tells_waits { "a device" } else { "a timer or device" };
        say(
            c.outside > 0,
            format!("{} waits last as long as they did: their end came from {ends}", count(c.outside)),
        );
        say(c.disks > 0, format!("{} waits for a disk last as long as they did", count(c.disks)));
        say(
            c.sent > 0,
            format!("{} wakeups are those of packets that a task sent within the machine", count(c.sent)),
        );
        say(
            c.clocked > 0,
            format!("{} waits end at the moments they did: their tasks follow a clock", count(c.clocked)),
        );
        say(
            c.left_out > 0,
            format!("{} waits for tasks that are left out last as long as they did", count(c.left_out)),
        );
        say(c.unbegun > 0, format!("{} waits had begun before the recording", count(c.unbegun)));
        say(
            c.open > 0,
            format!("{} waits had not ended when the recording did, and never end", count(c.open)),
        );
        say(
            c.pipes_by_wakeups > 0,
            format!(
                "{} of {} pipes and local sockets are replayed by their wakeups alone, because the recording misses some of \
                 their reads or writes",
                count(c.pipes_by_wakeups),
                count(c.pipes)
            ),
        );
        say(c.lost > 0, format!("{} events were lost; what happened there is missing", count(c.lost)));
        say(
            c.limits > 0,
            format!(
                "the limits (cpu.max) of {} cgroups are inferred from when they were throttled; the recording lacks the \
                 weights of cgroups, so each is 100",
                count(c.limits)
            ),
        );
        say(
            c.unknown_limits > 0 || c.throttled > 0 && c.limits == 0 && !c.groups.told,
            format!(
                "tasks were throttled {} times; the replay does not throttle them where their limit cannot be inferred",
                count(c.throttled)
            ),
        );
        say(
            !self.exact && !c.groups.told,
            "the recording lacks the weights of cgroups, and shows only which policies are real-time"
                .to_owned(),
        );
        let GroupsKept { cgroups, limits, changed, moved, .. } = c.groups;
        say(
            cgroups > 0,
            format!(
                "{} cgroups have the weights and limits that they had last; {} of them have a cpu.max",
                count(cgroups),
                count(limits)
            ),
        );
        say(
            changed > 0,
            format!(
                "the settings of {} cgroups changed in the recording; the replay keeps the last ones",
                count(changed)
            ),
        );
        say(
            moved > 0,
            format!(
                "{} tasks changed their cgroup or session; in the replay, each stays where it spent the most time",
                count(moved)
            ),
        );
        say(
            c.deadlines > 0,
            format!(
                "{} tasks had deadlines (SCHED_DEADLINE); they are ordinary tasks now",
                count(c.deadlines)
            ),
        );
        say(
            c.changes_left_out > 0,
            format!("{} changes from outside are left out", count(c.changes_left_out)),
        );
        say(
            !self.knows_affinity,
            "the recording does not say which CPUs tasks may use; they may use all".to_owned(),
        );
        lines
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentences().iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}
