use super::compile;
use super::{Call, Door, Layout, Machine, Pause};
use proptest::prelude::*;

/// Two queues, one variable, and the output.
#[derive(Default)]
struct Desk {
    queues: [Vec<Vec<u8>>; 2],
    variables: Vec<i64>,
    printed: Vec<String>,
}

impl Door for Desk {
    fn call(&mut self, call: Call, map: usize, record: &mut [u8]) -> bool {
        let queue = &mut self.queues[map];
        match call {
            Call::Put if queue.len() < 3 => queue.push(record.to_vec()),
            Call::Take if !queue.is_empty() => record.copy_from_slice(&queue.remove(0)),
            _ => return false,
        }
        true
    }

    fn variable(&mut self, variable: usize) -> i64 {
        self.variables.get(variable).copied().unwrap_or(0)
    }

    fn set_variable(&mut self, variable: usize, value: i64) {
        self.variables.resize(self.variables.len().max(variable + 1), 0);
        self.variables[variable] = value;
    }

    fn now_ns(&mut self) -> u64 {
        1_000
    }

    fn print(&mut self, line: &str) {
        self.printed.push(line.to_owned());
    }
}

fn maps() -> Vec<Layout> {
    let fields = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    vec![
        Layout::new("incoming", &[], &fields(&["s32 pid", "u64 runtime", "u8 weight"])).unwrap(),
        Layout::new("outgoing", &[], &fields(&["s32 pid"])).unwrap(),
    ]
}

/// Runs a number of rounds of a script. Returns their results.
fn rounds(script: &str, mut desk: Desk, rounds: usize) -> (Desk, Vec<Pause>) {
    let program = compile(script, maps(), &[("seven".to_owned(), 7)]).unwrap();
    let mut machine = Machine::new(&program);
    let mut pauses = Vec::new();
    while pauses.iter().filter(|&pause| *pause == Pause::Round).count() < rounds {
        pauses.push(machine.go_on(&mut desk));
    }
    (desk, pauses)
}

#[test]
fn values_are_what_they_are_in_c() {
    let check = |value: &str, expected: i64| {
        let (desk, _) = rounds(&format!("object.v = {value}"), Desk::default(), 1);
        assert_eq!(desk.variables, [expected], "{value}");
    };
    check("1 + 2 * 3 - 4 / 2", 5);
    check("(1 + 2) * 3 % 5", 4);
    check("1 << 4 | 3 & 2", 18);
    check("-seven - -1", -6);
    check("!0 + !5", 1);
    check("2 < 3 == 1", 1);
    check("2 > 3 || 5", 1);
    check("0 || 0", 0);
    check("3 && 0 || 0", 0);
    check("3 && 4", 1);
    check("1 / 0 + 5 % 0", 0);
    check("0xff + 1_000", 1255);
    check("max(3, min(seven, 9))", 7);
    check("0x8000000000000000 / -1", i64::MIN);
    check("9223372036854775807 + 1", i64::MIN);
    check("now()", 1_000);
}

#[test]
fn statements_do_what_they_say() {
    let check = |script: &str, expected: i64| {
        let (desk, _) = rounds(script, Desk::default(), 1);
        assert_eq!(desk.variables.first(), Some(&expected), "{script}");
    };
    check("i = 0 while i < 10 { i += 1 if i == 4 { break } } object.v = i", 4);
    check("repeat 3 { repeat 4 { n += 1 } } object.v = n", 12);
    check("repeat 0 - 1 { n += 1 } object.v = n", 0);
    check("if 0 { x = 1 } else if 1 { x = 2 } else { x = 3 } object.v = x", 2);
    check("t[5] = 4 t[5] += 3 t[6] -= 1 object.v = t[5] * 10 + t[6] + t[7]", 69);
    check(
        "insert(l, 5, 50) insert(l, 3, 30) insert(l, 3, 31) remove(l) object.v = first(l) + rank(l) + count(l)",
        36,
    );
    check(
        "insert(l, 3, 1) insert_before(l, 3, 2) insert_before(l, 3, 3) insert_before(l, 4, 4) object.v = first(l)",
        3,
    );
    check("insert(l, 1, 1) remove(l) remove(l) object.v = count(l) + first(l) + rank(l)", 0);
    check("# nothing\nobject.v = 1 # here\n", 1);
    check("outgoing.pid = 0xffffffff object.v = outgoing.pid", -1);
    check("incoming.weight = 300 object.v = incoming.weight", 44);
}

