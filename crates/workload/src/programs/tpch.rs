//! `tpch[:QUERY[:BLOCKS]]`: a commercial database that executes TPC-H's queries, all 22 one after another (0) or one of
//! them, as in the Wasted Cores paper: 64 workers, one per core of its machine, in pools of different sizes, each of
//! which is a process in a session of its own; and what the kernel does on their behalf.
//!
//! All workers work on a query. Each scans batches of 1000 rows. Of 32 batches, a block, some go to other workers,
//! depending on the rows' keys, and the worker receives as many from others. They go through queues of two batches, so
//! workers wait for and wake each other. At a query's end, all wait for all. Once per block, a worker has something
//! written to its log, for which a kernel thread works between 0.2 and 0.9 ms: these are the transient tasks that the
//! paper describes. BLOCKS (40) is the number of blocks of a query for each worker.
//!
//! Sources of the numbers: 64 workers, pools of different sizes, and tasks of less than a millisecond are from the
//! paper, section 3.3. How the workers are divided is an estimate. The work per row: query 18 took 43.3 s with all
//! fixes on 64 cores (the paper's table 2) and processes the 600 million line items of scale factor 100 twice, which
//! makes 2.3 µs of a core. That scale factor, rows of 32 bytes, the sizes of batches and queues, how often something is
//! logged, and that scanning a batch takes as long as receiving one, are estimates. So is the share of a query's
//! batches that is exchanged ([`EXCHANGED`]).

use super::{again, run_us, task, within};
use keel_abi::task::{Channel, ChannelKind, ObjectId, Step, TaskSpec, Workload};

/// The number of workers in each pool.
const POOLS: [u32; 3] = [28, 20, 16];
const WORKERS: u32 = 64;
const BLOCKS: i64 = 40;
/// The number of batches in a block.
const BATCHES: u32 = 32;
const BATCH_BYTES: u32 = 32 * 1024;
/// How long a worker scans a batch, and how long it processes a received one, in microseconds.
const BATCH_US: u64 = 1_150;
/// The next worker, the fifth after it, and so on get a worker's batches in turn. They represent all others.
const STRIDES: [u32; 8] = [1, 5, 9, 19, 27, 33, 43, 55];
const LOGGERS: u32 = 8;
const LOG_BYTES: u32 = 64;

/// The share of the batches scanned by each query that is exchanged, in percent. These are the rows of its largest
/// table that remain once all of its predicates have been applied, according to the distributions in TPC-H's
/// specification, and all rows that are grouped by a key with as many values as there are customers or orders (13, 18)
/// or compared with others of their order (21, after its own predicate). Queries 1 and 6 aggregate rows where they scan
/// them.
const EXCHANGED: [u32; 22] = [0, 1, 5, 2, 3, 0, 2, 1, 5, 2, 4, 1, 99, 1, 4, 14, 1, 100, 1, 1, 63, 20];

pub(super) fn workload(numbers: &[i64]) -> Option<Workload> {
    let (query, blocks) = match *numbers {
        [] => (0, BLOCKS),
        [query] => (query, BLOCKS),
        [query, blocks] => (query, blocks),
        _ => return None,
    };
    let (query, blocks) = (within(query, 0, EXCHANGED.len() as u32)?, within(blocks, 1, 100_000)?);
    let queries = match query {
        0 => &EXCHANGED[..],
        one => std::slice::from_ref(&EXCHANGED[one as usize - 1]),
    };
    let mut tasks: Vec<TaskSpec> = (0..WORKERS).map(|id| worker(id, queries, blocks)).collect();
    tasks.extend((0..LOGGERS).map(|id| logger(id, blocks * queries.len() as u32)));
    let queue = |bytes| Channel { kind: ChannelKind::Queue, capacity_bytes: bytes };
    let between = vec![queue(2 * BATCH_BYTES); (WORKERS * STRIDES.len() as u32) as usize];
    let logs = vec![queue(WORKERS * LOG_BYTES); LOGGERS as usize];
    Some(Workload {
        tasks,
        barriers: vec![WORKERS],
        channels: [between, logs].concat(),
        unit: "batches".to_owned(),
        ..Workload::default()
    })
}

