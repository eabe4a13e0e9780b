//! BPF's ordered trees (`struct bpf_rb_root`, `struct bpf_rb_node`), in the world's memory.
//!
//! The kernel's trees are red-black. These are balanced by priorities computed from the nodes' addresses, which no
//! scheduler can observe: it sees only the first node, and its own comparison decides where a new one goes. Engines
//! insert nodes, because they run that comparison; the kernel side does the rest.

use crate::bpf::{Ea, World};

/// The offsets of a node's words: parent, left child, right child, and the root of its tree.
const PARENT: u64 = 0;
const LEFT: u64 = 8;
const RIGHT: u64 = 16;
const OWNER: u64 = 24;
/// The size of a `struct bpf_rb_node`, in bytes.
const NODE_BYTES: u64 = 32;
/// The size of a `struct bpf_rb_root`, in bytes: the topmost node, and an unused word.
const ROOT_BYTES: u64 = 16;
/// The maximum depth of a tree. A scheduler may have overwritten one so that it contains a cycle.
const DEEPEST: u32 = 1 << 20;

/// A tree, by the address of its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree(Ea);

/// The position for a new node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    parent: Ea,
    side: u64,
}

/// A descent from a tree's topmost node to the place for a new one.
#[derive(Clone, Copy, Debug)]
pub struct Descent {
    at: Ea,
    slot: Slot,
    left: u32,
}

fn word<W: World>(world: &W, at: Ea) -> u64 {
    world.bytes(at).map_or(0, u64::from_le_bytes)
}

fn set<W: World>(world: &mut W, at: Ea, value: Ea) {
    if let Some(slot) = world.slice_mut(at, 8) {
        slot.copy_from_slice(&value.0.to_le_bytes());
    }
}

/// Returns a node's priority: as good as random, and the same in every run.
fn priority(node: Ea) -> u64 {
    let mut x = node.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

impl Tree {
    /// Returns the tree whose root is at this address, if that is memory.
    pub fn at<W: World>(world: &W, root: Ea) -> Option<Self> {
        world.slice(root, ROOT_BYTES).map(|_| Self(root))
    }

    /// Returns whether the node is in no tree, or `None` if its memory does not exist.
    pub fn is_free<W: World>(world: &W, node: Ea) -> Option<bool> {
        world.slice(node, NODE_BYTES).map(|_| word(world, node.offset(OWNER)) == 0)
    }

    /// Starts a descent.
    pub fn descend<W: World>(self, world: &W) -> Descent {
        Descent { at: Ea(word(world, self.0)), slot: Slot { parent: Ea::NULL, side: 0 }, left: DEEPEST }
    }

    /// Inserts a free node at its place.
    pub fn insert<W: World>(self, world: &mut W, node: Ea, slot: Slot) {
        set(world, node.offset(PARENT), slot.parent);
        set(world, node.offset(LEFT), Ea::NULL);
        set(world, node.offset(RIGHT), Ea::NULL);
        set(world, node.offset(OWNER), self.0);
        let link = if slot.parent.is_null() { self.0 } else { slot.parent.offset(slot.side) };
        set(world, link, node);
        for _ in 0..DEEPEST {
            let parent = Ea(word(world, node.offset(PARENT)));
            if parent.is_null() || priority(parent) >= priority(node) {
                break;
            }
            self.lift(world, node, parent);
        }
    }

    /// Returns the first node (`bpf_rbtree_first()`).
    pub fn first<W: World>(self, world: &W) -> Option<Ea> {
        let mut node = Ea(word(world, self.0));
        for _ in 0..DEEPEST {
            let left = Ea(word(world, node.offset(LEFT)));
            if node.is_null() || left.is_null() {
                break;
            }
            node = left;
        }
        (!node.is_null()).then_some(node)
    }

    /// Removes a node (`bpf_rbtree_remove()`). Returns false if it is not in this tree.
    pub fn remove<W: World>(self, world: &mut W, node: Ea) -> bool {
        if world.slice(node, NODE_BYTES).is_none() || word(world, node.offset(OWNER)) != self.0.0 {
            return false;
        }
        for _ in 0..DEEPEST {
            let (left, right) = (Ea(word(world, node.offset(LEFT))), Ea(word(world, node.offset(RIGHT))));
            match (left.is_null(), right.is_null()) {
                (true, true) => break,
                (true, false) => self.lift(world, right, node),
                (false, true) => self.lift(world, left, node),
                (false, false) if priority(left) >= priority(right) => self.lift(world, left, node),
                (false, false) => self.lift(world, right, node),
            }
        }
        let parent = Ea(word(world, node.offset(PARENT)));
        self.relink(world, parent, node, Ea::NULL);
        for at in [PARENT, LEFT, RIGHT, OWNER] {
            set(world, node.offset(at), Ea::NULL);
        }
        true
    }

    /// Rotates a node and its parent.
    fn lift<W: World>(self, world: &mut W, node: Ea, parent: Ea) {
        let above = Ea(word(world, parent.offset(PARENT)));
        let is_left = word(world, parent.offset(LEFT)) == node.0;
        let (inner, outer) = if is_left { (RIGHT, LEFT) } else { (LEFT, RIGHT) };
        let between = Ea(word(world, node.offset(inner)));
        set(world, parent.offset(outer), between);
        if !between.is_null() {
            set(world, between.offset(PARENT), parent);
        }
        set(world, node.offset(inner), parent);
        set(world, parent.offset(PARENT), node);
        set(world, node.offset(PARENT), above);
        self.relink(world, above, parent, node);
    }

    /// Makes the link from `above` to one node point to another.
    fn relink<W: World>(self, world: &mut W, above: Ea, from: Ea, to: Ea) {
        let link = if above.is_null() {
            self.0
        } else if word(world, above.offset(LEFT)) == from.0 {
            above.offset(LEFT)
        } else {
            above.offset(RIGHT)
        };
        set(world, link, to);
    }
}

impl Descent {
    /// Returns the node to compare the new one with, or `None` at the end.
    pub fn here(&self) -> Option<Ea> {
        (!self.at.is_null() && self.left > 0).then_some(self.at)
    }

    /// Continues the descent, to the left if the new node is less.
    pub fn step<W: World>(&mut self, world: &W, is_less: bool) {
        let side = if is_less { LEFT } else { RIGHT };
        self.slot = Slot { parent: self.at, side };
        self.at = Ea(word(world, self.at.offset(side)));
        self.left -= 1;
    }

    /// Returns where the descent has ended.
    pub fn slot(&self) -> Slot {
        self.slot
    }
}
