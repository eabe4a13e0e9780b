//! `ring:PROCESSES:KIB` and `pipe`: lmbench's lat_ctx and lat_pipe. `context1:PAIRS`: UnixBench's context switching
//! through pipes.
//!
//! In the ring, a token of four bytes circulates through pipes. The process that gets it reads its working set and
//! passes the token on. lmbench subtracts the time that a single process needs for that (`ring:1:KIB`). The pair of
//! `pipe` sends one byte back and forth; a round trip counts as one. A pipe holds 4096 bytes, as in Linux 2.4.

use super::{again, task, within};
use keel_abi::task::{Channel, ChannelKind, ObjectId, Step, TaskSpec, Workload};

/// A pipe in Linux 2.4: one page.
const PIPE: Channel = Channel { kind: ChannelKind::Pipe, capacity_bytes: 4096 };
/// lat_ctx passes an `int`.
const TOKEN_BYTES: u32 = 4;

pub(super) fn workload(numbers: &[i64]) -> Option<Workload> {
    let &[processes, kib] = numbers else { return None };
    let (processes, kib) = (within(processes, 1, 10_000)?, within(kib, 0, 1 << 20)?);
    let member = |number: u32| {
        let receive = Step::Receive { channel: ObjectId(number), bytes: TOKEN_BYTES };
        let send = Step::Send { channel: ObjectId((number + 1) % processes), bytes: TOKEN_BYTES };
        let touch = Step::Touch(u64::from(kib) * 1024);
        let mut steps = if number == 0 { vec![send.clone()] } else { Vec::new() };
        let to = steps.len() as u32;
        steps.extend([receive, touch, Step::Count, send, again(to, None, 0)]);
        TaskSpec { process: number, ..task("lat_ctx", 1, steps) }
    };
    Some(Workload {
        tasks: (0..processes).map(member).collect(),
        channels: vec![PIPE; processes as usize],
        unit: "switches".to_owned(),
        ..Workload::default()
    })
}

/// How long a round of reflex computes, in microseconds. Its README says 'in the microsecond range'.
const REFLEX_US: u64 = 1;

/// `reflex:TASKS`: Nagar's benchmark of that name. TASKS is even, because its threads work in pairs. The thread with
/// the token computes for a moment, sends the token to the other one through a pipe, and waits for it to come back;
/// each such round counts. Kravetz's table of 8 January 2002 suggests pairs: its times are lowest with twice as many
/// tasks as CPUs.
pub(super) fn reflex(numbers: &[i64]) -> Option<Workload> {
    let &[tasks] = numbers else { return None };
    let tasks = within(tasks, 2, 10_000).filter(|tasks| tasks.is_multiple_of(2))?;
    let member = |number: u32| {
        let receive = Step::Receive { channel: ObjectId(number), bytes: 1 };
        let send = Step::Send { channel: ObjectId(number ^ 1), bytes: 1 };
        let mut steps = vec![super::run_us(REFLEX_US), Step::Count, send, receive];
        // The other thread of the pair starts by waiting.
        if !number.is_multiple_of(2) {
            steps.rotate_right(1);
        }
        steps.push(again(0, None, 0));
        task("reflex", 1, steps)
    };
    Some(Workload {
        tasks: (0..tasks).map(member).collect(),
        channels: vec![PIPE; tasks as usize],
        unit: "rounds".to_owned(),
        ..Workload::default()
    })
}

/// A pipe in Linux since 2.6.11: 16 pages.
const PIPE_TODAY: Channel = Channel { kind: ChannelKind::Pipe, capacity_bytes: 65_536 };

pub(super) fn pipe() -> Workload {
    let (asks, answers) = pair(0, 1);
    Workload {
        tasks: vec![
            task("lat_pipe", 1, asks),
            TaskSpec { process: 1, ..task("lat_pipe-answers", 1, answers) },
        ],
        channels: vec![PIPE; 2],
        unit: "round trips".to_owned(),
        ..Workload::default()
    }
}

/// This many copies of UnixBench's context1: in each, a process sends four bytes to its child and waits for four bytes
/// back. All parents come first, so that a parent and its child start on the same CPU if there are as many copies as
/// CPUs.
pub(super) fn context1(numbers: &[i64]) -> Option<Workload> {
    let &[copies] = numbers else { return None };
    let copies = within(copies, 1, 10_000)?;
    let parents = (0..copies).map(|copy| {
        let (asks, _) = pair(2 * copy, TOKEN_BYTES);
        TaskSpec { process: copy, ..task("context1", 1, asks) }
    });
    let children = (0..copies).map(|copy| {
        let (_, answers) = pair(2 * copy, TOKEN_BYTES);
        TaskSpec { process: copies + copy, ..task("context1-child", 1, answers) }
    });
    Some(Workload {
        tasks: parents.chain(children).collect(),
        channels: vec![PIPE_TODAY; 2 * copies as usize],
        unit: "round trips".to_owned(),
        ..Workload::default()
    })
}

/// Returns the steps of two processes that send this many bytes back and forth, through channel `first` and the next.
fn pair(first: u32, bytes: u32) -> (Vec<Step>, Vec<Step>) {
    let (there, back) = (ObjectId(first), ObjectId(first + 1));
    let send = |channel| Step::Send { channel, bytes };
    let receive = |channel| Step::Receive { channel, bytes };
    let asks = vec![send(there), receive(back), Step::Count, again(0, None, 0)];
    (asks, vec![receive(there), send(back), again(0, None, 0)])
}
