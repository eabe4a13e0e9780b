//! The stream to packets: a bundle for each CPU, written when many events have come together.

use crate::messages::{
    FtraceEvent, FtraceEventBundle, Migrate, Switch, SystemInfo, TracePacket, TrackDescriptor, TrackEvent,
    Wake,
};
use keel_abi::{CpuId, Instant, TaskId};
use keel_check::{Observer, WastedCores};
use keel_trace::{Class, Event, Meta, Sink, TaskInfo, What, Why};
use prost::Message;
use std::io::{self, Write};

/// Events of all CPUs that are kept before they are written.
const MOST: usize = 1 << 14;
/// Our only sequence of packets.
const SEQUENCE: u32 = 1;
/// Nothing before this packet is needed (`SEQ_INCREMENTAL_STATE_CLEARED`).
const FRESH: u32 = 1;
/// The track that those of the CPUs are in; they follow it.
const WASTED: u64 = 1 << 32;
/// `TrackEvent.Type`.
const BEGIN: i32 = 1;
const END: i32 = 2;
/// A nice value of 0 as the kernel's priority.
const NICE_0: i32 = 120;
/// Pids of tasks that have none.
const UNKNOWN: i32 = 1 << 24;
/// Names are truncated to this many characters.
const NAME: usize = 64;

/// `prev_state` of `sched_switch` (`TASK_INTERRUPTIBLE`, `EXIT_DEAD`).
const RUNNABLE: i64 = 0;
const SLEEPS: i64 = 1;
const DEAD: i64 = 16;

/// Who a task is.
#[derive(Clone, Debug)]
struct Who {
    pid: i32,
    prio: i32,
    name: String,
}

/// Episodes that are not written yet.
#[derive(Debug, Default)]
struct Fresh(Vec<(CpuId, Instant, Instant)>);

impl Observer for Fresh {
    fn wasted(&mut self, cpu: CpuId, start: Instant, end: Instant) {
        self.0.push((cpu, start, end));
    }
}

/// Writes a run as a Perfetto trace.
///
/// It holds `sched_switch`, `sched_waking`, `sched_wakeup_new` and `sched_migrate_task` of each CPU, times in
/// nanoseconds, and a track for each CPU that was wasted. Errors of the writer are returned by [`Perfetto::finish`].
pub struct Perfetto<W> {
    to: W,
    error: Option<io::Error>,
    bundles: Vec<Vec<FtraceEvent>>,
    events: usize,
    lost: Vec<bool>,
    tasks: Vec<Option<Who>>,
    running: Vec<TaskId>,
    waste: WastedCores<Fresh>,
    tracks: Vec<bool>,
}

impl<W: Write> Perfetto<W> {
    /// No event so far.
    pub fn new(to: W) -> Self {
        Self {
            to,
            error: None,
            bundles: Vec::new(),
            events: 0,
            lost: Vec::new(),
            tasks: Vec::new(),
            running: Vec::new(),
            waste: WastedCores::observed(0, Fresh::default()),
            tracks: Vec::new(),
        }
    }

