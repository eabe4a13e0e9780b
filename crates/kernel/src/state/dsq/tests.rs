use super::*;
use keel_abi::bpf::Errno;
use proptest::prelude::*;

const TASKS: u32 = 24;

fn table() -> (DsqTable, [DsqHandle; 2]) {
    let mut table = DsqTable::new([keel_abi::scx::dsq::GLOBAL]);
    table.links.ensure(TaskId(TASKS));
    let queues = [table.create(DsqId(7)).unwrap(), table.create(DsqId(1 << 40)).unwrap()];
    (table, queues)
}

/// The rules as a simple model: a queue is a sorted list of (task, vtime if ordered by it, insert).
#[derive(Clone, Default)]
struct Model {
    queues: [Vec<(u32, Option<u64>, u32)>; 2],
    inserts: u32,
}

impl Model {
    fn queued(&self, task: u32) -> bool {
        self.queues.iter().flatten().any(|e| e.0 == task)
    }

    fn mode(&self, queue: usize) -> Option<bool> {
        self.queues[queue].first().map(|e| e.1.is_some())
    }

    fn insert(&mut self, queue: usize, task: u32, vtime: Option<u64>, head: bool) -> bool {
        self.inserts += 1;
        let mixed = self.mode(queue).is_some_and(|priority| priority != vtime.is_some());
        let inserts = self.inserts;
        let list = &mut self.queues[queue];
        let (vtime, at) = match (mixed, vtime) {
            (true, _) => (list.last().unwrap().1, list.len()),
            (false, Some(v)) => {
                let before = |e: &(u32, Option<u64>, u32)| e.1.unwrap().wrapping_sub(v) as i64 <= 0;
                (Some(v), list.iter().position(|e| !before(e)).unwrap_or(list.len()))
            }
            (false, None) => (None, if head { 0 } else { list.len() }),
        };
        list.insert(at, (task, vtime, inserts));
        mixed
    }

    fn remove(&mut self, task: u32) -> Option<usize> {
        let queue = self.queues.iter().position(|q| q.iter().any(|e| e.0 == task))?;
        self.queues[queue].retain(|e| e.0 != task);
        Some(queue)
    }
}

/// An iteration as a simple model: the tasks in the queue at its start, without those that have left since.
struct ModelCursor {
    queue: usize,
    ahead: Vec<(u32, Option<u64>, u32)>,
}

impl ModelCursor {
    fn next(&mut self, model: &Model) -> Option<u32> {
        while !self.ahead.is_empty() {
            let entry = self.ahead.remove(0);
            if model.queues[self.queue].contains(&entry) {
                return Some(entry.0);
            }
        }
        None
    }
}

