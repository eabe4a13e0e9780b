//! A stream of events as record batches with one schema.
//!
//! | column | type | meaning |
//! | --- | --- | --- |
//! | `at_ns` | u64 | when, in virtual nanoseconds |
//! | `cpu` | u32 | the CPU on which it happened |
//! | `event` | dictionary of text | the kind of event: `switch`, `wakeup`, `fork`, ... |
//! | `pid` | u32 or null | the task that the event is about; for a switch, the previous task; null for an idle CPU |
//! | `comm` | dictionary of text, or null | that task's name: untrusted text |
//! | `other_pid` | u32 or null | for a switch, the next task; otherwise the waker, parent, wakee, child or owner |
//! | `from_cpu`, `to_cpu` | u32 or null | where the task was, and where it goes; `to_cpu` is also the target CPU |
//! | `detail` | dictionary of text, or null | why a task left its CPU, who chose a CPU, which callback, which lock |
//! | `value` | u64 or null | a length, a time in ns, flags, units: see [the page on Python](../../../docs/reference/python.md) |
//! | `queue` | u64 or null | the dispatch queue |

use crate::columns::Columns;
use arrow_array::RecordBatch;
use arrow_array::builder::{StringDictionaryBuilder, UInt32Builder, UInt64Builder};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_schema::SchemaRef;
use keel_abi::{Instant, TaskId};
use keel_trace::{Act, Chooser, Class, Event, Lock, Meta, Piping, Sink, What, Why};

/// The number of events per batch.
const ROWS: usize = 65_536;

/// Returns the schema of the events' columns.
pub fn events_schema() -> SchemaRef {
    Rows::default().batch().schema()
}

/// Converts the stream that it listens to into batches, and passes each to `give`.
pub struct Batches<F> {
    names: Vec<(u32, String)>,
    rows: Rows,
    wants: Class,
    give: F,
}

impl<F: FnMut(RecordBatch)> Batches<F> {
    /// Creates a converter for events of these classes.
    pub fn new(wants: Class, give: F) -> Self {
        Self { names: Vec::new(), rows: Rows::default(), wants, give }
    }

    /// Passes on the remaining events.
    pub fn finish(mut self) {
        self.flush();
    }

    fn flush(&mut self) {
        if self.rows.len > 0 {
            let rows = std::mem::take(&mut self.rows);
            (self.give)(rows.batch());
        }
    }
}

impl<F: FnMut(RecordBatch)> Sink for Batches<F> {
    fn wants(&self) -> Class {
        self.wants
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            self.rows.add(event, &self.names);
            if self.rows.len == ROWS {
                self.flush();
            }
        }
    }

    fn meta(&mut self, _: Instant, meta: &Meta) {
        if let Meta::Task(info) = meta {
            let at = info.task.0 as usize;
            if at >= self.names.len() {
                self.names.resize(at + 1, (0, String::new()));
            }
            self.names[at] = (info.pid.0, info.name.clone());
        }
    }
}

/// The columns of one event, except its time and CPU.
#[derive(Default)]
struct Row {
    event: &'static str,
    task: Option<TaskId>,
    other: Option<TaskId>,
    from: Option<u32>,
    to: Option<u32>,
    detail: Option<&'static str>,
    value: Option<u64>,
    queue: Option<u64>,
}

#[derive(Default)]
struct Rows {
    len: usize,
    at: UInt64Builder,
    cpu: UInt32Builder,
    event: StringDictionaryBuilder<Int8Type>,
    pid: UInt32Builder,
    comm: StringDictionaryBuilder<Int32Type>,
    other: UInt32Builder,
    from: UInt32Builder,
    to: UInt32Builder,
    detail: StringDictionaryBuilder<Int8Type>,
    value: UInt64Builder,
    queue: UInt64Builder,
}

impl Rows {
    fn add(&mut self, event: &Event, names: &[(u32, String)]) {
        let known = |task: Option<TaskId>| {
            task.filter(|task| !task.is_idle()).and_then(|task| names.get(task.0 as usize))
        };
        let row = row(&event.what);
        self.len += 1;
        self.at.append_value(event.at.as_ns());
        self.cpu.append_value(event.cpu.0);
        self.event.append_value(row.event);
        self.pid.append_option(known(row.task).map(|(pid, _)| *pid));
        self.comm.append_option(known(row.task).map(|(_, name)| name));
        self.other.append_option(known(row.other).map(|(pid, _)| *pid));
        self.from.append_option(row.from);
        self.to.append_option(row.to);
        self.detail.append_option(row.detail);
        self.value.append_option(row.value);
        self.queue.append_option(row.queue);
    }

