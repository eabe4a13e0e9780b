//! Makes random events, their descriptions and their bytes.

use super::Bytes;
use crate::formats::Order;
use crate::sched_record::{Name, SchedEvent, SchedRecord, Who};
use keel_trace::Why;
use proptest::prelude::*;

/// The layout of a kernel's events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) order: Order,
    /// The size of a `long`, in bytes.
    pub(crate) long: usize,
    /// Names of children are elsewhere in the record.
    pub(crate) far_names: bool,
}

const SWITCH: u16 = 310;
const WAKING: u16 = 311;
const WAKEUP: u16 = 312;
const WAKEUP_NEW: u16 = 313;
const MIGRATE: u16 = 314;
const FORK: u16 = 315;
const OTHER: u16 = 316;

/// Field by field: kind, name, bytes.
type Fields = Vec<(&'static str, &'static str, usize)>;

impl Shape {
    pub(crate) fn any() -> impl Strategy<Value = Self> {
        let order = prop::sample::select(vec![Order::Little, Order::Big]);
        (order, prop::sample::select(vec![4, 8]), any::<bool>()).prop_map(|(order, long, far_names)| Self {
            order,
            long,
            far_names,
        })
    }

    fn events(&self) -> Vec<(u16, &'static str, Fields)> {
        let task = || vec![("char", "comm", 16), ("pid_t", "pid", 4), ("int", "prio", 4)];
        let wakes = || [task(), vec![("int", "target_cpu", 4)]].concat();
        let switch = vec![
            ("char", "prev_comm", 16),
            ("pid_t", "prev_pid", 4),
            ("int", "prev_prio", 4),
            ("long", "prev_state", self.long),
            ("char", "next_comm", 16),
            ("pid_t", "next_pid", 4),
            ("int", "next_prio", 4),
        ];
        let child = if self.far_names { ("__data_loc", "child_comm", 4) } else { ("char", "child_comm", 16) };
        vec![
            (SWITCH, "sched_switch", switch),
            (WAKING, "sched_waking", wakes()),
            (WAKEUP, "sched_wakeup", wakes()),
            (WAKEUP_NEW, "sched_wakeup_new", wakes()),
            (
                MIGRATE,
                "sched_migrate_task",
                [task(), vec![("int", "orig_cpu", 4), ("int", "dest_cpu", 4)]].concat(),
            ),
            (FORK, "sched_process_fork", vec![("pid_t", "parent_pid", 4), child, ("pid_t", "child_pid", 4)]),
            (OTHER, "sched_stat_runtime", vec![("u64", "runtime", 8)]),
        ]
    }

    /// Returns the descriptions, as a kernel prints them.
    pub(crate) fn descriptions(&self) -> Vec<String> {
        let common = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
                      \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
                      \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
                      \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
        let mut texts = Vec::new();
        for (id, name, fields) in self.events() {
            let mut text = format!("name: {name}\nID: {id}\nformat:\n{common}");
            let mut offset = 8;
            for (kind, field, size) in fields {
                let array = match (kind, size) {
                    ("char", 16) => "[16]",
                    _ => "",
                };
                let kind = if kind == "__data_loc" { "__data_loc char[]" } else { kind };
                text +=
                    &format!("\tfield:{kind} {field}{array};\toffset:{offset};\tsize:{size};\tsigned:1;\n");
                offset += size;
            }
            texts.push(text + "\nprint fmt: \"nothing\"\n");
        }
        texts
    }

