use super::*;
use proptest::prelude::*;

/// The promised order as a simple model: a sorted list.
#[derive(Clone, Default)]
struct Model {
    due: Vec<(Instant, Source)>,
}

impl Model {
    fn clear(&mut self, cpu: CpuId) {
        self.due.retain(|&(_, source)| source != Source::Cpu(cpu));
    }

    fn add(&mut self, at: Instant, source: Source) {
        if at <= MAX_INSTANT {
            self.due.push((at, source));
            self.due.sort();
        }
    }

    fn pop(&mut self) -> Option<(Instant, Source)> {
        (!self.due.is_empty()).then(|| self.due.remove(0))
    }
}

#[derive(Clone, Debug)]
enum Act {
    SetCpu(u32, u64),
    ReturnCpu(u32, u64),
    HoldCpu(u32, u64),
    ClearCpu(u32),
    TakeCpu(u32, u64),
    GoOn(u32, u64),
    Exchange(u32, u64, bool),
    Push(u64, u32),
    Pop,
}

fn acts(cpus: u32) -> impl Strategy<Value = Vec<Act>> {
    let at =
        prop_oneof![8 => 0..20u64, 4 => 0..20_000u64, 2 => 0..1u64 << 46, 1 => (1u64 << 52) - 4..=u64::MAX];
    let id = prop_oneof![8 => 0..10u32, 2 => any::<u32>(), 1 => (1u32 << 20) - 2..(1 << 20) + 2];
    let act = prop_oneof![
        (0..cpus, at.clone()).prop_map(|(cpu, at)| Act::SetCpu(cpu, at)),
        (0..cpus, at.clone()).prop_map(|(cpu, at)| Act::ReturnCpu(cpu, at)),
        (0..cpus, at.clone()).prop_map(|(cpu, at)| Act::HoldCpu(cpu, at)),
        (0..cpus).prop_map(Act::ClearCpu),
        (0..cpus, at.clone()).prop_map(|(cpu, at)| Act::TakeCpu(cpu, at)),
        (0..cpus, at.clone()).prop_map(|(cpu, at)| Act::GoOn(cpu, at)),
        (0..cpus, at.clone(), any::<bool>()).prop_map(|(cpu, at, held)| Act::Exchange(cpu, at, held)),
        (at, id).prop_map(|(at, id)| Act::Push(at, id)),
        Just(Act::Pop),
    ];
    prop::collection::vec(act, 0..200)
}

fn check_against_model(cpus: u32, acts: &[Act]) {
    let (mut queue, mut model) = (EventQueue::new(cpus), Model::default());
    for act in acts {
        match *act {
            Act::SetCpu(cpu, ns) => {
                model.clear(CpuId(cpu));
                model.add(Instant::from_ns(ns), Source::Cpu(CpuId(cpu)));
                queue.set_cpu(CpuId(cpu), Instant::from_ns(ns));
            }
            // Only a CPU without an event returns or is held.
            Act::ReturnCpu(cpu, ns) | Act::HoldCpu(cpu, ns) => {
                let ns = if let Act::HoldCpu(..) = act { ns.min(MAX_HELD.as_ns()) } else { ns };
                model.clear(CpuId(cpu));
                queue.clear_cpu(CpuId(cpu));
                model.add(Instant::from_ns(ns), Source::Cpu(CpuId(cpu)));
                match act {
                    Act::ReturnCpu(..) => queue.return_cpu(CpuId(cpu), Instant::from_ns(ns)),
                    _ => queue.hold_cpu(CpuId(cpu), Instant::from_ns(ns)),
                }
            }
            Act::ClearCpu(cpu) => {
                model.clear(CpuId(cpu));
                queue.clear_cpu(CpuId(cpu));
                assert_eq!(queue.cpu_at(CpuId(cpu)), Instant::NEVER);
            }
            Act::TakeCpu(cpu, ns) => {
                let before = queue.cpu_at(CpuId(cpu));
                // It is not in the middle of a path, even if the queue has thought so.
                queue.set_cpu(CpuId(cpu), before);
                let at = Instant::from_ns(ns).min(before).min(MAX_INSTANT);
                let event = (at, Source::Cpu(CpuId(cpu)));
                model.clear(CpuId(cpu));
                model.add(at, event.1);
                let expected = model.due[0] == event;
                if expected {
                    assert_eq!(model.pop(), Some(event));
                }
                assert_eq!(queue.take_or_set_cpu(CpuId(cpu), at), expected);
            }
            // A CPU that continues has no event: it comes first if it would be taken first.
            Act::GoOn(cpu, ns) => {
                let own = (Instant::from_ns(ns.min(MAX_INSTANT.as_ns())), Source::Cpu(CpuId(cpu)));
                model.clear(CpuId(cpu));
                queue.clear_cpu(CpuId(cpu));
                let expected = model.due.first().is_none_or(|first| own < *first);
                assert_eq!(queue.comes_first(CpuId(cpu), own.0), expected);
            }
            // It takes the next event if that is a CPU's. A CPU that comes first just goes on.
            Act::Exchange(cpu, ns, is_held) => {
                let ns = if is_held { ns.min(MAX_HELD.as_ns()) } else { ns };
                let own = (Instant::from_ns(ns), Source::Cpu(CpuId(cpu)));
                model.clear(CpuId(cpu));
                queue.clear_cpu(CpuId(cpu));
                let mut after = model.clone();
                after.add(own.0, own.1);
                let expected = match after.pop() {
                    Some((at, Source::Cpu(next))) => Some((at, next)),
                    _ => None,
                };
                if queue.comes_first(CpuId(cpu), own.0) {
                    assert_eq!(expected, Some((own.0, CpuId(cpu))));
                } else {
                    if expected.is_some() {
                        model = after;
                    }
                    let place = if is_held { queue.change_places(CpuId(cpu), own.0) } else { None };
                    match place {
                        Some(next) => assert_eq!(Some(next), expected.map(|(_, cpu)| cpu)),
                        None => assert_eq!(queue.exchange_cpu(CpuId(cpu), own.0, is_held), expected),
                    }
                }
            }
            Act::Push(ns, id) => {
                model.add(Instant::from_ns(ns), Source::Timer(id));
                queue.push(Instant::from_ns(ns), id);
            }
            Act::Pop => assert_eq!(queue.pop(), model.pop()),
        }
        assert_eq!(queue.peek_source(), model.due.first().copied());
        assert_eq!(queue.next_due(), model.due.first().map_or(Instant::NEVER, |due| due.0));
    }
    while let Some(expected) = model.pop() {
        assert_eq!(queue.pop(), Some(expected));
    }
    assert_eq!(queue.pop(), None);
    assert_eq!(queue.timers(), 0);
}

