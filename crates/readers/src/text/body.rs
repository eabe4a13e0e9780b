//! Parses an event's text: the kernel's (`comm=make pid=7 prio=120 target_cpu=001`), or that of trace-cmd's plugins
//! (`make:7 [120] CPU:001`).

use super::keys::{self, ARROW, Keys};
use crate::sched_record::{Name, SchedEvent, Who};
use keel_trace::Why;

const SWITCH: &str = "unknown form of sched_switch";
const WAKEUP: &str = "unknown form of a wakeup";
const MIGRATE: &str = "unknown form of sched_migrate_task";
const FORK: &str = "unknown form of sched_process_fork";
const ONLINE: &str = "unknown form of cpuhp_enter";

/// Parses the text of `event`. Fails with the reason if it is unknown.
#[inline]
pub(super) fn read(event: &[u8], words: &[u8]) -> Result<SchedEvent, &'static str> {
    let words = words.trim_ascii();
    match event {
        b"sched_switch" => switch(words).ok_or(SWITCH),
        b"sched_waking" => {
            wakeup(words).map(|(task, target)| SchedEvent::Waking { task, target }).ok_or(WAKEUP)
        }
        b"sched_wakeup" => {
            wakeup(words).map(|(task, target)| SchedEvent::Wakeup { task, target }).ok_or(WAKEUP)
        }
        b"sched_wakeup_new" => {
            wakeup(words).map(|(task, target)| SchedEvent::WakeupNew { task, target }).ok_or(WAKEUP)
        }
        b"sched_migrate_task" => migrate(words).ok_or(MIGRATE),
        b"sched_process_fork" => forked(words).ok_or(FORK),
        b"task_rename" => renamed(words).ok_or("unknown form of task_rename"),
        b"cpuhp_enter" => online(words).ok_or(ONLINE),
        _ => Ok(SchedEvent::Other),
    }
}

fn switch(words: &[u8]) -> Option<SchedEvent> {
    let left = Keys::find(words, &keys::PREV);
    let arrow = left.arrow?;
    let (before, after) = (&words[..arrow], &words[arrow + ARROW.len()..]);
    if let (Some(prev), Some(next)) = (left.task(), Keys::find(after, &keys::NEXT).task()) {
        let state = word(left.more(0)?);
        let why = if state.contains(&b'x') { Why::Exited } else { why(state)? };
        return Some(SchedEvent::Switch { prev, why, next });
    }
    // make:7 [120] S
    let end = before.iter().rposition(u8::is_ascii_whitespace)?;
    let (prev, state) = before.split_at(end);
    Some(SchedEvent::Switch { prev: plugin(prev)?, why: why(state.trim_ascii())?, next: plugin(after)? })
}

/// Parses a state's letters: `S`, `R+`, `D|K`.
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
    let found = Keys::find(words, &keys::WAKEUP);
    if let Some(who) = found.task() {
        return Some((who, small(found.more(0)?)?));
    }
    let cpu = words.windows(4).rposition(|four| four == b"CPU:")?;
    let target = small(&words[cpu + 4..])?;
    // make:7 [120] success=1 CPU:001, make:7 [120]<CPU:001>
    let end = words[..cpu].iter().rposition(|&byte| byte == b']')?;
    Some((plugin(&words[..=end])?, target))
}

fn migrate(words: &[u8]) -> Option<SchedEvent> {
    let found = Keys::find(words, &keys::MIGRATE);
    let (from, to) = (small(found.more(0)?)?, small(found.more(1)?)?);
    Some(SchedEvent::Migrate { task: found.task()?, from, to })
}

fn forked(words: &[u8]) -> Option<SchedEvent> {
    Some(SchedEvent::Forked { child: Keys::find(words, &keys::CHILD).task()? })
}

fn renamed(words: &[u8]) -> Option<SchedEvent> {
    let pid = small(words.strip_prefix(b"pid=").or_else(|| value(words, b" pid="))?)?;
    let (_, rest) = split(words, b" newcomm=")?;
    let end = rest.windows(15).rposition(|part| part == b" oom_score_adj=").unwrap_or(rest.len());
    Some(SchedEvent::Named { task: Who { pid, name: Name::new(&rest[..end]), prio: None } })
}

/// Parses `cpu: 0001 target: 226 step: 229 (sched_cpu_activate)`.
fn online(words: &[u8]) -> Option<SchedEvent> {
    let target = small(words.strip_prefix(b"cpu: ")?)?;
    if split(words, b"(sched_cpu_activate").is_some() {
        return Some(SchedEvent::Online { target, up: true });
    }
    if split(words, b"(sched_cpu_deactivate").is_some() {
        return Some(SchedEvent::Online { target, up: false });
    }
    Some(SchedEvent::Other)
}

/// Parses `make:7 [120]`.
fn plugin(words: &[u8]) -> Option<Who> {
    let words = words.trim_ascii();
    let open = words.iter().rposition(|&byte| byte == b'[')?;
    let prio = small(words.get(open + 1..)?);
    let who = words[..open].trim_ascii();
    let colon = who.iter().rposition(|&byte| byte == b':')?;
    let pid = small(&who[colon + 1..])?;
    Some(Who { pid, name: Name::new(&who[..colon]), prio: prio.and_then(|prio| i32::try_from(prio).ok()) })
}

/// Returns the value after a key, up to the next space.
fn value<'a>(words: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    split(words, key).map(|(_, rest)| word(rest))
}

/// Returns the text before the next space.
fn word(words: &[u8]) -> &[u8] {
    let end = words.iter().position(u8::is_ascii_whitespace).unwrap_or(words.len());
    &words[..end]
}

fn split<'a>(words: &'a [u8], at: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let place = words.windows(at.len()).position(|part| part == at)?;
    Some((&words[..place], &words[place + at.len()..]))
}

/// Parses the number at the beginning of `words`.
#[inline]
pub(super) fn small(words: &[u8]) -> Option<u32> {
    let digits = words.iter().take_while(|byte| byte.is_ascii_digit()).count();
    u32::try_from(super::head::number(&words[..digits])?).ok()
}
