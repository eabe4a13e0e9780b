//! Tests round trips through the reader, and the effect of damaged files on it.

use super::*;
use crate::format::{CHOOSERS, WHYS};
use crate::policy::{self, Group, GroupClass, Outcome, Policy};
use crate::{Act, Call, CgroupChange, Lock, Piping, Request, Source, What};
use crate::{Chooser, GroupInfo, Item, NullSink, Reader, TraceError, Unknown, Why};
use keel_abi::DsqId;
use keel_abi::scx::Op;
use keel_abi::tape::Room;
use keel_abi::task;
use keel_abi::{Pid, Span};
use proptest::prelude::*;

const CPUS: u32 = 70;

fn task_id() -> impl Strategy<Value = TaskId> {
    prop_oneof![3 => (0u32..60_000).prop_map(TaskId), 1 => Just(TaskId::IDLE)]
}

fn cpu() -> impl Strategy<Value = CpuId> {
    (0..CPUS).prop_map(CpuId)
}

fn dsq() -> impl Strategy<Value = DsqId> {
    any::<u64>().prop_map(DsqId)
}

fn what() -> impl Strategy<Value = What> {
    let why = prop::sample::select(WHYS.to_vec());
    let by = prop::sample::select(CHOOSERS.to_vec());
    let op = prop::sample::select(Op::ALL);
    let span = || any::<u64>().prop_map(Span::from_ns);
    let lock = prop_oneof![
        cpu().prop_map(Lock::Runqueue),
        dsq().prop_map(Lock::Dsq),
        any::<u64>().prop_map(Lock::Bpf)
    ];
    prop_oneof![
        (task_id(), why, task_id()).prop_map(|(prev, why, next)| What::Switch { prev, why, next }),
        (task_id(), cpu(), task_id()).prop_map(|(task, target, waker)| What::Wakeup { task, target, waker }),
        (task_id(), cpu(), task_id()).prop_map(|(child, target, parent)| What::Fork {
            child,
            target,
            parent
        }),
        task_id().prop_map(|task| What::Exit { task }),
        (task_id(), cpu(), cpu()).prop_map(|(task, from, to)| What::Migrate { task, from, to }),
        (task_id(), cpu(), cpu(), by, any::<bool>())
            .prop_map(|(task, prev, chosen, by, idle)| What::Placed { task, prev, chosen, by, idle }),
        (task_id(), dsq(), any::<u32>()).prop_map(|(task, dsq, len)| What::Queued { task, dsq, len }),
        (task_id(), dsq(), any::<u32>()).prop_map(|(task, dsq, len)| What::Unqueued { task, dsq, len }),
        task_id().prop_map(|task| What::Held { task }),
        (cpu(), any::<u64>()).prop_map(|(target, flags)| What::Kick { target, flags }),
        (op, task_id(), span(), any::<u32>()).prop_map(|(op, task, took, insns)| What::Callback {
            op,
            task,
            took,
            insns
        }),
        (lock, span()).prop_map(|(lock, waited)| What::LockWait { lock, waited }),
        (task_id(), any::<i16>(), any::<u32>()).prop_map(|(task, prio, weight)| What::Priority {
            task,
            prio,
            weight
        }),
        (task_id(), any::<u32>(), task_id()).prop_map(|(task, mutex, owner)| What::Awaits {
            task,
            mutex,
            owner
        }),
        (cpu(), any::<bool>()).prop_map(|(target, up)| What::Online { target, up }),
        (task_id(), any::<u64>(), any::<u64>()).prop_map(|(task, ns, kernel_ps)| What::Worked {
            task,
            user: Span::from_ns(ns),
            kernel_ps
        }),
        (task_id(), prop::sample::select(&Call::ALL[..]), prop::sample::select(&Source::ALL[..]))
            .prop_map(|(task, call, source)| What::Waited { task, call, source }),
        (task_id(), any::<[u32; 3]>(), any::<bool>(), prop::sample::select(&Piping::ALL[..])).prop_map(
            |(task, [pipe, bytes, size], is_pipe, how)| {
                let room = if is_pipe { Room::Pages(size) } else { Room::Memory(size) };
                What::Piped { task, pipe, bytes, room, how }
            }
        ),
        (task_id(), acts()).prop_map(|(task, act)| What::Acts { task, act }),
        (task_id(), any::<u32>()).prop_map(|(task, units)| What::Count { task, units }),
        any::<bool>().prop_map(|on| What::Bypass { on }),
        any::<u32>().prop_map(|events| What::Lost { events }),
        (task_id(), any::<bool>(), prop_oneof![Just(0), any::<u32>()])
            .prop_map(|(task, on, group)| What::Throttled { task, on, group }),
        (cpu(), any::<bool>()).prop_map(|(target, on)| What::Reserved { target, on }),
    ]
}

