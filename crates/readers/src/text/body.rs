//! An event's own words: the kernel's (`comm=make pid=7 prio=120 target_cpu=001`), or those of trace-cmd's plugins
//! (`make:7 [120] CPU:001`).

use crate::seen::{Name, SeenWhat, Who};
use keel_trace::Why;

const SWITCH: &str = "a sched_switch has other words than known";
const WAKEUP: &str = "a wakeup has other words than known";
const MIGRATE: &str = "a sched_migrate_task has other words than known";
const FORK: &str = "a sched_process_fork has other words than known";
const ONLINE: &str = "a cpuhp_enter has other words than known";

/// What the words of `event` tell; why not, where they are not known.
pub(super) fn read(event: &str, words: &[u8]) -> Result<SeenWhat, &'static str> {
    let words = words.trim_ascii();
    match event {
        "sched_switch" => switch(words).ok_or(SWITCH),
        "sched_waking" => wakeup(words).map(|(task, target)| SeenWhat::Waking { task, target }).ok_or(WAKEUP),
        "sched_wakeup" => wakeup(words).map(|(task, target)| SeenWhat::Wakeup { task, target }).ok_or(WAKEUP),
        "sched_wakeup_new" => {
            wakeup(words).map(|(task, target)| SeenWhat::WakeupNew { task, target }).ok_or(WAKEUP)
        }
        "sched_migrate_task" => migrate(words).ok_or(MIGRATE),
        "sched_process_fork" => forked(words).ok_or(FORK),
        "task_rename" => renamed(words).ok_or("a task_rename has other words than known"),
        "cpuhp_enter" => online(words).ok_or(ONLINE),
        _ => Ok(SeenWhat::Other),
    }
}

fn switch(words: &[u8]) -> Option<SeenWhat> {
    let (left, right) = split(words, b" ==> ")?;
    if let (Some(prev), Some(next)) = (task(left, "prev_"), task(right, "next_")) {
        let state = value(left, b" prev_state=")?;
        let why = if state.contains(&b'x') { Why::Exited } else { why(state)? };
        return Some(SeenWhat::Switch { prev, why, next });
    }
    // make:7 [120] S
    let end = left.iter().rposition(u8::is_ascii_whitespace)?;
    let (prev, state) = left.split_at(end);
    Some(SeenWhat::Switch { prev: plugin(prev)?, why: why(state.trim_ascii())?, next: plugin(right)? })
}

/// A state's letters: `S`, `R+`, `D|K`.
fn why(state: &[u8]) -> Option<Why> {
    if state.is_empty() || state.len() > 16 {
        return None;
    }
    Some(match state {
        b"R" => Why::Preempted,
        _ if state.contains(&b'+') => Why::Preempted,
        _ if state.iter().any(|letter| b"XZ".contains(letter)) => Why::Exited,
        _ => Why::Blocked,
    })
}

fn wakeup(words: &[u8]) -> Option<(Who, u32)> {
    if let Some(who) = task(words, "") {
        return Some((who, small(value(words, b" target_cpu=")?)?));
    }
    let cpu = words.windows(4).rposition(|four| four == b"CPU:")?;
    let target = small(&words[cpu + 4..])?;
    // make:7 [120] success=1 CPU:001, make:7 [120]<CPU:001>
    let end = words[..cpu].iter().rposition(|&byte| byte == b']')?;
    Some((plugin(&words[..=end])?, target))
}

fn migrate(words: &[u8]) -> Option<SeenWhat> {
    let (from, to) = (small(value(words, b" orig_cpu=")?)?, small(value(words, b" dest_cpu=")?)?);
    Some(SeenWhat::Migrate { task: task(words, "")?, from, to })
}

fn forked(words: &[u8]) -> Option<SeenWhat> {
    Some(SeenWhat::Forked { child: task(words, "child_")? })
}

fn renamed(words: &[u8]) -> Option<SeenWhat> {
    let pid = small(words.strip_prefix(b"pid=").or_else(|| value(words, b" pid="))?)?;
    let (_, rest) = split(words, b" newcomm=")?;
    let end = rest.windows(15).rposition(|part| part == b" oom_score_adj=").unwrap_or(rest.len());
    Some(SeenWhat::Named { task: Who { pid, name: Name::new(&rest[..end]), prio: None } })
}

/// `cpu: 0001 target: 226 step: 229 (sched_cpu_activate)`
fn online(words: &[u8]) -> Option<SeenWhat> {
    let target = small(words.strip_prefix(b"cpu: ")?)?;
    if split(words, b"(sched_cpu_activate").is_some() {
        return Some(SeenWhat::Online { target, up: true });
    }
    if split(words, b"(sched_cpu_deactivate").is_some() {
        return Some(SeenWhat::Online { target, up: false });
    }
    Some(SeenWhat::Other)
}

/// `{prefix}comm=make {prefix}pid=7 {prefix}prio=120`; the name may hold spaces.
fn task(words: &[u8], prefix: &str) -> Option<Who> {
    let at = |key: &str| find(words, format_args!("{prefix}{key}="));
    let comm = at("comm")?;
    let pid = at("pid").filter(|pid| pid.0 > comm.1)?;
    let prio = find(words, format_args!("{prefix}prio=")).and_then(|prio| small(&words[prio.1..]));
    let name = Name::new(words[comm.1..pid.0].trim_ascii_end());
    Some(Who { pid: small(&words[pid.1..])?, name, prio: prio.and_then(|prio| i32::try_from(prio).ok()) })
}

/// Where a key begins and ends, at the beginning or after a space.
fn find(words: &[u8], key: std::fmt::Arguments<'_>) -> Option<(usize, usize)> {
    let mut buffer = [0; 32];
    let mut rest = &mut buffer[..];
    std::io::Write::write_fmt(&mut rest, key).ok()?;
    let left = rest.len();
    let key = &buffer[..32 - left];
    let mut places = words.windows(key.len()).enumerate().filter(|(_, part)| *part == key).map(|(at, _)| at);
    let at = places.find(|&at| at == 0 || words[at - 1] == b' ')?;
    Some((at, at + key.len()))
}

/// `make:7 [120]`
fn plugin(words: &[u8]) -> Option<Who> {
    let words = words.trim_ascii();
    let open = words.iter().rposition(|&byte| byte == b'[')?;
    let prio = small(words.get(open + 1..)?);
    let who = words[..open].trim_ascii();
    let colon = who.iter().rposition(|&byte| byte == b':')?;
    let pid = small(&who[colon + 1..])?;
    Some(Who { pid, name: Name::new(&who[..colon]), prio: prio.and_then(|prio| i32::try_from(prio).ok()) })
}

/// What follows a key, up to the next space.
fn value<'a>(words: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let (_, rest) = split(words, key)?;
    let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
    Some(&rest[..end])
}

fn split<'a>(words: &'a [u8], at: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let place = words.windows(at.len()).position(|part| part == at)?;
    Some((&words[..place], &words[place + at.len()..]))
}

/// The number that `words` begin with.
fn small(words: &[u8]) -> Option<u32> {
    let digits = words.iter().take_while(|byte| byte.is_ascii_digit()).count();
    u32::try_from(super::head::number(&words[..digits])?).ok()
}
