//! Finds the object's names for its DSQs: the constants of its own enums whose name, or whose enum's name, contains
//! DSQ.

use crate::btf::{Btf, Kind};

/// The maximum number of names.
const MOST: usize = 4096;
/// The maximum length of a name, in bytes. The kernel's own are shorter.
const LONGEST: usize = 256;
/// Ids from here on are the kernel's own DSQs (`SCX_DSQ_FLAG_BUILTIN`).
const BUILT_IN: u64 = 1 << 63;

/// Returns the names by id, the first name of each id. Leaves out the kernel's own constants, which objects get from
/// `vmlinux.h`.
pub(crate) fn names(btf: &Btf) -> Vec<(u64, String)> {
    let mut names: Vec<(u64, String)> = Vec::new();
    for (id, ty) in btf.types() {
        let Kind::Enum(found) = &ty.kind else { continue };
        let of_queues = says_dsq(btf.name(id));
        if is_kernels(btf.name(id)) {
            continue;
        }
        for value in &found.values {
            let name = btf.enumerator_name(value);
            let fits = (of_queues || says_dsq(name)) && !is_kernels(name) && name.len() <= LONGEST;
            if fits && value.value < BUILT_IN && names.len() < MOST {
                names.push((value.value, name.to_owned()));
            }
        }
    }
    // Sorted by id, with only the first name of each id.
    names.sort_by_key(|(id, _)| *id);
    names.dedup_by_key(|(id, _)| *id);
    names
}

fn is_kernels(name: &str) -> bool {
    name.starts_with("SCX_") || name.starts_with("scx_")
}

/// Returns whether DSQ or DSQS is one of the words separated by `_`.
fn says_dsq(name: &str) -> bool {
    name.split('_').any(|word| word.eq_ignore_ascii_case("dsq") || word.eq_ignore_ascii_case("dsqs"))
}
