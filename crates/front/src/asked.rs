//! A scheduler with its own settings: `my.bpf.o:kick=1:slice_ns=5000`.
//!
//! Settings are split off from the right: text after a colon that contains an equals sign is a setting, until what
//! remains is a built-in name or a file. So a path may contain both characters.
//!
//! A scheduler may also be a program with arguments: `scx_lavd --performance`.

use crate::failure::Failure;
use crate::lab::Lab;
use crate::parse;
use crate::program;
use crate::text::shown;
use std::ffi::OsString;
use std::path::Path;

/// A scheduler as named on the command line.
#[derive(Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The built-in name, or the path.
    pub scheduler: &'a str,
    /// Its own settings, in the order given.
    pub settings: Vec<(String, String)>,
}

impl<'a> Asked<'a> {
    /// Splits off the settings.
    pub fn read(lab: &Lab, given: &'a str) -> Result<Self, Failure> {
        if Self::is_command(lab, given) {
            return Ok(Self { scheduler: given, settings: Vec::new() });
        }
        Self::split(given, |name| (lab.scheduler)(name).is_some() || Path::new(name).exists())
    }

    /// Returns whether this is a program with arguments: it contains a space or names a file in `PATH`, and is not a
    /// built-in name or a file.
    fn is_command(lab: &Lab, given: &str) -> bool {
        let is_there = |name: &str| (lab.scheduler)(name).is_some() || Path::new(name).exists();
        // A path may contain spaces, and settings may follow it.
        let is_known = is_there(given) || given.match_indices(':').any(|(at, _)| is_there(&given[..at]));
        !is_known && (given.contains(' ') || program::is_in_path(given))
    }

    /// Returns the program and its arguments, split as a shell would, if this is a command.
    pub fn command(&self, lab: &Lab) -> Result<Option<Vec<OsString>>, Failure> {
        if !Self::is_command(lab, self.scheduler) {
            return Ok(None);
        }
        let open = || Failure::input(format!("{}: it has an unclosed quote", shown(self.scheduler)));
        let words = shlex::split(self.scheduler).ok_or_else(open)?;
        Ok(Some(words.into_iter().map(OsString::from).collect()))
    }

    fn split(given: &'a str, is_there: impl Fn(&str) -> bool) -> Result<Self, Failure> {
        let (mut scheduler, mut settings) = (given, Vec::new());
        while !is_there(scheduler) {
            let Some((rest, setting)) = scheduler.rsplit_once(':') else { break };
            if !setting.contains('=') && !is_there(rest) {
                break;
            }
            let setting = parse::setting(setting).map_err(|_| wrong(given, setting))?;
            settings.insert(0, setting);
            scheduler = rest;
        }
        Ok(Self { scheduler, settings })
    }

    /// Returns the part after the name: `:kick=1:slice_ns=5000`.
    pub fn suffix(&self) -> String {
        self.settings.iter().map(|(name, value)| format!(":{name}={value}")).collect()
    }
}

fn wrong(given: &str, setting: &str) -> Failure {
    Failure::input(format!("{}: '{}' is not a setting", shown(given), shown(setting)))
        .help("write SCHED:NAME=VALUE with the name of a global variable, as in my.bpf.o:slice_ns=5000000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_stand_behind_what_is_there() {
        let there = ["fifo", "a.bpf.o", "odd:path/x.bpf.o", "a:b=c.bpf.o", "d:x=1/s.bpf.o"];
        let check = |given: &str, scheduler: &str, settings: &[(&str, &str)]| {
            let asked = Asked::split(given, |name| there.contains(&name)).expect(given);
            let settings: Vec<_> = settings.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect();
            assert_eq!(asked, Asked { scheduler, settings }, "{given}");
            assert_eq!(format!("{scheduler}{}", asked.suffix()), given);
        };
        check("fifo", "fifo", &[]);
        check("fifo:slice_ns=5000", "fifo", &[("slice_ns", "5000")]);
        check("a.bpf.o:x=1:y=2", "a.bpf.o", &[("x", "1"), ("y", "2")]);
        check("a.bpf.o:bug=one+two", "a.bpf.o", &[("bug", "one+two")]);
        check("odd:path/x.bpf.o", "odd:path/x.bpf.o", &[]);
        check("odd:path/x.bpf.o:x=-1", "odd:path/x.bpf.o", &[("x", "-1")]);
        check("a:b=c.bpf.o", "a:b=c.bpf.o", &[]);
        check("a:b=c.bpf.o:x=1", "a:b=c.bpf.o", &[("x", "1")]);
        check("d:x=1/s.bpf.o:x=2", "d:x=1/s.bpf.o", &[("x", "2")]);
        check("nobody:x=1", "nobody", &[("x", "1")]);
        check("no:body", "no:body", &[]);
    }

    #[test]
    fn a_path_with_a_space_is_no_command() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("my own.bpf.o");
        std::fs::write(&path, "").expect("a file");
        let path = path.to_str().expect("a plain path");
        let check = |given: &str, scheduler: &str, settings: usize, is_command: bool| {
            let asked = Asked::read(&crate::lab::REAL, given).expect(given);
            assert_eq!((asked.scheduler, asked.settings.len()), (scheduler, settings), "{given}");
            let command = asked.command(&crate::lab::REAL).expect(given);
            assert_eq!(command.is_some(), is_command, "{given}");
        };
        check(path, path, 0, false);
        check(&format!("{path}:x=1"), path, 1, false);
        check("nobody --of=this:name=1", "nobody --of=this:name=1", 0, true);
    }

    #[test]
    fn a_setting_of_no_variable_is_refused() {
        let check = |given: &str, setting: &str| {
            let failure = Asked::split(given, |name| name == "fifo").unwrap_err();
            assert_eq!(failure.sentence(), format!("{given}: '{setting}' is not a setting"));
        };
        check("fifo:slice_ns", "slice_ns");
        check("fifo:slice_ns=", "slice_ns=");
        check("fifo:=1", "=1");
        check("fifo:1x=1", "1x=1");
        check("fifo:", "");
    }
}
