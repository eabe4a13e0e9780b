//! Parses a `struct policy_event` from the scheduler's ring buffer. Its bytes are untrusted, and the scheduler may use
//! a map of this name for another purpose: anything that does not fit is not an event.

use super::{Group, GroupClass, Kind, MAX_GROUPS, Outcome, Policy};
use keel_abi::{CpuId, CpuSet, Pid};

/// The size of the words before the CPUs and groups, in bytes.
const HEAD: usize = 40;
/// The number of 64-bit words of the CPUs that were considered.
const WORDS: usize = 16;
/// The size of a `struct policy_group`, in bytes.
const GROUP: usize = 16;
/// The size of a record, in bytes.
const BYTES: usize = HEAD + WORDS * 8 + MAX_GROUPS * GROUP;

/// A parsed record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    /// When the scheduler claims to have decided, by its clock in nanoseconds.
    pub at_ns: u64,
    /// The decision.
    pub policy: Policy,
}

/// Parses a record of Linux's own decisions from our recorder. It is followed by a byte for the class of each group, or
/// ends before its groups because there are none.
pub fn read_with_classes(bytes: &[u8], cpus: u32) -> Option<Raw> {
    if bytes.len() == BYTES - MAX_GROUPS * GROUP {
        let whole = [bytes, &[0; MAX_GROUPS * GROUP]].concat();
        return read(&whole, cpus).filter(|raw| raw.policy.nr_groups == 0);
    }
    let (event, classes) = bytes.split_at_checked(BYTES)?;
    let classes: &[u8; MAX_GROUPS] = classes.try_into().ok()?;
    let mut raw = read(event, cpus)?;
    for (group, &class) in raw.policy.groups.iter_mut().zip(classes) {
        group.class = one_of(&GroupClass::ALL, class.into());
    }
    Some(raw)
}

/// Parses one record from a scheduler's ring buffer, on a machine with this many CPUs. Returns `None` if it has another
/// size, an unknown kind, or CPUs that the machine does not have.
pub fn read(bytes: &[u8], cpus: u32) -> Option<Raw> {
    let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
    let cpu = |number: u32| (number < cpus).then_some(CpuId(number));
    let chosen = match word(24) as i32 {
        -1 => None,
        number => Some(cpu(u32::try_from(number).ok()?)?),
    };
    let outcome = match word(32) {
        0 => None,
        number => Some(one_of(&Outcome::ALL, number)?),
    };
    let considered: Vec<u64> = (0..WORDS).map(|at| double(bytes, HEAD + 8 * at)).collect();
    let considered = CpuSet::from_words(&considered);
    if considered.highest().is_some_and(|last| cpu(last.0).is_none()) {
        return None;
    }
    let nr_groups = word(36);
    let listed = (nr_groups as usize).min(MAX_GROUPS);
    let groups =
        bytes[HEAD + WORDS * 8..].chunks_exact(GROUP).take(listed).map(|group| read_group(group, cpus));
    let policy = Policy {
        kind: one_of(&Kind::ALL, word(8))?,
        level: word(12),
        cpu: cpu(word(16))?,
        pid: Pid(u32::try_from(word(20) as i32).ok()?),
        chosen,
        moved: word(28),
        outcome,
        considered,
        nr_groups,
        groups: groups.collect::<Option<_>>()?,
    };
    Some(Raw { at_ns: double(bytes, 0), policy })
}

fn read_group(bytes: &[u8], cpus: u32) -> Option<Group> {
    let half = |at: usize| u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap_or_default());
    let first = u32::from_le_bytes(bytes[8..12].try_into().unwrap_or_default());
    let (load, cpus_there, runnable) = (double(bytes, 0), half(12), half(14));
    let group = Group { load, first_cpu: CpuId(first), cpus: cpus_there, runnable, class: None };
    (first < cpus && u32::from(group.cpus) <= cpus).then_some(group)
}

fn double(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default())
}

