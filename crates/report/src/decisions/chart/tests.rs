use super::scale::apart;
use super::*;
use crate::decisions::tests::{report, reports};

/// Returns how many elements of the picture contain this.
fn count(svg: &str, what: &str) -> usize {
    svg.matches(what).count()
}

#[test]
fn its_structure_is_kept() {
    insta::assert_snapshot!("chart", svg(&reports()));
}

#[test]
fn each_scheduler_has_a_line_a_name_and_marks_in_both_panels() {
    let six: Vec<_> =
        (0..6).map(|n| report(&format!("s{n}"), |size| u64::from(size.tasks + n) * 10)).collect();
    let picture = svg(&six);
    assert_eq!(count(&picture, "class=\"line\""), 12);
    assert_eq!(count(&picture, "class=\"name\""), 12);
    // Three points per line, and one beside the name.
    assert_eq!(count(&picture, "class=\"mark\""), 12 * 4);
    let mut marks: Vec<&str> = (0..6).map(marks::mark).collect();
    marks.sort_unstable();
    marks.dedup();
    assert_eq!(marks.len(), 6, "none has another's mark");
    assert_ne!((marks::mark(0), 0), (marks::mark(6), 0), "nor where the colours begin again");
}

#[test]
fn nothing_measured_is_an_empty_chart() {
    for reports in [vec![], vec![DecisionsReport::new("o1", "8")]] {
        let picture = svg(&reports);
        assert!(picture.ends_with("</svg>\n") && !picture.contains("NaN") && !picture.contains("inf"));
        assert_eq!(count(&picture, "class=\"line\""), 0);
    }
}

#[test]
fn an_untrusted_name_is_escaped() {
    let picture = svg(&[report("<b>&\u{1b}", |_| 0)]);
    assert!(!picture.contains("<b>") && !picture.contains('\u{1b}'), "{picture}");
}

#[test]
fn names_do_not_overlap_within_the_panel() {
    let check = |wanted: &[f64], expected: &[f64]| assert_eq!(apart(wanted, 10.0, 0.0, 100.0), expected);
    check(&[], &[]);
    check(&[5.0, 50.0], &[5.0, 50.0]);
    check(&[50.0, 50.0], &[45.0, 55.0]);
    check(&[50.0, 51.0, 70.0], &[45.5, 55.5, 70.0]);
    check(&[0.0, 1.0], &[0.0, 10.0]);
    check(&[98.0, 99.0, 100.0], &[80.0, 90.0, 100.0]);
}
