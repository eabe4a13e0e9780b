//! Captures libbpf's messages while it loads, and reduces them to the one sentence that matters.
//!
//! libbpf has one global callback for its messages, whichever thread loads. So only one thread loads at a time.

use crate::errors::LiveError;
use libbpf_rs::{PrintLevel, set_print};
use std::sync::Mutex;

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
static LOADING: Mutex<()> = Mutex::new(());

/// The approximate maximum number of lines that are kept.
const MOST: usize = 4096;
/// The number of the verifier's lines that are shown.
const SHOWN: usize = 6;

/// Calls libbpf, and returns its messages in addition to the result.
pub(crate) fn listen<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
    let _one = LOADING.lock().unwrap_or_else(|e| e.into_inner());
    take();
    let before = set_print(Some((PrintLevel::Info, keep)));
    let result = work();
    set_print(before);
    (result, take())
}

fn keep(level: PrintLevel, text: String) {
    let mut said = SAID.lock().unwrap_or_else(|e| e.into_inner());
    if matches!(level, PrintLevel::Warn) && said.len() < MOST {
        // Keep the end of a long message, such as the verifier's log.
        let lines: Vec<&str> = text.lines().collect();
        said.extend(lines[lines.len().saturating_sub(MOST)..].iter().map(|&line| line.to_owned()));
    }
    tracing::debug!("{}", text.trim_end());
}

fn take() -> Vec<String> {
    std::mem::take(&mut *SAID.lock().unwrap_or_else(|e| e.into_inner()))
}

/// Returns why the object was not loaded, from libbpf's messages. `error` is its return value.
pub(crate) fn refusal(said: &[String], error: &str) -> LiveError {
    let line = |part: &str| said.iter().map(|line| clean(line)).find(|line| line.contains(part));
    if let Some(line) = line("func_proto").filter(|line| line.contains("incompatible")) {
        return LiveError::Lacks(line);
    }
    if let Some(line) = line("(func ksym)").or_else(|| line("(var ksym)")) {
        return LiveError::Lacks(line);
    }
    if let Some(log) = verifier_log(said) {
        return LiveError::Refused(log);
    }
    // The last lines only repeat that it failed.
    let cause = said.iter().map(|line| clean(line)).find(|line| !line.is_empty());
    LiveError::Refused(cause.unwrap_or_else(|| error.to_owned()))
}

/// Returns the verifier's last useful lines: its complaint, and the program.
fn verifier_log(said: &[String]) -> Option<String> {
    let begin = said.iter().position(|line| line.contains("BEGIN PROG LOAD LOG"))?;
    let end = said[begin..].iter().position(|line| line.contains("END PROG LOAD LOG"));
    let end = end.map_or(said.len(), |end| begin + end);
    let program = said[begin].split('\'').nth(1).unwrap_or("?");
    let useful = |line: &&String| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("processed ") && !line.starts_with("verification time")
    };
    let lines: Vec<&String> = said[begin + 1..end].iter().filter(useful).collect();
    let last = &lines[lines.len().saturating_sub(SHOWN)..];
    let last: Vec<&str> = last.iter().map(|line| line.trim()).collect();
    Some(format!("the verifier says of {program}():\n  {}", last.join("\n  ")))
}

fn clean(line: &str) -> String {
    line.trim().trim_start_matches("libbpf: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_matters_is_found() {
        let check = |said: &str, expected: LiveError| {
            let said: Vec<String> = said.lines().map(str::to_owned).collect();
            assert_eq!(refusal(&said, "EINVAL"), expected, "{said:?}");
        };
        let ksym = "extern (func ksym) 'scx_bpf_nothing': not found in kernel or module BTFs";
        let types = "extern (func ksym) 'scx_bpf_x': func_proto [7] incompatible with vmlinux [8]";
        check(&format!("libbpf: {ksym}\nlibbpf: failed to load object"), LiveError::Lacks(ksym.into()));
        check(&format!("libbpf: {types}"), LiveError::Lacks(types.into()));
        check(
            "libbpf: prog 'f': BPF program load failed: -EACCES\nlibbpf: prog 'f': -- BEGIN PROG LOAD LOG --\n\
             0: R1=ctx()\n; u64 x = *p; @ a.c:3\n1: (79) r1 = *(u64 *)(r2 +0)\nR2 !read_ok\n\
             processed 2 insns (limit 1000000)\n-- END PROG LOAD LOG --\nlibbpf: prog 'f': failed to load",
            LiveError::Refused(
                "the verifier says of f():\n  0: R1=ctx()\n  ; u64 x = *p; @ a.c:3\n  \
                 1: (79) r1 = *(u64 *)(r2 +0)\n  R2 !read_ok"
                    .into(),
            ),
        );
        check(
            "libbpf: map 'm': failed to create: -E2BIG",
            LiveError::Refused("map 'm': failed to create: -E2BIG".into()),
        );
        check("", LiveError::Refused("EINVAL".into()));
    }
}
