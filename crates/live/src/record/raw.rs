//! Converts a record that the kernel's half wrote (crates/live/bpf/record.bpf.c) from bytes to typed values.

use keel_abi::cgroup::{Bandwidth, QUOTA_NONE, WEIGHT_DFL, WEIGHT_MAX, WEIGHT_MIN};
use keel_abi::scx::weight_of_nice;
use keel_abi::tape::Room;
use keel_abi::{CpuId, CpuSet, Pid};
use keel_trace::story::{Doing, GroupRecord, Key, Raw, RawWhat, TaskRecord};
use keel_trace::{Call, GroupInfo, Piping, Source, Why, policy};

const SWITCH: u8 = 1;
const WAKEUP: u8 = 2;
const FORK: u8 = 3;
const MIGRATE: u8 = 4;
const HOTPLUG: u8 = 5;
const TASK_RECORD: u8 = 6;
const SNAPSHOT: u8 = 7;
const KICK: u8 = 8;
const STOPPED: u8 = 9;
const PRIORITY: u8 = 11;
const THROTTLED: u8 = 12;
const DECISION: u8 = 13;
const GROUP: u8 = 14;
const PIPED: u8 = 15;

/// In a snapshot: a task that waits, but not for a CPU, because it is throttled.
const KEPT_OFF: u8 = 3;

/// In a record of a pipe: whether it is a local socket.
const IS_SOCKET: u8 = 0x80;
/// The size of `struct head`, in bytes.
const HEAD: usize = 24;
/// The size of `struct task_record` before its CPUs, in bytes.
const TASK_RECORD_HEAD: usize = 64;
/// `DEFAULT_PRIO`: the static priority of nice 0.
const NICE_0: i32 = 120;
/// In a task's policy: its share depends on a group.
const IN_A_GROUP: u32 = 1 << 31;
/// In a group's record: `cpu.idle` is set; it is a session's.
const IS_IDLE: u8 = 1;
const IS_SESSION: u8 = 2;
/// `task_group.shares` of the default weight: `scale_load(NICE_0_LOAD)`.
const SHARES_DFL: u64 = 1 << 20;
/// The size of `struct group_record` before its name, in bytes.
const GROUP_HEAD: usize = 72;
/// `SCHED_NORMAL`, `SCHED_BATCH` and `SCHED_EXT`. For a task without a group, the nice value determines the weight.
const BY_NICE: [u32; 3] = [0, 3, 7];

/// Returns the size of a snapshot's record on a machine whose CPUs fill `words` words.
pub(super) fn snapshot_bytes(words: u32) -> usize {
    TASK_RECORD_HEAD + words as usize * 8
}

/// Reads a record that `writer` wrote on a machine with this many CPUs, or `None` if it is invalid.
pub(crate) fn read(writer: CpuId, cpus: u32, bytes: &[u8]) -> Option<Raw> {
    let fields = Fields(bytes);
    let (task, cpu) = (Key(fields.u64(8)?), CpuId(fields.u16(20)?.into()));
    let detail = fields.u8(23)?;
    let other = || Some(Key(fields.u64(24)?));
    let from = || Some(CpuId(fields.u32(32)?));
    let to = || Some(CpuId(fields.u32(36)?));
    let what = match fields.u8(22)? {
        SWITCH => {
            let (prev, why, next) = (task, why(detail)?, other()?);
            RawWhat::Switch { cpu, prev, why, next, prio: prio(fields.u32(36)?) }
        }
        WAKEUP => {
            let source = Source::ALL.get(usize::try_from(fields.u32(32)?).ok()?).copied();
            let waited = Call::ALL.get(usize::from(detail)).copied().zip(source);
            RawWhat::Wakeup { cpu, task, target: to()?, waker: other()?, waited }
        }
        FORK => RawWhat::Fork { cpu, child: task, target: to()?, parent: other()? },
        MIGRATE => RawWhat::Migrate { cpu, task, from: from()?, to: to()? },
        HOTPLUG => RawWhat::Online { cpu, target: to()?, up: detail != 0 },
        KICK => RawWhat::Kick { cpu, target: to()? },
        STOPPED => RawWhat::Stopped { target: to()? },
        PRIORITY => RawWhat::Priority { task, prio: prio(fields.u32(36)?)? },
        THROTTLED => RawWhat::Throttled { cpu, task, on: detail != 0, group: other()? },
        DECISION => RawWhat::Decision(Box::new(policy::read_with_classes(bytes.get(HEAD..)?, cpus)?.policy)),
        PIPED => {
            let (bytes, size) = (fields.u32(32)?, fields.u32(36)?);
            let room = if detail & IS_SOCKET == 0 { Room::Pages(size) } else { Room::Memory(size) };
            let how = *Piping::ALL.get(usize::from(detail & !IS_SOCKET))?;
            RawWhat::Piped { cpu, task, pipe: other()?, bytes, room, how }
        }
        GROUP => RawWhat::Group(Box::new(fields.group(task, detail)?)),
        TASK_RECORD => RawWhat::Task(Box::new(fields.task_record(task, detail != 0, None)?)),
        SNAPSHOT => {
            let doing = match detail {
                0 => Doing::Asleep,
                1 | KEPT_OFF => Doing::Waiting(cpu),
                _ => Doing::Running(cpu),
            };
            RawWhat::Task(Box::new(fields.task_record(task, true, Some(doing))?))
        }
        _ => return None,
    };
    Some(Raw { at: fields.u64(0)?, writer, lost: fields.u32(16)?, what })
}

