//! Finds keys in an event's text (`prev_comm=make prev_pid=7 prev_prio=120`), all in one pass.
//!
//! A key must be at the beginning or after a space, and its first occurrence counts: names may contain spaces and
//! anything else.

use super::body::small;
use crate::sched_record::{Name, Who};

/// The separator between the two tasks of a switch.
pub(super) const ARROW: &[u8] = b" ==> ";

/// The wanted keys, with an empty one for none.
pub(super) struct Wanted {
    comm: &'static [u8],
    pid: &'static [u8],
    prio: &'static [u8],
    /// Others, which are never at the beginning.
    more: [&'static [u8]; 2],
    /// Only before an [`ARROW`], which is also searched for.
    before_arrow: bool,
}

const TASK: Wanted =
    Wanted { comm: b"comm", pid: b"pid", prio: b"prio", more: [b"", b""], before_arrow: false };
pub(super) const WAKEUP: Wanted = Wanted { more: [b"target_cpu", b""], ..TASK };
pub(super) const MIGRATE: Wanted = Wanted { more: [b"orig_cpu", b"dest_cpu"], ..TASK };
pub(super) const CHILD: Wanted =
    Wanted { comm: b"child_comm", pid: b"child_pid", prio: b"child_prio", ..TASK };
pub(super) const PREV: Wanted = Wanted {
    comm: b"prev_comm",
    pid: b"prev_pid",
    prio: b"prev_prio",
    more: [b"prev_state", b""],
    before_arrow: true,
};
pub(super) const NEXT: Wanted = Wanted { comm: b"next_comm", pid: b"next_pid", prio: b"next_prio", ..TASK };

/// Where a key begins, and its value.
#[derive(Clone, Copy)]
struct Place {
    begins: usize,
    value: usize,
}

/// The keys that were found.
pub(super) struct Keys<'a> {
    words: &'a [u8],
    comm: Option<Place>,
    pid: Option<Place>,
    prio: Option<Place>,
    more: [Option<Place>; 2],
    /// Where the arrow is.
    pub(super) arrow: Option<usize>,
}

impl<'a> Keys<'a> {
    /// Searches for keys. It is inlined where they are known, so that each is compared as a number.
    #[inline(always)]
    pub(super) fn find(words: &'a [u8], wanted: &Wanted) -> Self {
        let mut found = Self { words, comm: None, pid: None, prio: None, more: [None; 2], arrow: None };
        let mut from = 0;
        while let Some(sign) = memchr::memchr(b'=', &words[from..]).map(|at| from + at) {
            if wanted.before_arrow && sign > 0 && words[sign - 1..].starts_with(ARROW) {
                found.arrow = Some(sign - 1);
                break;
            }
            let missing = found.take(sign, wanted);
            if !missing && !wanted.before_arrow {
                break;
            }
            from = sign + 1;
        }
        found
    }

    /// Takes the key before an equals sign, if it is a wanted one. Returns whether any key is still missing.
    #[inline(always)]
    fn take(&mut self, sign: usize, wanted: &Wanted) -> bool {
        let words = self.words;
        let mut missing = false;
        let mut look = |found: &mut Option<Place>, key: &[u8], first: usize| {
            if !key.is_empty() && found.is_none() {
                *found = place(words, sign, key).filter(|place| place.begins >= first);
                missing |= found.is_none();
            }
        };
        look(&mut self.comm, wanted.comm, 0);
        look(&mut self.pid, wanted.pid, 0);
        look(&mut self.prio, wanted.prio, 0);
        look(&mut self.more[0], wanted.more[0], 1);
        look(&mut self.more[1], wanted.more[1], 1);
        missing
    }

    /// Returns the task, if there is a name followed by a pid.
    #[inline]
    pub(super) fn task(&self) -> Option<Who> {
        let (comm, pid) = (self.comm?, self.pid?);
        // A name may be empty; then its key and the next one have one space between them.
        let name = self.words.get(comm.value..pid.begins)?;
        let prio = self.prio.and_then(|prio| small(&self.words[prio.value..]));
        Some(Who {
            pid: small(&self.words[pid.value..])?,
            name: Name::new(name.trim_ascii_end()),
            prio: prio.and_then(|prio| i32::try_from(prio).ok()),
        })
    }

    /// Returns the value of one of the other keys.
    #[inline]
    pub(super) fn more(&self, which: usize) -> Option<&'a [u8]> {
        self.more[which].map(|place| &self.words[place.value..])
    }
}

/// Returns a key before an equals sign.
#[inline(always)]
fn place(words: &[u8], sign: usize, key: &[u8]) -> Option<Place> {
    let begins = sign.checked_sub(key.len())?;
    let is_key = words[begins..sign] == *key && (begins == 0 || words[begins - 1] == b' ');
    is_key.then_some(Place { begins, value: sign + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &str, wanted: &Wanted, task: Option<(&str, u32, Option<i32>)>, more: Option<&str>) {
        let found = Keys::find(words.as_bytes(), wanted);
        let who = task.map(|(name, pid, prio)| Who { pid, name: Name::new(name.as_bytes()), prio });
        assert_eq!((found.task(), found.more(0)), (who, more.map(str::as_bytes)), "{words}");
    }

    #[test]
    fn keys_count_where_they_are_first() {
        check("comm=a b pid=7 prio=120 target_cpu=001", &WAKEUP, Some(("a b", 7, Some(120))), Some("001"));
        check("comm=a= pid=7 prio=x target_cpu=", &WAKEUP, Some(("a=", 7, None)), Some(""));
        check("x comm=a pid=7", &WAKEUP, Some(("a", 7, None)), None);
        // Names that contain keys: the first occurrence counts.
        check("comm=a pid=3 pid=7 prio=1", &WAKEUP, Some(("a", 3, Some(1))), None);
        check("comm=a prio=3 pid=7 prio=1", &WAKEUP, Some(("a prio=3", 7, Some(3))), None);
        let inside = "comm=a target_cpu=9 pid=7 target_cpu=1";
        check(inside, &WAKEUP, Some(("a target_cpu=9", 7, None)), Some("9 pid=7 target_cpu=1"));
        check("pid=3 comm=a pid=7", &WAKEUP, None, None);
        check("target_cpu=1 comm= pid=7 target_cpu=2", &WAKEUP, Some(("", 7, None)), Some("2"));
        check("comm= pid=7 prio=120 target_cpu=001", &WAKEUP, Some(("", 7, Some(120))), Some("001"));
        // A word that merely ends like a key is not one.
        check("xcomm=a pid=7", &WAKEUP, None, None);
        check("comm=a ypid=7", &WAKEUP, None, None);
        check("comm=a pid=", &WAKEUP, None, None);
        check("", &WAKEUP, None, None);
        check("====", &PREV, None, None);
    }

    #[test]
    fn the_first_arrow_ends_what_was_before() {
        let check = |words: &str, arrow| {
            assert_eq!(Keys::find(words.as_bytes(), &PREV).arrow, arrow, "{words}");
        };
        check("prev_comm=a prev_pid=1 prev_state=S ==> next_comm=b", Some(35));
        check("prev_comm=a ==> b ==> c", Some(11));
        check("prev_comm=a ==>", None);
        check("==> ==> ", Some(3));
        let words = b"prev_comm=a prev_pid=1 ==> prev_state=S";
        assert!(Keys::find(words, &PREV).more(0).is_none());
    }
}
