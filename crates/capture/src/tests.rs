//! Captures made-up machines, which are trees of files.

use crate::{CaptureError, Captured, capture};
use std::path::Path;

/// Files below the tree's root, and their contents.
type Files<'a> = &'a [(&'a str, &'a str)];

fn tree(files: Files<'_>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a scratch folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("it can be made");
        std::fs::write(path, text).expect("it can be written");
    }
    folder
}

fn captured(files: Files<'_>) -> Result<Captured, CaptureError> {
    capture(tree(files).path(), None)
}

/// Checks that the file contains all of this, and which values could not be read.
fn check(files: Files<'_>, says: &[&str], unseen: &[&str]) {
    let captured = captured(files).expect("it can be captured");
    for part in says {
        assert!(captured.text.contains(part), "no '{part}' in\n{}", captured.text);
    }
    let unseen: Vec<String> = unseen.iter().map(|&line| line.to_owned()).collect();
    assert_eq!(captured.unseen, unseen);
}

const COSTS: &str = "costs were not measured (--measure)";

#[test]
fn without_cpus_there_is_no_machine() {
    assert_eq!(captured(&[]), Err(CaptureError::NoCpus));
    assert_eq!(captured(&[("sys/devices/system/cpu/online", "words\n")]), Err(CaptureError::NoCpus));
}

#[test]
fn a_bare_container_has_cpus_alone() {
    check(
        &[("sys/devices/system/cpu/online", "0-1\n")],
        &["cpus = \"0-1\"\nllcs = [\"0-1\"]\ncores = [\"0\", \"1\"]\n", "least = { value = 1024"],
        &[
            "nodes are unknown; one is assumed",
            "caches are unknown; those CPUs of a node are taken to share one",
            "cores are unknown; each of those CPUs is taken for one",
            "HZ is unknown: neither /proc/config.gz nor /boot/config-* can be read",
            "the autogroup setting is unknown",
            "skew_tick is unknown: /proc/cmdline cannot be read",
            "cache sizes are unknown",
            COSTS,
        ],
    );
}

/// Returns a CPU's files.
fn cpu(n: u32, core: &str, llc: &str) -> Vec<(String, String)> {
    let file =
        |name: &str, text: &str| (format!("sys/devices/system/cpu/cpu{n}/{name}"), format!("{text}\n"));
    vec![
        file("topology/core_cpus_list", core),
        file("cache/index0/level", "1"),
        file("cache/index0/type", "Data"),
        file("cache/index0/size", "48K"),
        file("cache/index0/coherency_line_size", "64"),
        file("cache/index0/shared_cpu_list", core),
        file("cache/index1/level", "1"),
        file("cache/index1/type", "Instruction"),
        file("cache/index1/size", "16K"),
        file("cache/index1/shared_cpu_list", core),
        file("cache/index2/level", "3"),
        file("cache/index2/type", "Unified"),
        file("cache/index2/size", "32M"),
        file("cache/index2/shared_cpu_list", llc),
    ]
}

/// Returns a server: three nodes in a line, SMT, two caches in the first node, CPU 5 offline.
fn server() -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = [
        ("sys/devices/system/cpu/online", "0-4,6-8"),
        ("sys/devices/system/cpu/cpu5/online", "0"),
        ("sys/devices/system/node/node0/cpulist", "0-3"),
        ("sys/devices/system/node/node0/distance", "10 21 99 31"),
        ("sys/devices/system/node/node1/cpulist", "4"),
        ("sys/devices/system/node/node1/distance", "21 10 99 21"),
        ("sys/devices/system/node/node2/cpulist", ""),
        ("sys/devices/system/node/node3/cpulist", "6-8"),
        ("sys/devices/system/node/node3/distance", "31 21 99 10"),
        ("proc/cpuinfo", "processor\t: 0\nmodel name\t: A \"fast\" one\u{1b}[0m"),
        ("proc/cmdline", "ro skew_tick=1 quiet"),
        ("proc/sys/kernel/osrelease", "7.2.0"),
        ("proc/sys/kernel/sched_autogroup_enabled", "0"),
        ("proc/self/timerslack_ns", "50000"),
        ("boot/config-7.2.0", "CONFIG_HZ_250=y\nCONFIG_HZ=250\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_min_freq", "1500000"),
        ("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3000000"),
        ("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_transition_latency", "4294967295"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance"),
        ("sys/devices/system/cpu/cpu4/cpu_capacity", "512"),
        ("sys/devices/system/cpu/cpu0/cpu_capacity", "1024"),
    ]
    .map(|(path, text)| (path.to_owned(), format!("{text}\n")))
    .into();
    let cpus = [(0, "0,2", "0,2"), (1, "1,3", "1,3"), (2, "0,2", "0,2"), (3, "1,3", "1,3"), (4, "4", "4")];
    let more = [(6, "6-7", "6-8"), (7, "6-7", "6-8"), (8, "8", "6-8")];
    files.extend(cpus.into_iter().chain(more).flat_map(|(n, core, llc)| cpu(n, core, llc)));
    files
}

fn borrowed(files: &[(String, String)]) -> Vec<(&str, &str)> {
    files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect()
}

#[test]
fn a_server_is_seen_whole() {
    check(
        &borrowed(&server()),
        &[
            "hz = 250 # /boot/config-7.2.0\nskew_tick = true\nautogroup = false\n",
            "cpus = \"0-3,5\"\nllcs = [\"0,2\", \"1,3\", \"5\"]\ncores = [\"0,2\", \"1,3\", \"5\"]\n",
            "cpus = \"4\"\nllcs = [\"4\"]\ncores = [\"4\"]\n",
            "cpus = \"6-8\"\nllcs = [\"6-8\"]\ncores = [\"6-7\", \"8\"]\n",
            "hops = [\n    [0, 1, 2],\n    [1, 0, 1],\n    [2, 1, 0],\n]\n",
            "l1_kb = { value = 48,",
            "llc_kb = { value = 32768,",
            "timer_slack_ns = { value = 50000,",
            "least = { value = 512,",
            "[[capacity]]\ncpus = \"4\"\nvalue = 512\n",
            "[[timeline]]\nat = 0\noffline = \"5\"\n",
            "# - the governor is performance; simulated machines have schedutil",
            "# - kernel: 7.2.0",
        ],
        &[
            "node 2 has memory and no CPUs; it is left out",
            "how long a frequency change takes is unknown",
            COSTS,
        ],
    );
}

#[test]
fn what_is_written_is_toml_whatever_was_read() {
    let mut files = server();
    for (_, text) in &mut files {
        if text.contains("fast") {
            *text = "model name\t: \"\\ \u{7f}\u{1b} '''\n".to_owned();
        }
    }
    let text = captured(&borrowed(&files)).expect("it can be captured").text;
    let table: toml::Table = text.parse().expect("it is TOML");
    assert_eq!(table["name"].as_str(), Some("\"\\  ''', 9 CPUs"));
}

#[test]
fn this_machine_is_captured_and_measured() {
    let root = Path::new("/");
    let measured = crate::measure::measure(root);
    let captured = capture(root, Some(&measured)).expect("a Linux machine has CPUs");
    let table: toml::Table = captured.text.parse().expect("it is TOML");
    assert!(table["costs"].get("syscall_ns").is_some_and(|cost| cost["value"].as_integer() > Some(0)));
}
