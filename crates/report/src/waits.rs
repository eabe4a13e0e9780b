//! Explains why a task waited, as text and as `keel check --task NAME --json` prints it.
//! docs/reference/json-recordings.md lists the fields.

use crate::check::counted_from_line;
use crate::run::DecisionReport;
use crate::style::{Paint, Style};
use keel_abi::Span;
use keel_abi::numbers::count;
use keel_check::escape_all;
use keel_check::{Act, Began, Ended, Story, WaitSums};
use keel_trace::Why;
use serde::Serialize;

/// The maximum number of CPUs and tasks that the text lists for a wait.
const LISTED: usize = 4;

/// A task that the request names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// Its pid.
    pub pid: u32,
    /// Its name: untrusted text.
    pub name: String,
}

/// A task that ran during the wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RanReport {
    /// Its name and pid, safe to print; `others` for tasks beyond the first 32.
    pub task: String,
    /// For how long.
    pub ran_ns: u64,
}

/// A CPU that idled during the wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IdledReport {
    /// Its number.
    pub cpu: u32,
    /// For how long.
    pub idle_ns: u64,
}

/// One wait.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitReport {
    /// The pid of the waiting task.
    pub pid: u32,
    /// When it began.
    pub start_ns: u64,
    /// How long it lasted.
    pub duration_ns: u64,
    /// `woken`, `forked`, `preempted`, `yielded`.
    pub began: String,
    /// The task that took its CPU, safe to print; null if none did.
    pub preempted_by: Option<String>,
    /// The waker or parent, safe to print; null for an interrupt, and if it was neither woken nor forked.
    pub woken_by: Option<String>,
    /// The last decision that put it where it first waited; null if the stream has none.
    pub decision: Option<DecisionReport>,
    /// The CPU on whose runqueue it first waited.
    pub cpu: u32,
    /// Its first 8 moves during the wait.
    pub moves: Vec<DecisionReport>,
    /// The number of moves.
    pub moves_total: u64,
    /// The tasks that ran on the CPU on whose runqueue it waited, longest first.
    pub ran: Vec<RanReport>,
    /// The CPUs that it could have used and that idled during the wait, longest first.
    pub idled: Vec<IdledReport>,
    /// `ran`, `gone`, `not` (the stream ended first).
    pub ended: String,
    /// The CPU that ran it; null if none did.
    pub ended_on_cpu: Option<u32>,
    /// The task that ran there before, safe to print; null if the CPU idled.
    pub after: Option<String>,
    #[serde(skip)]
    task: String,
    #[serde(skip)]
    why: Option<Why>,
}

/// The output of `--task`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitsReport {
    /// The requested name or pid.
    pub task: String,
    /// Whether the recording includes which CPUs tasks may use. If not, all CPUs count as allowed.
    pub affinity_known: bool,
    /// Whether it includes when tasks are throttled. If not, throttled time counts as waiting.
    pub throttling_known: bool,
    /// The number of tasks that match.
    pub tasks_total: u64,
    /// The first 20 of them.
    pub tasks: Vec<Named>,
    /// How often they waited.
    pub waits_total: u64,
    /// How long they waited in total.
    pub waited_ns: u64,
    /// How long they ran.
    pub ran_ns: u64,
    /// The longest waits, longest first.
    pub waits: Vec<WaitReport>,
    /// The recorder's own clock at time 0, from which all times count; null in simulated runs.
    pub clock_start_ns: Option<u64>,
}

impl WaitsReport {
    /// Returns the report on this request.
    pub fn new(task: &str, sums: &WaitSums, stories: &[Story]) -> Self {
        let named = |(pid, name): &(keel_abi::Pid, String)| Named { pid: pid.0, name: name.clone() };
        Self {
            task: task.to_owned(),
            affinity_known: !sums.unknown.affinity,
            throttling_known: !sums.unknown.throttling,
            tasks_total: sums.tasks,
            tasks: sums.named.iter().map(named).collect(),
            waits_total: sums.waits,
            waited_ns: sums.waited.as_ns(),
            ran_ns: sums.ran.as_ns(),
            waits: stories.iter().map(wait).collect(),
            clock_start_ns: None,
        }
    }

    /// Sets the recorder's clock at time 0.
    #[must_use]
    pub fn counted_from(self, clock_start_ns: Option<u64>) -> Self {
        Self { clock_start_ns, ..self }
    }

