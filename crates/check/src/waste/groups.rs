//! Which cores idled, which tasks waited where, and how they had come there: sums over all episodes of waste.
//!
//! An episode's waste counts for its CPU. Each moment of it also counts for the task that the CPU could have run at
//! that moment, with its place and the decision in force. An episode distinguishes at most [`MOST_NOTED`] tasks, the
//! run [`MOST_NAMES`] names and [`MOST_TASKS`] tasks.

use crate::origin::{Act, Decision};
use crate::place::{Queue, QueueKind};
use keel_abi::{CpuId, Span, TaskId, Topology};
use keel_trace::Chooser;

/// How many tasks of one episode are distinguished.
pub const MOST_NOTED: usize = 16;
/// How many names are distinguished; tasks with further names count as unnamed.
pub const MOST_NAMES: usize = 255;
/// How many tasks are counted.
pub const MOST_TASKS: usize = 4096;

/// How a waiting task had come to the CPU in whose queue it waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// Woken, on the CPU where it had run last.
    WokenLastCpu,
    /// Woken, on another CPU that shares a cache with its last one.
    WokenLastCache,
    /// Woken, on another CPU of its last node.
    WokenLastNode,
    /// Woken, on another node than it last ran on.
    WokenOtherNode,
    /// Woken, and its last CPU is unknown.
    Woken,
    /// Created there.
    Forked,
    /// Pulled by that CPU.
    Pulled,
    /// Pushed there by the CPU where it was.
    Pushed,
    /// Moved there by a third CPU.
    Moved,
    /// Dispatched there by the scheduler.
    Dispatched,
    /// Put into one of the scheduler's own queues after it had lost its CPU.
    Queued,
    /// No other CPU was allowed at that time.
    Pinned,
    /// Unknown.
    #[default]
    Unknown,
}

impl How {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::WokenLastCpu,
        Self::WokenLastCache,
        Self::WokenLastNode,
        Self::WokenOtherNode,
        Self::Woken,
        Self::Forked,
        Self::Pulled,
        Self::Pushed,
        Self::Moved,
        Self::Dispatched,
        Self::Queued,
        Self::Pinned,
        Self::Unknown,
    ];

    /// Its stable name, as in `--json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WokenLastCpu => "woken_last_cpu",
            Self::WokenLastCache => "woken_last_cache",
            Self::WokenLastNode => "woken_last_node",
            Self::WokenOtherNode => "woken_other_node",
            Self::Woken => Act::Woken.name(),
            Self::Forked => Act::Forked.name(),
            Self::Pulled => Act::Pulled.name(),
            Self::Pushed => Act::Pushed.name(),
            Self::Moved => Act::Moved.name(),
            Self::Dispatched => Act::Dispatched.name(),
            Self::Queued => Act::Queued.name(),
            Self::Pinned => "pinned",
            Self::Unknown => "unknown",
        }
    }

    /// Classifies a decision, on this machine.
    pub(super) fn of(decision: &Decision, topology: Option<&Topology>) -> Self {
        if decision.chooser == Some(Chooser::OnlyOne) {
            return Self::Pinned;
        }
        match decision.act {
            Act::Woken => Self::woken(decision, topology),
            Act::Forked => Self::Forked,
            Act::Pulled => Self::Pulled,
            Act::Pushed => Self::Pushed,
            Act::Moved => Self::Moved,
            Act::Dispatched => Self::Dispatched,
            Act::Queued => Self::Queued,
        }
    }

    fn woken(decision: &Decision, topology: Option<&Topology>) -> Self {
        let (Some(from), Some(topology)) = (decision.from, topology) else { return Self::Woken };
        if from.0 >= topology.cpus() || decision.to.0 >= topology.cpus() {
            return Self::Woken;
        }
        let (last, now) = (topology.place(from), topology.place(decision.to));
        match () {
            () if from == decision.to => Self::WokenLastCpu,
            () if last.node != now.node => Self::WokenOtherNode,
            () if last.llc == now.llc => Self::WokenLastCache,
            () => Self::WokenLastNode,
        }
    }
}

/// A task that an episode's CPU could have run: where, by which decision, and the time wasted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note {
    pub(super) task: TaskId,
    pub(super) name: u8,
    pub(super) queue: Queue,
    pub(super) how: How,
    /// The number of the name of the task that woke or created it; `None` for an interrupt and for other decisions.
    pub(super) waker: Option<u8>,
    pub(super) wasted: Span,
}

/// Adds wasted time to the notes of an episode.
pub(super) fn note(notes: &mut Vec<Note>, new: Note) {
    let same =
        |old: &Note| (old.task, old.how, old.queue, old.waker) == (new.task, new.how, new.queue, new.waker);
    match notes.iter().position(same) {
        Some(old) => notes[old].wasted += new.wasted,
        None if notes.len() < MOST_NOTED => notes.push(new),
        // Beyond the bound the last one stands for the rest.
        None => notes[MOST_NOTED - 1].wasted += new.wasted,
    }
}

/// Tasks of one name that waited while cores idled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiters {
    /// Their name: untrusted text, empty beyond the first [`MOST_NAMES`].
    pub name: String,
    /// The number of tasks with this name.
    pub tasks: u64,
    /// Core time wasted while they waited.
    pub wasted: Span,
}

/// Tasks that had woken or created tasks that waited while cores idled, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wakers {
    /// Their name: untrusted text, empty beyond the first [`MOST_NAMES`].
    pub name: String,
    /// Core time wasted while the tasks that they had woken or created waited.
    pub wasted: Span,
}