    fn batch(mut self) -> RecordBatch {
        Columns::default()
            .with("at_ns", self.at.finish())
            .with("cpu", self.cpu.finish())
            .with("event", self.event.finish())
            .with_some("pid", self.pid.finish())
            .with_some("comm", self.comm.finish())
            .with_some("other_pid", self.other.finish())
            .with_some("from_cpu", self.from.finish())
            .with_some("to_cpu", self.to.finish())
            .with_some("detail", self.detail.finish())
            .with_some("value", self.value.finish())
            .with_some("queue", self.queue.finish())
            .batch()
    }
}

fn row(what: &What) -> Row {
    let of = |event| Row { event, ..Row::default() };
    let about = |event, task: &TaskId| Row { task: Some(*task), ..of(event) };
    let on = |event, on: &bool| Row { value: Some(u64::from(*on)), ..of(event) };
    match what {
        What::Switch { prev, why, next } => {
            Row { other: Some(*next), detail: Some(why_name(*why)), ..about("switch", prev) }
        }
        What::Wakeup { task, target, waker } | What::Woken { task, target, waker, .. } => {
            Row { other: Some(*waker), to: Some(target.0), ..about("wakeup", task) }
        }
        What::Fork { child, target, parent } => {
            Row { other: Some(*parent), to: Some(target.0), ..about("fork", child) }
        }
        What::Exit { task } => about("exit", task),
        What::Migrate { task, from, to } | What::Pulled { task, from, to } => {
            Row { from: Some(from.0), to: Some(to.0), ..about("migrate", task) }
        }
        What::Placed { task, prev, chosen, by, idle } => Row {
            from: Some(prev.0),
            to: Some(chosen.0),
            detail: Some(chooser_name(*by)),
            value: Some(u64::from(*idle)),
            ..about("placed", task)
        },
        What::Queued { task, dsq, len } => queue_row("queued", task, dsq.0, *len),
        What::Unqueued { task, dsq, len } => queue_row("unqueued", task, dsq.0, *len),
        What::Held { task } => about("held", task),
        What::Kick { target, flags } => Row { to: Some(target.0), value: Some(*flags), ..of("kick") },
        What::Callback { op, task, took, .. } => {
            Row { detail: Some(op.name()), value: Some(took.as_ns()), ..about("callback", task) }
        }
        What::LockWait { lock, waited } => lock_row(*lock, waited.as_ns()),
        What::LockWaits { waited } => Row { value: Some(waited.as_ns()), ..of("lock_wait") },
        What::Online { target, up } => Row { to: Some(target.0), ..on("online", up) },
        What::Count { task, units } => Row { value: Some(u64::from(*units)), ..about("count", task) },
        What::Bypass { on: begins } => on("bypass", begins),
        What::Priority { task, prio, .. } => {
            // Deadline tasks have -1, which does not fit into an unsigned number.
            Row { value: u64::try_from(*prio).ok(), ..about("priority", task) }
        }
        What::Throttled { task, on, .. } => Row { value: Some(u64::from(*on)), ..about("throttled", task) },
        What::Reserved { target, on: begins } => Row { to: Some(target.0), ..on("reserved", begins) },
        What::Awaits { task, mutex, owner } => {
            Row { other: Some(*owner), value: Some(u64::from(*mutex)), ..about("awaits", task) }
        }
        What::Worked { task, user, .. } => Row { value: Some(user.as_ns()), ..about("worked", task) },
        What::Waited { task, call, source } => {
            Row { detail: Some(call.name()), value: Some(*source as u64), ..about("waited", task) }
        }
        What::Piped { task, bytes, how, .. } => {
            let event = if *how == Piping::Read { "read_pipe" } else { "writes_pipe" };
            Row { value: Some(u64::from(*bytes)), ..about(event, task) }
        }
        What::Acts { task, act } => act_row(task, act),
        What::Lost { events } => Row { value: Some(u64::from(*events)), ..of("lost") },
    }
}

