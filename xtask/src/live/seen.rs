//! The output of a script in one of its turns: files NAME.* in the guest's folder.

use super::kernel_log;
use std::collections::BTreeMap;
use std::path::Path;

/// All files. A file that was not written is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The turn's name.
    pub(crate) turn: String,
    /// `name words`, one per line.
    pub(crate) facts: BTreeMap<String, String>,
    /// keel's messages, one per line.
    pub(crate) said: String,
    /// The kernel's log.
    pub(crate) kernel_log: String,
    /// The last message of a guest that ended during this turn.
    pub(crate) guest_ended: Option<String>,
}

impl Seen {
    /// Reads the folder.
    pub(crate) fn read(folder: &Path, turn: &str) -> Self {
        let file = |kind: &str| {
            let bytes = std::fs::read(folder.join(format!("{turn}.{kind}"))).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let facts = file("facts");
        let facts = facts.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
        Self {
            turn: turn.to_owned(),
            facts: facts.map(|(name, words)| (name.to_owned(), words.to_owned())).collect(),
            said: file("said"),
            kernel_log: file("dmesg"),
            guest_ended: None,
        }
    }

    /// Whether the turn was completed.
    pub(crate) fn is_done(&self) -> bool {
        self.facts.contains_key("done")
    }

    /// A fact's words. Empty if it was not written.
    pub(crate) fn fact(&self, name: &str) -> &str {
        self.facts.get(name).map_or("", String::as_str)
    }

    /// Why the turn did not end well, regardless of other expectations: the guest ended, the kernel complains, or the
    /// guest no longer works.
    pub(crate) fn trouble(&self) -> Option<String> {
        if let Some(words) = &self.guest_ended {
            return Some(format!("the guest ended: {words}"));
        }
        if let Some(line) = kernel_log::complaint(&self.kernel_log) {
            return Some(format!("the kernel says: {line}"));
        }
        let works = self.fact("works");
        (works != "0").then(|| format!("hackbench fails afterwards, with {works}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("o1.facts", "attached enabled o1\nworks 0\n");
        let seen = Seen::read(folder.path(), "o1");
        assert_eq!((seen.fact("attached"), seen.fact("code"), seen.is_done()), ("enabled o1", "", false));
        assert_eq!(seen.trouble(), None);
        write("o1.facts", "works 1\ndone\n");
        let seen = Seen::read(folder.path(), "o1");
        assert!(seen.is_done());
        assert_eq!(seen.trouble().unwrap(), "hackbench fails afterwards, with 1");
        let ended = Seen { guest_ended: Some("it hangs".into()), ..seen };
        assert_eq!(ended.trouble().unwrap(), "the guest ended: it hangs");
    }
}
