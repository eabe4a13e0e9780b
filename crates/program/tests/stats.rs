//! A program's server of statistics is asked, and answers, as often as is wanted.

use keel_abi::Topology;
use keel_program::{Event, Machine, NoDesk, Program};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

/// BTF without a type: a header, and the empty string.
const NO_TYPES: &[u8] = &[0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
const CALL_NS: u64 = 2000;
const SECOND_NS: u64 = 1_000_000_000;

/// The program, which has its folder for as long as it runs.
fn started() -> (Program, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stats");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/stats.c");
    let built = Command::new("cc").arg("-o").arg(&file).arg(source).arg("-lpthread").status();
    assert!(built.expect("there is a C compiler").success());
    let machine = Machine {
        topology: Topology::flat(2),
        capacity: Vec::new(),
        btf: NO_TYPES,
        config: String::new(),
        seed: 1,
        call_ns: CALL_NS,
        pid: 2,
    };
    (Program::start(&[file.into_os_string()], machine).expect("it starts"), folder)
}

/// How the program ends, and what it answered in which second.
fn run(every_ns: Option<u64>) -> (i32, Vec<(u64, String)>) {
    let (mut program, _folder) = started();
    if let Some(every_ns) = every_ns {
        program.ask_every(every_ns);
    }
    let mut now_ns = 0;
    let code = loop {
        match program.step(now_ns, &mut NoDesk).expect("it asks for nothing unusual") {
            Event::Exited(code) => break code,
            Event::Idle { until_ns } => now_ns = until_ns.expect("it waits for time alone"),
            _ => now_ns += CALL_NS,
        }
    };
    let seconds = |(at_ns, text): (u64, String)| (at_ns / SECOND_NS, text);
    (code, program.take_answers().into_iter().map(seconds).collect())
}

#[test]
fn a_server_of_statistics_is_asked() {
    let answer = |(second, nth, here)| (second, format!(r#"{{"questions":{nth},"here":{here}}}"#));
    assert_eq!(run(None), (0, Vec::new()));
    // The third question has no answer. A server that has hung up is called again.
    let expected = [(0, 1, 1), (2, 2, 2), (6, 4, 1), (8, 5, 2)].map(answer);
    let answered = run(Some(2 * SECOND_NS));
    assert_eq!(answered, (0, expected.to_vec()));
    assert_eq!(run(Some(2 * SECOND_NS)), answered);
}

/// A client asks so often, and returns the answers; an empty one where the server hangs up.
fn client(mut socket: UnixStream, questions: usize) -> JoinHandle<Vec<String>> {
    std::thread::spawn(move || {
        let mut answers = BufReader::new(socket.try_clone().unwrap());
        let mut ask = || {
            socket.write_all(b"{\"req\":\"stats\",\"args\":{}}\n").unwrap();
            let mut line = String::new();
            answers.read_line(&mut line).unwrap();
            line
        };
        (0..questions).map(|_| ask()).collect()
    })
}

#[test]
fn clients_outside_ask_it_in_real_time() {
    let (mut program, folder) = started();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    let begun = Instant::now();
    program.relay(Arc::new(listener));
    let clients = [client(UnixStream::connect(&path).unwrap(), 2)];
    let mut now_ns = 0;
    while !clients.iter().all(JoinHandle::is_finished) {
        match program.step(now_ns, &mut NoDesk).expect("it asks for nothing unusual") {
            Event::Exited(code) => panic!("it ended with {code} before it has answered"),
            Event::Idle { until_ns } => now_ns = until_ns.expect("it waits for time alone"),
            _ => now_ns += CALL_NS,
        }
    }
    // The last step went as far as the next point.
    let point_ns = 10_000_000;
    assert!(u128::from(now_ns) <= begun.elapsed().as_nanos() + 2 * point_ns, "{now_ns} ns");
    let answers = clients.map(|client| client.join().unwrap());
    let answer = |nth| format!("{{\"questions\":{nth},\"here\":{nth}}}\n");
    assert_eq!(answers, [vec![answer(1), answer(2)]]);
    // Nobody is there to see it end.
    program.interrupt().unwrap();
}