/// Returns the queue from a worker to the one at this stride after it.
fn queue(from: u32, stride: usize) -> ObjectId {
    ObjectId(from % WORKERS * STRIDES.len() as u32 + stride as u32)
}

fn log(logger: u32) -> ObjectId {
    ObjectId(WORKERS * STRIDES.len() as u32 + logger)
}

/// Returns a worker. The first one of a pool creates the others.
fn worker(id: u32, queries: &[u32], blocks: u32) -> TaskSpec {
    let (mut pool, mut first) = (0, 0);
    while id >= first + POOLS[pool as usize] {
        first += POOLS[pool as usize];
        pool += 1;
    }
    let mut steps = Vec::new();
    if id == first {
        steps.extend((first + 1..first + POOLS[pool as usize]).map(Step::Fork));
    }
    for exchanged in queries {
        let begin = steps.len() as u32;
        block(id, (exchanged * BATCHES).div_ceil(100), &mut steps);
        steps.extend([again(begin, Some(blocks), 0), Step::Barrier(ObjectId(0))]);
    }
    TaskSpec { process: pool, session: pool + 1, ..task("worker", u32::from(id == first), steps) }
}

/// Appends the steps of a block, of which this many batches are exchanged, at even intervals.
fn block(id: u32, exchanged: u32, steps: &mut Vec<Step>) {
    let mut sent = 0;
    for batch in 1..=BATCHES {
        steps.push(run_us(BATCH_US));
        if batch * exchanged / BATCHES > sent {
            let stride = sent as usize % STRIDES.len();
            sent += 1;
            steps.push(Step::Send { channel: queue(id, stride), bytes: BATCH_BYTES });
            steps.push(Step::Receive {
                channel: queue(id + WORKERS - STRIDES[stride], stride),
                bytes: BATCH_BYTES,
            });
        }
        steps.extend([run_us(BATCH_US), Step::Count]);
    }
    steps.push(Step::Send { channel: log(id % LOGGERS), bytes: LOG_BYTES });
}

/// Returns a kernel thread that writes the log of an eighth of the workers.
fn logger(id: u32, blocks: u32) -> TaskSpec {
    let messages = blocks * (WORKERS / LOGGERS);
    let steps = vec![
        Step::Receive { channel: log(id), bytes: LOG_BYTES },
        run_us(200 + 100 * u64::from(id)),
        again(0, Some(messages), 0),
    ];
    TaskSpec { kthread: true, process: POOLS.len() as u32, ..task(&format!("kworker/u128:{id}"), 1, steps) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(numbers: &[i64], expected: (usize, usize, usize)) {
        let made = workload(numbers).unwrap();
        let mut balance = vec![0i64; made.channels.len()];
        for (task, step) in
            made.tasks[..64].iter().flat_map(|task| task.steps.iter().map(move |step| (task, step)))
        {
            match step {
                Step::Send { channel, bytes } => balance[channel.0 as usize] += i64::from(*bytes),
                Step::Receive { channel, bytes } => balance[channel.0 as usize] -= i64::from(*bytes),
                Step::Fork(of) => {
                    assert_eq!(made.tasks[*of as usize].process, task.process, "a pool is one process")
                }
                _ => {}
            }
        }
        let (between, logs) = balance.split_at(512);
        assert!(between.iter().all(|&bytes| bytes == 0), "what is sent is received");
        let of = |kind: fn(&Step) -> bool| made.tasks[1].steps.iter().filter(|step| kind(step)).count();
        let got = (
            of(|s| *s == Step::Count),
            of(|s| matches!(s, Step::Receive { .. })),
            logs.iter().sum::<i64>() as usize / 64 / 64,
        );
        assert_eq!(
            got, expected,
            "batches, exchanges and messages to the log of a block of each query: {numbers:?}"
        );
    }

    #[test]
    fn queries_differ_in_how_often_workers_wait_for_each_other() {
        check(&[18], (32, 32, 1));
        check(&[1], (32, 0, 1));
        check(&[3, 7], (32, 2, 1));
        check(&[], (32 * 22, 116, 22));
        assert_eq!(POOLS.iter().sum::<u32>(), WORKERS);
        assert!(workload(&[23]).is_none() && workload(&[18, 0]).is_none());
    }
}
