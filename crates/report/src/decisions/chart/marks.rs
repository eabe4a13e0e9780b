//! The colours and marks that distinguish schedulers. The colours work on white and on dark for readers with any colour
//! vision; the marks are for those who see no colour.

/// The colours, on white and on dark. Each has at least three times the luminance of the background, or at most a third
/// of it.
pub(super) const COLOURS: [(&str, &str); 7] = [
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#ff8a4c"),
    ("#00805c", "#2ccb9a"),
    ("#a04080", "#e58fc0"),
    ("#946c00", "#e6b800"),
    ("#555555", "#bbbbbb"),
    ("#5b3fa8", "#b3a1f7"),
];

/// Disc, square, triangle, diamond, inverted triangle, cross, bar.
const MARKS: [&str; 7] = [
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "M-4 -4h8v8h-8z",
    "M0 -5L5 4H-5z",
    "M0 -5.5L5.5 0L0 5.5L-5.5 0z",
    "M0 5L5 -4H-5z",
    "M-1.5 -5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z",
    "M-5.5 -2h11v4h-11z",
];

/// Returns the mark of the scheduler with this number: a path around 0. If there are more schedulers than colours, the
/// second round of colours gets different marks.
pub(super) fn mark(number: usize) -> &'static str {
    MARKS[(number + number / COLOURS.len()) % MARKS.len()]
}
