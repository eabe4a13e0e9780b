//! Finds loops: parts in which a task repeats the same steps, with different lengths.

/// One step of a task: its kind, and its length in nanoseconds if it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Token {
    /// Equal for steps that do the same.
    pub(crate) kind: (u8, u32),
    pub(crate) ns: u64,
}

/// Steps and how often they are repeated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) times: u32,
    pub(crate) steps: Vec<Step>,
}

/// A step of a part: its mean length, and the typical deviation in thousandths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) kind: (u8, u32),
    pub(crate) ns: u64,
    pub(crate) spread_per_mille: u64,
}

/// The longest loop body that is searched for.
const LONGEST: usize = 32;
/// The minimum number of iterations that count as a loop.
const FEWEST: usize = 4;

/// Splits a task's steps into parts. At each place it takes the loop that covers most steps, and the shortest of
/// several.
pub(crate) fn parts(tokens: &[Token]) -> Vec<Part> {
    let (mut parts, mut at): (Vec<Part>, usize) = (Vec::new(), 0);
    while at < tokens.len() {
        let rest = &tokens[at..];
        let best = (1..=LONGEST.min(rest.len() / FEWEST)).map(|body| (passes(rest, body), body));
        let best = best.filter(|&(passes, _)| passes >= FEWEST);
        let (passes, body) =
            best.max_by_key(|&(passes, body)| (passes * body, usize::MAX - body)).unwrap_or((1, 1));
        let steps = (0..body).map(|nth| step(rest, nth, body, passes));
        match parts.last_mut() {
            Some(last) if passes == 1 && last.times == 1 => last.steps.extend(steps),
            _ => {
                parts.push(Part { times: u32::try_from(passes).unwrap_or(u32::MAX), steps: steps.collect() })
            }
        }
        at += body * passes;
    }
    parts
}

/// Returns how often the first `body` steps are repeated in a row.
fn passes(tokens: &[Token], body: usize) -> usize {
    let alike = |at: &usize| tokens[*at].kind == tokens[*at - body].kind;
    let run = (body..tokens.len()).take_while(alike).count();
    1 + run / body
}

/// Returns the `nth` step of a body over all its iterations. The jitter is that of uniformly varying lengths with the
/// same deviation.
fn step(tokens: &[Token], nth: usize, body: usize, passes: usize) -> Step {
    let lengths = || (0..passes).map(|pass| tokens[pass * body + nth].ns as f64);
    let mean = lengths().sum::<f64>() / passes as f64;
    let variance = lengths().map(|ns| (ns - mean) * (ns - mean)).sum::<f64>() / passes as f64;
    let spread = if mean > 0.0 { (3.0 * variance).sqrt() / mean * 1000.0 } else { 0.0 };
    Step {
        kind: tokens[nth].kind,
        ns: mean.round() as u64,
        spread_per_mille: (spread.round() as u64).min(1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps are letters; `3(ab)` is a loop.
    fn check(text: &str, expected: &str) {
        let tokens: Vec<Token> =
            text.bytes().enumerate().map(|(at, kind)| Token { kind: (kind, 0), ns: at as u64 % 2 }).collect();
        let shown: Vec<String> = parts(&tokens)
            .iter()
            .map(|part| {
                let steps: String = part.steps.iter().map(|step| step.kind.0 as char).collect();
                if part.times == 1 { steps } else { format!("{}({steps})", part.times) }
            })
            .collect();
        assert_eq!(shown.join(" "), expected, "{text}");
    }

    #[test]
    fn what_repeats_is_a_loop() {
        check("", "");
        check("abc", "abc");
        check("abababab", "4(ab)");
        check("aaaa", "4(a)");
        check("xabcabcabcabcaby", "x 4(abc) aby");
        // Three times may be chance.
        check("ababab", "ababab");
    }

    #[test]
    fn lengths_become_a_mean_and_a_spread() {
        let tokens: Vec<Token> = [50, 150, 50, 150].map(|ns| Token { kind: (0, 0), ns }).to_vec();
        let expected = Step { kind: (0, 0), ns: 100, spread_per_mille: 866 };
        assert_eq!(parts(&tokens), [Part { times: 4, steps: vec![expected] }]);
    }
}
