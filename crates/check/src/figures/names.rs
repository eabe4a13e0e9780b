//! Wakeup-to-run delays by task name: an interactive task among many others does not show in the sum.

use super::Delay;
use crate::histogram::Histogram;

/// How many names are distinguished; tasks with further names are only in the run's sum.
pub const NAMES_KEPT: usize = 64;

/// The figures of the tasks of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameFigures {
    /// The name: untrusted text.
    pub name: String,
    /// Tasks that had it.
    pub tasks: u64,
    /// Wakeups and forks whose delay is known.
    pub woken: u64,
    /// Wakeup or fork to running.
    pub wakeup_delay: Delay,
}

/// The index of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NameId(u8);

impl NameId {
    /// Of a task that has none.
    pub(super) const NONE: Self = Self(u8::MAX);
}

#[derive(Clone, Debug, Default)]
struct Row {
    name: String,
    tasks: u64,
    delays: Histogram,
}

/// The names in the order in which they were first seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(Vec<Row>);

impl Names {
    /// Adds a task with this name, which gets no id if there are already too many.
    pub(super) fn seen(&mut self, name: &str) -> NameId {
        let known = self.0.iter().position(|row| row.name == name);
        let at = match known {
            Some(at) => at,
            None if self.0.len() == NAMES_KEPT => return NameId::NONE,
            None => {
                self.0.push(Row { name: name.to_owned(), ..Row::default() });
                self.0.len() - 1
            }
        };
        self.0[at].tasks += 1;
        NameId(at as u8)
    }

    /// The delays of the tasks of this name.
    #[inline(always)]
    pub(super) fn delays_of(&mut self, name: NameId) -> Option<&mut Histogram> {
        self.0.get_mut(usize::from(name.0)).map(|row| &mut row.delays)
    }

    /// Adds the delays of all names to others.
    pub(super) fn add_to(&self, delays: &mut Histogram) {
        self.0.iter().for_each(|row| delays.add(&row.delays));
    }

    /// All of them.
    pub(super) fn figures(&self) -> Vec<NameFigures> {
        let figures = |row: &Row| NameFigures {
            name: row.name.clone(),
            tasks: row.tasks,
            woken: row.delays.count(),
            wakeup_delay: row.delays.spans(),
        };
        self.0.iter().map(figures).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_abi::Span;

    #[test]
    fn delays_are_kept_by_name_up_to_a_bound() {
        let mut names = Names::default();
        let ids: Vec<_> = (0..NAMES_KEPT).map(|n| names.seen(&format!("n{n}"))).collect();
        assert_eq!((names.seen("n0"), names.seen("one more")), (ids[0], NameId::NONE));
        assert!(names.delays_of(NameId::NONE).is_none());
        names.delays_of(ids[0]).unwrap().record(Span::from_ns(100));
        names.delays_of(ids[0]).unwrap().record(Span::from_ns(200));
        let first = &names.figures()[0];
        assert_eq!((first.name.as_str(), first.tasks, first.woken), ("n0", 2, 2));
        assert_eq!(
            (first.wakeup_delay.p50, first.wakeup_delay.max),
            (Span::from_ns(100), Span::from_ns(200))
        );
    }
}
