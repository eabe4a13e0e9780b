//! The text of a workload file: finds its lines, and completes the only thing in it that may not be JSON: a `"suspend"`
//! without a value.

use crate::error::{WorkloadError, shown};
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use std::borrow::Cow;

/// What json-c accepts in addition to strict JSON: comments, trailing commas, single quotes.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: true,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Completes each line that contains only `"suspend"`, as rt-app's workgen does. The value `null` then stands for the
/// task's own name. Line numbers don't change. Removes a byte order mark, which some editors put at the beginning.
pub(crate) fn complete(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.lines().any(|line| bare_suspend(line).is_some()) {
        return Cow::Borrowed(text);
    }
    let complete_line = |line| match bare_suspend(line) {
        Some(end) => format!("{}: null{}", &line[..end], &line[end..]),
        None => line.to_owned(),
    };
    Cow::Owned(text.split_inclusive('\n').map(complete_line).collect())
}

/// Returns the end of the key in a line of the form `"suspend<anything>" ,`.
fn bare_suspend(line: &str) -> Option<usize> {
    let body = line.trim().trim_end_matches(',').trim_end();
    let name = body.strip_prefix("\"suspend")?.strip_suffix('"')?;
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    plain.then(|| line.len() - line.trim_start().len() + body.len())
}

/// A file's name, and the offsets at which its lines begin.
pub(crate) struct Source<'a> {
    file: &'a str,
    line_starts: Vec<usize>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(file: &'a str, text: &str) -> Self {
        let line_ends = text.bytes().enumerate().filter(|&(_, b)| b == b'\n');
        let line_starts = std::iter::once(0).chain(line_ends.map(|(i, _)| i + 1)).collect();
        Self { file, line_starts }
    }

    pub(crate) fn file(&self) -> &'a str {
        self.file
    }

    /// Returns the line, from 1, that contains a byte of the text.
    pub(crate) fn line(&self, offset: usize) -> u32 {
        let line = self.line_starts.partition_point(|&start| start <= offset);
        u32::try_from(line).unwrap_or(u32::MAX)
    }

    /// Parses the text as JSON.
    pub(crate) fn read<'t>(&self, text: &'t str) -> Result<ast::Value<'t>, WorkloadError> {
        let broken = |offset, problem| WorkloadError {
            file: self.file.to_owned(),
            line: self.line(offset),
            field: String::new(),
            problem,
            unsupported: false,
        };
        let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|error| {
            let range = error.range();
            let near = text.get(range.start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
            if !text.trim_start().starts_with(['{', '[', '/', '#']) {
                let begins = shown(text.trim_start().lines().next().unwrap_or_default());
                let at = text.len() - text.trim_start().len();
                return broken(
                    at,
                    format!(
                        "a workload is an rt-app file, in JSON; it begins with '{{', not with '{begins}'"
                    ),
                );
            }
            let reason = lower_first(&error.kind().to_string());
            broken(range.start, format!("this is not JSON: {reason} at '{}'", shown(near.trim())))
        })?;
        parsed.value.ok_or_else(|| broken(0, "the file is empty; it needs a \"tasks\" object".to_owned()))
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_suspend_is_completed_and_nothing_else() {
        let check = |text: &str, expected: &str| assert_eq!(complete(text), expected);
        check("\u{feff}{}", "{}");
        check("{\n \"suspend\",\n \"run\": 1 }", "{\n \"suspend\": null,\n \"run\": 1 }");
        check("\t\"suspend2\"\r\n}", "\t\"suspend2\": null\r\n}");
        check("\"suspend\" : \"me\",\n", "\"suspend\" : \"me\",\n");
        check("{ \"suspend\" }", "{ \"suspend\" }");
    }

    #[test]
    fn lines_count_from_one() {
        let source = Source::new("f", "a\nbc\n");
        let check = |offset, line| assert_eq!(source.line(offset), line, "{offset}");
        check(0, 1);
        check(1, 1);
        check(2, 2);
        check(5, 3);
        check(99, 3);
    }
}