#[derive(Clone, Debug)]
enum Act {
    Tail(usize, u32),
    Head(usize, u32),
    Vtime(usize, u32, u64),
    Remove(u32),
    PopFirst(usize),
    FirstWhere(usize, u32),
    IterNew(usize, bool),
    IterNext(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let vtime = prop_oneof![0..6u64, (0..6u64).prop_map(|v| v.wrapping_sub(3)), (1u64 << 62)..(1 << 62) + 3];
    prop_oneof![
        1 => (0..2usize, 0..TASKS).prop_map(|(q, t)| Act::Tail(q, t)),
        1 => (0..2usize, 0..TASKS).prop_map(|(q, t)| Act::Head(q, t)),
        3 => (Just(1usize), 0..TASKS, vtime).prop_map(|(q, t, v)| Act::Vtime(q, t, v)),
        1 => (0..TASKS).prop_map(Act::Remove),
        1 => (0..2usize).prop_map(Act::PopFirst),
        1 => (0..2usize, 0..TASKS).prop_map(|(q, t)| Act::FirstWhere(q, t)),
        1 => (0..2usize, any::<bool>()).prop_map(|(q, r)| Act::IterNew(q, r)),
        3 => (0..3usize).prop_map(Act::IterNext),
    ]
}

fn check_against_model(acts: &[Act]) {
    let ((mut table, handles), mut model) = (table(), Model::default());
    let mut cursors: Vec<(Cursor, ModelCursor)> = Vec::new();
    for act in acts {
        match *act {
            Act::Tail(q, t) | Act::Head(q, t) | Act::Vtime(q, t, _) if !model.queued(t) => {
                let (got, vtime, head) = match *act {
                    Act::Tail(..) => (table.push_tail(handles[q], TaskId(t)), None, false),
                    Act::Head(..) => (table.push_head(handles[q], TaskId(t)), None, true),
                    Act::Vtime(_, _, v) => (table.push_vtime(handles[q], TaskId(t), v), Some(v), false),
                    _ => unreachable!("only inserts come here"),
                };
                assert_eq!(got.is_err(), model.insert(q, t, vtime, head));
            }
            Act::Tail(..) | Act::Head(..) | Act::Vtime(..) => {}
            Act::Remove(t) => assert_eq!(table.remove(TaskId(t)), model.remove(t).map(|q| handles[q])),
            Act::PopFirst(q) => {
                let first = model.queues[q].first().map(|e| e.0);
                first.map(|t| model.remove(t));
                let (queue, links) = table.queue_mut(handles[q]);
                assert_eq!(queue.pop_first(links), first.map(TaskId));
            }
            Act::FirstWhere(q, from) => {
                let expected = model.queues[q].iter().map(|e| e.0).find(|&t| t >= from);
                assert_eq!(table.first_where(handles[q], |t| t.0 >= from), expected.map(TaskId));
            }
            Act::IterNew(q, reverse) => {
                let mut ahead = model.queues[q].clone();
                if reverse {
                    ahead.reverse();
                }
                cursors.push((table.queue(handles[q]).iter_new(reverse), ModelCursor { queue: q, ahead }));
            }
            Act::IterNext(back) => {
                if let Some((cursor, expected)) = cursors.iter_mut().rev().nth(back) {
                    assert_eq!(table.iter_next(cursor), expected.next(&model).map(TaskId));
                }
            }
        }
        for (q, &handle) in handles.iter().enumerate() {
            let expected: Vec<_> = model.queues[q].iter().map(|e| TaskId(e.0)).collect();
            assert_eq!(table.queue(handle).tasks(&table.links), expected);
            assert_eq!(table.queue(handle).len() as usize, expected.len());
            assert_eq!(table.queue(handle).first(), expected.first().copied());
        }
    }
}

proptest! {
    #[test]
    fn queues_and_iterations_follow_the_rules(acts in prop::collection::vec(act(), 0..150)) {
        check_against_model(&acts);
    }
}

#[test]
fn an_emptied_queue_may_switch_its_mode() {
    let (mut table, [queue, _]) = table();
    let t = TaskId;
    assert_eq!(table.push_vtime(queue, t(1), 5), Ok(()));
    assert_eq!(table.push_tail(queue, t(2)), Err(MixedModes::HoldsPriority));
    assert_eq!(table.push_head(queue, t(3)), Err(MixedModes::HoldsPriority));
    for task in 1..=3 {
        table.remove(t(task));
    }
    assert_eq!(table.push_tail(queue, t(2)), Ok(()));
    assert_eq!(table.push_vtime(queue, t(1), 5), Err(MixedModes::HoldsFifo));
}

#[test]
fn a_long_iteration_takes_every_task_once() {
    let (mut table, [fifo, vtime]) = table();
    table.links.ensure(TaskId(2000));
    for n in 0..1000 {
        table.push_tail(fifo, TaskId(n)).unwrap();
        table.push_vtime(vtime, TaskId(1000 + n), u64::from((n * 7919) % 1000).wrapping_sub(500)).unwrap();
    }
    for (queue, reverse) in [(fifo, false), (fifo, true), (vtime, false), (vtime, true)] {
        let mut expected = table.queue(queue).tasks(&table.links);
        if reverse {
            expected.reverse();
        }
        let mut cursor = table.queue(queue).iter_new(reverse);
        let mut seen = Vec::new();
        while let Some(task) = table.iter_next(&mut cursor) {
            seen.push(task);
            if seen.len() % 3 == 0 {
                assert!(table.sees(&cursor, task));
                table.remove(task);
                assert!(!table.sees(&cursor, task));
            }
        }
        assert_eq!(seen, expected);
    }
}

#[test]
fn queues_are_created_and_destroyed_by_id() {
    let mut table = DsqTable::new([keel_abi::scx::dsq::GLOBAL]);
    table.links.ensure(TaskId(0));
    let ids = (0..100).flat_map(|n| [n, 5000 + n, n << 32 | 1 << 50]);
    let handles: Vec<_> = ids.clone().map(|id| table.create(DsqId(id)).unwrap()).collect();
    for (id, handle) in ids.clone().zip(&handles) {
        assert_eq!(table.find(DsqId(id)), Some(*handle));
        assert_eq!(table.create(DsqId(id)).map_err(CreateError::errno), Err(Errno::EEXIST));
    }
    assert_eq!(table.create(keel_abi::scx::dsq::GLOBAL).map_err(CreateError::errno), Err(Errno::EINVAL));
    table.push_tail(handles[1], TaskId(0)).unwrap();
    assert_eq!(table.destroy(DsqId(5000)), Err(DestroyError::Busy));
    assert_eq!(table.destroy(DsqId(123_456)), Err(DestroyError::Missing));
    let mut cursor = table.queue(handles[1]).iter_new(false);
    table.remove(TaskId(0));
    for id in ids.clone() {
        assert_eq!(table.destroy(DsqId(id)), Ok(()));
        assert_eq!(table.find(DsqId(id)), None);
    }
    assert_eq!(table.user_queues().count(), 0);
    for id in ids {
        table.create(DsqId(id)).unwrap();
    }
    assert_eq!(table.handles(), 301);
    assert_eq!(table.user_queues().count(), 300);
    table.push_tail(handles[1], TaskId(0)).unwrap();
    assert_eq!(table.iter_next(&mut cursor), None, "an iteration never sees a queue's successor");
}