    /// Writes what is left; an error if anything could not be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.waste.verdict();
        self.mark();
        self.flush();
        match self.error {
            Some(error) => Err(error),
            None => self.to.flush(),
        }
    }

    fn packet(&mut self, packet: TracePacket) {
        if self.error.is_some() {
            return;
        }
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        let body = packet.encode_to_vec();
        // Field 1 of `Trace`, with a length.
        let mut bytes = vec![0x0a];
        prost::encoding::encode_varint(body.len() as u64, &mut bytes);
        bytes.extend(body);
        self.error = self.to.write_all(&bytes).err();
    }

    fn flush(&mut self) {
        for cpu in 0..self.bundles.len() {
            let event = std::mem::take(&mut self.bundles[cpu]);
            let lost_events = std::mem::take(&mut self.lost[cpu]).then_some(true);
            if !event.is_empty() {
                let bundle = FtraceEventBundle { cpu: Some(cpu as u32), event, lost_events };
                self.packet(TracePacket { ftrace_events: Some(bundle), ..TracePacket::default() });
            }
        }
        self.events = 0;
    }

    fn start(&mut self, cpus: usize) {
        self.bundles = vec![Vec::new(); cpus];
        self.lost = vec![false; cpus];
        self.running = vec![TaskId::IDLE; cpus];
        self.tracks = vec![false; cpus];
        // A CPU that always idles has no event, so that only this shows it.
        let system_info = Some(SystemInfo { num_cpus: Some(cpus as u32) });
        self.packet(TracePacket { system_info, ..TracePacket::default() });
        let name = Some("CPUs idle while a task waits".to_owned());
        let track = TrackDescriptor { uuid: Some(WASTED), name, parent_uuid: None };
        self.packet(TracePacket {
            sequence_flags: Some(FRESH),
            track_descriptor: Some(track),
            ..TracePacket::default()
        });
    }

    fn about(&mut self, info: &TaskInfo) {
        let at = info.task.index();
        if at >= self.tasks.len() {
            self.tasks.resize(at + 1, None);
        }
        let pid = i32::try_from(info.pid.0).ok().filter(|&pid| pid != 0);
        let who = Who {
            pid: pid.unwrap_or_else(|| number(info.task)),
            prio: NICE_0 + i32::from(info.nice),
            name: info.name.chars().take(NAME).collect(),
        };
        self.tasks[at] = Some(who);
    }

    fn who(&self, task: TaskId, cpu: CpuId) -> Who {
        match self.tasks.get(task.index()) {
            _ if task.is_idle() => Who { pid: 0, prio: NICE_0, name: format!("swapper/{cpu}") },
            Some(Some(who)) => who.clone(),
            _ => Who { pid: number(task), prio: NICE_0, name: String::new() },
        }
    }

    fn wake(&self, task: TaskId, target: CpuId) -> Option<Wake> {
        let Who { pid, prio, name } = self.who(task, target);
        let target_cpu = Some(target.0 as i32);
        Some(Wake { comm: Some(name), pid: Some(pid), prio: Some(prio), success: Some(1), target_cpu })
    }

    fn switch(&self, cpu: CpuId, prev: TaskId, why: Why, next: TaskId) -> Option<Switch> {
        let (prev, next) = (self.who(prev, cpu), self.who(next, cpu));
        let state = match why {
            Why::WasIdle | Why::Preempted | Why::Yielded => RUNNABLE,
            Why::Blocked => SLEEPS,
            Why::Exited => DEAD,
        };
        Some(Switch {
            prev_comm: Some(prev.name),
            prev_pid: Some(prev.pid),
            prev_prio: Some(prev.prio),
            prev_state: Some(state),
            next_comm: Some(next.name),
            next_pid: Some(next.pid),
            next_prio: Some(next.prio),
        })
    }

    fn event(&mut self, event: &Event) {
        let Event { at, cpu, what } = *event;
        let Some(&running) = self.running.get(cpu.index()) else { return };
        let mut by = running;
        let mut reported = FtraceEvent { timestamp: Some(at.as_ns()), ..FtraceEvent::default() };
        match what {
            What::Switch { prev, why, next } if prev != next => {
                reported.sched_switch = self.switch(cpu, prev, why, next);
                by = prev;
                self.running[cpu.index()] = next;
            }
            What::Wakeup { task, target, waker } => {
                reported.sched_waking = self.wake(task, target);
                by = waker;
            }
            What::Fork { child, target, parent } => {
                reported.sched_wakeup_new = self.wake(child, target);
                by = if parent == child { running } else { parent };
            }
            What::Migrate { task, from, to } => {
                let Who { pid, prio, name } = self.who(task, from);
                let (orig_cpu, dest_cpu) = (Some(from.0 as i32), Some(to.0 as i32));
                reported.sched_migrate_task =
                    Some(Migrate { comm: Some(name), pid: Some(pid), prio: Some(prio), orig_cpu, dest_cpu });
            }
            What::Lost { .. } => {
                self.lost[cpu.index()] = true;
                return;
            }
            _ => return,
        }
        reported.pid = u32::try_from(self.who(by, cpu).pid).ok();
        self.bundles[cpu.index()].push(reported);
        self.events += 1;
    }

    fn mark(&mut self) {
        for (cpu, from, to) in std::mem::take(&mut self.waste.observer().0) {
            let Some(known) = self.tracks.get_mut(cpu.index()) else { continue };
            let uuid = Some(WASTED + 1 + u64::from(cpu.0));
            if !std::mem::replace(known, true) {
                let name = Some(format!("CPU {cpu} wasted"));
                let track = TrackDescriptor { uuid, name, parent_uuid: Some(WASTED) };
                self.packet(TracePacket { track_descriptor: Some(track), ..TracePacket::default() });
            }
            for (at, kind, name) in
                [(from, BEGIN, Some("idle while a task waits".to_owned())), (to, END, None)]
            {
                let event = TrackEvent {
                    r#type: Some(kind),
                    track_uuid: uuid,
                    categories: vec!["keel".to_owned()],
                    name,
                };
                self.packet(TracePacket {
                    timestamp: Some(at.as_ns()),
                    track_event: Some(event),
                    ..TracePacket::default()
                });
            }
        }
    }
}

/// A number for a task without a pid.
fn number(task: TaskId) -> i32 {
    UNKNOWN.saturating_add(task.0.min(1 << 30) as i32)
}

impl<W: Write> Sink for Perfetto<W> {
    fn wants(&self) -> Class {
        self.waste.wants()
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            self.event(event);
            if self.events >= MOST {
                self.flush();
            }
        }
        self.waste.events(events);
        self.mark();
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        match meta {
            Meta::Start { topology, .. } if self.bundles.is_empty() => self.start(topology.cpus() as usize),
            Meta::Task(info) => self.about(info),
            _ => {}
        }
        self.waste.meta(at, meta);
        self.mark();
    }
}