/// The sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// How long each CPU idled while a task waited, by CPU; CPUs that did not are left out.
    pub idle: Vec<(CpuId, Span)>,
    /// The CPUs in whose queues the tasks waited, and the core time wasted.
    pub waited_on: Vec<(CpuId, Span)>,
    /// The same for tasks in no CPU's queue: in the scheduler's own queues, the global one, or held by the program.
    pub in_queues: Span,
    /// The part of `in_queues` in which the BPF program held the tasks, in no queue that the kernel knows.
    pub held: Span,
    /// The waiting tasks by name, the most waste first.
    pub waiters: Vec<Waiters>,
    /// How they had come there, the most waste first.
    pub how: Vec<(How, Span)>,
    /// The tasks that had woken or created them, the most waste first; interrupts are left out.
    pub wakers: Vec<Wakers>,
    /// More tasks than [`MOST_TASKS`] waited: the rest are not counted.
    pub more_tasks: bool,
    /// The machine's topology.
    pub topology: Option<Topology>,
}

/// The sums so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    idle: Vec<Span>,
    waited_on: Vec<Span>,
    in_queues: Span,
    held: Span,
    names: Vec<Waiters>,
    rest: Waiters,
    /// By the number of the name; the last one is for all further names.
    wakers: Vec<Span>,
    tasks: Counted,
    more_tasks: bool,
    how: [Span; How::ALL.len()],
    pub(super) topology: Option<Topology>,
}

/// The tasks that are counted. Ids are dense, so they are a bit each.
#[derive(Clone, Debug, Default)]
struct Counted {
    words: Vec<u64>,
    len: usize,
}

impl Counted {
    fn has(&self, task: TaskId) -> bool {
        self.words.get(task.index() / 64).is_some_and(|word| word >> (task.index() % 64) & 1 != 0)
    }

    /// Adds a task. Returns whether it is new.
    #[inline(always)]
    fn insert(&mut self, task: TaskId) -> bool {
        if self.has(task) {
            return false;
        }
        let at = task.index() / 64;
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        self.words[at] |= 1 << (task.index() % 64);
        self.len += 1;
        true
    }
}

/// The number of names beyond [`MOST_NAMES`].
pub(super) const NO_NAME: u8 = u8::MAX;

impl Tally {
    /// The number of a name.
    pub(super) fn name(&mut self, name: &str) -> u8 {
        match self.names.iter().position(|known| known.name == name) {
            Some(at) => at as u8,
            None if self.names.len() < MOST_NAMES => {
                self.names.push(Waiters { name: name.to_owned(), ..Waiters::default() });
                self.names.len() as u8 - 1
            }
            None => NO_NAME,
        }
    }

    /// The name with this number; empty beyond the last.
    pub(super) fn name_of(&self, number: u8) -> &str {
        self.names.get(usize::from(number)).map_or("", |known| &known.name)
    }

    /// Adds an episode of `wasted` on `cpu`.
    pub(super) fn add(&mut self, cpu: CpuId, wasted: Span) {
        *at(&mut self.idle, cpu) += wasted;
    }

    /// Adds the part of an episode during which a task waited.
    #[inline(always)]
    pub(super) fn add_part(&mut self, note: &Note) {
        let part = note.wasted;
        if part == Span::ZERO {
            return;
        }
        match note.queue.kind() {
            QueueKind::Cpu(cpu) => *at(&mut self.waited_on, cpu) += part,
            QueueKind::Global | QueueKind::User(_) => self.in_queues += part,
            QueueKind::Held => {
                self.in_queues += part;
                self.held += part;
            }
        }
        self.how[note.how as usize] += part;
        if let Some(waker) = note.waker {
            *at(&mut self.wakers, CpuId(waker.into())) += part;
        }
        let is_full = self.tasks.len >= MOST_TASKS;
        let is_new = !is_full && self.tasks.insert(note.task);
        self.more_tasks |= is_full && !self.tasks.has(note.task);
        let waiters = self.names.get_mut(usize::from(note.name)).unwrap_or(&mut self.rest);
        waiters.tasks += u64::from(is_new);
        waiters.wasted += part;
    }

    /// The sums.
    pub(super) fn groups(&self) -> Groups {
        let cpus = |of: &[Span]| {
            let cpus = of.iter().enumerate().filter(|&(_, &span)| span > Span::ZERO);
            cpus.map(|(cpu, &span)| (CpuId(cpu as u32), span)).collect()
        };
        let all = self.names.iter().chain([&self.rest]);
        let mut waiters: Vec<Waiters> = all.filter(|one| one.wasted > Span::ZERO).cloned().collect();
        waiters.sort_by_key(|one| std::cmp::Reverse(one.wasted));
        let how = How::ALL.into_iter().map(|how| (how, self.how[how as usize]));
        let mut how: Vec<(How, Span)> = how.filter(|&(_, span)| span > Span::ZERO).collect();
        how.sort_by_key(|&(_, span)| std::cmp::Reverse(span));
        let wakers = self.wakers.iter().enumerate().filter(|&(_, &span)| span > Span::ZERO);
        let named = |(number, &wasted): (usize, &Span)| Wakers {
            name: self.name_of(number as u8).to_owned(),
            wasted,
        };
        let mut wakers: Vec<Wakers> = wakers.map(named).collect();
        wakers.sort_by_key(|one| std::cmp::Reverse(one.wasted));
        Groups {
            idle: cpus(&self.idle),
            waited_on: cpus(&self.waited_on),
            in_queues: self.in_queues,
            held: self.held,
            waiters,
            how,
            wakers,
            more_tasks: self.more_tasks,
            topology: self.topology.clone(),
        }
    }
}

fn at(spans: &mut Vec<Span>, cpu: CpuId) -> &mut Span {
    let cpu = cpu.index().min(keel_abi::cpuset::MAX_CPUS as usize - 1);
    if spans.len() <= cpu {
        spans.resize(cpu + 1, Span::ZERO);
    }
    &mut spans[cpu]
}
