//! Converts a bundle's events to records.

use super::messages::{CompactSched, FtraceEvent, Packet};
use crate::formats::{INTERRUPTS, States};
use crate::sched_record::{Name, SchedEvent, SchedRecord, Who};
use prost::Message;
use prost::bytes::Bytes;
use std::collections::VecDeque;

/// The kernel's records of one CPU.
#[derive(Debug, Default)]
pub(super) struct Cpu {
    /// The last task switched in; `None` before the first switch.
    running: Option<Who>,
    has_begun: bool,
}

/// The content of a bundle.
#[derive(Debug, Default)]
pub(super) struct Opened {
    pub(super) records: VecDeque<SchedRecord>,
    /// Why events were left out.
    pub(super) skipped: Vec<&'static str>,
}

/// An event of a bundle: a separate one, or an index into the compact lists.
#[derive(Clone, Copy, Debug)]
enum Raw<'a> {
    Event(&'a FtraceEvent),
    Switch(usize),
    Waking(usize),
}

impl Cpu {
    /// Reads a packet with a bundle of CPU `cpu`. Its records are in order.
    pub(super) fn open(&mut self, cpu: u32, packet: Bytes) -> Opened {
        let mut opened = Opened::default();
        let bundle = match Packet::decode(packet) {
            Ok(Packet { ftrace_events: Some(bundle) }) => bundle,
            _ => {
                opened.skipped.push("a bundle of events makes no sense");
                return opened;
            }
        };
        let compact = bundle.compact_sched.unwrap_or_default();
        let mut raw = events(&bundle.event, &mut opened.skipped);
        lists(&compact, &mut raw, &mut opened.skipped);
        // Each list is in order, so a stable sort merges them.
        raw.sort_by_key(|&(at, _)| at);
        let mut lost = u64::from(bundle.lost_events.unwrap_or(false));
        for (at, event) in raw {
            let record =
                SchedRecord { at, cpu, lost: 0, current: None, interrupt: false, what: SchedEvent::Other };
            if !std::mem::replace(&mut self.has_begun, true) && lost > 0 {
                lost = 0;
                opened.records.push_back(SchedRecord { what: SchedEvent::BeginsHere, ..record });
            }
            let record = SchedRecord { lost: std::mem::take(&mut lost), ..record };
            match event {
                Raw::Event(event) => self.event(record, event, &mut opened),
                Raw::Switch(n) => self.switch(record, &compact, n, &mut opened),
                Raw::Waking(n) => opened.records.push_back(self.waking(record, &compact, n)),
            }
        }
        opened
    }

    fn event(&mut self, record: SchedRecord, event: &FtraceEvent, opened: &mut Opened) {
        let interrupt = is_interrupt(event.common_flags.unwrap_or(0));
        let Some(what) = what(event) else {
            return opened.skipped.push("an event names no CPU or task that can be");
        };
        if let SchedEvent::Switch { next, .. } = what {
            self.running = Some(next);
        }
        opened.records.push_back(SchedRecord { current: event.pid, interrupt, what, ..record });
    }

    /// Decodes a compact switch. A CPU's first one lacks the previous task, so what the CPU did before is unknown.
    fn switch(&mut self, record: SchedRecord, compact: &CompactSched, n: usize, opened: &mut Opened) {
        let name = name(compact, compact.switch_next_comm_index.get(n));
        let prio = compact.switch_next_prio.get(n).copied();
        let Some(next) = who(compact.switch_next_pid.get(n).copied(), name, prio) else {
            return opened.skipped.push("an event names no CPU or task that can be");
        };
        match self.running.replace(next) {
            Some(prev) => {
                let state = compact.switch_prev_state.get(n).copied().unwrap_or(0);
                let what = SchedEvent::Switch { prev, why: States::USUAL.why(state), next };
                opened.records.push_back(SchedRecord { current: Some(prev.pid), what, ..record });
            }
            None => {
                let begins = SchedRecord { what: SchedEvent::BeginsHere, ..record };
                let runs = SchedRecord { lost: 0, current: Some(next.pid), ..record };
                opened.records.extend([begins, runs]);
            }
        }
    }

    fn waking(&self, record: SchedRecord, compact: &CompactSched, n: usize) -> SchedRecord {
        let name = name(compact, compact.waking_comm_index.get(n));
        let task = who(compact.waking_pid.get(n).copied(), name, compact.waking_prio.get(n).copied());
        let target = compact.waking_target_cpu.get(n).and_then(|&cpu| u32::try_from(cpu).ok());
        let what = match (task, target) {
            (Some(task), Some(target)) => SchedEvent::Waking { task, target },
            _ => SchedEvent::Other,
        };
        let flags = compact.waking_common_flags.get(n).copied().unwrap_or(0);
        let current = self.running.map(|who| who.pid);
        SchedRecord { current, interrupt: is_interrupt(flags), what, ..record }
    }
}