fn group() -> impl Strategy<Value = Group> {
    let class = prop::option::of(prop::sample::select(GroupClass::ALL.to_vec()));
    (any::<u64>(), cpu(), 0..=CPUS as u16, any::<u16>(), class)
        .prop_map(|(load, first_cpu, cpus, runnable, class)| Group { load, first_cpu, cpus, runnable, class })
}

fn policy() -> impl Strategy<Value = Policy> {
    let kind = prop::sample::select(policy::Kind::ALL.to_vec());
    let outcome = prop::option::of(prop::sample::select(Outcome::ALL.to_vec()));
    let considered = prop::collection::vec(cpu(), 0..5).prop_map(CpuSet::from_iter);
    let groups = prop::collection::vec(group(), 0..=policy::MAX_GROUPS);
    let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>());
    (kind, outcome, cpu(), prop::option::of(cpu()), numbers, considered, groups).prop_map(
        |(kind, outcome, cpu, chosen, (level, pid, moved, nr_groups), considered, groups)| Policy {
            kind,
            level,
            cpu,
            pid: Pid(pid),
            chosen,
            moved,
            outcome,
            considered,
            nr_groups,
            groups,
        },
    )
}

fn request() -> impl Strategy<Value = Request> {
    let cpus = prop::collection::vec(cpu(), 0..5).prop_map(CpuSet::from_iter);
    let policies = [
        task::Policy::Other,
        task::Policy::Fifo(1),
        task::Policy::RoundRobin(99),
        task::Policy::Batch,
        task::Policy::Idle,
        task::Policy::Ext,
    ];
    let hint = (1..=99_u8, prop::sample::select(vec![task::HintPolicy::Fifo, task::HintPolicy::Rr]));
    let plain = vec![Request::MigrateDisable, Request::MigrateEnable, Request::Exec, Request::Setsid];
    prop_oneof![
        prop::sample::select(plain),
        any::<i8>().prop_map(Request::Nice),
        any::<i8>().prop_map(Request::AutogroupNice),
        cpus.prop_map(Request::Cpus),
        prop::sample::select(policies.to_vec()).prop_map(Request::Policy),
        cpu().prop_map(Request::Offline),
        cpu().prop_map(Request::Online),
        any::<u64>().prop_map(|ns| Request::Slice(Span::from_ns(ns))),
        any::<u64>().prop_map(|ns| Request::RunFor(Span::from_ns(ns))),
        hint.prop_map(|(rt_priority, policy)| Request::Hint(task::Hint { rt_priority, policy })),
        (".{0,20}", cgroup_change()).prop_map(|(path, change)| Request::Cgroup { path, change }),
    ]
}

fn cgroup_change() -> impl Strategy<Value = CgroupChange> {
    let plain = [CgroupChange::Join, CgroupChange::JoinProcess, CgroupChange::Make, CgroupChange::Remove];
    prop_oneof![
        prop::sample::select(plain.to_vec()),
        any::<u32>().prop_map(CgroupChange::Weight),
        any::<bool>().prop_map(CgroupChange::Idle),
        bandwidth().prop_map(CgroupChange::Bandwidth),
    ]
}

