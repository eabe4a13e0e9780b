//! Renumbers the tasks of a stream, in the order of their first appearance.

use crate::{Act, Class, Event, Meta, Sink, TaskInfo, What};
use keel_abi::{Instant, TaskId};
use rustc_hash::FxHashMap;

/// Passes everything on with new task numbers.
pub(super) struct Dense<'a> {
    sink: &'a mut dyn Sink,
    numbers: FxHashMap<TaskId, TaskId>,
    batch: Vec<Event>,
}

impl<'a> Dense<'a> {
    pub(super) fn new(sink: &'a mut dyn Sink) -> Self {
        Self { sink, numbers: FxHashMap::default(), batch: Vec::new() }
    }

    fn number(&mut self, task: TaskId) -> TaskId {
        let next = TaskId(self.numbers.len() as u32);
        if task == TaskId::IDLE { task } else { *self.numbers.entry(task).or_insert(next) }
    }

    fn act(&mut self, act: Act) -> Act {
        match act {
            Act::Wakes { wakee, sync } => Act::Wakes { wakee: self.number(wakee), sync },
            Act::Forks { child, process } => Act::Forks { child: self.number(child), process },
            Act::Waits | Act::Sleeps { .. } | Act::Begins { .. } | Act::Yields | Act::Exits => act,
        }
    }

    fn what(&mut self, what: What) -> What {
        let mut what = what;
        match &mut what {
            What::Switch { prev, next, .. } => {
                (*prev, *next) = (self.number(*prev), self.number(*next));
            }
            What::Wakeup { task, waker: other, .. }
            | What::Woken { task, waker: other, .. }
            | What::Fork { child: task, parent: other, .. }
            | What::Awaits { task, owner: other, .. } => {
                (*task, *other) = (self.number(*task), self.number(*other));
            }
            What::Acts { task, act } => (*task, *act) = (self.number(*task), self.act(*act)),
            What::Exit { task }
            | What::Migrate { task, .. }
            | What::Placed { task, .. }
            | What::Queued { task, .. }
            | What::Unqueued { task, .. }
            | What::Held { task }
            | What::Callback { task, .. }
            | What::Count { task, .. }
            | What::Priority { task, .. }
            | What::Throttled { task, .. }
            | What::Waited { task, .. }
            | What::Piped { task, .. }
            | What::Pulled { task, .. }
            | What::Worked { task, .. } => *task = self.number(*task),
            What::Kick { .. }
            | What::LockWait { .. }
            | What::LockWaits { .. }
            | What::Online { .. }
            | What::Bypass { .. }
            | What::Reserved { .. }
            | What::Lost { .. } => {}
        }
        what
    }
}

impl Sink for Dense<'_> {
    fn wants(&self) -> Class {
        self.sink.wants()
    }

    fn events(&mut self, events: &[Event]) {
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        batch.extend(events.iter().map(|event| Event { what: self.what(event.what), ..*event }));
        self.sink.events(&batch);
        self.batch = batch;
    }

    fn meta(&mut self, at: Instant, meta: &Meta) {
        match meta {
            Meta::Task(info) => {
                let info = TaskInfo { task: self.number(info.task), ..info.clone() };
                self.sink.meta(at, &Meta::Task(info));
            }
            &Meta::Member { task, process, session, kthread } => {
                let task = self.number(task);
                self.sink.meta(at, &Meta::Member { task, process, session, kthread });
            }
            Meta::Asks { task, outside, request } => {
                let (task, outside, request) = (self.number(*task), *outside, request.clone());
                self.sink.meta(at, &Meta::Asks { task, outside, request });
            }
            &Meta::Scheduled { task, policy, group } => {
                let task = self.number(task);
                self.sink.meta(at, &Meta::Scheduled { task, policy, group });
            }
            _ => self.sink.meta(at, meta),
        }
    }
}