/// Returns the entry of a table that is numbered from 1.
fn one_of<T: Copy>(table: &[T], number: u32) -> Option<T> {
    table.get((number as usize).checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CPUS: u32 = 64;

    /// CPU 9 balances level 2 and finds CPU 17 the busiest.
    fn sound() -> Vec<u8> {
        let mut bytes = vec![0; BYTES];
        let mut put = |at: usize, value: u32| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        for (at, value) in [(0, 5000), (8, 1), (12, 2), (16, 9), (24, 17), (28, 3), (32, 1), (36, 2)] {
            put(at, value);
        }
        put(HEAD, 0xff00);
        put(HEAD + 4, 1);
        for (at, load, first, cpus, runnable) in [(168, 1024, 8, 8, 2), (184, 1290, 16, 8, 11)] {
            put(at, load);
            put(at + 8, first);
            put(at + 12, cpus | runnable << 16);
        }
        bytes
    }

    #[test]
    fn a_record_is_read_field_by_field() {
        let considered = (8..16).chain([32]).map(CpuId).collect();
        let groups = vec![
            Group { load: 1024, first_cpu: CpuId(8), cpus: 8, runnable: 2, class: None },
            Group { load: 1290, first_cpu: CpuId(16), cpus: 8, runnable: 11, class: None },
        ];
        let policy = Policy {
            kind: Kind::Balance,
            level: 2,
            cpu: CpuId(9),
            pid: Pid(0),
            chosen: Some(CpuId(17)),
            moved: 3,
            outcome: Some(Outcome::Moved),
            considered,
            nr_groups: 2,
            groups,
        };
        assert_eq!(read(&sound(), CPUS), Some(Raw { at_ns: 5000, policy }));
    }

    #[test]
    fn what_does_not_fit_is_none() {
        let check = |at: usize, value: u32, expected: bool| {
            let mut bytes = sound();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            assert_eq!(read(&bytes, CPUS).is_some(), expected, "{value} at {at}");
        };
        check(8, 0, false);
        check(8, 6, true);
        check(8, 7, false);
        check(16, 63, true);
        check(16, 64, false);
        check(20, 0x7fff_ffff, true);
        check(20, u32::MAX, false);
        check(24, u32::MAX, true);
        check(24, u32::MAX - 1, false);
        check(24, 64, false);
        check(32, 0, true);
        check(32, 6, true);
        check(32, 7, false);
        check(36, u32::MAX, true);
        check(HEAD + 8, 1, false);
        check(168 + 8, 64, false);
        check(168 + 12, 65, false);
        check(168 + 12, 64, true);
        // Any value is allowed after the groups that count.
        check(200 + 8, u32::MAX, true);
        let mut long = sound();
        long.push(0);
        assert_eq!(read(&long, CPUS), None);
        assert_eq!(read(&sound()[1..], CPUS), None);
        assert_eq!(read(&[], CPUS), None);
        assert_eq!(read(&sound(), 32), None, "CPU 32 was considered");
    }

    #[test]
    fn classes_follow_the_record() {
        let classes = |bytes: &[u8]| {
            let raw = read_with_classes(&[&sound(), bytes].concat(), CPUS)?;
            Some(raw.policy.groups.iter().map(|group| group.class).collect::<Vec<_>>())
        };
        let mut told = [0; MAX_GROUPS];
        told[..3].copy_from_slice(&[6, 7, 1]);
        assert_eq!(classes(&told), Some(vec![Some(GroupClass::Overloaded), None]));
        assert_eq!(classes(&told[1..]), None);
        let mut short = sound();
        short.truncate(BYTES - MAX_GROUPS * GROUP);
        assert_eq!(read_with_classes(&short, CPUS), None, "its groups are missing");
        short[36..40].fill(0);
        assert!(read_with_classes(&short, CPUS).is_some());
        assert_eq!(classes(&[]), None);
    }

    #[test]
    fn only_the_first_groups_are_kept() {
        let mut bytes = sound();
        bytes[36..40].copy_from_slice(&40u32.to_le_bytes());
        let policy = read(&bytes, CPUS).expect("it is sound").policy;
        assert_eq!((policy.nr_groups, policy.groups.len()), (40, MAX_GROUPS));
    }

    proptest! {
        #[test]
        fn nothing_beyond_the_machine_gets_through(mut bytes in prop::collection::vec(any::<u8>(), BYTES..=BYTES), cpus in 1u32..2000) {
            for at in [8, 32] {
                bytes[at] %= 8;
                bytes[at + 1..at + 4].fill(0);
            }
            for at in [16, 24] {
                bytes[at + 1..at + 4].fill(0);
            }
            if let Some(Raw { policy, .. }) = read(&bytes, cpus) {
                let named = policy.considered.iter().chain([policy.cpu]).chain(policy.chosen);
                prop_assert!(named.chain(policy.groups.iter().map(|group| group.first_cpu)).all(|cpu| cpu.0 < cpus));
                prop_assert!(policy.groups.len() <= MAX_GROUPS);
            }
        }
    }
}
