//! Reports internal errors: a panic becomes one sentence with the command that reproduces it, and exit code 70.

use std::io::Write;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};

/// Replaces the panic message. Unwinding continues, so that half-written files are removed; `main`
/// turns the panic into the exit code.
pub(crate) fn install_hook() {
    // Parallel runs may panic together; one message is enough.
    static REPORTED: AtomicBool = AtomicBool::new(false);
    std::panic::set_hook(Box::new(|panic| {
        if !REPORTED.swap(true, Ordering::Relaxed) {
            let _ = write!(std::io::stderr(), "{}", message(panic));
        }
    }));
}

fn message(panic: &PanicHookInfo<'_>) -> String {
    let what = panic.payload_as_str().unwrap_or("something unexpected");
    let place = panic.location().map(|l| format!(" ({}:{})", l.file(), l.line())).unwrap_or_default();
    format!("keel: internal error: {what}{place}\nhelp: {}\n", reproduce())
}

/// Returns the command that reproduces the bug: as given, plus the seed if the default was used.
pub(crate) fn reproduce() -> String {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let command: String = args.iter().map(|arg| format!(" {}", quoted(arg))).collect();
    let makes_runs = args.first().is_some_and(|name| name == "sim" || name == "compare");
    let has_seed = args.iter().any(|arg| arg == "--seed" || arg.starts_with("--seed="));
    let seed = match makes_runs && !has_seed {
        true => format!(" --seed {}", crate::run_args::DEFAULT_SEED),
        false => String::new(),
    };
    format!(
        "please report this, with the files it used: keel{command}{seed}  (keel {})",
        env!("CARGO_PKG_VERSION")
    )
}

/// Quotes an argument for a shell.
fn quoted(arg: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    match !arg.is_empty() && arg.chars().all(plain) {
        true => arg.to_owned(),
        false => format!("'{}'", crate::text::shown(arg).replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn arguments_survive_a_shell() {
        let check = |arg, expected: &str| assert_eq!(quoted(arg), expected);
        check("--machine=64", "--machine=64");
        check("my file", "'my file'");
        check("it's", r"'it'\''s'");
        check("", "''");
        check("$(x)", "'$(x)'");
    }
}