/// Returns a bundle's separate events, with their times.
fn events<'a>(all: &'a [FtraceEvent], skipped: &mut Vec<&'static str>) -> Vec<(u64, Raw<'a>)> {
    let timed = |event: &'a FtraceEvent| match event.timestamp {
        Some(at) => Some((at, Raw::Event(event))),
        None => {
            skipped.push("an event has no time");
            None
        }
    };
    all.iter().filter_map(timed).collect()
}

/// Collects the compact events. Lists of different lengths are used up to the length of the shortest.
fn lists(compact: &CompactSched, to: &mut Vec<(u64, Raw<'_>)>, skipped: &mut Vec<&'static str>) {
    let switches = [compact.switch_prev_state.len(), compact.switch_next_pid.len()];
    let wakings = [compact.waking_pid.len(), compact.waking_target_cpu.len()];
    let mut list = |times: &[u64], others: [usize; 2], raw: fn(usize) -> Raw<'static>| {
        let count = others.into_iter().fold(times.len(), usize::min);
        if others != [times.len(); 2] {
            skipped.push("lists of events differ in length");
        }
        let mut at = 0u64;
        for (n, since) in times[..count].iter().enumerate() {
            at = at.saturating_add(*since);
            to.push((at, raw(n)));
        }
    };
    list(&compact.switch_timestamp, switches, Raw::Switch);
    list(&compact.waking_timestamp, wakings, Raw::Waking);
}

/// Decodes an event. Returns `None` if a number in it is impossible.
fn what(event: &FtraceEvent) -> Option<SchedEvent> {
    let cpu = |cpu: Option<i32>| u32::try_from(cpu.unwrap_or(0)).ok();
    let wake = |wake: &super::messages::Wake| {
        Some((who(wake.pid, wake.comm.as_ref(), wake.prio)?, cpu(wake.target_cpu)?))
    };
    if let Some(switch) = &event.sched_switch {
        let prev = who(switch.prev_pid, switch.prev_comm.as_ref(), switch.prev_prio)?;
        let next = who(switch.next_pid, switch.next_comm.as_ref(), switch.next_prio)?;
        return Some(SchedEvent::Switch {
            prev,
            why: States::USUAL.why(switch.prev_state.unwrap_or(0)),
            next,
        });
    }
    if let Some(waking) = &event.sched_waking {
        return wake(waking).map(|(task, target)| SchedEvent::Waking { task, target });
    }
    if let Some(wakeup) = &event.sched_wakeup {
        return wake(wakeup).map(|(task, target)| SchedEvent::Wakeup { task, target });
    }
    if let Some(new) = &event.sched_wakeup_new {
        return wake(new).map(|(task, target)| SchedEvent::WakeupNew { task, target });
    }
    if let Some(migrate) = &event.sched_migrate_task {
        let task = who(migrate.pid, migrate.comm.as_ref(), migrate.prio)?;
        return Some(SchedEvent::Migrate { task, from: cpu(migrate.orig_cpu)?, to: cpu(migrate.dest_cpu)? });
    }
    rarer(event)
}

fn rarer(event: &FtraceEvent) -> Option<SchedEvent> {
    if let Some(fork) = &event.sched_process_fork {
        return Some(SchedEvent::Forked { child: who(fork.child_pid, fork.child_comm.as_ref(), None)? });
    }
    if let Some(new) = &event.task_newtask {
        return Some(SchedEvent::Named { task: who(new.pid, new.comm.as_ref(), None)? });
    }
    if let Some(rename) = &event.task_rename {
        return Some(SchedEvent::Named { task: who(rename.pid, rename.newcomm.as_ref(), None)? });
    }
    if let Some(step) = &event.cpuhp_enter {
        let (goal, step, target) = (step.target.unwrap_or(0), step.idx.unwrap_or(0), step.cpu.unwrap_or(0));
        return Some(SchedEvent::hotplug(target, goal.into(), step.into()));
    }
    Some(SchedEvent::Other)
}

/// Returns a task, or `None` for an impossible pid. A field of 0 may be omitted.
fn who(pid: Option<i32>, name: Option<&Bytes>, prio: Option<i32>) -> Option<Who> {
    let pid = u32::try_from(pid.unwrap_or(0)).ok()?;
    Some(Who { pid, name: name.map_or_else(Name::default, |name| Name::new(name)), prio })
}

fn name<'a>(compact: &'a CompactSched, index: Option<&u32>) -> Option<&'a Bytes> {
    compact.intern_table.get(*index? as usize)
}

fn is_interrupt(flags: u32) -> bool {
    i64::from(flags) & INTERRUPTS != 0
}
