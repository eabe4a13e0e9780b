//! Splits a script's text into tokens.

use super::Wrong;

/// The maximum size of a script in bytes.
const LONGEST: usize = 1 << 16;

/// A token of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Name(&'a str),
    Number(i64),
    Text(&'a str),
    Sign(&'static str),
}

/// Signs. Longer ones come before those that they begin with.
const SIGNS: &[&str] = &[
    "+=", "-=", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "+", "-", "*", "/", "%", "<", ">", "=", "!",
    "&", "|", "(", ")", "[", "]", "{", "}", ",", ".",
];

/// Returns whether the text is a name in scripts and in C.
pub(super) fn is_name(text: &str) -> bool {
    let first = text.bytes().next();
    first.is_some_and(|b| !b.is_ascii_digit()) && text.bytes().all(is_part)
}

fn is_part(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// Splits a script into tokens, each with its line.
pub(super) fn tokens(script: &str) -> Result<Vec<(usize, Token<'_>)>, Wrong> {
    if script.len() > LONGEST {
        return Err(Wrong { line: 1, why: format!("it has more than {LONGEST} bytes") });
    }
    let mut tokens = Vec::new();
    for (line, text) in script.lines().enumerate() {
        let mut rest = text.trim_start();
        while !rest.is_empty() && !rest.starts_with('#') {
            let (token, len) = token(rest).map_err(|why| Wrong { line: line + 1, why })?;
            tokens.push((line + 1, token));
            rest = rest[len..].trim_start();
        }
    }
    Ok(tokens)
}

/// Returns the first token and its length in bytes.
fn token(text: &str) -> Result<(Token<'_>, usize), String> {
    let bytes = text.as_bytes();
    if is_part(bytes[0]) {
        let len = bytes.iter().position(|&b| !is_part(b)).unwrap_or(bytes.len());
        let token = &text[..len];
        return match bytes[0].is_ascii_digit() {
            true => number(token).map(|number| (Token::Number(number), len)),
            false => Ok((Token::Name(token), len)),
        };
    }
    if bytes[0] == b'"' {
        let end = text[1..].find('"').ok_or("a string does not end on its line")?;
        return Ok((Token::Text(&text[1..1 + end]), end + 2));
    }
    let sign = SIGNS.iter().find(|&&sign| text.starts_with(sign));
    let unknown = || format!("{:?} means nothing in a script", text.chars().next().unwrap_or_default());
    sign.map(|&sign| (Token::Sign(sign), sign.len())).ok_or_else(unknown)
}

fn number(token: &str) -> Result<i64, String> {
    let plain = token.replace('_', "");
    let number = match plain.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(|number| number as i64),
        None => plain.parse().ok(),
    };
    number.ok_or_else(|| format!("{token} is not a 64-bit number"))
}
