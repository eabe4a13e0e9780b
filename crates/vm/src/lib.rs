//! Executes BPF objects: memory and maps, a checked interpreter, native code, fibers.
//!
//! The rule of this room: no object, however broken, may crash or read the process, and both
//! engines give the same results, the same instruction counts and the same stalls.
//!
//! | module | what it holds |
//! |---|---|
//! | [`code`] | from an object's instructions to checked operations, shared by many [`Vm`]s |
//! | `interp` | the interpreter, the oracle of the native code |
//! | `native` | Cranelift code |
//! | `context`, `calls`, `drain`, `numbers`, `trees` | what running code shares with the engine, and how it calls out |
//! | `fiber` | stacks that callbacks run on, so that they can be suspended |
//! | [`vm`] | [`Vm`], the [`Engine`](keel_abi::bpf::Engine) |
//! | [`memory`], [`maps`] | the region of simulated memory, and the maps in it |

mod calls;
pub mod code;
mod context;
mod drain;
mod error;
mod fiber;
mod interp;
mod interp_alu;
pub mod maps;
pub mod memory;
mod native;
mod numbers;
mod stacks;
mod trees;
pub mod vm;

pub use code::Code;
pub use error::LoadError;
pub use vm::{Import, Linker, Mode, Vm, VmConfig};
