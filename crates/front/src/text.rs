//! Makes untrusted text (paths, names) safe to print.

use std::path::Path;

/// Escapes the control and bidirectional formatting characters of a path or argument. Truncates nothing.
pub fn shown(text: &str) -> String {
    keel_check::escape_all(text)
}

/// Like [`shown`], but keeps line breaks.
pub fn shown_lines(text: &str) -> String {
    text.lines().map(shown).collect::<Vec<_>>().join("\n")
}

/// Like [`shown`], for a path.
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
