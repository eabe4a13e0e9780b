//! How many idle CPUs could run a waiting task, exactly, at every instant.
//!
//! A maximum matching between idle CPUs and waiting tasks, updated as both come and go. Tasks with the same allowed
//! CPUs form a class, so that the search for an augmenting path walks classes, not tasks. When one CPU or task comes or
//! goes, at most one augmenting path is needed to make the matching maximum again; usually the first try finds it. A
//! paired CPU stays paired as long as it idles and the matching needs it, so that an episode of waste stays in one
//! piece.
//!
//! A task may belong to a group with a limit on CPU time. While a CPU is closed to the group, because its part of the
//! limit is used up there, none of the group's tasks may use it.
//!
//! Tasks with sets of allowed CPUs beyond the first [`MAX_CLASSES`] are left out: the result is then a lower bound, and
//! [`Matching::left_out`] is true.

mod bits;
mod queue;

use bits::Bits;
use keel_abi::fetch::fetch_at;
use keel_abi::{CpuId, CpuSet};
use queue::Linked;
use std::collections::BTreeMap;

/// How many different sets of allowed CPUs are distinguished.
pub(crate) const MAX_CLASSES: usize = 1024;

/// Tasks of one group that may run on the same CPUs. Class 0 may run anywhere and is in no group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Class(u32);

const LEFT_OUT: Class = Class(u32::MAX);

#[derive(Clone, Debug)]
struct ClassRow {
    set: CpuSet,
    /// The group whose limit applies to them; 0 for none.
    group: u32,
    /// The CPUs of `set` that are not closed to the group.
    allowed: Bits,
}

/// A task; or the place of a class in the queue of its waiting tasks without a CPU, which is in order of arrival.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    class: Class,
    /// The CPU that it is paired with; [`UNPAIRED`] if it has none, [`AWAY`] if it does not wait.
    cpu: u32,
    links: [u32; 2],
}

const AWAY: u32 = u32::MAX;
const UNPAIRED: u32 = u32::MAX - 1;

impl Default for Waiting {
    fn default() -> Self {
        Self { class: Class::default(), cpu: AWAY, links: queue::empty(0) }
    }
}

impl Linked for Waiting {
    #[inline]
    fn links(&mut self) -> &mut [u32; 2] {
        &mut self.links
    }
}

/// The row of the task in this slot, behind those of classes. For a slot that is none, the highest numbers, it is the row
/// of a class, which never waits.
#[inline(always)]
const fn row_of(slot: u32) -> u32 {
    slot.wrapping_add(MAX_CLASSES as u32)
}

/// A CPU's partner changed: the slot of the waiting task that it could run now, if any.
pub(crate) type Change = (CpuId, Option<u32>);

/// The matching. Tasks are named by small numbers, their slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matching {
    cpus: u32,
    /// Idle CPUs without a partner.
    free: Bits,
    /// Each idle CPU's partner.
    partner: Vec<Option<u32>>,
    /// How many CPUs have one.
    pairs: u32,
    classes: Vec<ClassRow>,
    /// Classes with unpaired tasks.
    hungry: Bits,
    /// A row for each possible class, and one for each task's slot.
    rows: Vec<Waiting>,
    changes: Vec<Change>,
    /// CPUs that are closed to groups, with the number of throttled tasks that close them.
    closed: BTreeMap<(u32, CpuId), u32>,
    left_out: bool,
}

impl Matching {
    /// A matching for a machine with `cpus` CPUs, all busy. Further CPUs are ignored.
    pub(crate) fn new(cpus: u32) -> Self {
        let mut new = Self { cpus, ..Self::default() };
        new.free = Bits::new(cpus as usize);
        new.hungry = Bits::new(MAX_CLASSES);
        new.partner = vec![None; cpus as usize];
        let queue = |class| Waiting { links: queue::empty(class), ..Waiting::default() };
        new.rows = (0..MAX_CLASSES as u32).map(queue).collect();
        new.add_class(CpuSet::first(cpus), 0);
        new
    }

    /// Requests what is kept of the task in `slot`.
    #[inline(always)]
    pub(crate) fn fetch(&self, slot: u32) {
        fetch_at(&self.rows, row_of(slot) as usize);
    }

