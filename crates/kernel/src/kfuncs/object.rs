//! Objects that BPF programs allocate, and the trees that they keep them in.

use crate::kfuncs::Served;
use crate::state::bpf::functions::F;
use crate::state::kernel::Kernel;
use keel_abi::bpf::{Ea, World};
use keel_abi::rbtree::Tree;

impl Kernel {
    pub(super) fn serve_object<W: World>(&mut self, w: &mut W, f: F, a: &[u64; 5]) -> Served {
        match f {
            F::ObjNew => self.new_object(w, a[0]),
            F::ObjDrop => {
                w.free(Ea(a[0]));
                0.into()
            }
            // The engine inserts; this only charges for it.
            F::RbtreeAdd => 0.into(),
            F::RbtreeFirst => {
                let first = Tree::at(w, Ea(a[0])).and_then(|tree| tree.first(w));
                first.unwrap_or_default().0.into()
            }
            _ => {
                let node = Ea(a[1]);
                let was_in = Tree::at(w, Ea(a[0])).is_some_and(|tree| tree.remove(w, node));
                if was_in { node.0.into() } else { 0.into() }
            }
        }
    }

    /// `bpf_obj_new()`: zeroed, of the type with this number in the object's own BTF; null when out of memory.
    fn new_object<W: World>(&mut self, w: &mut W, id: u64) -> Served {
        let found = self.local_types.iter().find(|&&(known, _)| u64::from(known) == id);
        match found {
            Some(&(_, bytes)) => w.alloc(u64::from(bytes)).unwrap_or_default().0.into(),
            None => Served::forbidden(format!("bpf_obj_new() of type {id}, which the object does not name")),
        }
    }
}