fn queue_row(event: &'static str, task: &TaskId, queue: u64, len: u32) -> Row {
    Row { event, task: Some(*task), queue: Some(queue), value: Some(u64::from(len)), ..Row::default() }
}

fn lock_row(lock: Lock, waited_ns: u64) -> Row {
    let (detail, to, queue) = match lock {
        Lock::Runqueue(cpu) => ("runqueue", Some(cpu.0), None),
        Lock::Dsq(dsq) => ("dsq", None, Some(dsq.0)),
        Lock::Bpf(_) => ("bpf", None, None),
    };
    Row { event: "lock_wait", to, queue, detail: Some(detail), value: Some(waited_ns), ..Row::default() }
}

fn act_row(task: &TaskId, act: &Act) -> Row {
    let (detail, other, value) = match act {
        Act::Wakes { wakee, .. } => ("wakes", Some(*wakee), None),
        Act::Waits => ("waits", None, None),
        Act::Sleeps { until, .. } => ("sleeps", None, Some(until.as_ns())),
        Act::Begins { at } => ("begins", None, Some(at.as_ns())),
        Act::Forks { child, .. } => ("forks", Some(*child), None),
        Act::Yields => ("yields", None, None),
        Act::Exits => ("exits", None, None),
    };
    Row { event: "acts", task: Some(*task), other, detail: Some(detail), value, ..Row::default() }
}

const fn why_name(why: Why) -> &'static str {
    match why {
        Why::WasIdle => "was_idle",
        Why::Preempted => "preempted",
        Why::Yielded => "yielded",
        Why::Blocked => "blocked",
        Why::Exited => "exited",
    }
}

const fn chooser_name(by: Chooser) -> &'static str {
    match by {
        Chooser::SelectCpu => "select_cpu",
        Chooser::Default => "default",
        Chooser::Fallback => "fallback",
        Chooser::OnlyOne => "only_one",
        Chooser::Dispatch => "dispatch",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{UInt32Type, UInt64Type};
    use keel_abi::{CpuId, CpuSet, Pid};
    use keel_trace::TaskInfo;

    fn task(id: u32, pid: u32, name: &str) -> Meta {
        Meta::Task(TaskInfo {
            task: TaskId(id),
            pid: Pid(pid),
            name: name.into(),
            nice: 0,
            cpus: CpuSet::first(1),
        })
    }

    fn switch(ns: u64, prev: TaskId, next: TaskId) -> Event {
        let what = What::Switch { prev, why: Why::Blocked, next };
        Event { at: Instant::from_ns(ns), cpu: CpuId(2), what }
    }

    #[test]
    fn tasks_have_pids_and_idle_cpus_none() {
        let mut given = Vec::new();
        let mut batches = Batches::new(Class::ALL, |batch| given.push(batch));
        batches.meta(Instant::ZERO, &task(0, 100, "a"));
        batches.meta(Instant::ZERO, &task(1, 101, "b"));
        batches.events(&[switch(5, TaskId(1), TaskId::IDLE), switch(6, TaskId::IDLE, TaskId(0))]);
        batches.finish();
        assert_eq!(given.len(), 1);
        let column = |name: &str| given[0].column_by_name(name).expect(name);
        assert_eq!(column("at_ns").as_primitive::<UInt64Type>().values(), &[5, 6]);
        let pids = |name| column(name).as_primitive::<UInt32Type>().iter().collect::<Vec<_>>();
        assert_eq!(pids("pid"), [Some(101), None]);
        assert_eq!(pids("other_pid"), [None, Some(100)]);
        let names = column("comm").as_dictionary::<Int32Type>();
        let names = names.downcast_dict::<arrow_array::StringArray>().expect("text");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), [Some("b"), None]);
    }

    #[test]
    fn batches_are_bounded_and_all_of_one_schema() {
        let mut rows = Vec::new();
        let mut batches = Batches::new(Class::ALL, |batch: RecordBatch| {
            assert_eq!(batch.schema(), events_schema());
            rows.push(batch.num_rows());
        });
        let many: Vec<Event> = (0..ROWS as u64 + 3).map(|ns| switch(ns, TaskId(0), TaskId(1))).collect();
        batches.events(&many);
        batches.finish();
        assert_eq!(rows, [ROWS, 3]);
    }
}
