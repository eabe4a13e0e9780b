//! Objects compiled by clang, loaded against a small kernel made for the tests.

mod btf;
mod common;
mod core;
mod core_poison;
mod fifo;
mod functions;
mod hostile;
mod kconfig;
mod ksyms;
mod maps;
mod refused;
mod variables;
