//! Texts, and the messages that reject them.

/// The maximum size of an input in bytes. Longer ones are ignored, because they take longer and show nothing new.
const MOST: usize = 64 << 10;

/// Returns the input as a file that the command line has read. Input that is not UTF-8 is rejected there.
pub(crate) fn text(input: &[u8]) -> Option<&str> {
    std::str::from_utf8(input).ok().filter(|text| text.len() <= MOST)
}

/// Checks that a rejection is one sentence of bounded length.
pub(crate) fn sentence(error: &dyn std::fmt::Display) {
    let reported = error.to_string();
    assert!(!reported.is_empty(), "refused without a word");
    assert!(!reported.contains('\n'), "more than one line: {reported:?}");
    assert!(reported.len() < 2_000, "a long sentence: {reported:?}");
}
