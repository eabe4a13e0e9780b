//! Converts pipe transfers to steps on tapes.

use crate::builder::Builder;
use crate::pipes::Nth;
use crate::task::Doing;
use keel_abi::tape::{Op, Room};
use keel_abi::{CpuId, Span, TaskId};
use keel_trace::{Call, Piping, Source};

impl Builder {
    /// Notes that a task starts to write to a pipe, or has read from one.
    pub(crate) fn piped(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        (pipe, room): (u32, Room),
        bytes: u32,
        how: Piping,
    ) {
        if self.exact {
            return;
        }
        let writes = how != Piping::Read;
        let pipe = self.pipes.number(pipe, room, writes);
        let Some(number) = self.number(task) else { return self.pipes.is_shared(pipe) };
        self.begins(number, self.now, cpu);
        if self.task(number).ended || self.task(number).doing != Doing::Runnable {
            // This only happens in damaged recordings.
            return self.pipes.is_shared(pipe);
        }
        self.settle_time(number);
        self.put_work(number);
        let task = self.task(number);
        let waits = std::mem::take(&mut task.reads);
        task.writes = writes.then_some((pipe, bytes));
        let op = match writes {
            true => Some(self.pipes.put(pipe, bytes, how == Piping::Packet)),
            false => self.pipes.take(pipe, bytes, &waits),
        };
        self.task(number).tape.extend(op);
    }

    /// Records what a wait on the task's tape, which has ended, really was, and what it is on its own if that differs.
    pub(crate) fn waits_in_pipe(
        &mut self,
        number: u32,
        wait: Nth,
        waited: Option<(Call, Source)>,
        otherwise: Option<Op>,
    ) {
        let task = &mut self.tasks[number as usize];
        match waited {
            Some((Call::PipeWrite, _)) => {
                self.pipes.waits(wait, task.writes.map(|(pipe, _)| pipe), otherwise);
            }
            Some((Call::PipeRead, _)) => {
                task.reads.push(wait);
                self.pipes.waits(wait, None, otherwise);
            }
            _ => {
                task.writes = None;
                task.reads.clear();
            }
        }
    }

    /// Notes that a wait in a pipe has ended, and that it is unknown which task ended it.
    pub(crate) fn waits_in_pipe_for_nobody(
        &mut self,
        number: u32,
        slept: Span,
        waited: Option<(Call, Source)>,
    ) {
        // It is never posted, and never stays on the tape.
        let semaphore = self.pairs.of(u32::MAX, number);
        let wait = (semaphore, self.pairs.nth(semaphore));
        self.task(number).put_wait(Op::Await(semaphore));
        self.waits_in_pipe(number, wait, waited, Some(Op::Sleep(slept)));
    }

    /// Notes the writes that have not ended when the recording does.
    pub(crate) fn note_open_writes(&mut self) {
        for (pipe, bytes) in self.tasks.iter().filter_map(|task| task.writes) {
            self.pipes.is_open(pipe, bytes);
        }
    }
}
