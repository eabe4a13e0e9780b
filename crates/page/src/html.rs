//! Writes the document: the viewer's code and style, and the runs' data, in one file that never uses the network.
//!
//! A policy in its head allows only the viewer itself to run, identified by its hash. Even if a name became markup, it
//! would do nothing.

use crate::data::{Head, RunData, json};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io::{self, Write};

const CODE: &str = include_str!("../../../viewer/dist/viewer.js");
const STYLE: &str = include_str!("../../../viewer/dist/viewer.css");
/// The SHA-256 of the code in base64. `viewer/build.ts` writes it beside the code.
const HASH: &str = include_str!("../../../viewer/dist/viewer.sha256");

/// Writes a page of these runs, of the same or of different machines, one above the other.
///
/// Its title is short: the runs' names. Without JavaScript, the page shows each run's verdict.
pub fn html(runs: &[RunData], to: &mut dyn Write) -> io::Result<()> {
    let title = runs.iter().map(|run| run.head.name.as_str()).collect::<Vec<_>>().join(" | ");
    let described: String = runs.iter().map(described).collect();
    write!(
        to,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-{}'; \
         style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <noscript>This page draws a run of a scheduler, for which it needs JavaScript.{described}</noscript>\n\
         <main id=\"page\"></main>\n",
        HASH.trim(),
        escaped(&title),
    )?;
    for (number, run) in runs.iter().enumerate() {
        let head = String::from_utf8(json(&run.head)).map_err(io::Error::other)?;
        writeln!(to, "<script type=\"application/json\" id=\"run{number}\">{}</script>", inert(&head))?;
        for (at, chunk) in run.chunks.iter().enumerate() {
            let text = STANDARD.encode(chunk);
            writeln!(to, "<script type=\"text/plain\" id=\"run{number}.{at}\">{text}</script>")?;
        }
    }
    write!(to, "<script type=\"module\">{CODE}</script>\n</body>\n</html>\n")
}

/// Returns a run's verdict as HTML.
fn described(run: &RunData) -> String {
    let Head { name, title, verdict, .. } = &run.head;
    [name, title, verdict].map(|line| format!("<p>{}</p>", escaped(line))).concat()
}

/// Removes anything from JSON that could end a script element.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Escapes text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_viewer_fits_into_a_script_element() {
        assert!(!CODE.contains("</script") && !CODE.contains("<!--"));
        assert!(!STYLE.contains("</style"));
        assert_eq!(HASH.trim().len(), 44, "a SHA-256 in base64");
    }

    #[test]
    fn nothing_ends_a_script_element() {
        assert_eq!(inert("{\"a\":\"</script><!--\"}"), "{\"a\":\"\\u003c/script>\\u003c!--\"}");
        assert_eq!(escaped("<a&\">"), "&lt;a&amp;&quot;&gt;");
    }
}
