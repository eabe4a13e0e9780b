//! A kernel's last messages, cut to the most informative part.

/// The end of a console's text, in bounded memory.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    bytes: Vec<u8>,
}

/// The text that is kept.
const KEPT: usize = 64 << 10;

impl Tail {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * KEPT {
            self.bytes.drain(..self.bytes.len() - KEPT);
        }
    }

    /// Returns the line that explains why a guest ended: a panic, or the first of several complaints, or else the last
    /// line.
    pub(crate) fn verdict(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let informative = INFORMATIVE.iter().find_map(|word| text.lines().find(|line| line.contains(word)));
        line(informative.unwrap_or(&text))
    }
}

/// Words in lines that explain it, the most informative first.
const INFORMATIVE: &[&str] = &["keel: ", "Kernel panic", "Oops", "BUG:", "internal error", "kvm run failed"];

/// Returns the last line that is not empty, fit to print.
pub(crate) fn line(text: &str) -> String {
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
    let (_, words) = last.strip_prefix('[').and_then(|rest| rest.split_once("] ")).unwrap_or(("", last));
    let words = words.strip_prefix("keel: ").unwrap_or(words);
    words.chars().filter(|c| !c.is_control()).take(300).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_informative_line_is_found() {
        let check = |text: &str, expected: &str| {
            let mut tail = Tail::default();
            tail.add(text.as_bytes());
            assert_eq!(tail.verdict(), expected);
        };
        check("", "nothing");
        check("[    0.1] a\r\n\r\n", "a");
        check(
            "[    1.4] Kernel panic - not syncing: VFS: no root\r\n[    1.5]  ret_from_fork_asm+0x1a\r\n",
            "Kernel panic - not syncing: VFS: no root",
        );
        check("keel: no files\r\n[ 3.1] reboot: Power down\r\n", "no files");
    }

    #[test]
    fn memory_has_a_bound() {
        let mut tail = Tail::default();
        for _ in 0..1000 {
            tail.add(&[b'x'; 1000]);
        }
        assert!(tail.bytes.len() <= 2 * KEPT);
    }
}