fn meta() -> impl Strategy<Value = Meta> {
    let cpus = prop::collection::vec(cpu(), 0..5).prop_map(CpuSet::from_iter);
    let kind = prop::sample::select(EXITS.to_vec());
    prop_oneof![
        (0u32..60_000, any::<u32>(), ".{0,20}", any::<i8>(), cpus).prop_map(
            |(task, pid, name, nice, cpus)| {
                Meta::Task(TaskInfo { task: TaskId(task), pid: Pid(pid), name, nice, cpus })
            }
        ),
        (kind, ".{0,40}").prop_map(|(kind, message)| Meta::SchedulerExit { kind, message }),
        (any::<bool>(), any::<bool>())
            .prop_map(|(affinity, throttling)| Meta::Unknown(Unknown { affinity, throttling })),
        any::<u64>().prop_map(|ns| Meta::Clock { ns }),
        (any::<u64>(), proptest::sample::select(&Noise::ALL[..]))
            .prop_map(|(seed, noise)| Meta::Chance { seed, noise }),
        (any::<u64>(), ".{0,20}").prop_map(|(id, name)| Meta::Queue { id: DsqId(id), name }),
        (0_u32..100, any::<u32>(), any::<u32>(), any::<bool>()).prop_map(
            |(task, process, session, kthread)| Meta::Member {
                task: TaskId(task),
                process,
                session,
                kthread
            }
        ),
        (0_u32..100, any::<u32>(), any::<u32>()).prop_map(|(task, policy, group)| Meta::Scheduled {
            task: TaskId(task),
            policy,
            group
        }),
        (task_id(), any::<bool>(), request()).prop_map(|(task, outside, request)| Meta::Asks {
            task,
            outside,
            request: Box::new(request)
        }),
        (any::<[u32; 3]>(), ".{0,20}", bandwidth(), any::<[bool; 2]>()).prop_map(
            |([group, parent, weight], name, bandwidth, [idle, session])| Meta::Group(Box::new(GroupInfo {
                group,
                parent,
                name,
                weight,
                bandwidth,
                idle,
                session
            }))
        ),
        policy().prop_map(|policy| Meta::Policy(Box::new(policy))),
    ]
}

fn bandwidth() -> impl Strategy<Value = Bandwidth> {
    let quota = prop_oneof![Just(QUOTA_NONE), 1..u64::MAX];
    (any::<u64>(), quota, any::<u64>()).prop_map(|(period_us, quota_us, burst_us)| Bandwidth {
        period_us,
        quota_us,
        burst_us,
    })
}

/// Generates acts that take no time.
fn acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        (task_id(), any::<bool>()).prop_map(|(wakee, sync)| Act::Wakes { wakee, sync }),
        (task_id(), any::<bool>()).prop_map(|(child, process)| Act::Forks { child, process }),
        Just(Act::Waits),
        Just(Act::Yields),
        Just(Act::Exits),
    ]
}

/// Generates a stream without its start and end.
fn stream() -> impl Strategy<Value = Vec<Item>> {
    let passed = || prop_oneof![Just(0u64), 0u64..5000, any::<u64>().prop_map(|n| n >> 8)];
    let one = prop_oneof![
        9 => (passed(), cpu(), what()).prop_map(|(ns, cpu, what)| {
            Item::Event(Event { at: Instant::from_ns(ns), cpu, what })
        }),
        1 => (passed(), meta()).prop_map(|(ns, meta)| Item::Meta(Instant::from_ns(ns), meta)),
    ];
    prop::collection::vec(one, 0..100).prop_map(|mut items| {
        let mut now = 0u64;
        for item in &mut items {
            let (Item::Event(Event { at, .. }) | Item::Meta(at, _)) = item;
            now += at.as_ns();
            *at = Instant::from_ns(now);
        }
        items
    })
}

fn start() -> Meta {
    let topology = Topology::regular(2, 5, 7, 1);
    let [scheduler, workload, unit] = ["fifo", "größe", "loops"].map(str::to_owned);
    Meta::Start { topology, scheduler, workload, unit }
}

