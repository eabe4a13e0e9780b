//! All memory that BPF code can reach: one region per simulation, at the same simulated addresses
//! in every run.
//!
//! Rules of this module:
//! - Addresses follow from the sequence of calls alone; the checked mode moves none.
//! - What keeps order (free lists, sizes, who is live) stands outside the region, where a broken
//!   program cannot reach it.
//! - Memory of the host is used where something was touched, not where room was reserved.
//!
//! | module | what it holds |
//! |---|---|
//! | `mapping` | address space of this process, committed when touched |
//! | `region` | bytes, bounds, permissions, cache lines; within it `room`, what is placed where |
//! | `heap` | which small object lies where |
//! | `live` | the checked mode's table of live objects |
//! | `window` | which pages of an arena are backed |
//! | `world` | [`VmWorld`]: region and maps as the [`World`](keel_abi::bpf::World) of programs |

mod heap;
mod live;
mod mapping;
mod region;
mod window;
mod world;

#[cfg(test)]
mod tests;

pub use region::{RawRegion, Region, Stray};
pub(crate) use window::{WINDOW_AT, WINDOW_BYTES};
pub use world::{VmWorld, WorldConfig, WorldError};

/// The simulated address of the region's first byte, where Linux on x86-64 maps all memory.
pub const BASE: u64 = 0xffff_8880_0000_0000;

/// Bytes of a page; the region's first page is never part of an object.
pub const PAGE_BYTES: u64 = 4096;

/// Bytes of a huge page of the host.
pub const HUGE_BYTES: u64 = 2 << 20;

/// What a region reserves unless told otherwise, in bytes of address space.
pub const DEFAULT_CAPACITY: u64 = 16 << 30;

/// The host would not give address space.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot reserve {bytes} bytes of address space for simulated memory ({why}); ask for a smaller region"
)]
pub struct ReserveError {
    /// What was asked for.
    pub bytes: u64,
    /// The host's words.
    pub why: String,
}
