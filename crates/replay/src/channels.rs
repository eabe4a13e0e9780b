//! Messages that woke nobody: what a task hands to another that is still busy with what came before.
//!
//! A recording shows a message only where it woke its reader. A reader that found the next one already there went on, and its
//! spell of work is several messages long. How many one spell handles is up to the scheduler, so a replay needs all of them:
//! a spell as long as several usual ones is split into that many, each of which waits for a post of its own. The waker posts
//! these while it works on, as far apart as it worked while that spell lasted, and before it waits itself: in the order of
//! the recording all of them were there in time, so no task can get stuck.

use keel_abi::Span;
use keel_abi::tape::{Op, Tape};

/// A task that others woke less often than this shows nothing.
const FEWEST: usize = 8;
/// The most messages of one spell.
const MOST: u64 = 64;

/// For each semaphore and each of its waits: how long the waker worked while the spell lasted that followed the wait.
#[derive(Debug, Default)]
pub(crate) struct Channels(Vec<Vec<Span>>);

/// What one post becomes.
#[derive(Clone, Copy, Debug)]
struct Burst {
    messages: u64,
    /// The waker's work over which they are spread.
    over: Span,
}

impl Channels {
    /// A wait for `semaphore` is over, and its spell begins.
    pub(crate) fn begins(&mut self, semaphore: u32) {
        let at = semaphore as usize;
        if self.0.len() <= at {
            self.0.resize_with(at + 1, Vec::new);
        }
        self.0[at].push(Span::ZERO);
    }

    /// The spell that follows the last wait for `semaphore` is over; the waker worked for so long meanwhile.
    pub(crate) fn ends(&mut self, semaphore: u32, worked: Span) {
        if let Some(last) = self.0.get_mut(semaphore as usize).and_then(|spans| spans.last_mut()) {
            *last = worked;
        }
    }

    /// Splits the spells of all tapes.
    pub(crate) fn split(self, tapes: &mut [Tape]) {
        let mut bursts: Vec<Vec<Burst>> =
            self.0.iter().map(|spans| spans.iter().map(|&over| Burst { messages: 1, over }).collect()).collect();
        let mut awaited = vec![0; bursts.len()];
        for tape in tapes.iter() {
            measure(tape, &mut awaited, &mut bursts);
        }
        let (mut awaited, mut posted) = (vec![0; bursts.len()], vec![0; bursts.len()]);
        for tape in tapes {
            let mut reading = Reading { bursts: &bursts, awaited: &mut awaited, burst: None };
            let read: Tape = reading.of(tape);
            *tape = Writing { bursts: &bursts, posted: &mut posted, due: Vec::new() }.of(&read);
        }
    }
}

/// Is it a wait?
const fn is_wait(op: Op) -> bool {
    matches!(op, Op::Await(_) | Op::Sleep(_) | Op::SleepUntil(_) | Op::SleepDeferrable(_) | Op::Exit)
}

/// The next burst of a semaphore.
fn next<'a>(bursts: &'a [Vec<Burst>], counts: &mut [usize], semaphore: u32) -> Option<&'a Burst> {
    let count = counts.get_mut(semaphore as usize)?;
    let burst = bursts[semaphore as usize].get(*count)?;
    *count += 1;
    Some(burst)
}

/// Counts the messages of each of a reader's spells: a usual one handles one.
fn measure(tape: &Tape, awaited: &mut [usize], bursts: &mut [Vec<Burst>]) {
    let mut spells: Vec<(u32, usize, u64)> = Vec::new();
    let (mut is_open, mut timers) = (false, 0);
    for op in tape.iter() {
        match op {
            Op::Await(semaphore) => {
                let Some(count) = awaited.get_mut(semaphore as usize) else { break };
                spells.push((semaphore, *count, 0));
                *count += 1;
                is_open = true;
            }
            Op::Run(work) if is_open => {
                if let Some(spell) = spells.last_mut() {
                    spell.2 += work.as_ns();
                }
            }
            op if is_wait(op) => {
                is_open = false;
                timers += 1;
            }
            _ => {}
        }
    }
    // Whoever mostly waits for timers reads no messages.
    if spells.len() < FEWEST || spells.len() < timers {
        return;
    }
    let mut works: Vec<u64> = spells.iter().map(|spell| spell.2).collect();
    works.sort_unstable();
    let usual = works[works.len() / 2].max(1);
    for (semaphore, nth, work) in spells {
        if let Some(burst) = bursts[semaphore as usize].get_mut(nth) {
            burst.messages = ((work + usual / 2) / usual).clamp(1, MOST);
        }
    }
}

