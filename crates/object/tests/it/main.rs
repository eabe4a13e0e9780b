//! Objects compiled by clang, loaded against a small kernel of our own.

mod common;
mod fifo;
