//! A property: an expression over the figures of `--json` that must hold for every run.
//!
//! `wakeup_delay_ns.p99 < 10ms && wasted_share <= 2%`. Figures are named as in docs/reference/json.md, with members
//! after a dot. In a list of things with names, use the name: `names.typist.wakeup_delay_ns.max`. Numbers may have a
//! unit: `ns`, `us`, `ms`, `s` (all are nanoseconds) or `%`. Operators are those of C, with its precedence: `! * / + -
//! < <= > >= == != && ||`. If a run has no such figure because nothing was found or no task has the name, it is 0.

use crate::budget::shown;
use serde_json::Value;

/// The maximum nesting of expressions.
const DEEPEST: u32 = 64;

/// A parsed property.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    text: String,
    root: Node,
}

/// Why a text is not a property, or does not apply to a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PropertyError {
    /// Not an expression.
    #[error("'{text}', character {at}: {what}")]
    Syntax {
        /// The whole text.
        text: String,
        /// The position, from 1.
        at: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// The JSON has no such member.
    #[error("no figure is called '{0}'; docs/reference/json.md lists them")]
    NoFigure(String),
    /// A list, an object or a text instead of a number.
    #[error("'{0}' is not a number")]
    NoNumber(String),
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Figure(String),
    Not(Box<Node>),
    Minus(Box<Node>),
    Both(&'static str, Box<Node>, Box<Node>),
}

/// Operators by precedence, the lowest first.
const LEVELS: [&[&str]; 5] =
    [&["||"], &["&&"], &["<=", ">=", "==", "!=", "<", ">"], &["+", "-"], &["*", "/"]];

/// Units of numbers, and their values.
const UNITS: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("%", 0.01)];

impl Property {
    /// Parses a property.
    ///
    /// # Errors
    /// Fails with [`PropertyError::Syntax`].
    pub fn read(text: &str) -> Result<Self, PropertyError> {
        let mut reader = Reader { text, at: 0, depth: 0 };
        let root = reader.level(0)?;
        reader.skip();
        if reader.at < text.len() {
            return Err(reader.wrong("an operator is expected"));
        }
        Ok(Self { text: text.to_owned(), root })
    }

    /// Returns the property as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether it holds for this run, as in `--json`.
    ///
    /// # Errors
    /// Fails if the run has no such figure.
    pub fn holds(&self, run: &Value) -> Result<bool, PropertyError> {
        Ok(value(&self.root, run)? != 0.0)
    }

    /// Returns its figures with their values: `wakeup_delay_ns.p99 is 12000000`.
    ///
    /// # Errors
    /// Fails if the run has no such figure.
    pub fn figures(&self, run: &Value) -> Result<String, PropertyError> {
        let mut names = Vec::new();
        figures(&self.root, &mut names);
        let one = |name: &&str| Ok(format!("{name} is {}", figure(name, run)?));
        Ok(names.iter().map(one).collect::<Result<Vec<_>, PropertyError>>()?.join(", "))
    }
}

fn figures<'n>(node: &'n Node, names: &mut Vec<&'n str>) {
    match node {
        Node::Number(_) => {}
        Node::Figure(name) if names.contains(&name.as_str()) => {}
        Node::Figure(name) => names.push(name),
        Node::Not(a) | Node::Minus(a) => figures(a, names),
        Node::Both(_, a, b) => {
            figures(a, names);
            figures(b, names);
        }
    }
}

fn value(node: &Node, run: &Value) -> Result<f64, PropertyError> {
    let truth = |is: bool| f64::from(u8::from(is));
    Ok(match node {
        Node::Number(number) => *number,
        Node::Figure(name) => figure(name, run)?,
        Node::Not(a) => truth(value(a, run)? == 0.0),
        Node::Minus(a) => -value(a, run)?,
        Node::Both(op, a, b) => {
            // Evaluates both sides, so that a wrong name is detected in every run.
            let (a, b) = (value(a, run)?, value(b, run)?);
            match *op {
                "||" => truth(a != 0.0 || b != 0.0),
                "&&" => truth(a != 0.0 && b != 0.0),
                "<=" => truth(a <= b),
                ">=" => truth(a >= b),
                "==" => truth(a == b),
                "!=" => truth(a != b),
                "<" => truth(a < b),
                ">" => truth(a > b),
                "+" => a + b,
                "-" => a - b,
                "*" => a * b,
                // A share of nothing is nothing.
                _ if b == 0.0 => 0.0,
                _ => a / b,
            }
        }
    })
}

