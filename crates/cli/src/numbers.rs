//! Explains in plain words why an argument is not a valid number. The parser's own message is for programmers.

use crate::args::Cli;
use crate::text::shown;
use clap::CommandFactory;
use clap::error::{ContextKind, ErrorKind};
use std::error::Error as _;
use std::num::{IntErrorKind, ParseIntError};

/// Returns the error, in plain words if it is about an invalid number, otherwise unchanged.
pub(crate) fn in_words(error: clap::Error) -> clap::Error {
    match sentence(&error) {
        // As clap phrases it for other values, without the usage.
        Some(sentence) => {
            let text = format!("{sentence}\n\nFor more information, try '--help'.\n");
            clap::Error::raw(ErrorKind::ValueValidation, text).with_cmd(&Cli::command())
        }
        None => error,
    }
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
    use super::bounds;

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
