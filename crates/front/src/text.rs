//! Untrusted text (paths, names) made safe to print.

use std::path::Path;

/// A path or argument with its control and bidirectional formatting characters escaped, never truncated.
pub fn shown(text: &str) -> String {
    keel_check::escape_all(text)
}

/// [`shown`] for text of several lines; line breaks are kept.
pub fn shown_lines(text: &str) -> String {
    text.lines().map(shown).collect::<Vec<_>>().join("\n")
}

/// [`shown`] for a path.
pub fn shown_path(path: &Path) -> String {
    shown(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn long_paths_stay_whole_and_controls_do_nothing() {
        let long = "d/".repeat(100);
        assert_eq!(shown(&long), long);
        assert_eq!(shown("a\x1b[31m"), "a\\u{1b}[31m");
    }
}