fn figure(name: &str, run: &Value) -> Result<f64, PropertyError> {
    let mut at = run;
    for (depth, key) in name.split('.').enumerate() {
        at = match at {
            Value::Object(members) => match members.get(key) {
                Some(member) => member,
                // `findings_total.stall` of a run without a stall.
                None if depth > 0 => return Ok(0.0),
                None => return Err(PropertyError::NoFigure(shown(name))),
            },
            Value::Array(things) => match things.iter().find(|thing| thing["name"] == key) {
                Some(thing) => thing,
                None => return Ok(0.0),
            },
            _ => return Err(PropertyError::NoFigure(shown(name))),
        };
    }
    match at {
        Value::Number(number) => Ok(number.as_f64().unwrap_or(0.0)),
        Value::Bool(is) => Ok(f64::from(u8::from(*is))),
        Value::Null => Ok(0.0),
        _ => Err(PropertyError::NoNumber(shown(name))),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: u32,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn wrong(&self, what: &'static str) -> PropertyError {
        let at = self.text[..self.at].chars().count() + 1;
        PropertyError::Syntax { text: shown(self.text), at, what }
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.skip();
        let is_there = self.rest().starts_with(sign);
        self.at += if is_there { sign.len() } else { 0 };
        is_there
    }

    fn level(&mut self, level: usize) -> Result<Node, PropertyError> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut node = self.level(level + 1)?;
        while let Some(op) = operators.iter().find(|op| self.takes(op)) {
            node = Node::Both(op, Box::new(node), Box::new(self.level(level + 1)?));
        }
        Ok(node)
    }

    fn unary(&mut self) -> Result<Node, PropertyError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("too many expressions within each other"));
        }
        let node = if self.takes("!") {
            Node::Not(Box::new(self.unary()?))
        } else if self.takes("-") {
            Node::Minus(Box::new(self.unary()?))
        } else if self.takes("(") {
            let inner = self.level(0)?;
            if !self.takes(")") {
                return Err(self.wrong("a ')' is expected"));
            }
            inner
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn primary(&mut self) -> Result<Node, PropertyError> {
        self.skip();
        let begin = self.at;
        if self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            let digits = self.word(|c| c.is_ascii_digit() || c == '.');
            let Ok(number) = digits.parse::<f64>() else {
                self.at = begin;
                return Err(self.wrong("this is not a number"));
            };
            let unit = self.word(|c| c.is_ascii_alphabetic() || c == '%');
            if unit.is_empty() {
                return Ok(Node::Number(number));
            }
            let worth = UNITS.iter().find(|(name, _)| *name == unit);
            let (_, worth) = worth.ok_or_else(|| self.wrong("the units are ns, us, ms, s and %"))?;
            return Ok(Node::Number(number * worth));
        }
        let name = self.word(|c| c.is_ascii_alphanumeric() || "_.#".contains(c));
        match name {
            "" => Err(self.wrong("a figure, a number or a '(' is expected")),
            _ => Ok(Node::Figure(name.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run() -> Value {
        json!({
            "wasted_share": 0.25, "switches": 7, "bad_accesses": 0, "partial": true, "scheduler": "x",
            "wakeup_delay_ns": { "p99": 12_000_000 },
            "names": [{ "name": "typist", "woken": 3, "wakeup_delay_ns": { "max": 5000 } }],
            "findings_total": { "stall": 2 }
        })
    }

    #[test]
    fn expressions_are_as_in_c() {
        let check = |text: &str, expected: bool| {
            assert_eq!(Property::read(text).unwrap().holds(&run()), Ok(expected), "{text}");
        };
        check("wasted_share <= 2%", false);
        check("wasted_share<=25%", true);
        check("wakeup_delay_ns.p99 < 12ms", false);
        check("wakeup_delay_ns.p99 <= 12ms && switches == 7", true);
        check("1 == 2 || 1 + 2 * 3 == 7", true);
        check("(1 + 2) * 3 == 9 && !(1 > 2)", true);
        check("-switches < -6.5", true);
        check("10 - 3 - 2 == 5", true);
        check("names.typist.wakeup_delay_ns.max == 5us", true);
        check("names.nobody.woken == 0", true);
        check("findings_total.stall + findings_total.starvation == 2", true);
        check("switches / bad_accesses == 0", true);
        check("1s == 1000000000ns", true);
    }

    #[test]
    fn what_is_no_expression_is_refused_with_its_place() {
        let check = |text: &str, at: usize, what: &str| {
            let wrong = Property::read(text).unwrap_err().to_string();
            assert_eq!(wrong, format!("'{text}', character {at}: {what}"));
        };
        check("", 1, "a figure, a number or a '(' is expected");
        check("a <", 4, "a figure, a number or a '(' is expected");
        check("(a", 3, "a ')' is expected");
        check("a b", 3, "an operator is expected");
        check("a < 5min", 9, "the units are ns, us, ms, s and %");
        check("a < 1.2.3", 5, "this is not a number");
        assert!(Property::read(&"(".repeat(100_000)).is_err());
    }

    #[test]
    fn what_no_run_has_is_refused_by_name() {
        let check = |text: &str, expected: &str| {
            let wrong = Property::read(text).unwrap().holds(&run()).unwrap_err().to_string();
            assert!(wrong.starts_with(expected), "{text}: {wrong}");
        };
        check("wasted < 1%", "no figure is called 'wasted'");
        check("1 < 2 || wasted < 1", "no figure is called 'wasted'");
        check("switches.p99 < 1", "no figure is called 'switches.p99'");
        check("scheduler == 1", "'scheduler' is not a number");
        check("wakeup_delay_ns < 1", "'wakeup_delay_ns' is not a number");
    }

    #[test]
    fn figures_are_told() {
        let property = Property::read("switches < 3 && switches > wasted_share").unwrap();
        assert_eq!(property.figures(&run()).unwrap(), "switches is 7, wasted_share is 0.25");
    }
}
