//! Decodes the bytes of an event.

use super::Order;
use super::describe::Description;
use super::field::Field;
use super::quick::Quick;
use crate::sched_record::{Name, SchedEvent, Who};
use keel_trace::Why;
use rustc_hash::FxHashMap;

/// In `common_flags`: in a hard interrupt, a soft interrupt, or an NMI (`TRACE_FLAG_*`).
pub(crate) const INTERRUPTS: i64 = 0x08 | 0x10 | 0x40;
/// The states of kernels since 4.14 (`TASK_REPORT`); older ones have more. The bit above them says preempted.
const STATES: i64 = 0xff;
/// `EXIT_DEAD` and `EXIT_ZOMBIE` of those.
const DEAD: i64 = 0x30;

/// A decoded event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    /// The task that was running when it was written.
    pub(crate) current: Option<u32>,
    /// Whether an interrupt wrote it.
    pub(crate) interrupt: bool,
    /// Its content; `None` if there are too few bytes or they are invalid.
    pub(crate) what: Option<SchedEvent>,
}

/// Reads events by their descriptions.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    order: Order,
    common: Option<Common>,
    events: FxHashMap<u32, Known>,
}

/// An event that was learned.
#[derive(Clone, Copy, Debug)]
struct Known {
    plan: Plan,
    /// The decoder for records with the usual layout.
    quick: Option<Quick>,
}

/// The fields that all events share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common {
    pub(super) id: Field,
    pub(super) flags: Option<Field>,
    pub(super) pid: Option<Field>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) pid: Field,
    pub(super) comm: Option<Field>,
    pub(super) prio: Option<Field>,
}

/// What to read of an event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan {
    Switch {
        prev: Task,
        state: Field,
        states: States,
        next: Task,
    },
    Waking {
        task: Task,
        target: Field,
    },
    Wakeup {
        task: Task,
        target: Field,
    },
    WakeupNew {
        task: Task,
        target: Field,
    },
    Migrate {
        task: Task,
        from: Field,
        to: Field,
    },
    Forked {
        child: Task,
    },
    Named {
        task: Task,
    },
    Online {
        target: Field,
        goal: Field,
        step: Field,
    },
    /// It provides only the time, CPU and task.
    Other,
    /// It should have content, but lacks the necessary fields.
    Strange,
}

/// What the bits of `prev_state` mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct States {
    dead: i64,
    preempted: i64,
}

impl Decoder {
    pub(crate) fn new(order: Order) -> Self {
        Self { order, common: None, events: FxHashMap::default() }
    }

    /// Learns an event.
    pub(crate) fn learn(&mut self, event: &Description) {
        if self.common.is_none()
            && let Some(id) = event.field("common_type")
        {
            self.common =
                Some(Common { id, flags: event.field("common_flags"), pid: event.field("common_pid") });
        }
        let plan = plan(event);
        let usual = self.common.filter(|_| self.order == Order::Little);
        let quick = usual.and_then(|common| Quick::new(&common, &plan));
        self.events.insert(event.id, Known { plan, quick });
    }

    /// Returns whether any `sched_switch` was learned.
    pub(crate) fn knows_switches(&self) -> bool {
        self.events.values().any(|known| matches!(known.plan, Plan::Switch { .. }))
    }

    /// Decodes an event's bytes. Returns `None` for an event without a description.
    #[inline]
    pub(crate) fn decode(&self, record: &[u8]) -> Option<Decoded> {
        let id = u32::try_from(self.common.as_ref()?.id.number(record, self.order)?).ok()?;
        let known = self.events.get(&id)?;
        let quick = known.quick.as_ref().and_then(|quick| quick.decode(record));
        quick.or_else(|| self.decode_any(&known.plan, record))
    }

    fn decode_any(&self, plan: &Plan, record: &[u8]) -> Option<Decoded> {
        let common = self.common?;
        let number = |field: Option<Field>| field?.number(record, self.order);
        Some(Decoded {
            current: number(common.pid).and_then(|pid| u32::try_from(pid).ok()),
            interrupt: number(common.flags).is_some_and(|flags| flags & INTERRUPTS != 0),
            what: self.what(plan, record),
        })
    }

