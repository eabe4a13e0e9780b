//! LIMITATIONS.md matches the code's own tables.

const PAGE: &str = include_str!("../../../LIMITATIONS.md");

#[test]
fn the_page_is_as_the_code_has_it() {
    let made = keel_report::features::page(PAGE, &keel_lab::features()).expect("the page has its marks");
    assert_eq!(PAGE, made, "run ./x limits");
}
