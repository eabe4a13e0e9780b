//! Texts, and the sentences that refuse them.

/// The most bytes of an input: longer ones are ignored, since they take longer and show nothing new.
const MOST: usize = 64 << 10;

/// The input as a file that the command line has read; anything that is not UTF-8 is refused there.
pub(crate) fn text(input: &[u8]) -> Option<&str> {
    std::str::from_utf8(input).ok().filter(|text| text.len() <= MOST)
}

/// A refusal is one sentence of bounded length.
pub(crate) fn sentence(error: &dyn std::fmt::Display) {
    let reported = error.to_string();
    assert!(!reported.is_empty(), "refused without a word");
    assert!(!reported.contains('\n'), "more than one line: {reported:?}");
    assert!(reported.len() < 2_000, "a long sentence: {reported:?}");
}
