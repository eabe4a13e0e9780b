//! Arbitrary streams.

use super::{CPUS, start};
use crate::{Builder, Late, Overheads, export, scaled, stuck};
use keel_abi::cgroup::Bandwidth;
use keel_abi::tape::Room;
use keel_abi::task::{Hint, HintPolicy, Policy};
use keel_abi::{CpuId, CpuSet, Instant, Span, TaskId};
use keel_trace::{Act, Call, CgroupChange, Event, Meta, Piping, Request, Sink, Source, Timer, What, Why};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Any {
    What(What),
    Asks(Meta),
}

fn any_item() -> impl Strategy<Value = Any> {
    prop_oneof![5 => any_what().prop_map(Any::What), 1 => any_asks().prop_map(Any::Asks)]
}

fn any_task() -> impl Strategy<Value = TaskId> {
    prop_oneof![4 => 0_u32..4, 1 => Just(u32::MAX), 1 => Just(77)].prop_map(TaskId)
}

fn any_asks() -> impl Strategy<Value = Meta> {
    let asks = |(task, outside, request)| Meta::Asks { task, outside, request: Box::new(request) };
    (any_task(), any::<bool>(), any_request()).prop_map(asks)
}

fn any_request() -> impl Strategy<Value = Request> {
    let cpu = || any::<u16>().prop_map(|cpu| CpuId(u32::from(cpu % 80)));
    let cpus = prop::collection::vec(cpu(), 0..4).prop_map(|cpus| Request::Cpus(CpuSet::from_iter(cpus)));
    let policy = prop_oneof![
        prop::sample::select(&[Policy::Other, Policy::Batch, Policy::Idle, Policy::Ext][..]),
        any::<u8>().prop_map(Policy::Fifo),
        any::<u8>().prop_map(Policy::RoundRobin),
    ];
    let span = || any::<u64>().prop_map(Span::from_ns);
    let hint = |rt_priority| Request::Hint(Hint { rt_priority, policy: HintPolicy::Rr });
    let simple = [Request::MigrateDisable, Request::MigrateEnable, Request::Exec, Request::Setsid];
    let path = prop::sample::select(&["/a", "/a/b", "/c", "/", "", "a", "/a//b"][..]);
    prop_oneof![
        any::<i8>().prop_map(Request::Nice),
        cpus,
        policy.prop_map(Request::Policy),
        cpu().prop_map(Request::Offline),
        cpu().prop_map(Request::Online),
        span().prop_map(Request::Slice),
        any::<u8>().prop_map(hint),
        span().prop_map(Request::RunFor),
        prop::sample::select(simple.to_vec()),
        any::<i8>().prop_map(Request::AutogroupNice),
        (path, any_change()).prop_map(|(path, change)| Request::Cgroup { path: path.to_owned(), change }),
    ]
}

fn any_change() -> impl Strategy<Value = CgroupChange> {
    let bandwidth = |(period_us, quota_us, burst_us)| {
        CgroupChange::Bandwidth(Bandwidth { period_us, quota_us, burst_us })
    };
    prop_oneof![
        prop::sample::select(&[CgroupChange::Join, CgroupChange::JoinProcess][..]),
        prop::sample::select(&[CgroupChange::Make, CgroupChange::Remove][..]),
        any::<u32>().prop_map(CgroupChange::Weight),
        any::<bool>().prop_map(CgroupChange::Idle),
        (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(bandwidth),
    ]
}

fn any_what() -> impl Strategy<Value = What> {
    let task = any_task;
    let why = prop_oneof![
        Just(Why::WasIdle),
        Just(Why::Preempted),
        Just(Why::Yielded),
        Just(Why::Blocked),
        Just(Why::Exited)
    ];
    let cpu = || (0..CPUS).prop_map(CpuId);
    let timer = prop_oneof![Just(Timer::Relative), Just(Timer::Absolute), Just(Timer::Deferrable)];
    let act = prop_oneof![
        (task(), any::<bool>()).prop_map(|(wakee, sync)| Act::Wakes { wakee, sync }),
        Just(Act::Waits),
        (any::<u64>(), timer).prop_map(|(ns, timer)| Act::Sleeps { until: Instant::from_ns(ns), timer }),
        any::<u64>().prop_map(|ns| Act::Begins { at: Instant::from_ns(ns) }),
        (task(), any::<bool>()).prop_map(|(child, process)| Act::Forks { child, process }),
        Just(Act::Yields),
        Just(Act::Exits),
    ];
    let room = prop_oneof![any::<u32>().prop_map(Room::Memory), any::<u32>().prop_map(Room::Pages)];
    prop_oneof![
        (task(), why, task()).prop_map(|(prev, why, next)| What::Switch { prev, why, next }),
        (task(), cpu(), task()).prop_map(|(task, target, waker)| What::Wakeup { task, target, waker }),
        (task(), cpu(), task()).prop_map(|(child, target, parent)| What::Fork { child, target, parent }),
        task().prop_map(|task| What::Exit { task }),
        (task(), any::<u32>()).prop_map(|(task, units)| What::Count { task, units }),
        (task(), any::<i16>()).prop_map(|(task, prio)| What::Priority { task, prio, weight: 0 }),
        (task(), any::<u64>(), any::<u64>()).prop_map(|(task, ns, kernel_ps)| What::Worked {
            task,
            user: Span::from_ns(ns),
            kernel_ps
        }),
        (task(), act).prop_map(|(task, act)| What::Acts { task, act }),
        (cpu(), any::<bool>()).prop_map(|(target, up)| What::Online { target, up }),
        (
            task(),
            0_u32..3,
            prop_oneof![0_u32..200, any::<u32>()],
            room,
            prop::sample::select(&Piping::ALL[..])
        )
            .prop_map(|(task, pipe, bytes, room, how)| What::Piped { task, pipe, bytes, room, how }),
        (task(), prop::sample::select(&Call::ALL[..]), prop::sample::select(&Source::ALL[..]))
            .prop_map(|(task, call, source)| What::Waited { task, call, source }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_stream_makes_it_panic_or_wait_in_circles(items in prop::collection::vec((0_u64..50, any_item()), 0..60)) {
        let mut builder = Builder::new(Overheads::default(), None);
        start(&mut builder);
        let mut at = Instant::ZERO;
        for (passed, item) in items {
            at += Span::from_us(passed);
            match item {
                Any::What(what) => builder.events(&[Event { at, cpu: CpuId(0), what }]),
                Any::Asks(meta) => builder.meta(at, &meta),
            }
        }
        if let Ok(replay) = builder.finish() {
            prop_assert_eq!(stuck(&replay.workload), None);
            prop_assert!(!replay.confidence.to_string().is_empty());
            let _ = export(&replay, Late { slack: Span::from_us(50), ..Late::default() });
            let twice = scaled(replay.workload, 2);
            prop_assert_eq!(stuck(&twice), None);
        }
    }
}
