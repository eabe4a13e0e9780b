//! The entities that wait in a queue, in order of deadline (`cfs_rq->tasks_timeline`).
//!
//! This is a balanced tree in which each node stores the minimum virtual runtime of its subtree, so that one descent
//! finds the first eligible entity, however many are not eligible (`__pick_eevdf()`). The kernel uses a red-black tree;
//! this is a treap whose priorities depend on the order of arrival. Both find the same entity.

use crate::state::fair::ids::EntityId;

/// The sort key of an entity: its deadline, then the order of arrival.
pub(super) type Key = (i64, u64);

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    key: Key,
    entity: EntityId,
    vruntime: i64,
    /// The minimum virtual runtime of this node and those below it (`min_vruntime`).
    least: i64,
    left: u32,
    right: u32,
}

/// The tree. All nodes are in one list, and free ones are reused.
#[derive(Debug)]
pub(crate) struct Timeline {
    nodes: Vec<Node>,
    free: Vec<u32>,
    root: u32,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: Vec::new(), root: NONE }
    }
}

/// Returns a pseudorandom priority, which is the same in every run.
fn priority(key: Key) -> u64 {
    let x = key.1.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

impl Timeline {
    /// Adds an entity. No other may have the same key.
    pub(super) fn insert(&mut self, key: Key, entity: EntityId, vruntime: i64) {
        let node = Node { key, entity, vruntime, least: vruntime, left: NONE, right: NONE };
        let new = match self.free.pop() {
            Some(place) => {
                self.nodes[place as usize] = node;
                place
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        self.root = self.insert_below(self.root, new);
    }

    /// Removes the entity with this key, if there is one.
    pub(super) fn remove(&mut self, key: Key) {
        self.root = self.remove_below(self.root, key);
    }

    /// Returns the number of entities.
    pub(super) fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// Returns the entity with the earliest deadline.
    pub(crate) fn first(&self) -> Option<EntityId> {
        self.first_within(i64::MAX)
    }

    /// Returns the entity with the earliest deadline among those whose virtual runtime is at most `most`.
    pub(crate) fn first_within(&self, most: i64) -> Option<EntityId> {
        let mut at = self.root;
        while at != NONE {
            let node = &self.nodes[at as usize];
            if node.least > most {
                return None;
            }
            if self.least(node.left) <= most && node.left != NONE {
                at = node.left;
            } else if node.vruntime <= most {
                return Some(node.entity);
            } else {
                at = node.right;
            }
        }
        None
    }

    /// Returns all entities, in order of deadline.
    pub(super) fn iter(&self) -> impl Iterator<Item = EntityId> {
        let mut above = Vec::new();
        let mut at = self.root;
        std::iter::from_fn(move || {
            while at != NONE {
                above.push(at);
                at = self.nodes[at as usize].left;
            }
            let node = &self.nodes[above.pop()? as usize];
            at = node.right;
            Some(node.entity)
        })
    }

    fn least(&self, at: u32) -> i64 {
        if at == NONE { i64::MAX } else { self.nodes[at as usize].least }
    }

    /// Updates a node's minimum after its children have changed.
    fn refresh(&mut self, at: u32) {
        let Node { vruntime, left, right, .. } = self.nodes[at as usize];
        self.nodes[at as usize].least = vruntime.min(self.least(left)).min(self.least(right));
    }

    fn insert_below(&mut self, at: u32, new: u32) -> u32 {
        let key = self.nodes[new as usize].key;
        if at == NONE {
            return new;
        }
        let here = self.nodes[at as usize];
        if priority(key) > priority(here.key) {
            let (left, right) = self.split(at, key);
            (self.nodes[new as usize].left, self.nodes[new as usize].right) = (left, right);
            self.refresh(new);
            return new;
        }
        if key < here.key {
            self.nodes[at as usize].left = self.insert_below(here.left, new);
        } else {
            self.nodes[at as usize].right = self.insert_below(here.right, new);
        }
        self.refresh(at);
        at
    }

    fn remove_below(&mut self, at: u32, key: Key) -> u32 {
        if at == NONE {
            return NONE;
        }
        let here = self.nodes[at as usize];
        if key == here.key {
            self.free.push(at);
            return self.merge(here.left, here.right);
        }
        if key < here.key {
            self.nodes[at as usize].left = self.remove_below(here.left, key);
        } else {
            self.nodes[at as usize].right = self.remove_below(here.right, key);
        }
        self.refresh(at);
        at
    }

    /// Splits a tree into the entities before the key and those after it. Returns both trees.
    fn split(&mut self, at: u32, key: Key) -> (u32, u32) {
        if at == NONE {
            return (NONE, NONE);
        }
        let here = self.nodes[at as usize];
        if here.key < key {
            let (left, right) = self.split(here.right, key);
            self.nodes[at as usize].right = left;
            self.refresh(at);
            (at, right)
        } else {
            let (left, right) = self.split(here.left, key);
            self.nodes[at as usize].left = right;
            self.refresh(at);
            (left, at)
        }
    }

    /// Merges two trees. Everything in the first must come before everything in the second.
    fn merge(&mut self, first: u32, second: u32) -> u32 {
        if first == NONE || second == NONE {
            return if first == NONE { second } else { first };
        }
        let (a, b) = (self.nodes[first as usize], self.nodes[second as usize]);
        if priority(a.key) > priority(b.key) {
            self.nodes[first as usize].right = self.merge(a.right, second);
            self.refresh(first);
            first
        } else {
            self.nodes[second as usize].left = self.merge(first, b.left);
            self.refresh(second);
            second
        }
    }

    /// Returns the number of nodes on the longest path down.
    #[cfg(test)]
    fn depth(&self, at: u32) -> usize {
        if at == NONE {
            return 0;
        }
        let node = &self.nodes[at as usize];
        1 + self.depth(node.left).max(self.depth(node.right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::TaskId;
    use proptest::prelude::*;

    proptest! {
        /// `__pick_eevdf()`: the search finds the same entity as a scan of all entities.
        #[test]
        fn the_first_eligible_is_found(
            steps in prop::collection::vec((any::<bool>(), 0_i64..40, -20_i64..20), 1..120),
            most in -20_i64..20,
        ) {
            let (mut tree, mut all) = (Timeline::default(), Vec::new());
            for (turn, (is_added, deadline, vruntime)) in (0_u64..).zip(steps) {
                if is_added || all.is_empty() {
                    let entity = EntityId::from(TaskId(turn as u32));
                    tree.insert((deadline, turn), entity, vruntime);
                    all.push(((deadline, turn), vruntime, entity));
                } else {
                    let (key, ..) = all.swap_remove(deadline as usize % all.len());
                    tree.remove(key);
                }
            }
            all.sort_unstable();
            prop_assert_eq!(tree.len(), all.len());
            prop_assert!(tree.iter().eq(all.iter().map(|&(.., entity)| entity)));
            let expected = all.iter().find(|&&(_, vruntime, _)| vruntime <= most).map(|&(.., entity)| entity);
            prop_assert_eq!(tree.first_within(most), expected);
            prop_assert_eq!(tree.first(), all.first().map(|&(.., entity)| entity));
        }
    }

    #[test]
    fn a_way_down_is_short() {
        let mut tree = Timeline::default();
        for n in 0..4096_u32 {
            tree.insert((i64::from(n), u64::from(n)), EntityId::from(TaskId(n)), 0);
        }
        assert!(tree.depth(tree.root) < 48, "{}", tree.depth(tree.root));
    }
}
