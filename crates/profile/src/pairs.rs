//! Which line takes a cache line from which, and who waits for whose lock, summed over distances and over locks of a
//! kind.

use crate::lines::{Key, key};
use crate::model::{Place, Profile, Waiter};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Cache lines that one source line takes from another, over all distances.
#[derive(Debug, Default)]
pub(crate) struct Fight {
    /// The previous owner. `None` for the kernel, and for lines without an owner.
    pub(crate) from: Option<Key>,
    /// The new owner. `None` for the kernel.
    pub(crate) to: Option<Key>,
    pub(crate) writes: bool,
    pub(crate) ps: u64,
    pub(crate) moves: u64,
    /// The number of moves from each distance.
    pub(crate) distances: BTreeMap<String, u64>,
    /// The wait for each variable, in picoseconds.
    pub(crate) names: BTreeMap<String, u64>,
}

impl Fight {
    /// Returns the variable with the longest wait.
    pub(crate) fn name(&self) -> &str {
        self.names.iter().max_by_key(|(_, ps)| **ps).map_or("", |(name, _)| name)
    }

    /// Returns whether the lines had no owner. These come only from memory.
    pub(crate) fn is_from_nobody(&self) -> bool {
        self.from.is_none() && self.distances.keys().all(|name| name == "memory")
    }
}

/// Returns all pairs, the longest wait first.
pub(crate) fn fights(profile: &Profile) -> Vec<Fight> {
    type Ends = (Option<Key>, Option<Key>, bool);
    let mut fights = BTreeMap::<Ends, Fight>::new();
    let at = |place: Option<Place>| Some(shared_key(profile, place?));
    for conflict in &profile.conflicts {
        let ends = (at(conflict.from), at(conflict.to), conflict.writes);
        let fight = fights.entry(ends).or_default();
        fight.ps += conflict.ps;
        fight.moves += conflict.moves;
        *fight.distances.entry(conflict.distance.clone()).or_default() += conflict.moves;
        *fight.names.entry(conflict.name.clone()).or_default() += conflict.ps;
    }
    let with_ends = |((from, to, writes), fight)| Fight { from, to, writes, ..fight };
    let mut all: Vec<Fight> = fights.into_iter().map(with_ends).collect();
    all.sort_by_key(|fight| Reverse(fight.ps));
    all
}

/// Returns a key by which a line that the compiler put into several functions counts as one.
fn shared_key(profile: &Profile, place: Place) -> Key {
    let key = key(&profile.functions, place);
    if key.line == 0 { key } else { Key { function: String::new(), ..key } }
}

/// The caller of the scheduler, and the line that takes the lock.
pub(crate) type Who = (String, Key);

/// Waits of one line for locks of one kind that another line holds.
#[derive(Debug)]
pub(crate) struct Queued {
    /// `None` for the kernel.
    pub(crate) waiter: Option<Who>,
    /// `None` for the kernel.
    pub(crate) holder: Option<Who>,
    pub(crate) lock: String,
    pub(crate) ns: u64,
    pub(crate) count: u64,
}

/// Returns all pairs, the longest wait first.
pub(crate) fn queued(profile: &Profile) -> Vec<Queued> {
    let who = |waiter: &Option<Waiter>| {
        waiter.as_ref().map(|Waiter { origin, place }| (origin.clone(), shared_key(profile, *place)))
    };
    let mut kinds = BTreeMap::<(Option<Who>, Option<Who>, &str), (u64, u64)>::new();
    for wait in &profile.waits {
        // The locks in an array, or of several queues, are one kind.
        let kind = wait.lock.split_once('[').map_or(wait.lock.as_str(), |(array, _)| array);
        let sum = kinds.entry((who(&wait.waiter), who(&wait.holder), kind)).or_default();
        sum.0 += wait.ns;
        sum.1 += wait.count;
    }
    let queued = |((waiter, holder, lock), (ns, count)): ((_, _, &str), _)| Queued {
        waiter,
        holder,
        lock: lock.to_owned(),
        ns,
        count,
    };
    let mut all: Vec<Queued> = kinds.into_iter().map(queued).collect();
    all.sort_by_key(|queued| Reverse(queued.ns));
    all
}
