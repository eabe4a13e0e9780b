//! A whole scheduler, as users have it.

use keel_object::{LoadOptions, Object, load};

use crate::common::{compile, kernel, show, show_function};

fn fifo() -> Object {
    load(&compile(include_str!("fixtures/fifo.c")), kernel(), &LoadOptions::default()).unwrap()
}

#[test]
fn a_scheduler_loads_whole() {
    insta::assert_snapshot!(show(&fifo()));
}

#[test]
fn offsets_are_the_kernels_and_lines_the_sources() {
    insta::assert_snapshot!(show_function(&fifo(), "fifo_enqueue"));
}
