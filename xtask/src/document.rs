//! Parts of documents that a command generates. A part begins at a line that names the command and ends at the next end
//! marker.

use crate::Failure;
use crate::tree::root;

const END: &str = "<!-- end -->\n";

/// Replaces the part of `./x COMMAND` in a document below the root with `text`, which must consist of whole lines.
pub(crate) fn renew(document: &str, command: &str, text: &str) -> Result<(), Failure> {
    let path = root().join(document);
    let old = std::fs::read_to_string(&path).map_err(|e| format!("{document}: {e}"))?;
    let new = placed(&old, command, text)
        .ok_or_else(|| format!("{document} has no place for the generated part: {}", begin(command)))?;
    std::fs::write(&path, new).map_err(|e| format!("{document}: {e}"))
}

fn begin(command: &str) -> String {
    format!("<!-- ./x {command} -->\n")
}

/// The document with the part replaced by `text`, or `None` if it has no such part.
pub(crate) fn placed(document: &str, command: &str, text: &str) -> Option<String> {
    let begin = begin(command);
    let (before, rest) = document.split_once(&begin)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{begin}{text}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::{placed, root};

    #[test]
    fn what_is_made_replaces_what_was_there() {
        let document = |text| format!("before\n<!-- ./x it -->\n{text}<!-- end -->\nafter\n");
        assert_eq!(placed(&document("old\n"), "it", "new\n"), Some(document("new\n")));
        assert_eq!(placed(&document("old\n"), "other", "new\n"), None);
        assert_eq!(placed("no place", "it", "new\n"), None);
    }

    #[test]
    fn the_documents_have_their_places() {
        for (document, command) in [
            ("docs/explanation/experiments-matrix.md", "matrix"),
            ("docs/explanation/replay.md", "replay"),
            ("docs/explanation/sensitivity.md", "sensitivity"),
            ("docs/explanation/wasted-cores.md", "pages"),
        ] {
            let text = std::fs::read_to_string(root().join(document)).expect("the document is there");
            assert!(placed(&text, command, "x\n").is_some(), "{document}");
        }
    }
}