    fn what(&self, plan: &Plan, record: &[u8]) -> Option<SchedEvent> {
        let cpu = |field: &Field| u32::try_from(field.number(record, self.order)?).ok();
        let task = |task: &Task| self.task(task, record);
        Some(match plan {
            Plan::Switch { prev, state, states, next } => {
                let why = states.why(state.number(record, self.order)?);
                SchedEvent::Switch { prev: task(prev)?, why, next: task(next)? }
            }
            Plan::Waking { task: who, target } => {
                SchedEvent::Waking { task: task(who)?, target: cpu(target)? }
            }
            Plan::Wakeup { task: who, target } => {
                SchedEvent::Wakeup { task: task(who)?, target: cpu(target)? }
            }
            Plan::WakeupNew { task: who, target } => {
                SchedEvent::WakeupNew { task: task(who)?, target: cpu(target)? }
            }
            Plan::Migrate { task: who, from, to } => {
                SchedEvent::Migrate { task: task(who)?, from: cpu(from)?, to: cpu(to)? }
            }
            Plan::Forked { child } => SchedEvent::Forked { child: task(child)? },
            Plan::Named { task: who } => SchedEvent::Named { task: task(who)? },
            Plan::Online { target, goal, step } => {
                let (goal, step) = (goal.number(record, self.order)?, step.number(record, self.order)?);
                SchedEvent::hotplug(cpu(target)?, goal, step)
            }
            Plan::Other => SchedEvent::Other,
            Plan::Strange => return None,
        })
    }

    #[inline]
    fn task(&self, task: &Task, record: &[u8]) -> Option<Who> {
        let prio = task.prio.and_then(|prio| prio.number(record, self.order));
        Some(Who {
            pid: u32::try_from(task.pid.number(record, self.order)?).ok()?,
            name: task
                .comm
                .and_then(|comm| comm.bytes(record, self.order))
                .map(Name::new)
                .unwrap_or_default(),
            prio: prio.and_then(|prio| i32::try_from(prio).ok()),
        })
    }
}

fn plan(event: &Description) -> Plan {
    planned(event).unwrap_or(Plan::Strange)
}

fn planned(event: &Description) -> Option<Plan> {
    let field = |name: &str| event.field(name);
    let task = |prefix: &str| {
        let of = |name: &str| event.field(&format!("{prefix}{name}"));
        Some(Task { pid: of("pid")?, comm: of("comm"), prio: of("prio") })
    };
    let target = || field("target_cpu").or_else(|| field("cpu"));
    Some(match event.name.as_str() {
        "sched_switch" => Plan::Switch {
            prev: task("prev_")?,
            state: field("prev_state")?,
            states: States::of(&event.print),
            next: task("next_")?,
        },
        "sched_waking" => Plan::Waking { task: task("")?, target: target()? },
        "sched_wakeup" => Plan::Wakeup { task: task("")?, target: target()? },
        "sched_wakeup_new" => Plan::WakeupNew { task: task("")?, target: target()? },
        "sched_migrate_task" => {
            Plan::Migrate { task: task("")?, from: field("orig_cpu")?, to: field("dest_cpu")? }
        }
        "sched_process_fork" => Plan::Forked { child: task("child_")? },
        "task_rename" => {
            Plan::Named { task: Task { pid: field("pid")?, comm: Some(field("newcomm")?), prio: None } }
        }
        "cpuhp_enter" => Plan::Online { target: field("cpu")?, goal: field("target")?, step: field("idx")? },
        _ => Plan::Other,
    })
}

impl States {
    /// The states of kernels since 4.14, used if the recording does not describe them.
    pub(crate) const USUAL: Self = Self { dead: DEAD, preempted: STATES + 1 };

    /// Reads the states from the print format of `sched_switch`: `{ 0x00000010, "X" }, ...`. The bit above all of these
    /// means preempted.
    fn of(print: &str) -> Self {
        let (mut dead, mut all) = (0, 0);
        for entry in print.split('{').skip(1) {
            let Some((bits, rest)) = entry.split_once(',') else { continue };
            let Some(bits) = number(bits.trim()) else { continue };
            all |= bits;
            if ["\"X\"", "\"Z\"", "\"x\""].contains(&rest.split('}').next().unwrap_or("").trim()) {
                dead |= bits;
            }
        }
        if all <= 0 || all >= 1 << 30 || dead == 0 {
            return Self::USUAL;
        }
        Self { dead, preempted: 1 << (i64::BITS - all.leading_zeros()) }
    }

    #[inline]
    pub(crate) fn why(self, state: i64) -> Why {
        if state & self.preempted != 0 || state & (self.preempted - 1) == 0 {
            Why::Preempted
        } else if state & self.dead != 0 {
            Why::Exited
        } else {
            Why::Blocked
        }
    }
}

fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}
