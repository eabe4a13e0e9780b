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
    let source = error.source()?.downcast_ref::<ParseIntError>()?;
    let [arg, value] = [ContextKind::InvalidArg, ContextKind::InvalidValue].map(|kind| error.get(kind));
    let value = shown(&value?.to_string());
    let why = why(source.kind(), &value);
    Some(format!("invalid value '{value}' for '{}': {why}", arg?))
}

fn why(kind: &IntErrorKind, value: &str) -> &'static str {
    match kind {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "the number is too large",
        IntErrorKind::Zero => "it must be at least 1",
        _ if value.starts_with('-') => "it cannot be negative",
        _ => "it must be a whole number, as in 42",
    }
}
