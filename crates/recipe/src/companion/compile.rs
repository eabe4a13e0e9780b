//! Compiles a script's tokens to a program, in one pass.
//!
//! ```text
//! statement  = NAME ("=" | "+=" | "-=") value
//!            | NAME "[" value "]" ("=" | "+=" | "-=") value      a table of the companion's own
//!            | MAP "." FIELD ("=" | "+=" | "-=") value
//!            | "object" "." NAME ("=" | "+=" | "-=") value       a global variable of the object
//!            | "while" value block | "repeat" value block
//!            | "if" value block ["else" (block | if)] | "break"
//!            | "print" "(" TEXT {"," value} ")" | call
//! block      = "{" {statement} "}"
//! ```

mod value;

use super::Wrong;
use super::code::{Op, Program, Two};
use super::layout::Layout;
use super::tokens::{Token, tokens};
use std::collections::BTreeMap;

/// How deep blocks and values may be nested.
const DEEPEST: u32 = 64;
/// The name for the object's global variables.
const OBJECT: &str = "object";
const KEYWORDS: &[&str] = &["while", "repeat", "if", "else", "break", OBJECT];

/// Compiles a script. `set` contains its own variables that have an initial value.
pub(crate) fn compile(script: &str, maps: Vec<Layout>, set: &[(String, i64)]) -> Result<Program, Wrong> {
    let mut compiler = Compiler {
        tokens: tokens(script)?,
        at: 0,
        program: Program { maps, ..Program::default() },
        own: Names::default(),
        tables: Names::default(),
        lists: Names::default(),
        breaks: Vec::new(),
        depth: 0,
    };
    for (name, value) in set {
        let own = compiler.own.set(name);
        debug_assert_eq!(own, compiler.program.own.len(), "names of a table are different");
        compiler.program.own.push(*value);
    }
    while compiler.peek().is_some() {
        compiler.statement()?;
    }
    compiler.finish()
}

/// Names of one kind, in the order of their first use.
#[derive(Default)]
struct Names {
    known: BTreeMap<String, usize>,
    /// The line in which a name was first used without having been set.
    unset: BTreeMap<String, usize>,
}

impl Names {
    fn set(&mut self, name: &str) -> usize {
        self.unset.remove(name);
        let next = self.known.len();
        *self.known.entry(name.to_owned()).or_insert(next)
    }

    fn get(&mut self, name: &str, line: usize) -> usize {
        let next = self.known.len();
        let is_new = !self.known.contains_key(name);
        if is_new {
            self.unset.insert(name.to_owned(), line);
        }
        *self.known.entry(name.to_owned()).or_insert(next)
    }
}

/// The target of an assignment.
#[derive(Clone, Copy)]
enum Place {
    Own(usize),
    /// The key is on the stack.
    Element(usize),
    Field {
        map: usize,
        field: usize,
    },
    Variable(usize),
}

struct Compiler<'a> {
    tokens: Vec<(usize, Token<'a>)>,
    at: usize,
    program: Program,
    own: Names,
    tables: Names,
    lists: Names,
    /// For each open loop, the jumps that lead out of it.
    breaks: Vec<Vec<usize>>,
    depth: u32,
}

