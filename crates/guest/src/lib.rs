//! Throwaway real kernels: fetched from the distribution's packages, booted under QEMU with the
//! CPUs and nodes asked for, given one command whose output and exit code come back.
//!
//! [`Store`] has kernels, [`Machine`] says what they run on, [`Guest`] boots one with the host's
//! files inside and runs a [`Job`]. The parts ([`Archive`], [`Qemu`], [`Running`]) serve those who
//! make a guest of their own.
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
