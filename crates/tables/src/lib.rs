//! Reads TOML files as values, with errors for people who know TOML but not Rust: where the error is, and what
//! belongs there.
#![forbid(unsafe_code)]

mod words;

use serde::de::DeserializeOwned;
use std::ops::Range;

/// Why a file can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The bytes that are wrong; 0 to 0 if the error is about the whole file.
    pub at: Range<usize>,
    /// What is wrong with them, in one line.
    pub said: String,
}

/// Reads a whole file.
///
/// # Errors
/// Fails with the first error: invalid TOML, or values that `T` does not take.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Wrong> {
    toml::from_str(text).map_err(|error| Wrong {
        at: error.span().unwrap_or_default(),
        // If there are more lines, they continue the sentence.
        said: words::plain(&error.message().lines().collect::<Vec<_>>().join(", ")),
    })
}

/// The number of the line that contains byte `at` of `text`, from 1.
pub fn line(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct File {
        cpus: u32,
        #[serde(default)]
        names: Vec<String>,
        #[serde(default)]
        share: f64,
        #[serde(default)]
        part: Option<Part>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Part {
        on: bool,
    }

    fn check(text: &str, expected: &str) {
        let wrong = read::<File>(text).expect_err(text);
        assert_eq!(format!("line {}: {}", line(text, wrong.at.start), wrong.said), expected);
    }

    #[test]
    fn an_error_says_where_it_is_and_what_belongs_there() {
        check(
            "cpus = -1",
            "line 1: invalid value: integer `-1`, expected a whole number from 0 to 4294967295",
        );
        check(
            "\ncpus = 'x'",
            "line 2: invalid type: string \"x\", expected a whole number from 0 to 4294967295",
        );
        check("cpus = 1\nnames = 3", "line 2: invalid type: integer `3`, expected a list");
        check("cpus = 1\nnames = [[]]", "line 2: invalid type: list, expected a string");
        check("cpus = 1\nshare = 'much'", "line 2: invalid type: string \"much\", expected a number");
        check("cpus = 1\npart = 1", "line 2: invalid type: integer `1`, expected a table");
        check("cpus = 1\n[part]\non = 1", "line 3: invalid type: integer `1`, expected true or false");
        check("cpu = 1", "line 1: unknown field `cpu`, expected one of `cpus`, `names`, `share`, `part`");
        check("names = []", "line 1: missing field `cpus`");
    }

    #[test]
    fn a_string_in_a_file_stays_as_it_is() {
        check(
            "cpus = ', expected map'",
            concat!(
                "line 1: invalid type: string \", expected map\", ",
                "expected a whole number from 0 to 4294967295"
            ),
        );
    }
}
