//! `chat:ROOMS:USERS:MESSAGES[:NICE[:SERVER_NICE]]` models Bill Hartner's chat benchmark (the programs `chat_c` and
//! `chat_s`), which Molnar used in his post of 4 January 2002.
//!
//! Two processes communicate over TCP on one host. Each user has a connection and four threads. In the client, one
//! thread sends MESSAGES messages of 100 bytes, and one receives. In the server, one thread reads from the connection
//! and adds each message to the queues of all users in the room, including the sender's. The other takes messages from
//! its user's queue and writes them to the connection. Each message that a client's receiver gets counts: rooms x users
//! x users x messages in total.
//!
//! NICE is the nice value of both processes, unless the server's is also given.
//!
//! The sockets hold 16 KiB in each direction (tcp_wmem of Linux 2.4), a queue 100 messages. In addition to the system
//! calls, each message takes a thread an estimated 1 µs, and each further queue 0.2 µs.

use super::{again, task, within};
use keel_abi::Span;
use keel_abi::task::{Amount, Channel, ChannelKind, ObjectId, Step, TaskSpec, Workload};

const MESSAGE_BYTES: u32 = 100;
const SOCKET: Channel = Channel { kind: ChannelKind::Tcp, capacity_bytes: 16 * 1024 };
const QUEUE: Channel = Channel { kind: ChannelKind::Queue, capacity_bytes: 100 * MESSAGE_BYTES };
/// The maximum number of users in total, and of recipients of one message from a user in each room.
const MOST_USERS: u32 = 10_000;
const MOST_COPIES: u32 = 1_000_000;
/// The numbers of the processes.
const SERVER: u32 = 0;
const CLIENT: u32 = 1;

pub(super) fn workload(numbers: &[i64]) -> Option<Workload> {
    let (rooms, users, messages, [client, server]) = match *numbers {
        [rooms, users, messages] => (rooms, users, messages, [0, 0]),
        [rooms, users, messages, nice] => (rooms, users, messages, [nice, nice]),
        [rooms, users, messages, client, server] => (rooms, users, messages, [client, server]),
        _ => return None,
    };
    let nice = |nice| i8::try_from(nice).ok().filter(|nice| (-20..=19).contains(nice));
    let (client, server) = (nice(client)?, nice(server)?);
    let (rooms, users) = (within(rooms, 1, MOST_USERS)?, within(users, 1, MOST_USERS)?);
    let messages = within(messages, 1, 1_000_000)?;
    within(i64::from(rooms) * i64::from(users), 1, MOST_USERS)?;
    within(i64::from(rooms) * i64::from(users) * i64::from(users), 1, MOST_COPIES)?;
    let mut tasks = Vec::new();
    for user in 0..rooms * users {
        let room = user / users * users;
        tasks.extend(threads(user, room..room + users, messages));
    }
    tasks.iter_mut().for_each(|task| task.nice = if task.process == CLIENT { client } else { server });
    let channels = (0..rooms * users).flat_map(|_| [SOCKET, SOCKET, QUEUE]).collect();
    Some(Workload { tasks, channels, unit: "messages".to_owned(), ..Workload::default() })
}

/// Returns the channel of a user's connection to the server. The other direction, and the user's queue, follow.
const fn to_server(user: u32) -> ObjectId {
    ObjectId(3 * user)
}

const fn to_client(user: u32) -> ObjectId {
    ObjectId(3 * user + 1)
}

const fn queue(user: u32) -> ObjectId {
    ObjectId(3 * user + 2)
}

/// Returns the four threads of a user.
fn threads(user: u32, room: std::ops::Range<u32>, messages: u32) -> [TaskSpec; 4] {
    let send = |channel| Step::Send { channel, bytes: MESSAGE_BYTES };
    let receive = |channel| Step::Receive { channel, bytes: MESSAGE_BYTES };
    let work = |ns| Step::Run(Amount::fixed(Span::from_ns(ns)));
    let all = room.len() as u32 * messages;
    let mut read = vec![receive(to_server(user)), work(1_000)];
    read.extend(room.flat_map(|other| [work(200), send(queue(other))]));
    read.push(again(0, Some(messages), 0));
    let write = vec![receive(queue(user)), work(1_000), send(to_client(user)), again(0, Some(all), 0)];
    let say = vec![work(1_000), send(to_server(user)), again(0, Some(messages), 0)];
    let hear = vec![receive(to_client(user)), work(1_000), Step::Count, again(0, Some(all), 0)];
    let thread = |name, process, steps| TaskSpec { process, ..task(name, 1, steps) };
    [
        thread("chat_s-reads", SERVER, read),
        thread("chat_s-writes", SERVER, write),
        thread("chat_c-receives", CLIENT, hear),
        thread("chat_c-sends", CLIENT, say),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_received() {
        let made = workload(&[2, 3, 5, 19]).unwrap();
        assert_eq!((made.tasks.len(), made.channels.len()), (24, 18));
        assert!(made.tasks.iter().all(|task| task.nice == 19));
        let client_alone = workload(&[2, 3, 5, 19, 0]).unwrap();
        assert!(client_alone.tasks.iter().all(|task| (task.nice == 19) == (task.process == CLIENT)));
        let mut balance = vec![0i64; made.channels.len()];
        for task in &made.tasks {
            let Some(Step::Loop { times: Some(times), .. }) = task.steps.last() else { panic!("no end") };
            for step in &task.steps {
                match step {
                    Step::Send { channel, .. } => balance[channel.0 as usize] += i64::from(*times),
                    Step::Receive { channel, .. } => balance[channel.0 as usize] -= i64::from(*times),
                    _ => {}
                }
            }
        }
        assert!(balance.iter().all(|&messages| messages == 0), "{balance:?}");
    }
}