proptest! {
    #[test]
    fn events_come_in_the_promised_order(
        (cpus, acts) in prop_oneof![Just(1u32), 2..9u32, 60..70u32, Just(4096u32)]
            .prop_flat_map(|cpus| (Just(cpus), acts(cpus)))
    ) {
        check_against_model(cpus, &acts);
    }
}

#[test]
fn at_one_instant_timers_come_first_and_then_low_numbers() {
    let mut queue = EventQueue::new(4);
    let at = Instant::from_ns(7);
    queue.set_cpu(CpuId(3), at);
    queue.set_cpu(CpuId(1), at);
    queue.push(at, 9);
    queue.push(at, 2_000_000);
    queue.push(at, 4);
    let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(_, source)| source).collect();
    let cpu = |n| Source::Cpu(CpuId(n));
    assert_eq!(order, [Source::Timer(4), Source::Timer(9), Source::Timer(2_000_000), cpu(1), cpu(3)]);
}

#[test]
fn timers_that_come_near_are_announced_once() {
    let mut queue = EventQueue::new(1);
    for (us, timer) in [(1, 7), (100, 8), (101, 9), (900, 10)] {
        queue.push(Instant::from_ns(us * 1000), timer);
    }
    let mut check = |expected: &[u32]| {
        queue.pop();
        let announced = match queue.has_opened_bucket() {
            true => queue.bucket().collect(),
            false => Vec::new(),
        };
        assert_eq!(announced, expected);
        assert!(!queue.has_opened_bucket(), "it was asked before");
    };
    check(&[8, 9]);
    check(&[]);
    check(&[10]);
    check(&[]);
}

#[test]
fn behind_a_bar_nobody_goes_on_and_nothing_is_taken() {
    let mut queue = EventQueue::new(2);
    let at = Instant::from_ns(7);
    queue.set_cpu(CpuId(1), at);
    queue.bar();
    queue.push(Instant::from_ns(9), 3);
    assert!(queue.is_barred() && !queue.is_before_all(Instant::ZERO) && !queue.comes_first(CpuId(0), at));
    assert!(queue.would_come_first(CpuId(0), at), "but for the bar");
    assert_eq!((queue.pop(), queue.exchange_cpu(CpuId(0), Instant::from_ns(8), true)), (None, None));
    queue.lift_bar();
    assert!(!queue.is_barred() && queue.comes_first(CpuId(0), at));
    assert_eq!(queue.pop(), Some((at, Source::Cpu(CpuId(1)))));
}
