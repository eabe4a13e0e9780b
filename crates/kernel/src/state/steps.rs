//! What tasks do: the steps of all programs, in one list, so that a task finds its next step in one look-up.

use crate::state::task::Task;
use keel_abi::task::{Step, TaskSpec};

/// All programs, one after another.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// `None` ends a program.
    list: Vec<Option<Step>>,
    /// By spec: where its program begins. The program of tasks without a spec is at 0, and has no steps.
    begins: Vec<u32>,
}

impl Steps {
    /// Moves the programs out of `specs`.
    pub(crate) fn taken_from(specs: &mut [TaskSpec]) -> Self {
        let (mut list, mut begins) = (vec![None], Vec::with_capacity(specs.len()));
        for spec in specs {
            begins.push(list.len() as u32);
            let (begin, length) = (list.len() as u32, spec.steps.len() as u32);
            let steps = std::mem::take(&mut spec.steps).into_iter();
            list.extend(steps.map(|step| Some(placed(step, begin, length))));
            list.push(None);
        }
        Self { list, begins }
    }

    /// Where the program of this spec begins in the list.
    pub(crate) fn begin_of(&self, spec: Option<u32>) -> u32 {
        spec.map_or(0, |spec| self.begins[spec as usize])
    }

    /// The next step of a task; `None` at the end of its program.
    #[inline]
    pub(crate) fn next_of(&self, task: &Task) -> Option<&Step> {
        self.at(task.next_step)
    }

    /// The step at this place in the list; `None` at the end of a program.
    #[inline]
    pub(crate) fn at(&self, place: u32) -> Option<&Step> {
        self.list[place as usize].as_ref()
    }

    /// Where a task's program ends.
    pub(crate) fn end_of(&self, task: &Task) -> u32 {
        let steps = self.list[task.program as usize..].iter().take_while(|step| step.is_some());
        task.program + steps.count() as u32
    }

    /// Replaces the step with this number in a task's program, for all tasks that have the program. Returns its place.
    pub(crate) fn replace(&mut self, task: &Task, number: u32, step: Step) -> u32 {
        let place = task.program + number;
        self.list[place as usize] = Some(step);
        place
    }
}

/// A step of a program of this length that begins at this place: a loop leads back to a place in the list, and to none
/// outside the program.
fn placed(step: Step, begin: u32, length: u32) -> Step {
    match step {
        Step::Loop { to, times, slot } => Step::Loop { to: begin + to.min(length), times, slot },
        step => step,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_begins_after_the_end_of_the_one_before() {
        let check = |programs: &[&[Step]], begins: &[u32], list: &[Option<Step>]| {
            let spec = |steps: &&[Step]| TaskSpec { steps: steps.to_vec(), ..TaskSpec::default() };
            let mut specs: Vec<_> = programs.iter().map(spec).collect();
            let steps = Steps::taken_from(&mut specs);
            assert_eq!((steps.begins.as_slice(), steps.list.as_slice()), (begins, list));
            assert_eq!(steps.begin_of(None), 0);
        };
        let back = |to| Step::Loop { to, times: None, slot: 0 };
        check(&[], &[], &[None]);
        check(&[&[]], &[1], &[None, None]);
        let both = [None, Some(Step::Count), Some(back(1)), None, Some(back(4)), None];
        check(&[&[Step::Count, back(0)], &[back(0)]], &[1, 4], &both);
        check(&[&[back(7)]], &[1], &[None, Some(back(2)), None]);
    }
}