    /// Returns the text: the totals, then the longest waits.
    pub fn text(&self, style: Style) -> String {
        let first = self.first();
        let mut text = format!("{}\n", style.paint(Paint::Bold, &first));
        if let Some(clock_ns) = self.clock_start_ns {
            text += &counted_from_line(clock_ns);
        }
        for (nth, wait) in self.waits.iter().enumerate() {
            text += &format!("\n{}. {}\n", nth + 1, wait.text(self.affinity_known));
        }
        if self.waits.len() < self.waits_total as usize {
            let more = count(self.waits_total - self.waits.len() as u64);
            text += &format!("\n{more} shorter waits are not listed; --top N lists more.\n");
        }
        text
    }

    fn first(&self) -> String {
        let who = match (self.tasks_total, self.tasks.first()) {
            (1, Some(one)) => format!("{} (pid {})", escape_all(&one.name), one.pid),
            (n, _) => format!("{} tasks named {}", count(n), escape_all(&self.task)),
        };
        let [waited, ran] = [self.waited_ns, self.ran_ns].map(Span::from_ns);
        let idle = self.waits.iter().filter(|wait| !wait.idled.is_empty()).count();
        let beside = match (idle, self.waits.len()) {
            (_, 0) => String::new(),
            (0, 1) => "; during the longest wait, no CPU that it may use idled".to_owned(),
            (1, 1) => "; during the longest wait, CPUs that it may use idled".to_owned(),
            (idle, all) if idle == all => {
                format!("; during the {all} longest waits, CPUs that it may use idled")
            }
            (0, _) => "; during the longest waits, no CPU that it may use idled".to_owned(),
            (idle, all) => format!("; during {idle} of the {all} longest waits, CPUs that it may use idled"),
        };
        let times = if self.waits_total == 1 { "wait" } else { "waits" };
        format!("{who} waited for {waited} in {} {times} and ran for {ran}{beside}.", count(self.waits_total))
    }
}

impl WaitReport {
    /// Returns the moves to other CPUs than the first one, as far as they are known.
    fn moves_away(&self) -> u64 {
        let stayed = self.moves.iter().filter(|one| one.to_cpu == self.cpu).count();
        self.moves_total - stayed as u64
    }

    fn text(&self, affinity_known: bool) -> String {
        let [start, length] = [self.start_ns, self.duration_ns].map(Span::from_ns);
        let mut lines = vec![format!("{} waited for {length} from {start}", self.task)];
        lines.push(self.beginning());
        lines.push(runners(self.cpu, self.moves_away(), &self.ran));
        for one in &self.moves {
            lines.push(one.text.clone());
        }
        if self.moves_total > self.moves.len() as u64 {
            lines.push(format!("moved {} times in total", count(self.moves_total)));
        }
        lines.push(self.idle(affinity_known));
        lines.push(self.end());
        lines.join("\n   ")
    }

    fn beginning(&self) -> String {
        let put = self.decision.as_ref().map(|decision| decision.text.as_str());
        match (self.began.as_str(), &self.preempted_by, put) {
            ("preempted", Some(by), put) => {
                let put = put.map_or(String::new(), |put| format!("; it was {put}"));
                format!("lost CPU {} to {by}{put}", self.cpu)
            }
            ("preempted", None, _) => format!("lost CPU {}", self.cpu),
            ("yielded", ..) => format!("gave up CPU {}", self.cpu),
            ("unthrottled", _, Some(put)) => {
                format!("was no longer throttled, on CPU {}; it was {put}", self.cpu)
            }
            ("unthrottled", _, None) => format!("was no longer throttled, on CPU {}", self.cpu),
            (_, _, Some(put)) => match &self.woken_by {
                Some(waker) => format!("{put}, by task {waker}"),
                None => put.to_owned(),
            },
            (_, _, None) => format!("came to CPU {}; how is not recorded", self.cpu),
        }
    }

    fn idle(&self, affinity_known: bool) -> String {
        let may = if affinity_known { "that it may use" } else { "that it might be allowed to use" };
        if self.idled.is_empty() {
            return format!("no CPU {may} idled during the wait");
        }
        let listed: Vec<String> = self
            .idled
            .iter()
            .take(LISTED)
            .map(|one| format!("{} for {}", one.cpu, Span::from_ns(one.idle_ns)))
            .collect();
        let more = match self.idled.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("idle during the wait, of the CPUs {may}: {}{more}", listed.join(", "))
    }

