//! `hackbench:GROUPS[:LOOPS]`: rt-tests' hackbench with its defaults, as `hackbench -g GROUPS -l LOOPS`.
//!
//! In each group, 20 senders write 100 bytes to each of 20 receivers through sockets, LOOPS times. All are processes. A
//! receiver's socket holds about 278 such messages before a sender blocks, because Linux charges more than a message's
//! own bytes.

use super::{again, task, within};
use keel_abi::task::{Channel, ChannelKind, ObjectId, Step, TaskSpec, Workload};

/// The number of senders, and of receivers, in a group: half of hackbench's 40 file descriptors.
const OF_GROUP: u32 = 20;
/// hackbench's `DATASIZE`.
const MESSAGE_BYTES: u32 = 100;
/// `net.core.wmem_default`, 212,992 bytes, divided by the 768 bytes of a message's buffer (`skb->truesize`).
const MESSAGES_IN_SOCKET: u32 = 278;
const SOCKET: Channel =
    Channel { kind: ChannelKind::Unix, capacity_bytes: MESSAGES_IN_SOCKET * MESSAGE_BYTES };
/// hackbench's default loop count.
const LOOPS: u32 = 100;

pub(super) fn workload(numbers: &[i64]) -> Option<Workload> {
    let (groups, loops) = match *numbers {
        [groups] => (groups, i64::from(LOOPS)),
        [groups, loops] => (groups, loops),
        _ => return None,
    };
    let (groups, loops) = (within(groups, 1, 250)?, within(loops, 1, 1_000_000)?);
    Some(Workload {
        tasks: (0..groups).flat_map(|group| members(group, loops)).collect(),
        channels: vec![SOCKET; (groups * OF_GROUP) as usize],
        unit: "messages".to_owned(),
        ..Workload::default()
    })
}

/// Returns the receivers, then the senders, in the order in which hackbench forks them.
fn members(group: u32, loops: u32) -> impl Iterator<Item = TaskSpec> {
    let sockets = (0..OF_GROUP).map(move |of| ObjectId(group * OF_GROUP + of));
    let first = 2 * OF_GROUP * group;
    let receivers = sockets.clone().zip(first..).map(move |(channel, process)| {
        let receive = Step::Receive { channel, bytes: MESSAGE_BYTES };
        let steps = vec![receive, Step::Count, again(0, Some(loops * OF_GROUP), 0)];
        TaskSpec { process, ..task("receiver", 1, steps) }
    });
    let send: Vec<Step> = sockets.map(|channel| Step::Send { channel, bytes: MESSAGE_BYTES }).collect();
    let senders = (first + OF_GROUP..first + 2 * OF_GROUP).map(move |process| {
        let mut steps = send.clone();
        steps.push(again(0, Some(loops), 0));
        TaskSpec { process, ..task("sender", 1, steps) }
    });
    receivers.chain(senders)
}
