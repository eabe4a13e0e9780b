//! Messages about wrong arguments, where those of the parser are for programmers or mislead: explains in plain words
//! why an argument is not a valid number.

use crate::args::Cli;
use crate::text::shown;
use clap::CommandFactory;
use clap::error::{ContextKind, ErrorKind};
use std::error::Error as _;
use std::num::{IntErrorKind, ParseIntError};

/// Returns the error, in plain words if it is about an invalid number, and without a tip that misleads.
pub(crate) fn in_words(error: clap::Error) -> clap::Error {
    match sentence(&error) {
        // As clap phrases it for other values, without the usage.
        Some(sentence) => {
            let text = format!("{sentence}\n\nFor more information, try '--help'.\n");
            clap::Error::raw(ErrorKind::ValueValidation, text).with_cmd(&Cli::command())
        }
        None => without_escape(error),
    }
}

/// Leaves out the tip to write an unknown option after `--`: there, keel would start it as a program.
fn without_escape(mut error: clap::Error) -> clap::Error {
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Suggested);
    }
    error
}

fn sentence(error: &clap::Error) -> Option<String> {
    let source = error.source()?;
    let [arg, value] = [ContextKind::InvalidArg, ContextKind::InvalidValue].map(|kind| error.get(kind));
    let value = shown(&value?.to_string());
    let why = match source.downcast_ref::<ParseIntError>() {
        Some(source) => why(source.kind(), &value).to_owned(),
        None => bounds(&source.to_string())?,
    };
    Some(format!("invalid value '{value}' for '{}': {why}", arg?))
}

/// Returns the sentence for the parser's `0 is not in 1..=1000`.
fn bounds(source: &str) -> Option<String> {
    let (least, most) = source.split_once(" is not in ")?.1.split_once("..")?;
    match most.strip_prefix('=') {
        Some(most) => Some(format!("write {least} to {most}")),
        // The parser writes a bound for numbers without one, too.
        None => Some(format!("write at least {least}")),
    }
}

fn why(kind: &IntErrorKind, value: &str) -> &'static str {
    match kind {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "the number is too large",
        IntErrorKind::Zero => "it must be at least 1",
        _ if value.starts_with('-') => "it cannot be negative",
        _ => "it must be a whole number, as in 42",
    }
}

#[cfg(test)]
mod tests {
    use super::{bounds, in_words};
    use crate::args::Cli;
    use clap::Parser;

    #[test]
    fn an_unknown_option_is_not_to_be_started_as_a_program() {
        let check = |args: &[&str], tip: &str| {
            let error = in_words(Cli::try_parse_from(args).expect_err("it is unknown")).to_string();
            assert!(error.contains(tip) && !error.contains("-- --"), "{error}");
        };
        check(&["keel", "sim", "fifo", "--sed", "1"], "a similar argument exists: '--seed'");
        check(&["keel", "sim", "--bogus"], "unexpected argument '--bogus'");
    }

    #[test]
    fn bounds_are_told_in_words() {
        let check = |source: &str, expected: Option<&str>| {
            assert_eq!(bounds(source).as_deref(), expected, "{source}");
        };
        check("0 is not in 1..=1000", Some("write 1 to 1000"));
        check("-3 is not in 1..=99", Some("write 1 to 99"));
        check("5 is not in 64..9223372036854775807", Some("write at least 64"));
        check("write NAME=LOW..HIGH with the name", None);
    }
}
