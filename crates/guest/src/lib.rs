//! Throwaway real kernels. They are fetched from the distribution's packages and booted under QEMU with the requested
//! CPUs and nodes. A guest runs one command, and its output and exit code are returned.
//!
//! Start at [`Store`], which provides kernels. [`Machine`] describes what they run on, and [`Guest`] boots one with the
//! host's files inside and runs a [`Job`]. The parts ([`Archive`], [`Qemu`], [`Running`]) are for callers that build
//! their own guests.
//!
//! Kernels:
//!
//! - `store`: a cache of kernels, which fetches missing ones
//! - `apt`: packages of other Debian releases
//! - `release`: kernel names, and which of two is better
//! - `vmlinux`: the kernel inside its compressed image
//!
//! The guest's first files:
//!
//! - `initramfs`: busybox, modules, scripts and the command
//! - `cpio`: the archive format that kernels accept
//! - `modules`: the modules that the guest loads first
//! - `tools`: host programs that go into a guest
//!
//! The machine:
//!
//! - `machine`: what a guest runs on, as QEMU's arguments
//! - `links`: which NUMA nodes are neighbours, and the distances between the others
//! - `qemu`: which QEMU is installed, and what it can do
//! - `kvm`: whether virtualization works on the host
//!
//! A run:
//!
//! - `run`: one command in one guest
//! - `process`: the QEMU process and its output
//! - `folder`: the directory of a running guest
//! - `console`: a kernel's last messages, cut to the most useful ones
//! - `error`: why a guest didn't start, or ended
#![forbid(unsafe_code)]

mod apt;
mod console;
mod cpio;
mod error;
mod folder;
mod initramfs;
mod kvm;
mod links;
mod machine;
mod modules;
mod process;
mod qemu;
mod release;
mod run;
mod spares;
mod store;
mod tools;
mod vmlinux;

pub use apt::Apt;
pub use cpio::Archive;
pub use error::GuestError;
pub use initramfs::{Job, add_busybox, add_libraries};
pub use kvm::Kvm;
pub use links::Links;
pub use machine::{Accel, Machine};
pub use process::{Next, Running, Stream};
pub use qemu::{Boot, Qemu};
pub use release::{DEFAULT, Flavour, Release};
pub use run::{End, Guest, Limits, Outputs, Trouble};
pub use store::{Kernel, Listed, Store};
pub use tools::{busybox, libraries};
pub use vmlinux::uncompress;
