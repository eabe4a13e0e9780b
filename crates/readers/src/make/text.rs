//! Writes text as ftrace, trace-cmd and perf print it.

use crate::sched_record::{SchedEvent, SchedRecord, Who};
use keel_trace::Why;
use std::fmt::Write;

/// The tool that prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextShape {
    Ftrace,
    /// trace-cmd report, by its plugins.
    TraceCmd,
    PerfScript,
}

/// Returns a whole file.
pub(crate) fn text(records: &[SchedRecord], shape: TextShape) -> Vec<u8> {
    let mut text = match shape {
        TextShape::Ftrace => {
            "# tracer: nop\n#\n# entries-in-buffer/entries-written: 9/9   #P:4\n#\n".to_owned()
        }
        TextShape::TraceCmd => "cpus=4\n".to_owned(),
        TextShape::PerfScript => String::new(),
    };
    for seen in records {
        let (pid, cpu) = (seen.current.unwrap_or(0), seen.cpu);
        let flags = if seen.interrupt { "d.h2." } else { "d..2." };
        let (seconds, micros) = (seen.at / 1_000_000_000, seen.at % 1_000_000_000 / 1000);
        let (event, words) = body(&seen.what, shape == TextShape::TraceCmd);
        let _ = match shape {
            TextShape::PerfScript => {
                writeln!(
                    text,
                    "{:>16} {pid:>5} [{cpu:03}] {seconds}.{micros:06}000: sched:{event}: {words}",
                    "my task"
                )
            }
            TextShape::Ftrace | TextShape::TraceCmd => {
                writeln!(
                    text,
                    "{:>16}-{pid:<7} [{cpu:03}] {flags} {seconds}.{micros:06}: {event}: {words}",
                    "my task"
                )
            }
        };
    }
    text.into_bytes()
}

fn body(what: &SchedEvent, plugins: bool) -> (&'static str, String) {
    let words = |prefix: &str, who: &Who| {
        let (name, pid) = (who.name.text(), who.pid);
        let prio = who.prio.map_or_else(String::new, |prio| format!(" {prefix}prio={prio}"));
        format!("{prefix}comm={name} {prefix}pid={pid}{prio}")
    };
    let short = |who: &Who| format!("{}:{} [{}]", who.name.text(), who.pid, who.prio.unwrap_or(0));
    let wakes = |who: &Who, target: u32| match plugins {
        true => format!("{} CPU:{target:03}", short(who)),
        false => format!("{} target_cpu={target:03}", words("", who)),
    };
    match what {
        SchedEvent::Switch { prev, why, next } => {
            let state = match why {
                Why::Blocked => "S",
                Why::Exited => "X",
                _ => "R",
            };
            let words = match plugins {
                true => format!("{} {state} ==> {}", short(prev), short(next)),
                false => format!("{} prev_state={state} ==> {}", words("prev_", prev), words("next_", next)),
            };
            ("sched_switch", words)
        }
        SchedEvent::Waking { task, target } => {
            ("sched_waking", format!("{} target_cpu={target:03}", words("", task)))
        }
        SchedEvent::Wakeup { task, target } => ("sched_wakeup", wakes(task, *target)),
        SchedEvent::WakeupNew { task, target } => ("sched_wakeup_new", wakes(task, *target)),
        SchedEvent::Migrate { task, from, to } => {
            ("sched_migrate_task", format!("{} orig_cpu={from} dest_cpu={to}", words("", task)))
        }
        SchedEvent::Forked { child } => {
            ("sched_process_fork", format!("comm=sh pid=1 {}", words("child_", child)))
        }
        _ => ("sched_stat_runtime", "comm=sh pid=1 runtime=5 [ns]".to_owned()),
    }
}
