//! The running kernel, through libbpf: loads a scheduler into it and takes it out again, and
//! records what it does as Evenkeel's events.
//!
//! Unsafe code stays in narrow modules that argue for it.
