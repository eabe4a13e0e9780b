//! `bpf_rbtree_add`: where a node belongs is found by a comparison that is a function of the object.
#![allow(unsafe_code)]

use crate::calls::{ask_host, callback, round};
use crate::code::op::Size;
use crate::context::Context;
use keel_abi::bpf::{Ea, Errno, FaultKind};
use keel_abi::rbtree::Tree;

/// `bpf_rbtree_add(root, node, less, meta, off)`: the host charges for it, the comparisons run here.
///
/// # Safety
/// As for [`crate::calls::invoke`].
pub(crate) unsafe extern "C" fn rbtree_add(
    context: *mut Context,
    root: u64,
    node: u64,
    less: u64,
    meta: u64,
    off: u64,
) -> u64 {
    // SAFETY: as above; the world is used between calls only.
    unsafe {
        let (site, frame) = ((*context).site, (*context).frame);
        ask_host(context, [root, node, less, meta, off]);
        let less = callback(context, less, "bpf_rbtree_add");
        let node = Ea(node);
        let tree = Tree::at(&*(*context).world, Ea(root));
        let is_free = Tree::is_free(&*(*context).world, node);
        let (Some(tree), Some(is_free)) = (tree, is_free) else {
            (*context).site = site;
            let why = "bpf_rbtree_add was given a root or node that is not memory".to_owned();
            Context::stop(context, FaultKind::BadCall(why));
        };
        if !is_free {
            return Errno::EINVAL.as_r0();
        }
        let mut way = tree.descend(&*(*context).world);
        while let Some(here) = way.here() {
            (*context).access(here.0, Size(3), false);
            let is_less = round(context, less, site, frame, [node.0, here.0, 0, 0, 0]) & 0xff != 0;
            way.step(&*(*context).world, is_less);
        }
        (*context).access(node.0, Size(3), true);
        tree.insert(&mut *(*context).world, node, way.slot());
        0
    }
}