impl<'a> Compiler<'a> {
    fn finish(mut self) -> Result<Program, Wrong> {
        for (names, what) in [(&self.own, "variable"), (&self.tables, "table"), (&self.lists, "list")] {
            if let Some((name, &line)) = names.unset.iter().min_by_key(|&(_, line)| line) {
                return Err(Wrong { line, why: format!("nothing is ever put into {what} {name}") });
            }
        }
        self.program.own.resize(self.own.known.len(), 0);
        self.program.tables = self.tables.known.len();
        self.program.lists = self.lists.known.len();
        Ok(self.program)
    }

    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).map(|&(_, token)| token)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |&(line, _)| line)
    }

    fn wrong<T>(&self, why: impl Into<String>) -> Result<T, Wrong> {
        Err(Wrong { line: self.line(), why: why.into() })
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is_it = matches!(self.peek(), Some(Token::Sign(s)) if s == sign);
        self.at += usize::from(is_it);
        is_it
    }

    fn expect(&mut self, sign: &str) -> Result<(), Wrong> {
        match self.takes(sign) {
            true => Ok(()),
            false => self.wrong(format!("{sign:?} is expected, not {}", self.described())),
        }
    }

    /// Returns the current token, for messages.
    fn described(&self) -> String {
        match self.peek() {
            Some(Token::Name(name)) => name.to_owned(),
            Some(Token::Number(number)) => number.to_string(),
            Some(Token::Text(text)) => format!("{text:?}"),
            Some(Token::Sign(sign)) => format!("{sign:?}"),
            None => "the end".to_owned(),
        }
    }

    fn name(&mut self) -> Result<&'a str, Wrong> {
        match self.peek() {
            Some(Token::Name(name)) => {
                self.at += 1;
                Ok(name)
            }
            _ => self.wrong(format!("a name is expected, not {}", self.described())),
        }
    }

    fn emit(&mut self, op: Op) -> usize {
        self.program.ops.push(op);
        self.program.ops.len() - 1
    }

    /// Makes a jump lead to what comes next.
    fn land(&mut self, jump: usize) {
        let here = self.program.ops.len();
        match &mut self.program.ops[jump] {
            Op::Jump(to) | Op::JumpIfZero(to) => *to = here,
            other => unreachable!("{other:?} does not jump"),
        }
    }

    fn deeper(&mut self) -> Result<(), Wrong> {
        self.depth += 1;
        match self.depth > DEEPEST {
            true => self.wrong(format!("it is nested more than {DEEPEST} deep")),
            false => Ok(()),
        }
    }

    fn statement(&mut self) -> Result<(), Wrong> {
        self.deeper()?;
        let done = match self.name()? {
            "while" => self.while_loop(),
            "repeat" => self.repeat_loop(),
            "if" => self.condition(),
            "break" => {
                let jump = self.emit(Op::Jump(0));
                match self.breaks.last_mut() {
                    Some(breaks) => {
                        breaks.push(jump);
                        Ok(())
                    }
                    None => self.wrong("there is no loop to break"),
                }
            }
            name if matches!(self.peek(), Some(Token::Sign("("))) => {
                if self.call(name)? {
                    self.emit(Op::Drop);
                }
                Ok(())
            }
            name => self.assignment(name),
        };
        self.depth -= 1;
        done
    }

    fn block(&mut self) -> Result<(), Wrong> {
        self.expect("{")?;
        while !self.takes("}") {
            if self.peek().is_none() {
                return self.wrong("a block has no end");
            }
            self.statement()?;
        }
        Ok(())
    }

    /// Compiles a loop's block, the jump back to its beginning, and the way out.
    fn looped(&mut self, begin: usize, out: usize) -> Result<(), Wrong> {
        self.breaks.push(vec![out]);
        self.block()?;
        self.emit(Op::Jump(begin));
        for jump in self.breaks.pop().unwrap_or_default() {
            self.land(jump);
        }
        Ok(())
    }

    fn while_loop(&mut self) -> Result<(), Wrong> {
        let begin = self.program.ops.len();
        self.value()?;
        let out = self.emit(Op::JumpIfZero(0));
        self.looped(begin, out)
    }

    /// Compiles a `repeat` loop. The remaining iterations are counted in a variable that no script can name.
    fn repeat_loop(&mut self) -> Result<(), Wrong> {
        self.value()?;
        let left = self.own.set(&format!("repeat {}", self.at));
        self.emit(Op::Store(left));
        let begin = self.program.ops.len();
        self.program.ops.extend([Op::Push(0), Op::Load(left), Op::Two(Two::Less)]);
        let out = self.emit(Op::JumpIfZero(0));
        self.program.ops.extend([Op::Load(left), Op::Push(1), Op::Two(Two::Sub), Op::Store(left)]);
        self.looped(begin, out)
    }

    fn condition(&mut self) -> Result<(), Wrong> {
        self.value()?;
        let not = self.emit(Op::JumpIfZero(0));
        self.block()?;
        if self.peek() != Some(Token::Name("else")) {
            self.land(not);
            return Ok(());
        }
        self.at += 1;
        let over = self.emit(Op::Jump(0));
        self.land(not);
        match self.peek() == Some(Token::Name("if")) {
            true => self.statement()?,
            false => self.block()?,
        }
        self.land(over);
        Ok(())
    }

    fn assignment(&mut self, name: &str) -> Result<(), Wrong> {
        let place = self.place(name)?;
        let two = match self.peek() {
            Some(Token::Sign("=")) => None,
            Some(Token::Sign("+=")) => Some(Two::Add),
            Some(Token::Sign("-=")) => Some(Two::Sub),
            _ => return self.wrong(format!("\"=\" is expected, not {}", self.described())),
        };
        self.at += 1;
        if two.is_some() {
            if let Place::Element(_) = place {
                self.emit(Op::Again);
            }
            self.load(place);
        }
        self.value()?;
        if let Some(two) = two {
            self.emit(Op::Two(two));
        }
        self.emit(match place {
            Place::Own(own) => Op::Store(own),
            Place::Element(table) => Op::SetElement(table),
            Place::Field { map, field } => Op::SetField { map, field },
            Place::Variable(variable) => Op::SetVariable(variable),
        });
        Ok(())
    }

    fn load(&mut self, place: Place) {
        self.emit(match place {
            Place::Own(own) => Op::Load(own),
            Place::Element(table) => Op::Element(table),
            Place::Field { map, field } => Op::Field { map, field },
            Place::Variable(variable) => Op::Variable(variable),
        });
    }

    /// Compiles the target of an assignment. The key of a table's element stays on the stack.
    fn place(&mut self, name: &str) -> Result<Place, Wrong> {
        if self.takes(".") {
            return self.member(name);
        }
        if KEYWORDS.contains(&name) {
            return self.wrong(format!("{name} cannot be assigned to"));
        }
        if !self.takes("[") {
            return Ok(Place::Own(self.own.set(name)));
        }
        self.value()?;
        self.expect("]")?;
        Ok(Place::Element(self.tables.set(name)))
    }

    /// Compiles the name after a dot: a global variable of the object, or a field of a map's record.
    fn member(&mut self, name: &str) -> Result<Place, Wrong> {
        let line = self.line();
        let member = self.name()?;
        if name == OBJECT {
            let variables = &mut self.program.variables;
            let known = variables.iter().position(|variable| variable == member);
            return Ok(Place::Variable(known.unwrap_or_else(|| {
                variables.push(member.to_owned());
                variables.len() - 1
            })));
        }
        let map = self.map(name)?;
        let unknown = || Wrong { line, why: format!("records of {name} have no field {member}") };
        let field = self.program.maps[map].find(member).ok_or_else(unknown)?;
        Ok(Place::Field { map, field })
    }

    fn map(&self, name: &str) -> Result<usize, Wrong> {
        let map = self.program.maps.iter().position(|layout| layout.map == name);
        match map {
            Some(map) => Ok(map),
            None => self.wrong(format!("what are records of {name}? add it to the companion's records")),
        }
    }
}