#[test]
fn others_see_a_companion_only_where_it_pauses() {
    let record = |pid: i32, runtime: u64, weight: u8| {
        let mut bytes = pid.to_le_bytes().to_vec();
        bytes.resize(8, 0);
        bytes.extend(runtime.to_le_bytes());
        bytes.extend([weight, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    };
    let queues = [vec![record(-1, 5, 1), record(7, 6, 2)], Vec::new()];
    let script = "while take(incoming) { outgoing.pid = incoming.pid + incoming.runtime * incoming.weight put(outgoing) }
                  print(\"{} of {}!\", object.seen, 3)";
    let (desk, pauses) = rounds(script, Desk { queues, ..Desk::default() }, 1);
    let sent: Vec<_> = desk.queues[1].iter().map(|record| record.as_slice()).collect();
    assert_eq!(sent, [4i32.to_le_bytes(), 19i32.to_le_bytes()]);
    assert_eq!(desk.printed, ["0 of 3!"]);
    let work = Pause::Worked;
    let expected = [
        Pause::Called(Call::Take),
        work(7),
        Pause::Called(Call::Put),
        work(2),
        Pause::Called(Call::Take),
        work(7),
        Pause::Called(Call::Put),
        work(2),
        Pause::Called(Call::Take),
        work(1),
        work(2),
        Pause::Printed,
        Pause::Round,
    ];
    assert_eq!(pauses, expected);
}

#[test]
fn what_never_ends_still_pauses() {
    let program = compile("while 1 { }", Vec::new(), &[]).unwrap();
    let mut machine = Machine::new(&program);
    for _ in 0..10 {
        assert_eq!(machine.go_on(&mut Desk::default()), Pause::Worked(4096));
    }
    let program = compile("while 1 { n += 1 t[n] = 1 insert(l, n, n) }", Vec::new(), &[]).unwrap();
    let mut machine = Machine::new(&program);
    let end = std::iter::repeat_with(|| machine.go_on(&mut Desk::default()))
        .find(|pause| !matches!(pause, Pause::Worked(_)));
    let reported = "its tables and lists hold more than 1048576 elements";
    assert_eq!(end, Some(Pause::Failed(reported.to_owned())));
}

#[test]
fn mistakes_are_reported_with_their_lines() {
    let check = |script: &str, line: usize, expected: &str| {
        let wrong = compile(script, maps(), &[]).unwrap_err();
        assert_eq!((wrong.line, wrong.why.as_str()), (line, expected), "{script}");
    };
    check("x = 1\ny = z", 2, "nothing is ever put into variable z");
    check("x = count(l)", 1, "nothing is ever put into list l");
    check("x = t[1]", 1, "nothing is ever put into table t");
    check("\ntake(them)", 2, "what are records of them? add it to the companion's records");
    check("x = incoming.size", 1, "records of incoming have no field size");
    check("x = \n", 1, "a name is expected, not the end");
    check("x 1", 1, "\"=\" is expected, not 1");
    check("while 1 {", 1, "a block has no end");
    check("break", 1, "there is no loop to break");
    check("x = 1 $ 2", 1, "'$' means nothing in a script");
    check("x = 99999999999999999999", 1, "99999999999999999999 is not a 64-bit number");
    check("print(\"{}\")", 1, "the text has 1 gaps {}, and there are 0 values");
    check("print(1)", 1, "the first argument of print() is a string");
    check("print(\"", 1, "a string does not end on its line");
    check("x = print(\"a\")", 1, "print() returns no value");
    check("while = 1", 1, "a name is expected, not \"=\"");
    check("x = while", 1, "while is not a value");
    check("object = 1", 1, "object cannot be assigned to");
    let reported = "there is no jump(); there are take, put, get, delete, insert, insert_before, first, rank, remove, count, min, max, now, print";
    check("jump()", 1, reported);
    let deep = format!("x = {}1{}", "(".repeat(70), ")".repeat(70));
    check(&deep, 1, "it is nested more than 64 deep");
    check(&format!("x = {}1", "-".repeat(70)), 1, "it is nested more than 64 deep");
    check(&"if 1 { ".repeat(70), 1, "it is nested more than 64 deep");
}

#[test]
fn records_are_laid_out_as_by_c() {
    let check = |fields: &[&str], bytes: usize| {
        let fields: Vec<_> = fields.iter().map(|&text| text.to_owned()).collect();
        assert_eq!(Layout::new("m", &fields, &[]).map(|layout| layout.key_bytes), Ok(bytes), "{fields:?}");
    };
    check(&[], 0);
    check(&["s32 pid", "u64 runtime", "u64 weight"], 24);
    check(&["u8 a", "u16 b", "u8 c"], 6);
    check(&["u64 a", "u8 b"], 16);
    for wrong in ["u64", "u65 a", "int a", "u64 a b", "s 1", "64 a"] {
        let reported = Layout::new("m", &[], &[wrong.to_owned()]).unwrap_err().to_string();
        assert!(reported.ends_with(&format!("not {wrong:?}")), "{reported}");
    }
    let twice = ["u8 a".to_owned(), "u8 a".to_owned()];
    assert_eq!(Layout::new("m", &[], &twice).unwrap_err().to_string(), "it has two fields a");
}

proptest! {
    /// Any script is either rejected, or runs and pauses.
    #[test]
    fn no_script_breaks_the_machine(parts in prop::collection::vec(prop::sample::select(vec![
        "x", "t", "l", "7", "0", "incoming", "outgoing", "object", ".", "pid", "=", "+=", "(", ")", "[", "]", "{", "}", ",",
        "while", "repeat", "if", "else", "break", "take", "put", "get", "delete", "insert", "first", "rank", "remove", "count", "insert_before(l, x, 2)",
        "min", "print", "\"{}\"", "\"\"", "+", "-", "*", "/", "&&", "||", "!", "<", "x = 7", "insert(l, 1, x)", "t[x] = 1",
    ]), 0..24)) {
        if let Ok(program) = compile(&parts.join(" "), maps(), &[]) {
            let mut machine = Machine::new(&program);
            let mut desk = Desk::default();
            for _ in 0..32 {
                machine.go_on(&mut desk);
            }
        }
    }
}
