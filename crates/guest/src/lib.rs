//! Throwaway real kernels: fetched from the distribution's packages, booted under QEMU with the
//! CPUs and nodes asked for, given one command whose output and exit code come back.
#![forbid(unsafe_code)]