    /// Returns a record's bytes.
    pub(crate) fn record(&self, seen: &SchedRecord) -> Vec<u8> {
        let mut to = Bytes::new(self.order);
        let id = match seen.what {
            SchedEvent::Switch { .. } => SWITCH,
            SchedEvent::Waking { .. } => WAKING,
            SchedEvent::Wakeup { .. } => WAKEUP,
            SchedEvent::WakeupNew { .. } => WAKEUP_NEW,
            SchedEvent::Migrate { .. } => MIGRATE,
            SchedEvent::Forked { .. } => FORK,
            _ => OTHER,
        };
        to.u16(id).u8(if seen.interrupt { 8 } else { 1 }).u8(0).u32(seen.current.unwrap_or(0));
        match seen.what {
            SchedEvent::Switch { prev, why, next } => {
                task(&mut to, &prev);
                let state = match why {
                    Why::Blocked => 1,
                    Why::Exited => 0x10,
                    _ => 0x100,
                };
                if self.long == 4 {
                    to.u32(state)
                } else {
                    to.u64(state.into())
                };
                task(&mut to, &next);
            }
            SchedEvent::Waking { task: who, target }
            | SchedEvent::Wakeup { task: who, target }
            | SchedEvent::WakeupNew { task: who, target } => {
                task(&mut to, &who);
                to.u32(target);
            }
            SchedEvent::Migrate { task: who, from, to: target } => {
                task(&mut to, &who);
                to.u32(from).u32(target);
            }
            SchedEvent::Forked { child } if self.far_names => {
                to.u32(1).u32(16 << 16 | 20).u32(child.pid).raw(&padded(&child.name));
            }
            SchedEvent::Forked { child } => {
                to.u32(1).raw(&padded(&child.name)).u32(child.pid);
            }
            _ => {
                to.u64(5);
            }
        }
        to.bytes
    }
}

fn padded(name: &Name) -> [u8; 16] {
    let mut bytes = [0; 16];
    let text = name.text();
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes
}

fn task(to: &mut Bytes, who: &Who) {
    to.raw(&padded(&who.name)).u32(who.pid).u32(who.prio.unwrap_or(120).cast_unsigned());
}

fn any_who() -> impl Strategy<Value = Who> {
    // Names with spaces, brackets, numbers; no line breaks, and nothing that looks like the words that follow.
    let name = prop::sample::select(vec![
        "make",
        "Web Content",
        "kworker/3:1H",
        "a[2] 1.5: x",
        "sixteen letters",
        "-7",
    ]);
    (1u32..40, name, 100i32..140).prop_map(|(pid, name, prio)| Who {
        pid,
        name: Name::new(name.as_bytes()),
        prio: Some(prio),
    })
}

/// Generates records in order of time, on up to `cpus` CPUs, microseconds apart.
pub(crate) fn any_records(cpus: u32, most: usize) -> impl Strategy<Value = Vec<SchedRecord>> {
    let cpu = move || 0..cpus;
    let why = prop::sample::select(vec![Why::Preempted, Why::Blocked, Why::Exited]);
    let what = prop_oneof![
        4 => (any_who(), why, any_who()).prop_map(|(prev, why, next)| SchedEvent::Switch { prev, why, next }),
        1 => (any_who(), cpu()).prop_map(|(task, target)| SchedEvent::Waking { task, target }),
        1 => (any_who(), cpu()).prop_map(|(task, target)| SchedEvent::Wakeup { task, target }),
        1 => (any_who(), cpu()).prop_map(|(task, target)| SchedEvent::WakeupNew { task, target }),
        1 => (any_who(), cpu(), cpu()).prop_map(|(task, from, to)| SchedEvent::Migrate { task, from, to }),
        1 => any_who().prop_map(|child| SchedEvent::Forked { child: Who { prio: None, ..child } }),
        1 => Just(SchedEvent::Other),
    ];
    let record = (1u64..3_000_000, cpu(), what, 0u32..40, any::<bool>());
    prop::collection::vec(record, 0..most).prop_map(|records| {
        let mut at = 5_000_000_000;
        let seen = |(passed, cpu, what, current, interrupt): (u64, u32, SchedEvent, u32, bool)| {
            at += passed * 1000;
            SchedRecord { at, cpu, lost: 0, current: Some(current), interrupt, what }
        };
        records.into_iter().map(seen).collect()
    })
}
