//! Reads how the kernel was built and configured: settings for the machine file, and remarks.

use crate::file::Machine;
use crate::shape::Shape;
use crate::tree::Tree;
use std::io::Read;

/// The maximum length of a name. The rest of a longer one is dropped.
const MOST_NAME: usize = 80;
/// The maximum size of a kernel's unpacked configuration.
const MOST_CONFIG: u64 = 4 << 20;
/// Settings that change how Linux schedules and that machine files lack: the file and its description.
const OTHERS: &[(&str, &str)] = &[
    ("proc/sys/kernel/osrelease", "kernel"),
    ("sys/kernel/sched_ext/root/ops", "sched_ext scheduler"),
    ("sys/devices/system/cpu/isolated", "isolated CPUs"),
    ("sys/devices/system/cpu/nohz_full", "CPUs without ticks"),
    ("sys/devices/system/cpu/smt/control", "SMT"),
    ("proc/sys/kernel/sched_rt_runtime_us", "real-time runtime in us"),
    ("proc/sys/kernel/sched_util_clamp_min", "least clamped utilisation"),
];

/// Returns the machine's name: its processor, and the number of processors.
pub(crate) fn name(tree: &Tree, shape: &Shape) -> String {
    let cpuinfo = tree.text("proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let plain = |text: String| text.chars().filter(|c| !c.is_control()).take(MOST_NAME).collect::<String>();
    let model = value("model name").or_else(|| value("Model")).map(plain).filter(|name| !name.is_empty());
    format!("{}, {} CPUs", model.unwrap_or_else(|| "captured".to_owned()), shape.cpus())
}

pub(crate) fn see(tree: &Tree, machine: &mut Machine, unseen: &mut Vec<String>) {
    match hz(tree) {
        Some((hz, source)) => machine.hz = Some((hz, source)),
        None => {
            unseen.push("HZ is unknown: neither /proc/config.gz nor /boot/config-* can be read".to_owned())
        }
    }
    match tree.number("proc/sys/kernel/sched_autogroup_enabled") {
        Some(on) => machine.autogroup = Some(on != 0),
        // A kernel without the setting has no autogroups. A container may lack the file.
        None if tree.text("proc/sys/kernel/osrelease").is_some() => machine.autogroup = Some(false),
        None => unseen.push("the autogroup setting is unknown".to_owned()),
    }
    match tree.text("proc/cmdline") {
        Some(words) => machine.skew_tick = Some(words.split_whitespace().any(|word| word == "skew_tick=1")),
        None => unseen.push("skew_tick is unknown: /proc/cmdline cannot be read".to_owned()),
    }
    if let Some(ns) = tree.number("proc/self/timerslack_ns").filter(|&ns| ns <= 1_000_000_000) {
        machine.constant("costs", "timer_slack_ns", ns, "/proc/self/timerslack_ns".to_owned());
    }
    for (file, what) in OTHERS {
        if let Some(value) = tree.text(file) {
            machine.remark(&format!("{what}: {value}"));
        }
    }
}

/// Returns `CONFIG_HZ` and its source.
fn hz(tree: &Tree) -> Option<(u64, String)> {
    let of = |config: &str| {
        let value = config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="))?;
        value.trim().parse().ok().filter(|hz| (1..=10_000).contains(hz))
    };
    if let Some(packed) = tree.bytes("proc/config.gz") {
        let mut config = String::new();
        let unpacked =
            flate2::read::GzDecoder::new(&packed[..]).take(MOST_CONFIG).read_to_string(&mut config);
        if unpacked.is_ok()
            && let Some(hz) = of(&config)
        {
            return Some((hz, "/proc/config.gz".to_owned()));
        }
    }
    let release = tree.text("proc/sys/kernel/osrelease").filter(|release| !release.contains('/'))?;
    let config = tree.text(&format!("boot/config-{release}"))?;
    Some((of(&config)?, format!("/boot/config-{release}")))
}
