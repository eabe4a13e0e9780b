//! No file contains details of this machine: its folders, its name, or the hosts that it gets packages from.

use super::all_or;
use crate::Failure;
use crate::tree::{File, files, root};
use std::path::Path;

/// Shorter names (`/`, `vm`) occur everywhere and mean nothing.
const SHORTEST: usize = 6;

pub(super) fn run() -> Result<(), Failure> {
    let mut words = machine_words();
    words.extend(home_words());
    let files = files()?;
    all_or(files.iter().flat_map(|file| named(file, &words)).collect())
}

/// Home folders on any system, written so that this file does not match.
fn home_words() -> Vec<String> {
    ["home", "Users", "root"].iter().map(|folder| format!("/{folder}/")).collect()
}

/// This machine's name and folders.
fn machine_words() -> Vec<String> {
    let mut words: Vec<String> = ["HOME", "CARGO_HOME", "RUSTUP_HOME", "CARGO_TARGET_DIR", "HOSTNAME"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .collect();
    words.push(root().display().to_string());
    words.extend(std::fs::read_to_string("/etc/hostname").ok().map(|name| name.trim().to_owned()));
    words.extend(package_hosts());
    words.retain(|word| word.len() >= SHORTEST);
    words.sort();
    words.dedup();
    words
}

/// Hosts that apt and cargo use here, except public ones: only a private mirror must not leak.
fn package_hosts() -> Vec<String> {
    let mut places = vec!["/etc/apt/sources.list".into(), root().join(".cargo/config.toml")];
    places.extend(std::env::var_os("CARGO_HOME").map(|home| Path::new(&home).join("config.toml")));
    places.extend(std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo/config.toml")));
    if let Ok(parts) = std::fs::read_dir("/etc/apt/sources.list.d") {
        places.extend(parts.flatten().map(|part| part.path()));
    }
    let texts = places.iter().filter_map(|place| std::fs::read_to_string(place).ok());
    texts.flat_map(|text| hosts(&text)).filter(|host| !host.ends_with("github.com")).collect()
}

/// The hosts of the URLs in a text.
fn hosts(text: &str) -> Vec<String> {
    let host = |after: &str| {
        let end =
            after.find(|c: char| !(c.is_ascii_alphanumeric() || "-._@".contains(c))).unwrap_or(after.len());
        after[..end].rsplit('@').next().unwrap_or_default().to_owned()
    };
    text.split("://").skip(1).map(host).collect()
}

/// A sentence for each line that contains one of the words.
fn named(file: &File, words: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        if let Some(word) = words.iter().find(|word| holds(line, word)) {
            faults.push(format!("{}:{} names '{word}'", file.path, number + 1));
        }
    }
    faults
}

/// A folder counts only at the start of a path.
fn holds(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-}$".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_from_urls() {
        let text =
            "deb http://mirror.lan:3142/debian bookworm main\nindex = \"sparse+https://me@crates.lan/x/\"";
        assert_eq!(hosts(text), ["mirror.lan", "crates.lan"]);
    }

    #[test]
    fn a_path_is_found_where_it_begins() {
        let home = &home_words()[0];
        let check = |line: &str, expected| assert_eq!(holds(line, home), expected, "{line}");
        check(&format!("see {home}me/x"), true);
        check(&format!("{home}me/x"), true);
        check(&format!("cgroup{home}x"), false);
        check("nothing", false);
    }
}
