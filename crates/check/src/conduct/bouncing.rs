//! Bouncing: a task migrates far more often than its running time justifies.
//!
//! A task that runs for less than [`MOVE_WORTH`] between two migrations pays for cold caches each time and hardly uses
//! them: the kernel's balancer considers a task that ran this recently cache-hot (`sysctl_sched_migration_cost`, half a
//! millisecond). Migrations are judged in blocks of [`BLOCK`]. A block counts if it took less than [`NEAR`], if the
//! task ran for less than [`MOVE_WORTH`] on average between two migrations, and if at least three in four migrations
//! led back to one of the last four CPUs: back and forth, not a walk across the machine. Consecutive blocks are one
//! finding, from [`LEAST_MOVES`] migrations on.

use super::scene::Scene;
use crate::finding::{Blame, Finding, Kind};
use crate::longest::Found;
use keel_abi::{CpuId, Instant, Span};

/// How long a task should run between two migrations.
pub const MOVE_WORTH: Span = Span::from_us(500);
/// How many migrations are judged together.
pub const BLOCK: u32 = 16;
/// They must fall within this time: a task that seldom runs does no harm.
pub const NEAR: Span = Span::from_ms(160);
/// Fewer migrations than this are not a finding.
pub const LEAST_MOVES: u32 = 64;

/// One task's migrations.
#[derive(Clone, Debug)]
pub(crate) struct Bounce {
    /// Blocks that count, in a row. Most tasks have none.
    open: Option<Box<Bounces>>,
    /// The block under way: how many migrations, how many of them back, since when and since how much running.
    moves: u32,
    back: u32,
    since: Instant,
    ran: Span,
    /// The last CPUs, the latest first.
    recent: [CpuId; 4],
}

/// No CPU.
const NOWHERE: CpuId = CpuId(u32::MAX);

impl Default for Bounce {
    fn default() -> Self {
        let (since, ran) = (Instant::ZERO, Span::ZERO);
        Self { open: None, moves: 0, back: 0, since, ran, recent: [NOWHERE; 4] }
    }
}

/// Blocks in a row that count.
#[derive(Clone, Debug)]
pub(crate) struct Bounces {
    start: Instant,
    end: Instant,
    ran: Span,
    moves: u32,
    cpus: [CpuId; 4],
}

impl Bounce {
    /// It runs on `cpu` now, where it did not before: blocks in a row that are over.
    #[inline(always)]
    pub(super) fn moved(&mut self, at: Instant, cpu: CpuId, ran: Span) -> Option<Box<Bounces>> {
        let [first, second, third, fourth] = self.recent;
        if cpu == first {
            self.back += 1;
        } else if cpu == second {
            (self.recent[0], self.recent[1]) = (cpu, first);
            self.back += 1;
        } else {
            let is_third = cpu == third;
            self.back += u32::from(is_third || cpu == fourth);
            self.recent = [cpu, first, second, if is_third { fourth } else { third }];
        }
        self.moves += 1;
        if self.moves < BLOCK {
            return None;
        }
        self.ends_block(at, ran)
    }

    #[inline(never)]
    fn ends_block(&mut self, at: Instant, ran: Span) -> Option<Box<Bounces>> {
        let ran_now = ran.saturating_sub(self.ran);
        let counts = at.since(self.since) < NEAR
            && ran_now < MOVE_WORTH * u64::from(BLOCK)
            && self.back * 4 >= BLOCK * 3;
        let over = match (&mut self.open, counts) {
            (Some(open), true) => {
                (open.end, open.ran, open.moves) = (at, open.ran + ran_now, open.moves + BLOCK);
                open.cpus = self.recent;
                None
            }
            (None, true) => {
                let (start, cpus) = (self.since, self.recent);
                self.open = Some(Box::new(Bounces { start, end: at, ran: ran_now, moves: BLOCK, cpus }));
                None
            }
            (_, false) => self.open.take(),
        };
        (self.moves, self.back, self.since, self.ran) = (0, 0, at, ran);
        over
    }
}

#[derive(Clone, Debug)]
pub(super) struct Bouncing {
    pub(super) found: Found,
}

impl Bouncing {
    /// The task exits, or the stream ends.
    pub(super) fn end(&mut self, scene: &mut Scene, slot: u32) {
        if let Some(open) = scene.tasks.at(slot).bounce.open.take() {
            self.judge(scene, slot, &open);
        }
    }

    /// Blocks in a row are over.
    pub(super) fn judge(&mut self, scene: &mut Scene, slot: u32, open: &Bounces) {
        let task = scene.tasks.at(slot);
        if open.moves < LEAST_MOVES {
            return;
        }
        let (start, duration) = (open.start, open.end.since(open.start));
        self.found.add(start, duration, || {
            let mut cpus: Vec<CpuId> = open.cpus.iter().copied().filter(|&cpu| cpu != NOWHERE).collect();
            cpus.sort_unstable();
            cpus.dedup();
            let on: Vec<String> = cpus.iter().map(CpuId::to_string).collect();
            let each = Span::from_ns(open.ran.as_ns() / u64::from(open.moves));
            let text = format!(
                "task {} migrated {} times within {duration}, last among CPUs {}; it ran {each} on average between migrations",
                task.called(),
                open.moves,
                on.join(", "),
            );
            Finding {
                kind: Kind::Bouncing,
                blame: Blame::Scheduler,
                start,
                duration,
                threshold: MOVE_WORTH,
                cpus,
                tasks: vec![task.id],
                events: vec![start, open.end],
                decision: task.decision(),
                text,
            }
        });
    }
}
