use super::*;
use crate::orders::Chooser;
use keel_abi::order::{Order, Point};
use keel_abi::scx::Op;
use keel_abi::{CpuId, Instant, Span};

/// Twenty points on two CPUs. It fails if points 3 and 11 are held up and 7 is not. A hold at 5 removes two points.
struct Planted;

impl Planted {
    fn one(choice: &Choice) -> Tried {
        let (mut chooser, record) = Chooser::new(Span::from_us(1), choice.clone(), 2);
        let mut held = Vec::new();
        let mut points = 20;
        let mut n = 0;
        while n < points {
            let (cpu, other) = (CpuId(n % 2), Some(CpuId((n + 1) % 2)));
            let at = Instant::from_ns(u64::from(n));
            if chooser.holds(Point { at, cpu, op: Op::Dispatch, call: n, other, other_at: at }) {
                held.push(n);
                points -= if n == 5 { 2 } else { 0 };
            }
            n += 1;
        }
        let fails = held.contains(&3) && held.contains(&11) && !held.contains(&7);
        let failure = Failure { kind: "planted".into(), text: "it fails".into() };
        let record = record.lock().unwrap().clone();
        assert_eq!(record.points, u64::from(points));
        Tried {
            points: record.points,
            holds: record.holds,
            failures: fails.then_some(failure).into_iter().collect(),
        }
    }
}

impl Orders for Planted {
    fn run(&self, choices: &[Choice]) -> Vec<Tried> {
        choices.iter().map(Self::one).collect()
    }
}

fn first(method: Method, most: u64) -> (Explore, Option<Failing>) {
    let mut explore = Explore::new(&Planted, method, 1);
    assert!(explore.points() == 20 && explore.plain().is_empty());
    while explore.tried() < most {
        let Some(failing) = explore.round(&Planted, ROUND) else { break };
        if let Some(failing) = failing.into_iter().next() {
            let small = explore.shrunk(&Planted, failing, 500);
            return (explore, Some(small));
        }
    }
    (explore, None)
}

#[test]
fn each_method_finds_it_and_it_is_shrunk() {
    let check = |method| {
        let (_, failing) = first(method, 5000);
        let failing = failing.unwrap_or_else(|| panic!("{method:?}"));
        let numbers: Vec<u64> = failing.holds.iter().map(|hold| hold.number).collect();
        assert_eq!(numbers, [3, 11], "{method:?}: {failing:?}");
        assert!(failing.before >= 2);
    };
    check(Method::Walk);
    check(Method::Exhaustive(2));
}

#[test]
fn all_orders_within_the_bound_are_tried_once() {
    // One hold is too few. Without holds at 5, there are 20 orders with one.
    let (explore, failing) = first(Method::Exhaustive(1), 5000);
    assert!(failing.is_none() && explore.is_exhausted());
    assert_eq!(explore.tried(), 20);
    // With two: 20 * 19 / 2. Those that begin with 5 have two points fewer.
    let mut explore = Explore::new(&Planted, Method::Exhaustive(2), 1);
    while explore.round(&Planted, ROUND).is_some() {}
    assert_eq!(explore.tried(), 20 + 190 - 2);
}

#[test]
fn priorities_hold_up_one_cpu_until_they_change() {
    let holds = |seed, depth| {
        let tried = Planted::one(&Choice::Pct { seed, depth, points: 20 });
        let mut cpus: Vec<u32> = tried.holds.iter().map(|hold| hold.point.cpu.0).collect();
        cpus.dedup();
        cpus.len()
    };
    assert!((0..50).all(|seed| holds(seed, 1) == 1), "the one with the lower priority, all the time");
    assert!((0..50).any(|seed| holds(seed, 2) == 2), "then the other one");
    let bound = Explore::new(&Planted, Method::Pct(2), 1).least_probability(2).unwrap();
    assert!((bound - 1.0 / 60.0).abs() < 1e-12);
}