    /// Returns whether a task was left out because there are too many classes.
    pub(crate) fn left_out(&self) -> bool {
        self.left_out
    }

    /// The nth change since [`Self::forget_changes`].
    #[inline(always)]
    pub(crate) fn change(&self, nth: usize) -> Option<Change> {
        self.changes.get(nth).copied()
    }

    /// Every change is known.
    pub(crate) fn forget_changes(&mut self) {
        self.changes.clear();
    }

    /// Returns whether anything has changed.
    #[inline]
    pub(crate) fn changed(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Returns whether any CPU is closed to a group.
    #[inline]
    pub(crate) fn has_closed(&self) -> bool {
        !self.closed.is_empty()
    }

    /// Returns whether `cpu` idles while a task of its own waits.
    pub(crate) fn wasted(&self, cpu: CpuId) -> bool {
        self.partner.get(cpu.index()).is_some_and(Option::is_some)
    }

    /// The idle CPU that is paired with the waiting task in `slot`, if any.
    #[inline]
    pub(crate) fn paired(&self, slot: u32) -> Option<CpuId> {
        if self.pairs == 0 {
            return None;
        }
        let cpu = self.rows.get(row_of(slot) as usize)?.cpu;
        (cpu < UNPAIRED).then_some(CpuId(cpu))
    }

    /// Returns whether `cpu` idles while some task waits that it could run: its own, or one that another idle CPU could
    /// also run.
    pub(crate) fn could_run(&self, cpu: CpuId) -> bool {
        let at = cpu.index();
        let is_free = at < self.partner.len() && self.free.has(at);
        let mut paired = self.pairs().map(|(_, class)| class);
        self.wasted(cpu)
            || is_free
                && (self.hungry.iter().any(|class| self.classes[class].allowed.has(at))
                    || paired.any(|class| self.classes[class].allowed.has(at)))
    }

    /// The CPUs that have a partner, ascending, each with its partner's class. Only rare searches ask for that.
    fn pairs(&self) -> impl Iterator<Item = (CpuId, usize)> {
        let partners = if self.pairs == 0 { &[][..] } else { &self.partner[..] };
        let class = |task: u32| self.task(task).class.0 as usize;
        let pair = move |(cpu, task): (usize, &Option<u32>)| Some((CpuId(cpu as u32), class((*task)?)));
        partners.iter().enumerate().filter_map(pair)
    }

    #[inline(always)]
    fn task(&self, slot: u32) -> &Waiting {
        &self.rows[row_of(slot) as usize]
    }

    #[inline(always)]
    fn task_mut(&mut self, slot: u32) -> &mut Waiting {
        &mut self.rows[row_of(slot) as usize]
    }

    /// The class of tasks of `group`, 0 for none, that may run on `cpus`; an empty set stands for all.
    pub(crate) fn class_of(&mut self, cpus: &CpuSet, group: u32) -> Class {
        let all = CpuSet::first(self.cpus);
        let set = cpus.and(&all);
        let set = if set.is_empty() { all } else { set };
        match self.classes.iter().position(|class| class.group == group && class.set == set) {
            Some(at) => Class(at as u32),
            None if self.classes.len() < MAX_CLASSES => self.add_class(set, group),
            None => {
                self.left_out = true;
                LEFT_OUT
            }
        }
    }

    /// The class with the same CPUs as `class` in `group`.
    pub(crate) fn in_group(&mut self, class: Class, group: u32) -> Class {
        match self.classes.get(class.0 as usize) {
            Some(row) if row.group != group => {
                let set = row.set.clone();
                self.class_of(&set, group)
            }
            _ => class,
        }
    }

    /// Another task of `group` is throttled on `cpu`: its tasks may not run there.
    pub(crate) fn close(&mut self, group: u32, cpu: CpuId) {
        let tasks = self.closed.entry((group, cpu)).or_insert(0);
        *tasks += 1;
        if *tasks > 1 || cpu.0 >= self.cpus {
            return;
        }
        let partner = self.partner[cpu.index()].map(|task| self.task(task).class.0 as usize);
        let ends = partner.is_some_and(|class| self.classes[class].group == group);
        for class in self.classes.iter_mut().filter(|class| class.group == group) {
            class.allowed.remove(cpu.index());
        }
        if ends {
            self.busy(cpu);
            self.idle(cpu);
        }
    }

    /// One task fewer of `group` is throttled on `cpu`; with the last one its tasks may run there again.
    pub(crate) fn reopen(&mut self, group: u32, cpu: CpuId) {
        let Some(tasks) = self.closed.get_mut(&(group, cpu)) else { return };
        *tasks -= 1;
        if *tasks > 0 {
            return;
        }
        self.closed.remove(&(group, cpu));
        for class in self.classes.iter_mut().filter(|class| class.group == group && class.set.contains(cpu)) {
            class.allowed.insert(cpu.index());
        }
        if cpu.0 < self.cpus && self.free.has(cpu.index()) {
            if self.hungry.any() {
                self.feed(cpu);
            }
            return;
        }
        // The task that has the CPU may make room for another, and use a free CPU instead.
        let hungry: Vec<usize> = self.hungry.iter().collect();
        hungry.into_iter().for_each(|class| self.place(Class(class as u32), None));
    }

    fn add_class(&mut self, set: CpuSet, group: u32) -> Class {
        let mut allowed = Bits::new(self.cpus as usize);
        let open = set.iter().filter(|&cpu| !self.closed.contains_key(&(group, cpu)));
        open.for_each(|cpu| allowed.insert(cpu.index()));
        self.classes.push(ClassRow { set, group, allowed });
        Class(self.classes.len() as u32 - 1)
    }

    /// `cpu` becomes idle.
    #[inline(always)]
    pub(crate) fn idle(&mut self, cpu: CpuId) {
        if cpu.0 >= self.cpus {
            return;
        }
        self.free.insert(cpu.index());
        if self.hungry.any() {
            self.feed(cpu);
        }
    }

    /// `cpu` is no longer idle, or goes offline.
    #[inline]
    pub(crate) fn busy(&mut self, cpu: CpuId) {
        if cpu.0 >= self.cpus {
            return;
        }
        self.free.remove(cpu.index());
        let Some(task) = self.partner[cpu.index()].take() else { return };
        self.pairs -= 1;
        let class = self.task(task).class;
        self.task_mut(task).cpu = UNPAIRED;
        self.changes.push((cpu, None));
        queue::push_front(&mut self.rows, class.0, row_of(task));
        self.hungry.insert(class.0 as usize);
        self.place(class, None);
    }

    /// The task in `slot` begins to wait; it is paired with `prefer` if that is possible at once.
    #[inline]
    pub(crate) fn wait(&mut self, slot: u32, class: Class, prefer: CpuId) {
        if let Some(cpu) = self.begin(slot, class, prefer) {
            self.changes.push((cpu, Some(slot)));
        }
    }

    /// Like `wait`. If the task gets a free CPU and nothing else changes, which is usual, the CPU is returned instead of
    /// being a [change](Self::change).
    #[inline(always)]
    #[must_use]
    pub(crate) fn begin(&mut self, slot: u32, class: Class, prefer: CpuId) -> Option<CpuId> {
        let row = row_of(slot);
        let Some(task) = self.rows.get_mut(row as usize) else {
            return self.begin_first(slot, class, prefer);
        };
        if task.cpu != AWAY || class.0 as usize >= self.classes.len() {
            return None;
        }
        (task.class, task.cpu) = (class, UNPAIRED);
        if self.free.any() {
            return self.begin_with_free(slot, class, prefer);
        }
        if queue::push_back(&mut self.rows, class.0, row) {
            self.hungry.insert(class.0 as usize);
        }
        None
    }

    #[cold]
    fn begin_first(&mut self, slot: u32, class: Class, prefer: CpuId) -> Option<CpuId> {
        self.rows.resize(row_of(slot) as usize + 1, Waiting::default());
        self.begin(slot, class, prefer)
    }

    /// Like `begin_first`, while some CPU is free.
    #[inline(never)]
    fn begin_with_free(&mut self, slot: u32, class: Class, prefer: CpuId) -> Option<CpuId> {
        // The only task that looks for a CPU: usually it has a choice.
        if !self.hungry.any() {
            let row = &self.classes[class.0 as usize];
            let prefer = Some(prefer.index()).filter(|&cpu| self.free.has(cpu) && row.allowed.has(cpu));
            if let Some(cpu) = prefer.or_else(|| self.free.first_common(&row.allowed)) {
                let cpu = CpuId(cpu as u32);
                self.join(slot, cpu);
                return Some(cpu);
            }
        }
        queue::push_back(&mut self.rows, class.0, row_of(slot));
        self.hungry.insert(class.0 as usize);
        self.place(class, Some(prefer));
        None
    }

    /// The task in `slot` starts running on the idle `cpu`. If it is paired with that and nobody else waits for one,
    /// which is usual, this is [`Self::unwait`] and [`Self::busy`], without a [change](Self::change): the CPU has no
    /// partner. Otherwise nothing changes; returns which.
    #[inline(always)]
    #[must_use]
    pub(crate) fn take(&mut self, slot: u32, cpu: CpuId) -> bool {
        if self.hungry.any() || self.has_closed() {
            return false;
        }
        match self.partner.get_mut(cpu.index()) {
            Some(partner) if *partner == Some(slot) => *partner = None,
            _ => return false,
        }
        self.task_mut(slot).cpu = AWAY;
        self.pairs -= 1;
        true
    }

    /// The task in `slot` no longer waits.
    #[inline(always)]
    pub(crate) fn unwait(&mut self, slot: u32) {
        match self.rows.get_mut(row_of(slot) as usize) {
            Some(task) if task.cpu != AWAY => {
                let cpu = std::mem::replace(&mut task.cpu, AWAY);
                self.leaves(slot, cpu);
            }
            _ => {}
        }
    }

    /// A waiting task leaves, and `cpu`, unless it had none.
    #[inline]
    fn leaves(&mut self, slot: u32, cpu: u32) {
        if cpu == UNPAIRED {
            let Waiting { class, links, .. } = *self.task(slot);
            return self.unlinks(class, links);
        }
        let cpu = CpuId(cpu);
        self.pairs -= 1;
        self.partner[cpu.index()] = None;
        self.free.insert(cpu.index());
        if !(self.hungry.any() && self.feed(cpu)) {
            self.changes.push((cpu, None));
        }
    }

    /// The task in `slot` no longer waits if it did so without a CPU. Returns whether it did.
    #[inline(always)]
    #[must_use]
    pub(crate) fn leaves_queue(&mut self, slot: u32) -> bool {
        match self.rows.get_mut(row_of(slot) as usize) {
            Some(task) if task.cpu == UNPAIRED => {
                task.cpu = AWAY;
                let Waiting { class, links, .. } = *task;
                self.unlinks(class, links);
                true
            }
            _ => false,
        }
    }

    /// A task of `class` with these links is no longer among the unpaired ones.
    #[inline(always)]
    fn unlinks(&mut self, class: Class, links: [u32; 2]) {
        if queue::remove(&mut self.rows, links) {
            self.hungry.remove(class.0 as usize);
        }
    }

    /// Pairs the first unpaired task of `class` with `cpu`, which is free.
    fn pair(&mut self, class: Class, cpu: CpuId) {
        let Some(row) = queue::first(&mut self.rows, class.0) else { return };
        let links = self.rows[row as usize].links;
        self.unlinks(class, links);
        let task = row - row_of(0);
        self.join(task, cpu);
        self.changes.push((cpu, Some(task)));
    }

    /// Pairs a task in no queue with `cpu`, which is free. That is yet to be told as a change.
    #[inline(always)]
    fn join(&mut self, task: u32, cpu: CpuId) {
        self.free.remove(cpu.index());
        self.pairs += 1;
        self.partner[cpu.index()] = Some(task);
        self.task_mut(task).cpu = cpu.0;
    }

    /// Moves the task paired with `from` to `to`, which is free; then `from` is free.
    fn shift(&mut self, from: CpuId, to: CpuId) {
        let Some(task) = self.partner[from.index()].take() else { return };
        self.free.insert(from.index());
        self.free.remove(to.index());
        self.partner[to.index()] = Some(task);
        self.task_mut(task).cpu = to.0;
        self.changes.push((to, Some(task)));
    }

    /// Finds a CPU for an unpaired task of `class`, moving others if that makes room.
    #[inline]
    fn place(&mut self, class: Class, prefer: Option<CpuId>) {
        if !self.free.any() {
            return;
        }
        let allowed = &self.classes[class.0 as usize].allowed;
        let prefer = prefer.map(CpuId::index).filter(|&cpu| self.free.has(cpu) && allowed.has(cpu));
        match prefer.or_else(|| self.free.first_common(allowed)) {
            Some(cpu) => self.pair(class, CpuId(cpu as u32)),
            None => self.make_room(class),
        }
    }

    /// The search behind [`Self::place`]: finds a class whose tasks occupy CPUs that `class` may use, and which could
    /// use a free CPU instead, over any number of moves.
    #[cold]
    fn make_room(&mut self, class: Class) {
        let mut came: Vec<Option<(u32, CpuId)>> = vec![None; self.classes.len()];
        let mut first = vec![None; self.classes.len()];
        let mut reached = vec![class.0];
        let mut next = 0;
        while let Some(&at) = reached.get(next) {
            next += 1;
            // The first CPU that each class could give up.
            first.fill(None);
            for (cpu, class) in
                self.pairs().filter(|(cpu, _)| self.classes[at as usize].allowed.has(cpu.index()))
            {
                first[class].get_or_insert(cpu);
            }
            for r in 0..self.classes.len() as u32 {
                if r == class.0 || came[r as usize].is_some() {
                    continue;
                }
                let Some(cpu) = first[r as usize] else { continue };
                came[r as usize] = Some((at, cpu));
                reached.push(r);
                if let Some(free) = self.free.first_common(&self.classes[r as usize].allowed) {
                    return self.settle(class, r, CpuId(free as u32), &came);
                }
            }
        }
    }

    /// Follows the path that [`Self::make_room`] found back to `class`, moving one task per step.
    fn settle(&mut self, class: Class, last: u32, mut free: CpuId, came: &[Option<(u32, CpuId)>]) {
        let mut at = last;
        while let Some((from, cpu)) = came[at as usize] {
            self.shift(cpu, free);
            (at, free) = (from, cpu);
        }
        self.pair(class, free);
    }

    /// Finds a waiting task for the free `cpu`, moving others if that helps; returns whether there was one.
    fn feed(&mut self, cpu: CpuId) -> bool {
        let direct = self.hungry.iter().find(|&c| self.classes[c].allowed.has(cpu.index()));
        match direct {
            Some(class) => {
                self.pair(Class(class as u32), cpu);
                true
            }
            // There is only class 0: a hungry task would have been found.
            None if self.classes.len() == 1 => false,
            None => self.draw(cpu),
        }
    }

    /// The search behind [`Self::feed`]: finds a task that could move to `cpu` and leave its own CPU to a hungry class,
    /// over any number of moves.
    #[cold]
    fn draw(&mut self, cpu: CpuId) -> bool {
        // For each class reached, the CPU that its task would move to.
        let mut to: Vec<Option<CpuId>> = vec![None; self.classes.len()];
        let mut reached = vec![cpu];
        let mut next = 0;
        while let Some(&at) = reached.get(next) {
            next += 1;
            for r in 0..self.classes.len() {
                let row = &self.classes[r];
                if to[r].is_some() || !row.allowed.has(at.index()) {
                    continue;
                }
                to[r] = Some(at);
                if self.hungry.has(r) {
                    self.hand_on(r, &to, cpu);
                    return true;
                }
                reached.extend(self.pairs().filter(|&(_, class)| class == r).map(|(cpu, _)| cpu));
            }
        }
        false
    }

    /// Frees, moving one task per step, the CPU that the hungry class needs, and pairs it.
    fn hand_on(&mut self, hungry: usize, to: &[Option<CpuId>], cpu: CpuId) {
        let mut moves = Vec::new();
        let mut freed = to[hungry];
        while let Some(at) = freed.filter(|&at| at != cpu) {
            let owner = self.partner[at.index()].map(|task| self.task(task).class.0 as usize);
            freed = owner.and_then(|class| to[class]);
            moves.extend(freed.map(|to| (at, to)));
        }
        for &(from, to) in moves.iter().rev() {
            self.shift(from, to);
        }
        if let Some(free) = to[hungry] {
            self.pair(Class(hungry as u32), free);
        }
    }
}

#[cfg(test)]
mod tests;
