//! The compiled programs that are loaded into the running kernel (crates/live/bpf).

/// All programs.
mod table {
    #![allow(unreachable_pub)]
    include!(concat!(env!("OUT_DIR"), "/programs.rs"));
}

/// Returns an object's bytes. Empty if there is no such object.
pub(crate) fn object(name: &str) -> &'static [u8] {
    table::OBJECTS.iter().find(|(known, _)| *known == name).map_or(&[], |(_, bytes)| bytes)
}
