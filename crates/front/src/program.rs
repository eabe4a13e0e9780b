//! Finds the file of a scheduler's own program, and reports how the program ended.

use crate::caller::Caller;
use crate::failure::Failure;
use crate::text::shown;
use keel_lab::{ObjectBytes, ProgramEnd, SchedulerSource};
use keel_recipe::Recipe;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Returns the program and its file's name, if the arguments name one.
pub fn source(argv: &[OsString]) -> Result<Option<(SchedulerSource, String)>, Failure> {
    let Some(given) = argv.first() else { return Ok(None) };
    let path = find(given).ok_or_else(|| {
        let shown = shown(&given.to_string_lossy());
        Failure::input(match Path::new(given).is_dir() {
            true => format!("no program '{shown}': it is a folder"),
            false => {
                format!("no program '{shown}': it is neither an executable file nor a command in PATH")
            }
        })
    })?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut argv = argv.to_vec();
    argv[0] = path.clone().into_os_string();
    let bytes = ObjectBytes::of_program(argv);
    let source = SchedulerSource { name, bytes, recipe: Recipe::default() };
    Ok(Some((source, path.to_string_lossy().into_owned())))
}

/// Returns where `cargo install --root` puts this version of the program: `PROGRAMS/NAME-VERSION/bin/NAME`.
pub fn place_of(name: &str, version: &str, programs: &Path) -> PathBuf {
    programs.join(format!("{name}-{version}")).join("bin").join(name)
}

/// Returns the program in a command, in this version, from the folder of programs.
pub fn of_version(command: &str, version: &str, programs: &Path) -> Result<SchedulerSource, Failure> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| Failure::input(format!("{}: it is not a command", shown(command))))?;
    let (name, file) = (&words[0], place_of(&words[0], version, programs));
    if !file.is_file() {
        let root = programs.join(format!("{name}-{version}"));
        let missing = format!("{name} {version} is not in {}", shown(&programs.to_string_lossy()));
        return Err(Failure::input(missing).help(format!(
            "install it: cargo install --locked --root {} {name}@{version}",
            shown(&root.to_string_lossy())
        )));
    }
    let argv: Vec<OsString> =
        std::iter::once(file.into_os_string()).chain(words[1..].iter().map(OsString::from)).collect();
    let found = source(&argv)?;
    let (source, _) = found.ok_or_else(|| Failure::input(format!("no program {}", shown(name))))?;
    Ok(SchedulerSource { name: format!("{command} ({version})"), ..source })
}

/// Warns if a program was given where an object is expected: only the object in it runs, without its user-space half.
pub(crate) fn note_half(given: &str, source: &SchedulerSource, caller: &dyn Caller) {
    let is_half = source.bytes.get().is_some_and(|bytes| is_executable(bytes) && has_object(bytes))
        && source.recipe.is_empty();
    if is_half {
        let given = shown(given);
        caller.note(&format!(
            "only the BPF object in {given} runs, without the program around it; to run the program, put it behind \
             --, as in keel sim -- {given}"
        ));
    }
}

/// Returns whether it names the section that holds a scheduler's object. Section names are near the end.
fn has_object(bytes: &[u8]) -> bool {
    const SECTION: &[u8] = b".bpf.objs";
    bytes.windows(SECTION.len()).rev().any(|part| part == SECTION)
}

/// Returns whether it is an ELF executable, not an object.
fn is_executable(bytes: &[u8]) -> bool {
    // `e_type`: ET_EXEC and ET_DYN.
    bytes.starts_with(b"\x7fELF") && matches!(bytes.get(16..18), Some([2 | 3, 0]))
}

/// Returns whether a shell would execute a file of this name.
pub fn is_in_path(given: &str) -> bool {
    !given.is_empty() && Path::new(given).components().count() == 1 && find(&OsString::from(given)).is_some()
}

/// Returns the file that a shell would execute for this command.
fn find(given: &OsString) -> Option<PathBuf> {
    let direct = Path::new(given);
    if direct.components().count() > 1 {
        return direct.canonicalize().ok().filter(|path| path.is_file());
    }
    let folders = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&folders).map(|folder| folder.join(given)).find(|path| path.is_file());
    found?.canonicalize().ok()
}

/// Returns the content of an scx_stats server's answer without its envelope, or the whole answer if it has a different
/// form.
fn figures(answer: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(answer).ok();
    let figures = value.as_ref().and_then(|value| value.pointer("/args/resp"));
    figures.map_or_else(|| answer.to_owned(), ToString::to_string)
}

/// Returns the program's statistics: one line each, safe to print.
pub fn statistics(end: &ProgramEnd) -> impl Iterator<Item = String> {
    let line = |(at_ns, answer): &(u64, String)| {
        format!("stats: {:.3} s: {}", *at_ns as f64 / 1e9, shown(&figures(answer)))
    };
    end.stats.iter().map(line)
}

/// Reports how the program ended, unless it succeeded.
pub fn tell(name: &str, end: &ProgramEnd, caller: &dyn Caller) {
    let words = shown(&keel_lab::last_words(&end.output));
    let how = match end.exit_code {
        Some(0) => None,
        Some(code) => Some(format!("ended with exit code {code}")),
        None => Some("did not end when it got SIGINT, and was killed".to_owned()),
    };
    if let Some(how) = how {
        caller.note(&format!("{} {how}; its last output: {words}", shown(name)));
    }
    for refused in &end.refused {
        caller.note(&format!("{} was refused: {}", shown(name), shown(refused)));
    }
}

#[cfg(test)]
mod tests {
    use super::{figures, is_executable};

    #[test]
    fn only_the_figures_of_an_answer_are_shown() {
        let check = |answer, expected: &str| assert_eq!(figures(answer), expected);
        check(r#"{"errno":0,"args":{"resp":{"busy":1.5}}}"#, r#"{"busy":1.5}"#);
        check(r#"{"errno":22,"args":{}}"#, r#"{"errno":22,"args":{}}"#);
        check("no JSON", "no JSON");
    }

    #[test]
    fn executables_are_told_from_objects() {
        let check = |e_type: u8, expected| {
            let mut header = [0; 64];
            header[..4].copy_from_slice(b"\x7fELF");
            header[16] = e_type;
            assert_eq!(is_executable(&header), expected, "{e_type}");
        };
        check(1, false);
        check(2, true);
        check(3, true);
        assert!(!is_executable(b"\x7fELF"));
    }
}
