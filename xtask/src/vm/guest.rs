//! What the guest does with each object, and what it reports on its serial line.

use super::expected::{Expected, Outcome};
use super::objects::BpfObject;
use std::collections::BTreeMap;

/// The prefix of a line that reports what happened. A name and a value follow.
const FACT: &str = "@@";
/// The prefix of bpftool's lines.
const SAID: &str = "@>";
/// The prefix of the kernel log's lines.
const LOG: &str = "@!";

/// The guest's message once its own programs run.
pub(super) const BEGUN: &str = "@@ begun";

/// The guest's report about one object.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Facts by name: `registered`, `state`, `ops`, `after`, `gone`.
    pub(super) facts: BTreeMap<String, String>,
    /// bpftool's output.
    pub(super) said: Vec<String>,
    /// The kernel's log from before registering to after detaching.
    pub(super) log: Vec<String>,
}

/// The guest's first and only program. Its tasks spin, sleep, fork, and are limited to one CPU. There are more tasks
/// than CPUs.
pub(super) fn script(objects: &[BpfObject], expected: &Expected, seconds: u32) -> String {
    let mut script = format!(
        r#"#!/bin/busybox sh
export PATH=/bin LD_LIBRARY_PATH=/lib
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t bpf none /sys/fs/bpf
SCX=/sys/kernel/sched_ext
LINK=/sys/fs/bpf/link
echo "{BEGUN}"

load() {{
    pids=
    for i in 1 2 3 4 5 6 7 8; do while :; do :; done & pids="$pids $!"; done
    for i in 1 2 3 4; do while :; do sleep 0.01; done & pids="$pids $!"; done
    for i in 1 2; do while :; do (:); done & pids="$pids $!"; done
    taskset 2 sh -c 'while :; do :; done' & pids="$pids $!"
    sleep {seconds}
    kill -9 $pids
    wait
}}

until_disabled() {{
    for i in $(seq 60); do
        case $(cat $SCX/state) in disabled) break ;; esac
        sleep 0.1
    done
}}

tell() {{
    sed 's/^/{SAID} /' /tmp/said
    dmesg | sed 's/^/{LOG} /'
    echo "{FACT} end $1"
}}

run() {{
    echo "{FACT} object $1"
    dmesg -c > /dev/null
    mkdir $LINK
    bpftool struct_ops register /obj/$1.bpf.o $LINK > /tmp/said 2>&1
    echo "{FACT} registered $?"
    echo "{FACT} state $(cat $SCX/state)"
    echo "{FACT} ops $(cat $SCX/root/ops 2> /dev/null)"
    load
    case $2 in ended) until_disabled ;; esac
    echo "{FACT} after $(cat $SCX/state)"
    rm -r $LINK
    until_disabled
    echo "{FACT} gone $(cat $SCX/state)"
    tell $1
}}

verify() {{
    echo "{FACT} object $1"
    dmesg -c > /dev/null
    bpftool prog loadall /obj/$1.bpf.o /sys/fs/bpf/programs > /tmp/said 2>&1
    echo "{FACT} registered $?"
    rm -r /sys/fs/bpf/programs
    tell $1
}}

cases() {{
    echo "{FACT} object $1"
    dmesg -c > /dev/null
    bpf_cases /obj/$1.bpf.o > /tmp/said 2>&1
    echo "{FACT} registered $?"
    tell $1
}}

"#
    );
    for object in objects {
        let name = &object.name;
        script += &match expected.of(name).outcome {
            _ if !object.cases.is_empty() => format!("cases {name}\n"),
            Outcome::Hangs => format!("verify {name}\n"),
            Outcome::Ended => format!("run {name} ended\n"),
            Outcome::Survives | Outcome::Refused => format!("run {name}\n"),
        };
    }
    script + &format!("echo \"{FACT} done\"\npoweroff -f\n")
}

/// The guest's reports, by object. Objects that it did not finish are left out.
pub(super) fn read(log: &str) -> BTreeMap<String, Found> {
    let mut finished = BTreeMap::new();
    let mut current = Found::default();
    for line in log.lines().map(|line| line.trim_end_matches('\r')) {
        if let Some(text) = line.strip_prefix(SAID) {
            current.said.push(text.trim().to_owned());
        } else if let Some(text) = line.strip_prefix(LOG) {
            current.log.push(without_time(text.trim()).to_owned());
        } else if let Some(text) = line.strip_prefix(FACT) {
            match text.trim().split_once(' ').unwrap_or((text.trim(), "")) {
                ("object", _) => current = Found::default(),
                ("end", name) => drop(finished.insert(name.to_owned(), std::mem::take(&mut current))),
                (fact, value) => drop(current.facts.insert(fact.to_owned(), value.trim().to_owned())),
            }
        }
    }
    finished
}

/// A line of the kernel's log without its time stamp.
fn without_time(line: &str) -> &str {
    let rest = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    rest.map_or(line, |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guests_report_is_read_by_object() {
        let log = "noise\r\n@@ object a\r\n@@ registered 0\r\n@> Registered x\r\n@! [    1.5] sched_ext: hm\r\n\
                   @@ ops \r\n@@ end a\r\n@@ object b\r\n@@ registered 1\r\n";
        let found = read(log);
        assert_eq!(found.len(), 1);
        let a = &found["a"];
        assert_eq!((a.facts["registered"].as_str(), a.facts["ops"].as_str()), ("0", ""));
        assert_eq!((a.said[0].as_str(), a.log[0].as_str()), ("Registered x", "sched_ext: hm"));
    }
}
