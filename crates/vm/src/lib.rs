//! Executes BPF objects: memory and maps, a checked interpreter, native code, fibers.
//!
//! The rule of this crate: no object, however broken, may crash the process or read its memory, and both engines give
//! the same results, the same instruction counts and the same stalls.
//!
//! Engines:
//!
//! - [`vm`]: [`Vm`], the [`Engine`](keel_abi::bpf::Engine)
//! - `config`: [`VmConfig`], how an object is executed
//! - `link`: [`Linker`], which finds the kernel's counterparts of the names in an object
//! - [`code`]: from an object's instructions to checked operations, shared by many [`Vm`]s
//! - `interp`: the interpreter, which the native code is tested against
//! - `interp_alu`: arithmetic and conditions, as the instruction set defines them
//! - [`profile`]: what each instruction cost, as counted by the interpreter
//! - `emit`: native code for x86-64
//! - `native`: native code by Cranelift, for other hosts and for comparison
//! - `error`: why an object cannot be loaded
//!
//! Running code:
//!
//! - `context`: what a running callback shares with the engine
//! - `calls`: calls to the host, to the engine's helpers, and faults
//! - `enter`: how a fiber is entered and left on behalf of a host
//! - `fiber`: stacks that callbacks run on, so that they can be suspended
//! - `stacks`: where BPF stacks and `struct_ops` contexts are placed
//! - `drain`: `bpf_user_ringbuf_drain`
//! - `known`: functions that emitted code handles inline
//! - `numbers`: `bpf_iter_num_next`
//! - `trees`: `bpf_rbtree_add`
//!
//! Memory:
//!
//! - [`memory`]: the region of simulated memory
//! - [`maps`]: the maps in that region

mod calls;
pub mod code;
mod config;
mod context;
mod drain;
#[cfg(target_arch = "x86_64")]
mod emit;
mod enter;
mod error;
mod fiber;
mod fixed;
mod interp;
mod interp_alu;
mod known;
mod link;
pub mod maps;
pub mod memory;
mod native;
mod numbers;
pub mod profile;
pub mod races;
mod seat;
mod stacks;
mod trees;
pub mod vm;

pub use code::Code;
pub use config::{Mode, VmConfig};
pub use error::LoadError;
pub use known::Known;
pub use link::{Import, Linker};
pub use vm::Vm;