/// A reader's tape: each message waits for its post.
struct Reading<'a> {
    bursts: &'a [Vec<Burst>],
    awaited: &'a mut [usize],
    /// The spell at hand: its semaphore, the work of one message, and what is left until the next.
    burst: Option<(u32, u64, u64, u64)>,
}

impl Reading<'_> {
    fn of(&mut self, tape: &Tape) -> Tape {
        let ops: Vec<Op> = tape.iter().collect();
        let mut made = Tape::default();
        for (at, &op) in ops.iter().enumerate() {
            if let Op::Run(work) = op {
                self.work(&mut made, work);
                continue;
            }
            if is_wait(op) {
                self.rest(&mut made);
            }
            made.push(op);
            if let Op::Await(semaphore) = op
                && let Some(burst) = next(self.bursts, self.awaited, semaphore)
                && burst.messages > 1
            {
                let each = spell(&ops[at + 1..]) / burst.messages;
                self.burst = Some((semaphore, each, each, burst.messages - 1));
            }
        }
        made
    }

    fn work(&mut self, made: &mut Tape, work: Span) {
        let mut left = work.as_ns();
        if let Some((semaphore, each, until, waits)) = &mut self.burst {
            while *waits > 0 && left >= *until {
                run(made, *until);
                left -= *until;
                made.push(Op::Await(*semaphore));
                (*until, *waits) = (*each, *waits - 1);
            }
            *until = until.saturating_sub(left);
        }
        run(made, left);
    }

    /// What was posted and not taken yet is taken before the task waits for anything else.
    fn rest(&mut self, made: &mut Tape) {
        if let Some((semaphore, _, _, waits)) = self.burst.take() {
            (0..waits).for_each(|_| made.push(Op::Await(semaphore)));
        }
    }
}

/// The work until the next wait.
fn spell(ops: &[Op]) -> u64 {
    let until = ops.iter().take_while(|op| !is_wait(**op));
    until.map(|op| if let Op::Run(work) = op { work.as_ns() } else { 0 }).sum()
}

/// A waker's tape: each message is posted.
struct Writing<'a> {
    bursts: &'a [Vec<Burst>],
    posted: &'a mut [usize],
    /// What is still to be posted: after how much more work, which, how many, and how far apart.
    due: Vec<Due>,
}

struct Due {
    after: u64,
    semaphore: u32,
    left: u64,
    apart: u64,
}

impl Writing<'_> {
    fn of(&mut self, tape: &Tape) -> Tape {
        let mut made = Tape::default();
        for op in tape.iter() {
            match op {
                Op::Run(work) => {
                    self.work(&mut made, work.as_ns());
                    continue;
                }
                op if is_wait(op) => self.rest(&mut made, None),
                Op::Post { semaphore, .. } => self.rest(&mut made, Some(semaphore)),
                _ => {}
            }
            made.push(op);
            if let Op::Post { semaphore, .. } = op
                && let Some(burst) = next(self.bursts, self.posted, semaphore)
                && burst.messages > 1
            {
                let apart = burst.over.as_ns() / burst.messages;
                self.due.push(Due { after: apart, semaphore, left: burst.messages - 1, apart });
            }
        }
        self.rest(&mut made, None);
        made
    }

    fn work(&mut self, made: &mut Tape, mut work: u64) {
        while let Some(first) = self.due.iter().map(|due| due.after).min().filter(|&after| after <= work) {
            run(made, first);
            work -= first;
            for due in &mut self.due {
                due.after -= first;
                if due.after == 0 {
                    made.push(Op::Post { semaphore: due.semaphore, sync: false });
                    (due.left, due.after) = (due.left - 1, due.apart);
                }
            }
            self.due.retain(|due| due.left > 0);
        }
        self.due.iter_mut().for_each(|due| due.after -= work);
        run(made, work);
    }

    /// Posts what is left, of one semaphore or of all.
    fn rest(&mut self, made: &mut Tape, of: Option<u32>) {
        self.due.retain(|due| {
            let is_over = of.is_none_or(|semaphore| semaphore == due.semaphore);
            let posts = if is_over { due.left } else { 0 };
            (0..posts).for_each(|_| made.push(Op::Post { semaphore: due.semaphore, sync: false }));
            !is_over
        });
    }
}

fn run(made: &mut Tape, work_ns: u64) {
    if work_ns > 0 {
        made.push(Op::Run(Span::from_ns(work_ns)));
    }
}
