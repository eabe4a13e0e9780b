//! An initial file system, in the only format that kernels accept: cpio's "newc".

/// An archive under construction.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;

impl Archive {
    /// Adds a folder. Its parent must exist.
    pub fn folder(&mut self, path: &str) {
        self.entry(path, FOLDER, &[]);
    }

    /// Adds an executable file.
    pub fn program(&mut self, path: &str, data: &[u8]) {
        self.entry(path, PROGRAM, data);
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &str, target: &str) {
        self.entry(path, LINK, target.as_bytes());
    }

    /// Returns the finished archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, data: &[u8]) {
        self.entries += 1;
        let (name_len, len) =
            (path.len() as u32 + 1, u32::try_from(data.len()).expect("files of under 4 GiB"));
        // Inode, mode, owner, group, links, time, size, two devices of two numbers, name, checksum.
        let words = [self.entries, mode, 0, 0, 1, 0, len, 0, 0, 0, 0, name_len, 0];
        self.bytes.extend_from_slice(b"070701");
        for word in words {
            self.bytes.extend_from_slice(format!("{word:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(data);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_begins_at_a_multiple_of_four() {
        let mut archive = Archive::default();
        archive.folder("a");
        archive.program("a/b", b"12345");
        archive.link("c", "a/b");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        let headers: Vec<_> =
            bytes.windows(6).enumerate().filter(|(_, w)| w == b"070701").map(|(i, _)| i).collect();
        assert_eq!(headers.len(), 4);
        assert!(headers.iter().all(|at| at % 4 == 0));
    }
}
