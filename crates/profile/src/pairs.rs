//! Which line takes a cache line from which, and who waits for whose lock: summed over distances, and over locks of a kind.

use crate::lines::{Key, key};
use crate::model::{Place, Profile, Waiter};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Cache lines that one line of the source takes from another, over all distances.
#[derive(Debug, Default)]
pub(crate) struct Fight {
    /// Who had them: nothing for the kernel, and for lines that nobody had.
    pub(crate) from: Option<Key>,
    /// Who takes them; nothing for the kernel.
    pub(crate) to: Option<Key>,
    pub(crate) writes: bool,
    pub(crate) ps: u64,
    pub(crate) moves: u64,
    /// How many moves came from how far.
    pub(crate) distances: BTreeMap<String, u64>,
    /// How long each variable was waited for, in picoseconds.
    pub(crate) names: BTreeMap<String, u64>,
}

impl Fight {
    /// The variable that was waited for longest.
    pub(crate) fn name(&self) -> &str {
        self.names.iter().max_by_key(|(_, ps)| **ps).map_or("", |(name, _)| name)
    }

    /// Had nobody the lines? Those come from memory alone.
    pub(crate) fn is_from_nobody(&self) -> bool {
        self.from.is_none() && self.distances.keys().all(|name| name == "memory")
    }
}

/// All of them, the longest wait first.
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

/// A line that the compiler put into several functions is one.
fn shared_key(profile: &Profile, place: Place) -> Key {
    let key = key(&profile.functions, place);
    if key.line == 0 { key } else { Key { function: String::new(), ..key } }
}

/// What called the scheduler, and the line that takes the lock.
pub(crate) type Who = (String, Key);

/// Waits of one line for locks of one kind that another took.
#[derive(Debug)]
pub(crate) struct Queued {
    /// Nothing for the kernel.
    pub(crate) waiter: Option<Who>,
    /// Nothing for the kernel.
    pub(crate) holder: Option<Who>,
    pub(crate) lock: String,
    pub(crate) ns: u64,
    pub(crate) count: u64,
}

/// All of them, the longest first.
pub(crate) fn queued(profile: &Profile) -> Vec<Queued> {
    let who = |waiter: &Option<Waiter>| {
        waiter.as_ref().map(|Waiter { origin, place }| (origin.clone(), shared_key(profile, *place)))
    };
    let mut kinds = BTreeMap::<(Option<Who>, Option<Who>, &str), (u64, u64)>::new();
    for wait in &profile.waits {
        // The locks of an array, or of several queues, are one kind.
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
