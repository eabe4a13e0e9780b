//! Keeps files in memory, and creates them on the host when the program first accesses them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::ops::Bound;
use std::path::Path;
use tempfile::TempDir;

/// A file.
enum Held {
    /// Only in memory, with this text.
    Memory(Vec<u8>),
    /// Only in memory, with this text, which never changes, so that other files with this text may share its place.
    Constant(Vec<u8>),
    /// At its place on the host.
    Host,
}

/// The files and folders.
pub(super) struct Store {
    scratch: TempDir,
    files: BTreeMap<String, Held>,
    folders: BTreeSet<String>,
    /// The folders whose entries are all on the host.
    listed: BTreeSet<String>,
    /// The numbers of constant texts that have a place.
    texts: BTreeMap<Vec<u8>, usize>,
}

impl Store {
    /// Returns an empty store.
    pub(super) fn new() -> io::Result<Self> {
        let scratch = TempDir::with_prefix("keel-")?;
        let (files, folders, listed, texts) = Default::default();
        Ok(Self { scratch, files, folders, listed, texts })
    }

    pub(super) fn is_file(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    pub(super) fn is_folder(&self, path: &str) -> bool {
        self.folders.contains(path)
    }

    /// Sets a file's text.
    pub(super) fn write(&mut self, path: &str, text: &[u8]) -> io::Result<()> {
        if matches!(self.files.get(path), Some(Held::Host)) {
            return fs::write(self.host(path), text);
        }
        self.make_folder(parent(path))?;
        self.files.insert(path.to_owned(), Held::Memory(text.to_vec()));
        if self.listed.contains(parent(path)) {
            self.place(path)?;
        }
        Ok(())
    }

    /// Adds a file that never changes, before any access.
    pub(super) fn write_constant(&mut self, path: &str, text: &[u8]) {
        // Nothing is listed yet, so the host has nothing to do.
        let _ = self.make_folder(parent(path));
        self.files.insert(path.to_owned(), Held::Constant(text.to_vec()));
    }

    /// Creates a folder and its parents.
    pub(super) fn make_folder(&mut self, path: &str) -> io::Result<()> {
        let mut at = path;
        while !at.is_empty() && self.folders.insert(at.to_owned()) {
            if self.listed.contains(parent(at)) {
                fs::create_dir_all(self.host(at))?;
            }
            at = parent(at);
        }
        Ok(())
    }

    /// Removes a file, if it exists.
    pub(super) fn remove(&mut self, path: &str) {
        if self.files.remove(path).is_some() {
            // It may not be on the host.
            drop(fs::remove_file(self.host(path)));
        }
    }

    /// Removes a folder with its contents, if it exists.
    pub(super) fn remove_folder(&mut self, path: &str) {
        let is_in = |other: &str| super::is_below(other, path);
        self.files.retain(|other, _| !is_in(other));
        self.folders.retain(|other| !is_in(other));
        self.listed.retain(|other| !is_in(other));
        // It may not be on the host.
        drop(fs::remove_dir_all(self.host(path)));
    }

    /// Returns the host's path of a file or a folder, even if it does not exist.
    pub(super) fn place(&mut self, path: &str) -> io::Result<String> {
        let place = self.host(path);
        match self.files.get_mut(path) {
            Some(Held::Constant(text)) => return Self::place_of_text(&self.scratch, &mut self.texts, text),
            Some(held) => {
                if let Held::Memory(text) = held {
                    fs::create_dir_all(parent(&place))?;
                    fs::write(&place, text)?;
                    *held = Held::Host;
                }
            }
            None if self.folders.contains(path) => fs::create_dir_all(&place)?,
            None => {}
        }
        Ok(place)
    }

    /// Gives a file a place of its own.
    pub(super) fn own(&mut self, path: &str) -> io::Result<()> {
        if let Some(Held::Constant(text)) = self.files.get_mut(path) {
            let text = std::mem::take(text);
            self.files.insert(path.to_owned(), Held::Memory(text));
        }
        self.place(path).map(|_| ())
    }

    /// Creates all entries of the host's folder, if it is one.
    pub(super) fn list(&mut self, path: &str) -> io::Result<()> {
        if !self.folders.contains(path) || !self.listed.insert(path.to_owned()) {
            return Ok(());
        }
        let place = self.place(path)?;
        let below = (Bound::Excluded(format!("{path}/")), Bound::Excluded(format!("{path}0")));
        for folder in self.folders.range::<String, _>(below.clone()).filter(|other| parent(other) == path) {
            fs::create_dir_all(self.host(folder))?;
        }
        for (file, held) in self.files.range_mut::<String, _>(below) {
            let Some(name) = file.strip_prefix(path).filter(|_| parent(file) == path) else { continue };
            match held {
                Held::Memory(text) => {
                    fs::write(place.clone() + name, text)?;
                    *held = Held::Host;
                }
                // The entry only shows that there is a file. Opening it uses the text's place.
                Held::Constant(_) => fs::write(place.clone() + name, "")?,
                Held::Host => {}
            }
        }
        Ok(())
    }

    fn host(&self, path: &str) -> String {
        format!("{}/tree{path}", self.scratch.path().display())
    }

    fn place_of_text(
        scratch: &TempDir,
        texts: &mut BTreeMap<Vec<u8>, usize>,
        text: &[u8],
    ) -> io::Result<String> {
        let place = |number: usize| format!("{}/text{number}", scratch.path().display());
        if let Some(&number) = texts.get(text) {
            return Ok(place(number));
        }
        let number = texts.len();
        fs::write(place(number), text)?;
        texts.insert(text.to_vec(), number);
        Ok(place(number))
    }
}

/// Returns the parent folder of a path. Empty for the root.
fn parent(path: &str) -> &str {
    Path::new(path).parent().and_then(Path::to_str).map_or("", |folder| folder.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which files of a store are on the host after `act`.
    fn check(act: impl FnOnce(&mut Store), expected: &[&str]) {
        let mut store = Store::new().expect("there is a scratch folder");
        store.write("/sys/cpu/online", b"0-1\n").expect("it is written");
        store.write_constant("/sys/cpu/cpu0/size", b"32K\n");
        store.write_constant("/sys/cpu/cpu1/size", b"32K\n");
        act(&mut store);
        let mut found = Vec::new();
        walk(store.scratch.path(), "", &mut found);
        assert_eq!(found, expected);
    }

    fn walk(folder: &Path, name: &str, found: &mut Vec<String>) {
        let entries = fs::read_dir(folder).expect("it is a folder");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("it is there").path()).collect();
        paths.sort();
        for path in paths {
            let name = format!("{name}/{}", path.file_name().expect("it has a name").to_string_lossy());
            match fs::read_to_string(&path) {
                Ok(text) => found.push(format!("{name}: {}", text.trim())),
                Err(_) => {
                    found.push(name.clone());
                    walk(&path, &name, found);
                }
            }
        }
    }

    #[test]
    fn the_host_has_what_was_looked_at() {
        let place = |store: &mut Store, path: &str| store.place(path).expect("it has a place");
        check(|_| {}, &[]);
        check(|store| assert!(place(store, "/sys/none").ends_with("/tree/sys/none")), &[]);
        check(
            |store| drop(place(store, "/sys/cpu/online")),
            &["/tree", "/tree/sys", "/tree/sys/cpu", "/tree/sys/cpu/online: 0-1"],
        );
        // Two files with the same text share one place, until one becomes the program's own.
        check(
            |store| {
                assert_eq!(place(store, "/sys/cpu/cpu0/size"), place(store, "/sys/cpu/cpu1/size"));
                store.own("/sys/cpu/cpu1/size").expect("it has a place");
                store.write("/sys/cpu/cpu1/size", b"1\n").expect("it is written");
            },
            &[
                "/text0: 32K",
                "/tree",
                "/tree/sys",
                "/tree/sys/cpu",
                "/tree/sys/cpu/cpu1",
                "/tree/sys/cpu/cpu1/size: 1",
            ],
        );
    }

    #[test]
    fn a_listed_folder_has_its_entries_even_later_ones() {
        check(
            |store| {
                store.list("/sys/cpu").expect("it is listed");
                store.write("/sys/cpu/offline", b"2\n").expect("it is written");
                store.make_folder("/sys/cpu/cpu2/topology").expect("it is made");
            },
            &[
                "/tree",
                "/tree/sys",
                "/tree/sys/cpu",
                "/tree/sys/cpu/cpu0",
                "/tree/sys/cpu/cpu1",
                "/tree/sys/cpu/cpu2",
                "/tree/sys/cpu/offline: 2",
                "/tree/sys/cpu/online: 0-1",
            ],
        );
        check(
            |store| {
                store.list("/sys/cpu").expect("it is listed");
                store.remove("/sys/cpu/online");
                store.remove_folder("/sys/cpu/cpu0");
                assert!(!store.is_folder("/sys/cpu/cpu0") && !store.is_file("/sys/cpu/cpu0/size"));
            },
            &["/tree", "/tree/sys", "/tree/sys/cpu", "/tree/sys/cpu/cpu1"],
        );
    }
}
