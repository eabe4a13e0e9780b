//! Wakeup-to-run delays by task name: an interactive task among many others does not show in the sum.

use super::Delay;
use crate::histogram::Histogram;
use keel_abi::Span;

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
    /// Stands for the names beyond [`NAMES_KEPT`].
    pub(super) const OTHERS: Self = Self(0);
}

#[derive(Clone, Debug, Default)]
struct Row {
    name: String,
    tasks: u64,
    delays: Histogram,
}

/// The names in the order in which they were first seen, after a row for all others.
#[derive(Clone, Debug)]
pub(super) struct Names(Vec<Row>);

impl Default for Names {
    fn default() -> Self {
        Self(vec![Row::default()])
    }
}

impl Names {
    /// Adds a task with this name.
    pub(super) fn seen(&mut self, name: &str) -> NameId {
        let known = self.0.iter().skip(1).position(|row| row.name == name);
        let at = match known {
            Some(at) => at + 1,
            None if self.0.len() > NAMES_KEPT => return NameId::OTHERS,
            None => {
                self.0.push(Row { name: name.to_owned(), ..Row::default() });
                self.0.len() - 1
            }
        };
        self.0[at].tasks += 1;
        NameId(at as u8)
    }

    /// A delay of a task of this name.
    #[inline(always)]
    pub(super) fn waited(&mut self, name: NameId, span: Span) {
        self.0[usize::from(name.0)].delays.record(span);
    }

    /// The delays of all tasks.
    pub(super) fn delays(&self) -> Histogram {
        let mut all = Histogram::default();
        self.0.iter().for_each(|row| all.add(&row.delays));
        all
    }

    /// All of them.
    pub(super) fn figures(&self) -> Vec<NameFigures> {
        let figures = |row: &Row| NameFigures {
            name: row.name.clone(),
            tasks: row.tasks,
            woken: row.delays.count(),
            wakeup_delay: row.delays.spans(),
        };
        self.0.iter().skip(1).map(figures).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_kept_by_name_up_to_a_bound() {
        let mut names = Names::default();
        let ids: Vec<_> = (0..NAMES_KEPT).map(|n| names.seen(&format!("n{n}"))).collect();
        assert_eq!((names.seen("n0"), names.seen("one more")), (ids[0], NameId::OTHERS));
        names.waited(ids[0], Span::from_ns(100));
        names.waited(ids[0], Span::from_ns(200));
        names.waited(NameId::OTHERS, Span::from_ns(300));
        assert_eq!((names.delays().count(), names.delays().max()), (3, Span::from_ns(300)));
        let first = &names.figures()[0];
        assert_eq!((first.name.as_str(), first.tasks, first.woken), ("n0", 2, 2));
        assert_eq!(
            (first.wakeup_delay.p50, first.wakeup_delay.max),
            (Span::from_ns(100), Span::from_ns(200))
        );
    }
}
