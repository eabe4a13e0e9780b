//! A program's server of statistics is asked, and answers: keel as often as is wanted, and clients outside of the run.

mod common;

use keel_program::{Clients, Event, News, NoDesk, Program};
use std::ffi::OsString;
use std::sync::{Arc, Mutex};

const CALL_NS: u64 = 2000;
const SECOND_NS: u64 = 1_000_000_000;

/// How the program ends, and what it answered in which second.
fn run(every_ns: Option<u64>) -> (i32, Vec<(u64, String)>) {
    let (code, mut program) = run_with(&[], |program| {
        if let Some(every_ns) = every_ns {
            program.ask_every(every_ns);
        }
    });
    let seconds = |(at_ns, text): (u64, String)| (at_ns / SECOND_NS, text);
    (code, program.take_answers().into_iter().map(seconds).collect())
}

/// Runs the program with these arguments to its end; `prepare` says who asks it.
fn run_with(arguments: &[&str], prepare: impl FnOnce(&mut Program)) -> (i32, Program) {
    let folder = tempfile::tempdir().unwrap();
    let program = common::compiled("stats", folder.path());
    let machine = common::machine(2, CALL_NS);
    let argv: Vec<OsString> =
        std::iter::once(program.into_os_string()).chain(arguments.iter().map(OsString::from)).collect();
    let mut program = Program::start(&argv, machine).expect("it starts");
    prepare(&mut program);
    let mut now_ns = 0;
    let code = loop {
        match program.step(now_ns, &mut NoDesk).expect("it asks for nothing unusual") {
            Event::Exited(code) => break code,
            Event::Idle { until_ns } => now_ns = until_ns.expect("it waits for time alone"),
            _ => now_ns += CALL_NS,
        }
    };
    (code, program)
}

/// Clients that do what a list says, each at its second, and what they have heard.
#[derive(Debug, Default)]
struct Script {
    acts: Mutex<Vec<(u64, News)>>,
    heard: Mutex<Vec<(u64, String)>>,
}

impl Clients for Script {
    fn news(&self, now_ns: u64) -> Vec<News> {
        let mut acts = self.acts.lock().unwrap();
        let due = acts.iter().take_while(|(second, _)| second * SECOND_NS <= now_ns).count();
        acts.drain(..due).map(|(_, news)| news).collect()
    }

    fn hears(&self, client: u64, bytes: &[u8]) {
        self.heard.lock().unwrap().push((client, String::from_utf8_lossy(bytes).into_owned()));
    }

    fn ends(&self, client: u64) {
        self.heard.lock().unwrap().push((client, "end".to_owned()));
    }
}

/// What each client of the program with these arguments has heard, in one piece.
fn heard(arguments: &[&str], acts: &[(u64, News)]) -> Vec<(u64, String)> {
    let script = Arc::new(Script { acts: Mutex::new(acts.to_vec()), ..Script::default() });
    let (code, _) = run_with(arguments, |program| program.admit(script.clone()));
    assert_eq!(code, 0);
    let mut all: Vec<(u64, String)> = Vec::new();
    for (client, text) in script.heard.lock().unwrap().drain(..) {
        match all.iter_mut().find(|(other, _)| *other == client) {
            Some((_, before)) => *before += &text,
            None => all.push((client, text)),
        }
    }
    all
}

/// This client asks for statistics.
fn asks(client: u64) -> News {
    News::Sends(client, b"{\"req\":\"stats\",\"args\":{}}\n".to_vec())
}

/// This is what clients hear that do this, each time.
#[track_caller]
fn check_heard(arguments: &[&str], acts: &[(u64, News)], expected: &[(u64, &str)]) {
    let expected: Vec<(u64, String)> =
        expected.iter().map(|&(client, text)| (client, text.to_owned())).collect();
    assert_eq!(heard(arguments, acts), expected, "{acts:?}");
    assert_eq!(heard(arguments, acts), expected, "{acts:?}, again");
}

#[test]
fn clients_that_come_before_the_server_wait_for_it() {
    let one = "{\"questions\":1,\"here\":1}\n";
    let check = |acts: &[(u64, News)], expected: &[(u64, &str)]| check_heard(&["late"], acts, expected);
    check(&[(1, News::Connects(7)), (1, asks(7))], &[(7, one)]);
    check(&[(1, News::Connects(7)), (4, asks(7))], &[(7, one)]);
    // One that waits for an answer, and one that has left.
    let left = [News::Connects(0), News::Finishes(0)].map(|news| (1, news));
    let waits = [News::Connects(1), asks(1), News::Finishes(1)].map(|news| (1, news));
    check(&[left, [waits[0].clone(), waits[1].clone()]].concat(), &[(0, "end"), (1, one)]);
    check(&waits, &[(1, &format!("{one}end"))]);
}

#[test]
fn clients_outside_of_the_run_reach_the_server() {
    let check = |acts: &[(u64, News)], expected: &[(u64, &str)]| check_heard(&[], acts, expected);
    check(&[], &[]);
    let one = "{\"questions\":1,\"here\":1}\n";
    let two = "{\"questions\":2,\"here\":2}\n";
    check(&[(1, News::Connects(7)), (1, asks(7)), (3, asks(7))], &[(7, &format!("{one}{two}"))]);
    // One client after the other: the server takes the second when the first has left.
    let acts =
        [(1, News::Connects(0)), (1, asks(0)), (2, News::Finishes(0)), (3, News::Connects(1)), (3, asks(1))];
    check(&acts, &[(0, &format!("{one}end")), (1, "{\"questions\":2,\"here\":1}\n")]);
    // At the third question the server hangs up. What follows is of nobody.
    let acts = [(1, News::Connects(0)), (1, asks(0)), (2, asks(0)), (3, asks(0)), (4, asks(0))];
    check(&acts, &[(0, &format!("{one}{two}end"))]);
    check(&[(1, asks(5)), (2, News::Finishes(5))], &[]);
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
