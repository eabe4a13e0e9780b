//! Executes a companion's program, from one interaction to the next.

use super::code::{Call, Op, Program};
use std::collections::BTreeMap;

/// The maximum number of table elements and list values that a companion can have at a time.
pub const MOST_KEPT: usize = 1 << 20;
/// The maximum amount of work without a pause, in operations.
const MOST_WORK: u64 = 4096;

/// What a companion interacts with: the object's maps and variables, and the clock. `map` and `variable` are indices
/// into the lists of its [`Program`].
pub trait Door {
    /// Makes a system call on a map. `record` has the layout that the program defines. Returns false if the call had no
    /// effect, for any reason.
    fn call(&mut self, call: Call, map: usize, record: &mut [u8]) -> bool;
    /// Returns the value of a global variable.
    fn variable(&mut self, variable: usize) -> i64;
    /// Sets the value of a global variable.
    fn set_variable(&mut self, variable: usize, value: i64);
    /// Returns the clock that BPF programs see, in nanoseconds.
    fn now_ns(&mut self) -> u64;
    /// Prints a line.
    fn print(&mut self, line: &str);
}

/// The point at which a companion pauses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pause {
    /// It has executed this many operations, and continues when they have taken their time.
    Worked(u64),
    /// It has made a system call on a map.
    Called(Call),
    /// It has printed a line.
    Printed,
    /// The round has ended.
    Round,
    /// It cannot continue, for this reason.
    Failed(String),
}

/// A companion in execution.
#[derive(Clone, Debug)]
pub struct Machine {
    program: Program,
    at: usize,
    stack: Vec<i64>,
    own: Vec<i64>,
    tables: Vec<BTreeMap<i64, i64>>,
    /// The values by rank and, for equal ranks, in the order of insertion.
    lists: Vec<BTreeMap<(i64, i64), i64>>,
    /// The number of values inserted so far.
    age: i64,
    records: Vec<Vec<u8>>,
}

impl Machine {
    /// Creates a companion that begins its first round.
    pub fn new(program: &Program) -> Self {
        Self {
            at: 0,
            stack: Vec::new(),
            own: program.own.clone(),
            tables: vec![BTreeMap::new(); program.tables],
            lists: vec![BTreeMap::new(); program.lists],
            age: 0,
            records: program.maps.iter().map(|layout| vec![0; layout.bytes()]).collect(),
            program: program.clone(),
        }
    }

    /// Continues to the next pause. Effects that others can see happen at the beginning of a piece, so that the work
    /// before them can take its time.
    pub fn go_on(&mut self, door: &mut dyn Door) -> Pause {
        let mut worked = 0;
        loop {
            let Some(&op) = self.program.ops.get(self.at) else {
                if worked > 0 {
                    return Pause::Worked(worked);
                }
                self.at = 0;
                return Pause::Round;
            };
            let is_seen = matches!(
                op,
                Op::Call(..) | Op::Variable(_) | Op::SetVariable(_) | Op::Now | Op::Print { .. }
            );
            if worked > 0 && (is_seen || worked >= MOST_WORK) {
                return Pause::Worked(worked);
            }
            self.at += 1;
            worked += op.price();
            if let Some(pause) = self.execute(op, door) {
                return pause;
            }
        }
    }

    fn execute(&mut self, op: Op, door: &mut dyn Door) -> Option<Pause> {
        match op {
            Op::Push(number) => self.stack.push(number),
            Op::Drop => _ = self.pop(),
            Op::Again => {
                let top = self.pop();
                self.stack.extend([top, top]);
            }
            Op::Load(own) => self.stack.push(self.own[own]),
            Op::Store(own) => self.own[own] = self.pop(),
            Op::Element(table) => {
                let key = self.pop();
                self.stack.push(self.tables[table].get(&key).copied().unwrap_or(0));
            }
            Op::SetElement(table) => {
                let (key, value) = self.two();
                self.tables[table].insert(key, value);
                return self.too_much();
            }
            Op::Field { map, field } => {
                self.stack.push(self.program.maps[map].read(&self.records[map], field));
            }
            Op::SetField { map, field } => {
                let value = self.pop();
                self.program.maps[map].write(&mut self.records[map], field, value);
            }
            Op::Variable(variable) => self.stack.push(door.variable(variable)),
            Op::SetVariable(variable) => {
                let value = self.pop();
                door.set_variable(variable, value);
            }
            Op::Two(two) => {
                let (a, b) = self.two();
                self.stack.push(two.of(a, b));
            }
            Op::Not => {
                let truth = self.pop() == 0;
                self.stack.push(truth.into());
            }
            Op::Jump(to) => self.at = to,
            Op::JumpIfZero(to) => {
                if self.pop() == 0 {
                    self.at = to;
                }
            }
            Op::Call(call, map) => {
                let done = door.call(call, map, &mut self.records[map]);
                self.stack.push(done.into());
                return Some(Pause::Called(call));
            }
            Op::Insert(list) | Op::InsertBefore(list) => {
                let (rank, value) = self.two();
                self.age += 1;
                let age = if op == Op::Insert(list) { self.age } else { -self.age };
                self.lists[list].insert((rank, age), value);
                return self.too_much();
            }
            Op::First(list) => {
                self.stack.push(self.lists[list].first_key_value().map_or(0, |(_, &value)| value))
            }
            Op::Rank(list) => self.stack.push(self.lists[list].first_key_value().map_or(0, |(key, _)| key.0)),
            Op::Remove(list) => _ = self.lists[list].pop_first(),
            Op::Count(list) => self.stack.push(self.lists[list].len() as i64),
            Op::Now => self.stack.push(door.now_ns() as i64),
            Op::Print { text, numbers } => {
                let numbers = self.stack.split_off(self.stack.len() - numbers);
                door.print(&filled(&self.program.texts[text], &numbers));
                return Some(Pause::Printed);
            }
        }
        None
    }

    fn pop(&mut self) -> i64 {
        self.stack.pop().expect("the compiler balances the stack")
    }

    /// Pops the two topmost numbers. Returns the lower one first.
    fn two(&mut self) -> (i64, i64) {
        let b = self.pop();
        (self.pop(), b)
    }

    fn too_much(&self) -> Option<Pause> {
        let tables: usize = self.tables.iter().map(BTreeMap::len).sum();
        let lists: usize = self.lists.iter().map(BTreeMap::len).sum();
        let reported = || Pause::Failed(format!("its tables and lists hold more than {MOST_KEPT} elements"));
        (tables + lists > MOST_KEPT).then(reported)
    }
}

/// Fills the gaps of a text.
fn filled(text: &str, numbers: &[i64]) -> String {
    let mut parts = text.split("{}");
    let mut line = parts.next().unwrap_or_default().to_owned();
    for (part, number) in parts.zip(numbers) {
        line += &number.to_string();
        line += part;
    }
    line
}
