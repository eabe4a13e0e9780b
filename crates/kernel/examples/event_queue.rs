//! Measures the event queue by itself: tasks that sleep and run for jittered times on some CPUs,
//! and nothing else. `cargo run --release -p keel-kernel --example event_queue`
//!
//! Beside the queue that is used it measures the standard library's heap, and checks that both
//! give the same order.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark needs a wall clock")]

use keel_abi::{CpuId, Instant};
use keel_kernel::event::{EventQueue, Source};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

trait Queue {
    fn new(cpus: u32) -> Self;
    fn set_cpu(&mut self, cpu: CpuId, at: Instant);
    fn push(&mut self, at: Instant, timer: u32);
    fn pop(&mut self) -> (Instant, Source);
}

impl Queue for EventQueue {
    fn new(cpus: u32) -> Self {
        Self::new(cpus)
    }
    fn set_cpu(&mut self, cpu: CpuId, at: Instant) {
        self.set_cpu(cpu, at);
    }
    fn push(&mut self, at: Instant, timer: u32) {
        self.push(at, timer);
    }
    fn pop(&mut self) -> (Instant, Source) {
        self.pop().expect("somebody always sleeps or runs")
    }
}

struct Standard(BinaryHeap<Reverse<(Instant, Source)>>);

impl Queue for Standard {
    fn new(_: u32) -> Self {
        Self(BinaryHeap::new())
    }
    fn set_cpu(&mut self, cpu: CpuId, at: Instant) {
        self.0.push(Reverse((at, Source::Cpu(cpu))));
    }
    fn push(&mut self, at: Instant, timer: u32) {
        self.0.push(Reverse((at, Source::Timer(timer))));
    }
    fn pop(&mut self) -> (Instant, Source) {
        self.0.pop().expect("somebody always sleeps or runs").0
    }
}

struct Random(u64);

impl Random {
    /// Uniform in half to one and a half of `mean`.
    fn about(&mut self, mean: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        mean / 2 + (self.0 >> 20) % (mean + 1)
    }
}

/// Pops `events`, and gives millions a second and a sum that every right queue shares.
fn measure<Q: Queue>(cpus: u32, tasks: u32, events: u64) -> (f64, u64) {
    let (mut queue, mut random) = (Q::new(cpus), Random(42));
    let run_ns = 50_000;
    // 80 % load, or less where there are fewer tasks than that takes.
    let sleep_ns = (run_ns * u64::from(tasks) * 10 / (u64::from(cpus) * 8)).clamp(run_ns, 170_000_000);
    let mut idle: Vec<CpuId> = (0..cpus).map(CpuId).collect();
    let (mut waiting, mut on_cpu) = (VecDeque::new(), vec![0; cpus as usize]);
    for task in 0..tasks {
        queue.push(Instant::from_ns(random.about(sleep_ns)), task);
    }
    let (start, mut sum) = (std::time::Instant::now(), 0u64);
    for _ in 0..events {
        let (now, source) = queue.pop();
        sum = sum.wrapping_mul(31).wrapping_add(now.as_ns());
        let after = |ns| Instant::from_ns(now.as_ns() + ns);
        let (cpu, task) = match source {
            Source::Timer(task) => match idle.pop() {
                Some(cpu) => (cpu, task),
                None => {
                    waiting.push_back(task);
                    continue;
                }
            },
            Source::Cpu(cpu) => {
                queue.push(after(random.about(sleep_ns)), on_cpu[cpu.index()]);
                match waiting.pop_front() {
                    Some(task) => (cpu, task),
                    None => {
                        idle.push(cpu);
                        continue;
                    }
                }
            }
        };
        on_cpu[cpu.index()] = task;
        queue.set_cpu(cpu, after(random.about(run_ns)));
    }
    (events as f64 / start.elapsed().as_secs_f64() / 1e6, sum)
}

fn main() {
    println!("{:>6} {:>7} {:>10} {:>10}  million events a second", "cpus", "tasks", "used", "standard");
    for (cpus, tasks) in [(4, 16), (4, 1000), (64, 1000), (64, 10_000), (1024, 10_000), (1024, 100_000)] {
        let best = |measure: fn(u32, u32, u64) -> (f64, u64)| {
            (0..5)
                .map(|_| measure(cpus, tasks, 4_000_000))
                .reduce(|a, b| (a.0.max(b.0), b.1))
                .expect("five runs")
        };
        let (used, standard) = (best(measure::<EventQueue>), best(measure::<Standard>));
        let same = used.1 == standard.1;
        let note = if same { "" } else { "  the orders differ" };
        println!("{cpus:>6} {tasks:>7} {:>10.1} {:>10.1}{note}", used.0, standard.0);
    }
}
