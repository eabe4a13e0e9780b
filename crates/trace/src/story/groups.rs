//! Tracks the numbers of groups and their emitted descriptions.

use super::raw::{GroupRecord, Key};
use crate::GroupInfo;
use rustc_hash::FxHashMap;

/// Groups by their addresses, numbered from 1 in the order of their first appearance.
#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: FxHashMap<Key, Known>,
    count: u32,
}

#[derive(Debug, Default)]
struct Known {
    number: u32,
    /// What distinguishes it from other groups at the same address, and its emitted description.
    told: Option<(u64, GroupInfo)>,
}

impl Groups {
    /// Returns a group's number, or 0 for the root.
    pub(super) fn number(&mut self, key: Key) -> u32 {
        if key == Key(0) {
            return 0;
        }
        let next = self.count + 1;
        let known = self.groups.entry(key).or_insert(Known { number: next, told: None });
        self.count = self.count.max(known.number);
        known.number
    }

    /// Returns a group's new description, or `None` if it was already emitted.
    pub(super) fn news(&mut self, record: &GroupRecord) -> Option<GroupInfo> {
        // Another group may now have the address of a removed one.
        let is_another = |known: &Known| known.told.as_ref().is_some_and(|told| told.0 != record.id);
        if self.groups.get(&record.key).is_some_and(is_another) {
            self.groups.remove(&record.key);
        }
        let (group, parent) = (self.number(record.key), self.number(record.parent));
        let info = GroupInfo { group, parent, ..record.info.clone() };
        let known = self.groups.get_mut(&record.key)?;
        let is_old = known.told.as_ref().is_some_and(|told| told.1 == info);
        known.told = Some((record.id, info.clone()));
        (!is_old).then_some(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_told_once_and_again_after_a_change() {
        let mut groups = Groups::default();
        let mut check = |(key, id, parent): (u64, u64, u64), weight, expected: Option<(u32, u32)>| {
            let info = GroupInfo { weight, ..GroupInfo::default() };
            let told = groups.news(&GroupRecord { key: Key(key), id, parent: Key(parent), info });
            assert_eq!(told.map(|info| (info.group, info.parent)), expected, "{key} {id}");
        };
        check((0x20, 1, 0x10), 100, Some((1, 2)));
        check((0x20, 1, 0x10), 100, None);
        check((0x10, 2, 0), 100, Some((2, 0)));
        check((0x20, 1, 0x10), 50, Some((1, 2)));
        // Another group has its address.
        check((0x20, 3, 0x10), 50, Some((3, 2)));
        assert_eq!((groups.number(Key(0x20)), groups.number(Key(0))), (3, 0));
    }
}