/// Returns whether this snapshot record is about a throttled task.
pub(super) fn is_kept_off(bytes: &[u8]) -> bool {
    Fields(bytes).u8(22) == Some(SNAPSHOT) && Fields(bytes).u8(23) == Some(KEPT_OFF)
}

/// Returns the kernel's `p->prio`, or `None` if it is impossible.
fn prio(word: u32) -> Option<i16> {
    i16::try_from(word.cast_signed()).ok().filter(|prio| (-1..140).contains(prio))
}

fn why(detail: u8) -> Option<Why> {
    let all = [Why::WasIdle, Why::Preempted, Why::Yielded, Why::Blocked, Why::Exited];
    all.get(usize::from(detail)).copied()
}

/// A record's bytes by their offsets.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at + N)?.try_into().ok()
    }

    fn u8(&self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    fn u16(&self, at: usize) -> Option<u16> {
        self.bytes(at).map(u16::from_ne_bytes)
    }

    fn u32(&self, at: usize) -> Option<u32> {
        self.bytes(at).map(u32::from_ne_bytes)
    }

    fn u64(&self, at: usize) -> Option<u64> {
        self.bytes(at).map(u64::from_ne_bytes)
    }

    fn group(&self, key: Key, flags: u8) -> Option<GroupRecord> {
        let name = self.0.get(GROUP_HEAD..)?;
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        let (shares, period_ns, quota_ns) = (self.u64(40)?, self.u64(48)?, self.u64(56)?);
        // `sched_weight_to_cgroup()`.
        let weight =
            (shares.saturating_mul(u64::from(WEIGHT_DFL)).saturating_add(SHARES_DFL / 2)) / SHARES_DFL;
        let weight = weight.clamp(u64::from(WEIGHT_MIN), u64::from(WEIGHT_MAX)) as u32;
        let quota_us = if quota_ns == u64::MAX { QUOTA_NONE } else { quota_ns / 1000 };
        let bandwidth = Bandwidth { period_us: period_ns / 1000, quota_us, burst_us: self.u64(64)? / 1000 };
        let (idle, session) = (flags & IS_IDLE != 0, flags & IS_SESSION != 0);
        let info = GroupInfo {
            name: String::from_utf8_lossy(&name[..end]).into_owned(),
            // An idle group has the shares of an idle group. Its weight is unchanged, and unknown.
            weight: if idle { WEIGHT_DFL } else { weight },
            bandwidth,
            idle,
            session,
            ..GroupInfo::default()
        };
        Some(GroupRecord { key, id: self.u64(32)?, parent: Key(self.u64(24)?), info })
    }

    fn task_record(&self, task: Key, first: bool, doing: Option<Doing>) -> Option<TaskRecord> {
        let name = self.bytes::<16>(40)?;
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        let words: Vec<u64> =
            self.0.get(TASK_RECORD_HEAD..)?.chunks_exact(8).map_while(|word| Fields(word).u64(0)).collect();
        let nice = self.u32(28)?.cast_signed().saturating_sub(NICE_0).clamp(-20, 19);
        let (nice, policy) = (nice as i8, self.u32(36)?);
        Some(TaskRecord {
            task,
            pid: Pid(self.u32(24)?),
            name: String::from_utf8_lossy(&name[..end]).into_owned(),
            nice,
            prio: prio(self.u32(32)?),
            scheduled: Some((policy & !IN_A_GROUP, Key(self.u64(56)?))),
            weight: if BY_NICE.contains(&policy) { weight_of_nice(nice) } else { 0 },
            cpus: CpuSet::from_words(&words),
            first,
            doing,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_trace::policy::{Kind, Outcome, Policy};
    use proptest::prelude::*;

    /// Returns a record with the layout of the C structs: head, then the rest.
    fn record(task: u64, lost: u32, cpu: u16, kind: u8, detail: u8, rest: &[u8]) -> Vec<u8> {
        let mut bytes = [7u64.to_ne_bytes(), task.to_ne_bytes()].concat();
        bytes.extend(lost.to_ne_bytes());
        bytes.extend(cpu.to_ne_bytes());
        bytes.extend([kind, detail]);
        bytes.extend(rest);
        bytes
    }

    fn event(kind: u8, detail: u8) -> Vec<u8> {
        let rest = [99u64.to_ne_bytes(), (5u64 << 32 | 4).to_le_bytes()].concat();
        record(88, 3, 2, kind, detail, &rest)
    }

    /// CPU 2 looks for a CPU for task 33, checks CPUs 1 and 2, and chooses one: a `struct policy_event`.
    fn decision(chosen: u32) -> Vec<u8> {
        let words = [7, 0, 4, 0, 2, 33, chosen, 0, 6, 0, 0b110, 0].map(u32::to_ne_bytes).concat();
        [words, vec![0; 376 + 16]].concat()
    }

    fn placed(chosen: u32) -> Policy {
        Policy {
            pid: Pid(33),
            chosen: Some(CpuId(chosen)),
            outcome: Some(Outcome::Chose),
            considered: [CpuId(1), CpuId(2)].into_iter().collect(),
            ..Policy::of(Kind::Wakeup, CpuId(2))
        }
    }

    #[test]
    fn every_kind_is_read() {
        let check = |bytes: &[u8], expected: Option<RawWhat>| {
            let raw = read(CpuId(9), 8, bytes);
            assert_eq!(raw.clone().map(|raw| raw.what), expected);
            if let Some(raw) = raw {
                assert_eq!((raw.at, raw.writer), (7, CpuId(9)));
            }
        };
        let (cpu, task, other, from, to) = (CpuId(2), Key(88), Key(99), CpuId(4), CpuId(5));
        let switch = |why| Some(RawWhat::Switch { cpu, prev: task, why, next: other, prio: Some(5) });
        check(&event(SWITCH, 0), switch(Why::WasIdle));
        check(&event(SWITCH, 1), switch(Why::Preempted));
        check(&event(SWITCH, 2), switch(Why::Yielded));
        check(&event(SWITCH, 3), switch(Why::Blocked));
        check(&event(SWITCH, 4), switch(Why::Exited));
        check(&event(SWITCH, 5), None);
        let wakeup = |waited| Some(RawWhat::Wakeup { cpu, task, target: to, waker: other, waited });
        check(&event(WAKEUP, 5), wakeup(Some((Call::Poll, Source::Sender))));
        check(&event(WAKEUP, 99), wakeup(None));
        check(&event(FORK, 0), Some(RawWhat::Fork { cpu, child: task, target: to, parent: other }));
        check(&event(MIGRATE, 0), Some(RawWhat::Migrate { cpu, task, from, to }));
        check(&event(HOTPLUG, 1), Some(RawWhat::Online { cpu, target: to, up: true }));
        check(&event(0, 0), None);
        check(&event(KICK, 0), Some(RawWhat::Kick { cpu, target: to }));
        check(&event(STOPPED, 0), Some(RawWhat::Stopped { target: to }));
        check(&event(10, 0), None);
        check(&record(0, 0, 2, DECISION, 0, &decision(5)), Some(RawWhat::Decision(Box::new(placed(5)))));
        check(&record(0, 0, 2, DECISION, 0, &decision(8)), None);
        check(&record(0, 0, 2, DECISION, 0, &decision(5)[1..]), None);
        check(&event(THROTTLED, 1), Some(RawWhat::Throttled { cpu, task, on: true, group: other }));
        check(&event(THROTTLED, 0), Some(RawWhat::Throttled { cpu, task, on: false, group: other }));
        let piped = |room, how| Some(RawWhat::Piped { cpu, task, pipe: other, bytes: 4, room, how });
        check(&event(PIPED, 0), piped(Room::Pages(5), Piping::Read));
        check(&event(PIPED, 2), piped(Room::Pages(5), Piping::Packet));
        check(&event(PIPED, IS_SOCKET | 1), piped(Room::Memory(5), Piping::Write));
        check(&event(PIPED, 3), None);
        check(&event(PRIORITY, 0), Some(RawWhat::Priority { task, prio: 5 }));
        check(&event(SWITCH, 0)[..31], None);
        check(&[], None);
    }

    #[test]
    fn what_a_task_is_is_read() {
        let rest = |prio: i32| {
            let words = [33, prio.cast_unsigned(), 49, 0];
            let mut rest = words.map(u32::to_ne_bytes).concat();
            rest.extend(b"kworker/0:1\0old\0");
            rest.extend(0xabc_u64.to_ne_bytes());
            rest.extend([0b101u64.to_ne_bytes(), 1u64.to_ne_bytes()].concat());
            rest
        };
        let told_of =
            |prio, kind, detail| match read(CpuId(9), 8, &record(88, 0, 2, kind, detail, &rest(prio))) {
                Some(Raw { what: RawWhat::Task(task_record), .. }) => *task_record,
                other => panic!("{other:?}"),
            };
        let task_record = told_of(115, TASK_RECORD, 1);
        assert_eq!(
            (task_record.task, task_record.pid, task_record.name.as_str()),
            (Key(88), Pid(33), "kworker/0:1")
        );
        assert_eq!((task_record.nice, task_record.first, task_record.doing), (-5, true, None));
        assert_eq!((task_record.prio, task_record.weight), (Some(49), weight_of_nice(-5)));
        assert_eq!(task_record.cpus.iter().collect::<Vec<_>>(), [CpuId(0), CpuId(2), CpuId(64)]);
        assert_eq!(task_record.scheduled, Some((0, Key(0xabc))));
        assert!(!told_of(120, TASK_RECORD, 0).first);
        assert_eq!(told_of(139, SNAPSHOT, 0).doing, Some(Doing::Asleep));
        assert_eq!(told_of(-7, SNAPSHOT, 1).doing, Some(Doing::Waiting(CpuId(2))));
        assert_eq!(told_of(9999, SNAPSHOT, 2).doing, Some(Doing::Running(CpuId(2))));
        assert_eq!(told_of(120, SNAPSHOT, KEPT_OFF).doing, Some(Doing::Waiting(CpuId(2))));
        for (kind, detail, expected) in
            [(SNAPSHOT, KEPT_OFF, true), (SNAPSHOT, 1, false), (TASK_RECORD, KEPT_OFF, false)]
        {
            assert_eq!(is_kept_off(&record(88, 0, 2, kind, detail, &rest(120))), expected, "{kind} {detail}");
        }
        // A real-time policy, one in a group, an impossible priority.
        let (mut other, base) = (record(88, 0, 2, TASK_RECORD, 0, &rest(120)), 24);
        for (prio, policy, expected) in
            [(49, 1, (Some(49), 0)), (120, 1 << 31, (Some(120), 0)), (777, 3, (None, 100))]
        {
            other[base + 8..base + 12].copy_from_slice(&i32::to_ne_bytes(prio));
            other[base + 12..base + 16].copy_from_slice(&u32::to_ne_bytes(policy));
            match read(CpuId(9), 8, &other).map(|raw| raw.what) {
                Some(RawWhat::Task(task_record)) => {
                    assert_eq!((task_record.prio, task_record.weight), expected)
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(snapshot_bytes(2), record(0, 0, 0, 0, 0, &rest(0)).len());
    }

    #[test]
    fn what_a_group_is_is_read() {
        let check = |detail, [shares, period, quota]: [u64; 3], expected: GroupInfo| {
            let words = [99, 7, shares, period, quota, 3000].map(u64::to_ne_bytes).concat();
            let bytes = record(88, 0, 2, GROUP, detail, &[words, b"web.slice\0old".to_vec()].concat());
            let expected = GroupRecord { key: Key(88), id: 7, parent: Key(99), info: expected };
            let raw = read(CpuId(9), 8, &bytes).map(|raw| raw.what);
            assert_eq!(raw, Some(RawWhat::Group(Box::new(expected))));
        };
        let named = GroupInfo { name: "web.slice".to_owned(), ..GroupInfo::default() };
        let with = |weight, period_us, quota_us| {
            let bandwidth = Bandwidth { period_us, quota_us, burst_us: 3 };
            GroupInfo { weight, bandwidth, ..named.clone() }
        };
        check(0, [1 << 20, 100_000_000, u64::MAX], with(100, 100_000, QUOTA_NONE));
        check(0, [10 << 10, 50_000_000, 20_000_000], with(1, 50_000, 20_000));
        check(0, [100 << 20, 50_000_000, 20_000_000], with(10_000, 50_000, 20_000));
        check(IS_IDLE, [3 << 10, 1000, 1000], GroupInfo { idle: true, ..with(100, 1, 1) });
        check(IS_SESSION, [1 << 20, 1000, 1000], GroupInfo { session: true, ..with(100, 1, 1) });
        assert_eq!(read(CpuId(9), 8, &record(88, 0, 2, GROUP, 0, &[0; 47])), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(CpuId(0), 8, &bytes);
        }
    }
}