    fn end(&self) -> String {
        let Some(cpu) = self.ended_on_cpu else {
            return match self.ended.as_str() {
                "throttled" => "ended when the task was throttled".to_owned(),
                "gone" => "ended when the task exited before it ran".to_owned(),
                _ => "had not ended at the end of the recording".to_owned(),
            };
        };
        match (&self.after, self.why) {
            (None, _) => format!("ended when idle CPU {cpu} took it"),
            (Some(after), why) => {
                let did = match why {
                    Some(Why::Preempted) => "lost its CPU",
                    Some(Why::Yielded) => "gave up its CPU",
                    Some(Why::Exited) => "exited",
                    Some(Why::Blocked | Why::WasIdle) | None => "slept",
                };
                format!("ended when CPU {cpu} took it after {after} {did}")
            }
        }
    }
}

fn wait(story: &Story) -> WaitReport {
    let (ended, ended_on_cpu, why) = match story.ended {
        Ended::Ran { cpu, why, .. } => ("ran", Some(cpu.0), Some(why)),
        Ended::Gone => ("gone", None, None),
        Ended::Throttled => ("throttled", None, None),
        Ended::Not => ("not", None, None),
    };
    let began = match (story.began, story.decision.as_ref()) {
        (Began::Woken, Some(decision)) if decision.act == Act::Forked => "forked",
        (Began::Woken, _) => "woken",
        (Began::Preempted { .. }, _) => "preempted",
        (Began::Yielded, _) => "yielded",
        (Began::Unthrottled, _) => "unthrottled",
    };
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let reported = |decision: &keel_check::Decision| {
        DecisionReport::new(decision, &|task| (task == story.key.task).then_some(story.pid.0))
    };
    WaitReport {
        pid: story.pid.0,
        start_ns: story.key.start.as_ns(),
        duration_ns: story.key.length.as_ns(),
        began: began.to_owned(),
        preempted_by: some(&story.by),
        woken_by: some(&story.waker),
        decision: story.decision.as_ref().map(reported),
        cpu: story.on.0,
        moves: story.moves.iter().map(reported).collect(),
        moves_total: story.moved,
        ran: story
            .ran
            .iter()
            .map(|(task, span)| RanReport { task: task.clone(), ran_ns: span.as_ns() })
            .collect(),
        idled: story
            .idled
            .iter()
            .map(|(cpu, span)| IdledReport { cpu: cpu.0, idle_ns: span.as_ns() })
            .collect(),
        ended: ended.to_owned(),
        ended_on_cpu,
        after: some(&story.after),
        task: story.task.clone(),
        why,
    }
}

/// Returns the tasks that ran where it waited: on CPU `cpu` and, if it was moved to others, on those.
fn runners(cpu: u32, moves_away: u64, ran: &[RanReport]) -> String {
    let there = match moves_away {
        0 => format!("on CPU {cpu}"),
        1 => format!("on CPU {cpu} and on the CPU it was moved to"),
        _ => format!("on CPU {cpu} and on the CPUs it was moved to"),
    };
    let each = |one: &RanReport| format!("{} for {}", one.task, Span::from_ns(one.ran_ns));
    match ran {
        [] => format!("no task ran {there} during the wait"),
        [one] => format!("during the wait, {} ran for {} {there}", one.task, Span::from_ns(one.ran_ns)),
        all => {
            let shown: Vec<String> = all.iter().take(LISTED).map(each).collect();
            let more = match all.len().saturating_sub(LISTED) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            format!("during the wait, {} tasks ran {there}: {}{more}", all.len(), shown.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tasks_that_ran_meanwhile_are_a_sentence() {
        let check = |moves_total: u64, tasks: usize, expected: &str| {
            let ran = |n: usize| RanReport { task: format!("hog{n}"), ran_ns: 1_000_000 };
            let ran: Vec<RanReport> = (0..tasks).map(ran).collect();
            assert_eq!(runners(0, moves_total, &ran), expected);
        };
        check(0, 0, "no task ran on CPU 0 during the wait");
        check(0, 1, "during the wait, hog0 ran for 1.00 ms on CPU 0");
        check(1, 1, "during the wait, hog0 ran for 1.00 ms on CPU 0 and on the CPU it was moved to");
        let two = "during the wait, 2 tasks ran on CPU 0 and on the CPUs it was moved to: hog0 for 1.00 ms, hog1 for 1.00 ms";
        check(2, 2, two);
        let more = format!("hog{} for 1.00 ms, and 1 more", LISTED - 1);
        assert!(
            runners(
                0,
                0,
                &vec![RanReport { task: format!("hog{}", LISTED - 1), ran_ns: 1_000_000 }; LISTED + 1]
            )
            .ends_with(&more)
        );
    }
}
