//! All memory that BPF code can reach: one region per simulation, at the same simulated addresses
//! in every run.
//!
//! Rules of this module:
//! - Addresses follow from the sequence of calls alone; the checked mode does not change them.
//! - Bookkeeping (free lists, sizes, what is live) is kept outside the region, where a broken program cannot reach it.
//! - Host memory is used only for what was touched, not for all reserved address space.
//!
//! | module | what it holds |
//! |---|---|
//! | `mapping` | address space of this process, committed when touched |
//! | `region` | bytes, bounds, permissions, cache lines; within it `place`, what is placed where, and `watch`, who takes lines that others had |
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

pub(crate) use region::{Blamed, Moved, NOBODY, Watched};
pub use region::{InvalidAccesses, LineForm, RawMoves, RawRegion, Region, Source};
pub(crate) use window::{WINDOW_AT, WINDOW_BYTES};
pub use world::{VmWorld, WorldConfig, WorldError};

/// The simulated address of the region's first byte, where Linux on x86-64 maps all memory.
pub const BASE: u64 = 0xffff_8880_0000_0000;

/// Bytes of a page; the region's first page is never part of an object.
pub const PAGE_BYTES: u64 = 4096;

/// Bytes of a huge page of the host.
pub const HUGE_BYTES: u64 = 2 << 20;

/// Bytes in a GiB.
const GIB: f64 = (1_u64 << 30) as f64;

/// What a region reserves by default, in bytes of address space.
pub const DEFAULT_CAPACITY: u64 = 16 << 30;

/// The host would not give address space. A smaller region is no way out: what fits into it would be another result than on
/// a host that gives the whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "each run reserves {:.1} GiB of address space for simulated memory and uses little of it, and the host gives no more \
     ({why}); raise the limit with ulimit -v unlimited, or make fewer runs side by side",
    *bytes as f64 / GIB
)]
pub struct ReserveError {
    /// What a region needs, with the tables beside it.
    pub bytes: u64,
    /// The host's words.
    pub why: String,
}
