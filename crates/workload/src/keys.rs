//! The meanings of keys in a task or phase.

/// An event: something that a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Runtime,
    Run,
    Sleep,
    Mem,
    IoRun,
    Lock,
    Unlock,
    Signal,
    Broadcast,
    Wait,
    Sync,
    Barrier,
    Timer,
    Resume,
    Suspend,
    Yield,
    Fork,
    /// The steps of the extension, which have no key in rt-app.
    Steps,
}

/// rt-app recognises an event by the beginning of its key, in this order: `run1` is a `run`.
const EVENTS: [(&str, Event); 17] = [
    ("runtime", Event::Runtime),
    ("run", Event::Run),
    ("sleep", Event::Sleep),
    ("mem", Event::Mem),
    ("iorun", Event::IoRun),
    ("lock", Event::Lock),
    ("unlock", Event::Unlock),
    ("signal", Event::Signal),
    ("broad", Event::Broadcast),
    ("wait", Event::Wait),
    ("sync", Event::Sync),
    ("barrier", Event::Barrier),
    ("timer", Event::Timer),
    ("resume", Event::Resume),
    ("suspend", Event::Suspend),
    ("yield", Event::Yield),
    ("fork", Event::Fork),
];

/// A setting of a task or phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Instance,
    Delay,
    Phases,
    Loop,
    Cpus,
    NodesMembind,
    Policy,
    Priority,
    TaskGroup,
    Evenkeel,
    /// A setting of rt-app that has no effect here. The text says why.
    Idle(&'static str),
    /// Part of the grammar that rt-app dropped before version 1.
    Legacy,
}

/// What a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Event(Event),
    Setting(Setting),
    Comment,
    Unknown,
}

const DEADLINE_ONLY: &str = "has no effect: it belongs to SCHED_DEADLINE, which is not modelled";
const NO_CLAMPS: &str = "has no effect: utilisation clamps are not modelled";

/// Returns the meaning of `key`.
pub(crate) fn meaning(key: &str) -> Key {
    let setting = match key {
        "instance" => Setting::Instance,
        "delay" => Setting::Delay,
        "phases" => Setting::Phases,
        "loop" => Setting::Loop,
        "cpus" => Setting::Cpus,
        "nodes_membind" => Setting::NodesMembind,
        "policy" => Setting::Policy,
        "priority" => Setting::Priority,
        "taskgroup" => Setting::TaskGroup,
        "evenkeel" => Setting::Evenkeel,
        "dl-runtime" | "dl-period" | "dl-deadline" | "period" | "deadline" => Setting::Idle(DEADLINE_ONLY),
        "util_min" | "util_max" => Setting::Idle(NO_CLAMPS),
        "exec" | "lock_order" | "resources" => Setting::Legacy,
        _ => return other(key),
    };
    Key::Setting(setting)
}

fn other(key: &str) -> Key {
    if let Some(event) = event(key) {
        return Key::Event(event);
    }
    let comment = key.starts_with(['_', '#']) || key.starts_with("//") || key.starts_with("comment");
    if comment { Key::Comment } else { Key::Unknown }
}

/// Returns the event that a key begins with.
pub(crate) fn event(key: &str) -> Option<Event> {
    EVENTS.iter().find(|(prefix, _)| key.starts_with(prefix)).map(|&(_, event)| event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_known_by_how_they_begin() {
        let check = |key, expected| assert_eq!(meaning(key), expected, "{key}");
        check("run", Key::Event(Event::Run));
        check("run17", Key::Event(Event::Run));
        check("runtime2", Key::Event(Event::Runtime));
        check("broadcast", Key::Event(Event::Broadcast));
        check("sleeping", Key::Event(Event::Sleep));
        check("loop", Key::Setting(Setting::Loop));
        check("loop1", Key::Unknown);
        check("lock_order", Key::Setting(Setting::Legacy));
        check("_note", Key::Comment);
        check("slep", Key::Unknown);
    }
}