fn written(items: &[Item], complete: bool) -> Result<Vec<u8>, WriteError> {
    let mut writer = Writer::new(Vec::new());
    writer.meta(Instant::ZERO, &start());
    let mut last = Instant::ZERO;
    for item in items {
        match item {
            Item::Event(event) => writer.events(&[*event]),
            Item::Meta(at, meta) => writer.meta(*at, meta),
        }
        let (Item::Event(Event { at, .. }) | Item::Meta(at, _)) = item;
        last = *at;
    }
    if complete {
        writer.meta(last, &Meta::End);
    }
    writer.finish()
}

/// Returns a typical stream: 64 CPUs, tasks that wake, run and block.
fn everyday() -> Vec<Item> {
    let mut items = Vec::new();
    for n in 0..2000u32 {
        let (cpu, task) = (CpuId(n * 7 % 64), TaskId(n * 31 % 1000));
        let dsq = DsqId(keel_abi::scx::dsq::LOCAL_ON | u64::from(cpu.0));
        let whats = [
            What::Placed { task, prev: cpu, chosen: cpu, by: Chooser::Default, idle: true },
            What::Wakeup { task, target: cpu, waker: TaskId::IDLE },
            What::Queued { task, dsq, len: 1 },
            What::Unqueued { task, dsq, len: 0 },
            What::Switch { prev: TaskId::IDLE, why: Why::WasIdle, next: task },
            What::Callback { op: Op::Running, task, took: Span::from_ns(130), insns: 40 },
            What::Switch { prev: task, why: Why::Blocked, next: TaskId::IDLE },
        ];
        for (i, what) in whats.into_iter().enumerate() {
            let at = Instant::from_ns(u64::from(n) * 3000 + i as u64 * 350);
            items.push(Item::Event(Event { at, cpu, what }));
        }
    }
    items
}

fn read(bytes: &[u8]) -> Result<(), TraceError> {
    Reader::new(bytes)?.pump(&mut NullSink)
}

proptest! {
    #[test]
    fn what_is_written_is_read(items in stream()) {
        let file = written(&items, true).expect("memory takes it");
        let read = Reader::new(&file[..]).expect("it is ours").collect::<Result<Vec<_>, _>>().expect("it is sound");
        prop_assert_eq!(&read[0], &Item::Meta(Instant::ZERO, start()));
        prop_assert_eq!(&read[1..read.len() - 1], &items[..]);
        prop_assert!(matches!(read[read.len() - 1], Item::Meta(_, Meta::End)));
    }
}

#[test]
fn an_everyday_event_takes_a_few_bytes() {
    let items = everyday();
    let bytes = written(&items, true).expect("memory takes it").len() as f64;
    let each = bytes / items.len() as f64;
    assert!((3.0..8.0).contains(&each), "{each} bytes an event");
}

#[test]
fn a_cut_file_is_reported_as_cut() {
    let file = written(&everyday()[..40], true).expect("memory takes it");
    for len in 8..file.len() {
        let error = read(&file[..len]).expect_err("its end is missing");
        assert!(matches!(error, TraceError::Truncated { at } if at == len as u64), "{len}: {error}");
    }
    assert!(read(&file).is_ok());
}

#[test]
fn other_files_are_refused() {
    let check = |bytes: &[u8], expected: &str| {
        assert_eq!(read(bytes).expect_err("refused").to_string(), expected);
    };
    check(b"PERFILE2....", "this is not a keel trace: it does not begin with 'KEELTRC'");
    check(b"", "this is not a keel trace: it does not begin with 'KEELTRC'");
    check(b"KEELTRC", "the trace is cut off at byte 7: its end record is missing");
    check(b"KEELTRC\x0a", "this keel trace has format version 10; this program reads versions up to 9");
    check(
        b"KEELTRC\x01\x7f",
        "the trace is damaged at byte 8: the start is not the first record, or not the only one",
    );
}

