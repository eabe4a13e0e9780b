//! Caveats about what a recording lacks, printed before the figures they affect.

use keel_trace::Unknown;

/// Returns a sentence about what looks like waste but may not be, or `None` if the recording is complete.
pub(crate) fn sentence(unknown: Unknown) -> Option<&'static str> {
    match (unknown.affinity, unknown.throttling) {
        (false, false) => None,
        (true, false) => {
            Some("This recording does not show which CPUs tasks may use, so pinned tasks look like waste.")
        }
        (false, true) => {
            Some("This recording does not show when tasks are throttled, so throttled tasks look like waste.")
        }
        (true, true) => Some(
            "This recording does not show which CPUs tasks may use or when they are throttled, so pinned and throttled tasks \
             look like waste.",
        ),
    }
}

/// Returns a sentence about waste, preceded by the caveat it needs.
pub(crate) fn before(unknown: Unknown, claim: String) -> String {
    match sentence(unknown).filter(|_| !claim.is_empty()) {
        None => claim,
        Some(caveat) => format!("{caveat} If it has no such tasks: {}", within(&claim)),
    }
}

/// Returns a sentence in a form that can end another one.
pub(crate) fn within(sentence: &str) -> String {
    let mut chars = sentence.chars();
    let first = chars.next().into_iter().flat_map(char::to_lowercase);
    first.chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caveat_stands_first() {
        let check = |affinity, throttling, claim: &str, expected: &str| {
            assert_eq!(before(Unknown { affinity, throttling }, claim.to_owned()), expected);
        };
        check(false, false, "Core 3 idled.", "Core 3 idled.");
        check(
            true,
            false,
            "Core 3 idled.",
            "This recording does not show which CPUs tasks may use, so pinned tasks look like waste. If it has no such tasks: \
             core 3 idled.",
        );
        check(
            false,
            true,
            "12 cores idled.",
            "This recording does not show when tasks are throttled, so throttled tasks look like waste. If it has no such tasks: \
             12 cores idled.",
        );
        assert!(
            before(Unknown { affinity: true, throttling: true }, "Core".into())
                .contains("pinned and throttled")
        );
        check(true, true, "", "");
    }
}
