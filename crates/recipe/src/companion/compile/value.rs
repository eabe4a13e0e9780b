//! Compiles the values of a script. Each leaves one number on the stack.

use super::{Compiler, KEYWORDS, Wrong};
use crate::companion::code::{Call, Op, Two};
use crate::companion::tokens::Token;

/// Operators by precedence, the lowest first.
const LEVELS: &[&[(&str, Two)]] = &[
    &[("==", Two::Equal), ("!=", Two::Differ)],
    &[("<", Two::Less), ("<=", Two::LessOrEqual), (">", Two::Greater), (">=", Two::GreaterOrEqual)],
    &[("|", Two::Or)],
    &[("&", Two::And)],
    &[("<<", Two::Left), (">>", Two::Right)],
    &[("+", Two::Add), ("-", Two::Sub)],
    &[("*", Two::Mul), ("/", Two::Div), ("%", Two::Rem)],
];

/// The functions that scripts can call.
const FUNCTIONS: &str =
    "take, put, get, delete, insert, insert_before, first, rank, remove, count, min, max, now, print";

impl Compiler<'_> {
    /// Compiles a value, which is left on the stack. True and false are 1 and 0.
    pub(super) fn value(&mut self) -> Result<(), Wrong> {
        self.deeper()?;
        self.both()?;
        while self.takes("||") {
            // Anything other than 0 is true.
            self.program.ops.extend([Op::Not, Op::Not, Op::Again, Op::Not]);
            let over = self.emit(Op::JumpIfZero(0));
            self.emit(Op::Drop);
            self.both()?;
            self.program.ops.extend([Op::Not, Op::Not]);
            self.land(over);
        }
        self.depth -= 1;
        Ok(())
    }

    fn both(&mut self) -> Result<(), Wrong> {
        self.level(0)?;
        while self.takes("&&") {
            self.program.ops.extend([Op::Not, Op::Not, Op::Again]);
            let over = self.emit(Op::JumpIfZero(0));
            self.emit(Op::Drop);
            self.level(0)?;
            self.program.ops.extend([Op::Not, Op::Not]);
            self.land(over);
        }
        Ok(())
    }

    fn level(&mut self, level: usize) -> Result<(), Wrong> {
        let Some(signs) = LEVELS.get(level) else { return self.single() };
        self.level(level + 1)?;
        while let Some(&(_, two)) = signs.iter().find(|(sign, _)| self.peek() == Some(Token::Sign(sign))) {
            self.at += 1;
            self.level(level + 1)?;
            self.emit(Op::Two(two));
        }
        Ok(())
    }

    fn single(&mut self) -> Result<(), Wrong> {
        if self.takes("(") {
            self.value()?;
            return self.expect(")");
        }
        if self.takes("!") {
            self.inner()?;
            self.emit(Op::Not);
            return Ok(());
        }
        if self.takes("-") {
            self.emit(Op::Push(0));
            self.inner()?;
            self.emit(Op::Two(Two::Sub));
            return Ok(());
        }
        if let Some(Token::Number(number)) = self.peek() {
            self.at += 1;
            self.emit(Op::Push(number));
            return Ok(());
        }
        let line = self.line();
        let name = self.name()?;
        match self.peek() {
            Some(Token::Sign("(")) => match self.call(name)? {
                true => Ok(()),
                false => self.wrong(format!("{name}() returns no value")),
            },
            Some(Token::Sign("[")) => {
                self.at += 1;
                self.value()?;
                self.expect("]")?;
                let table = self.tables.get(name, line);
                self.emit(Op::Element(table));
                Ok(())
            }
            Some(Token::Sign(".")) => {
                self.at += 1;
                let place = self.member(name)?;
                self.load(place);
                Ok(())
            }
            _ if KEYWORDS.contains(&name) => Err(Wrong { line, why: format!("{name} is not a value") }),
            _ => {
                let own = self.own.get(name, line);
                self.emit(Op::Load(own));
                Ok(())
            }
        }
    }

    /// Compiles the operand of a sign.
    fn inner(&mut self) -> Result<(), Wrong> {
        self.deeper()?;
        self.single()?;
        self.depth -= 1;
        Ok(())
    }

    /// Compiles a call of a function. Returns whether it leaves a value on the stack.
    pub(super) fn call(&mut self, function: &str) -> Result<bool, Wrong> {
        let line = self.line();
        self.expect("(")?;
        let calls = [Call::Take, Call::Put, Call::Get, Call::Delete];
        if let Some(&call) = calls.iter().find(|call| call.name() == function) {
            let name = self.name()?;
            let map = self.map(name)?;
            if !self.program.calls.contains(&(call, map)) {
                self.program.calls.push((call, map));
            }
            self.emit(Op::Call(call, map));
            return self.expect(")").map(|()| true);
        }
        match function {
            "print" => return self.print().map(|()| false),
            "now" => _ = self.emit(Op::Now),
            "min" | "max" => {
                self.value()?;
                self.expect(",")?;
                self.value()?;
                self.emit(Op::Two(if function == "min" { Two::Min } else { Two::Max }));
            }
            "insert" | "insert_before" => {
                let name = self.name()?;
                let list = self.lists.set(name);
                self.expect(",")?;
                self.value()?;
                self.expect(",")?;
                self.value()?;
                self.emit(if function == "insert" { Op::Insert(list) } else { Op::InsertBefore(list) });
                return self.expect(")").map(|()| false);
            }
            "first" | "rank" | "count" | "remove" => {
                let name = self.name()?;
                let list = self.lists.get(name, line);
                self.emit(match function {
                    "first" => Op::First(list),
                    "rank" => Op::Rank(list),
                    "count" => Op::Count(list),
                    _ => Op::Remove(list),
                });
            }
            _ => {
                let why = format!("there is no {function}(); there are {FUNCTIONS}");
                return Err(Wrong { line, why });
            }
        }
        self.expect(")")?;
        Ok(function != "remove")
    }

    fn print(&mut self) -> Result<(), Wrong> {
        let Some(Token::Text(text)) = self.peek() else {
            return self.wrong("the first argument of print() is a string");
        };
        self.at += 1;
        let mut numbers = 0;
        while self.takes(",") {
            self.value()?;
            numbers += 1;
        }
        let gaps = text.matches("{}").count();
        if gaps != numbers {
            return self.wrong(format!("the text has {gaps} gaps {{}}, and there are {numbers} values"));
        }
        self.program.texts.push(text.to_owned());
        let text = self.program.texts.len() - 1;
        self.emit(Op::Print { text, numbers });
        self.expect(")")
    }
}
