//! The simulated kernel with the engine that executes its scheduler. Every path is a method of [`Sim`].

use crate::state::companion::Beside;
use crate::state::kernel::Kernel;
use keel_abi::Stop;
use keel_abi::bpf::Engine;

/// One simulated kernel with the engine that executes its scheduler. The kernel's address is that of the whole.
#[repr(C)]
pub struct Sim<E: Engine> {
    pub(crate) k: Kernel,
    pub(crate) vm: E,
    /// The scheduler's companions, by number.
    pub(crate) companions: Vec<Beside<E::World>>,
    pub(crate) stop: Stop,
}
