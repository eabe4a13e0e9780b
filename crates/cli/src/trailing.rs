//! Checks a command that follows keel's own options.

use crate::failure::Failure;
use crate::text::shown;
use std::ffi::OsString;

/// Rejects an unknown option that was parsed as the command.
///
/// # Errors
/// The first word begins with a hyphen, which no command's name does.
pub(crate) fn begins_with_a_name(of: &str, command: &[OsString]) -> Result<(), Failure> {
    let first = command.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    if !first.starts_with('-') {
        return Ok(());
    }
    let option = first.split('=').next().unwrap_or_default();
    Err(Failure::input(format!("{of} has no option '{}'", shown(option)))
        .help(format!("see {of} --help; a command and its own options come after keel's")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_option_is_no_command() {
        let check = |command: &[&str], expected: Option<&str>| {
            let command: Vec<OsString> = command.iter().map(OsString::from).collect();
            let found = begins_with_a_name("keel record", &command);
            assert_eq!(found.err().map(|failure| failure.sentence().to_owned()), expected.map(str::to_owned));
        };
        check(&[], None);
        check(&["sleep", "-x"], None);
        check(&["./--odd"], None);
        check(&["--durtion", "3s"], Some("keel record has no option '--durtion'"));
        check(&["--durtion=3s"], Some("keel record has no option '--durtion'"));
        check(&["-d"], Some("keel record has no option '-d'"));
    }
}