#[test]
fn no_damage_goes_unnoticed_or_panics() {
    let file = written(&everyday()[..200], true).expect("memory takes it");
    let mut seed = 1u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % below
    };
    for n in 0..10_000 {
        let mut bad = file.clone();
        for _ in 0..1 + n % 4 {
            let at = random(bad.len());
            match n % 3 {
                0 => bad[at] ^= 1 << random(8),
                1 => bad[at] = random(256) as u8,
                _ => drop(bad.splice(at..(at + random(4)).min(bad.len()), [random(256) as u8])),
            }
        }
        assert!(bad == file || read(&bad).is_err(), "damage {n} was not noticed");
    }
}

#[test]
fn an_incomplete_stream_is_an_error() {
    assert!(matches!(written(&everyday()[..9], false), Err(WriteError::NoEnd)));
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut writer = Writer::new(Full);
    writer.meta(Instant::ZERO, &start());
    writer.meta(Instant::ZERO, &Meta::End);
    assert!(
        matches!(writer.finish(), Err(WriteError::Io(error)) if error.kind() == io::ErrorKind::StorageFull)
    );
}

#[test]
fn only_wanted_classes_are_written() {
    let mut writer = Writer::of_classes(Vec::new(), Class::CORE);
    writer.meta(Instant::ZERO, &start());
    let held = What::Held { task: TaskId(1) };
    writer.events(&[Event { at: Instant::ZERO, cpu: CpuId(0), what: held }]);
    writer.meta(Instant::ZERO, &Meta::End);
    let file = writer.finish().expect("memory takes it");
    assert_eq!(Reader::new(&file[..]).expect("it is ours").count(), 2);
}

#[test]
fn decisions_may_be_left_out() {
    let policy = Policy { pid: Pid(7), ..Policy::of(policy::Kind::Wakeup, CpuId(3)) };
    let check = |wants: Class, expected: usize| {
        let mut writer = Writer::of_classes(Vec::new(), wants);
        writer.meta(Instant::ZERO, &start());
        writer.meta(Instant::ZERO, &Meta::Policy(Box::new(policy.clone())));
        writer.meta(Instant::ZERO, &Meta::End);
        let file = writer.finish().expect("memory takes it");
        assert_eq!(Reader::new(&file[..]).expect("it is ours").count(), expected);
    };
    check(Class::CORE, 2);
    check(Class::POLICY, 3);
}

#[test]
fn older_versions_are_read() {
    let sound = written(&everyday()[..40], true).expect("memory takes it");
    for version in 1..=3 {
        let mut file = sound.clone();
        file[7] = version;
        let end = file.len() - 4;
        let checksum = crc32fast::hash(&file[..end]);
        file[end..].copy_from_slice(&checksum.to_le_bytes());
        assert!(read(&file).is_ok(), "version {version}");
    }
}

/// Tries every number that a decision's record can contain: each is either damage or within the machine.
#[test]
fn a_decision_beyond_the_machine_is_damage() {
    let policy = Policy {
        kind: policy::Kind::Balance,
        level: 2,
        cpu: CpuId(9),
        pid: Pid(0),
        chosen: Some(CpuId(17)),
        moved: 1,
        outcome: Some(Outcome::Moved),
        considered: (8..16).map(CpuId).collect(),
        nr_groups: 1,
        groups: vec![Group {
            load: 77,
            first_cpu: CpuId(8),
            cpus: 8,
            runnable: 2,
            class: Some(GroupClass::FullyBusy),
        }],
    };
    let item = Item::Meta(Instant::from_ns(5), Meta::Policy(Box::new(policy)));
    let file = written(&[item], true).expect("memory takes it");
    let cpus = 0..CPUS;
    for (at, byte) in (8..file.len() - 4).flat_map(|at| (0..=255).map(move |byte| (at, byte))) {
        let mut bad = file.clone();
        bad[at] = byte;
        for item in Reader::new(&bad[..]).expect("its version is ours").map_while(Result::ok) {
            let Item::Meta(_, Meta::Policy(policy)) = item else { continue };
            let named = policy.considered.iter().chain([policy.cpu]).chain(policy.chosen);
            let named = named.chain(policy.groups.iter().map(|group| group.first_cpu));
            assert!(named.map(|cpu| cpu.0).all(|cpu| cpus.contains(&cpu)), "{byte} at {at}");
        }
    }
}
