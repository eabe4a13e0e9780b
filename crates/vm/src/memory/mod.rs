//! All memory that BPF code can access: one region per simulation, at the same simulated addresses in every run.
//!
//! Rules of this module:
//! - Addresses depend only on the sequence of calls; the checked mode does not change them.
//! - Bookkeeping (free lists, sizes, what is live) is kept outside the region, where a broken program cannot reach it.
//! - Host memory is used only for touched pages, not for all reserved address space.
//!
//! | module | contents |
//! |---|---|
//! | `mapping` | address space of this process, committed when touched |
//! | `region` | bytes, bounds, permissions, cache lines; in it `place`, the placement of objects, and `watch`, which code takes lines from others |
//! | `heap` | the places of small objects |
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

pub(crate) use region::{Blamed, KnownLine, Limits, Moved, NOBODY, Watched};
pub use region::{InvalidAccesses, LineForm, RawCrowd, RawMoves, RawRegion, Region, Source};
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

/// The bytes of address space that a region reserves by default.
pub const DEFAULT_CAPACITY: u64 = 16 << 30;

/// The host refused the address space. A smaller region is no alternative: results could differ from those on a host
/// that provides it all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "each run reserves {:.1} GiB of address space for simulated memory and uses little of it, and the host gives no more \
     ({why}); raise the limit with ulimit -v unlimited, or make fewer runs side by side",
    *bytes as f64 / GIB
)]
pub struct ReserveError {
    /// The bytes that a region needs, including its tables.
    pub bytes: u64,
    /// The host's message.
    pub why: String,
}
