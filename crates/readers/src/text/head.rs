//! Parses the part before an event's name: the task, the CPU, flags, the time.
//!
//! ```text
//!           <idle>-0       [001] d..2.    91.990599: sched_switch: ...      ftrace; trace-cmd without flags
//!   <idle>-0         1d..2. 286453us+: sched_switch: ...                    ftrace's latency format
//!             perf   148 [000]    13.233178: sched:sched_switch: ...        perf script
//! ```
//!
//! A task's name may contain anything, even a time and a CPU. So the line is searched for a time with all of this
//! before it.

use keel_abi::cpuset::MAX_CPUS;

/// The maximum number of digits in a time's fraction: nanoseconds.
const DIGITS: usize = 9;
/// Powers of ten.
const POWERS: [u64; DIGITS + 1] =
    [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
/// For each byte, whether it can be in an event's name.
const IN_NAMES: [bool; 256] = {
    let mut is = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        is[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'_' | b'-' | b'.');
        byte += 1;
    }
    is
};

/// A line's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) at: u64,
    pub(super) cpu: u32,
    pub(super) pid: u32,
    /// Whether an interrupt had interrupted the task.
    pub(super) interrupt: bool,
}

/// Returns a line's head, its event's name without its system, and where the event's text begins.
#[inline]
pub(super) fn read(line: &[u8]) -> Option<(Head, &[u8], usize)> {
    let mut from = 0;
    while let Some(colon) = memchr::memchr(b':', line.get(from..)?).map(|at| from + at) {
        if line.get(colon + 1) == Some(&b' ')
            && let Some((before, at)) = time(&line[..colon])
            && let Some(head) = before_time(&line[..before], at)
        {
            let (event, body) = event(line, colon + 2)?;
            return Some((head, event, body));
        }
        from = colon + 1;
    }
    None
}

/// Returns a remark of perf between the events, like `PERF_RECORD_LOST lost 7`: the CPU, if given, and the text.
pub(super) fn remark(line: &[u8]) -> Option<(Option<u32>, &[u8])> {
    let begins = memchr::memmem::find(line, b"PERF_RECORD_")?;
    let head = line[..begins].trim_ascii_end().strip_suffix(b":");
    let head = head.and_then(|head| time(head).and_then(|(before, at)| before_time(&head[..before], at)));
    // Without a head it must stand alone. In the middle of other text, it is not a remark.
    (head.is_some() || line[..begins].trim_ascii().is_empty())
        .then(|| (head.map(|head| head.cpu), &line[begins..]))
}

/// Returns whether it is a line of a stack, as perf script and ftrace print them below an event: an address and a
/// function, or an inlined function.
pub(super) fn is_stack(line: &[u8]) -> bool {
    let indented = line.first().is_some_and(u8::is_ascii_whitespace);
    let line = line.trim_ascii();
    if line.starts_with(b"=> ") || line.ends_with(b"<stack trace>") || line.ends_with(b"<user stack trace>") {
        return true;
    }
    let address = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let is_call = address > 0 && line.get(address) == Some(&b' ') && line.ends_with(b")");
    indented && (is_call || line.ends_with(b" (inlined)"))
}

/// Returns the time at the end of `text`, and where it begins.
#[inline]
fn time(text: &[u8]) -> Option<(usize, u64)> {
    let (begins, word) = last_word(text);
    let unmarked = word.strip_suffix(b"us").or_else(|| word.split_last()?.1.strip_suffix(b"us"));
    if let Some(micros) = unmarked {
        return Some((begins, number(micros)?.checked_mul(1000)?));
    }
    let point = word.iter().position(|&byte| byte == b'.')?;
    let (seconds, fraction) = (number(&word[..point])?, &word[point + 1..]);
    if fraction.len() < 3 || fraction.len() > DIGITS {
        return None;
    }
    let nanos = number(fraction)? * POWERS[DIGITS - fraction.len()];
    Some((begins, seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?))
}

/// Parses the task, CPU and flags.
#[inline]
fn before_time(text: &[u8], at: u64) -> Option<Head> {
    let (rest, word) = split_word(text)?;
    if let Some(cpu) = in_brackets(word) {
        return Some(Head { at, cpu, pid: pid(rest)?, interrupt: false });
    }
    // Flags, after a CPU in brackets or attached to a CPU.
    if let Some((rest, cpu)) = split_word(rest).and_then(|(rest, word)| Some((rest, in_brackets(word)?))) {
        return Some(Head { at, cpu, pid: pid(rest)?, interrupt: interrupts(word) });
    }
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (cpu, flags) = word.split_at(digits);
    if flags.len() < 3 {
        return None;
    }
    let cpu = u32::try_from(number(cpu)?).ok().filter(|&cpu| cpu < MAX_CPUS)?;
    Some(Head { at, cpu, pid: pid(rest)?, interrupt: interrupts(flags) })
}

/// Returns whether the third flag shows a hard or soft interrupt.
fn interrupts(flags: &[u8]) -> bool {
    flags.get(2).is_some_and(|flag| b"hHsZz".contains(flag))
}

fn in_brackets(word: &[u8]) -> Option<u32> {
    let inner = word.strip_prefix(b"[")?.strip_suffix(b"]")?;
    u32::try_from(number(inner)?).ok().filter(|&cpu| cpu < MAX_CPUS)
}

/// Parses `NAME-PID`, `NAME-PID (TGID)`, `NAME PID` or `NAME PID/TID`.
#[inline]
fn pid(text: &[u8]) -> Option<u32> {
    let end = text.iter().rposition(|byte| !is_space(byte)).map_or(0, |at| at + 1);
    let mut text = &text[..end];
    if text.last() == Some(&b')')
        && let Some(open) = text.iter().rposition(|&byte| byte == b'(')
    {
        text = text[..open].trim_ascii_end();
    }
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, pid) = text.split_at(text.len() - digits);
    let separator = before.last()?;
    let separates = match separator {
        b'-' | b'/' => true,
        // The end of a name, or the spaces in place of an empty one.
        _ => separator.is_ascii_whitespace(),
    };
    if !separates {
        return None;
    }
    u32::try_from(number(pid)?).ok()
}

#[inline]
fn event(line: &[u8], from: usize) -> Option<(&[u8], usize)> {
    let rest = line.get(from..)?;
    let begins = from + rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let is_name = |byte: &u8| IN_NAMES[usize::from(*byte)];
    let name = |begins: usize| {
        let length = line[begins..].iter().take_while(|byte| is_name(byte)).count();
        let after = line.get(begins + length).filter(|_| length > 0)?;
        (*after == b':').then_some(begins + length)
    };
    let mut end = name(begins)?;
    let mut start = begins;
    // The system, with perf.
    if line.get(end + 1).is_some_and(is_name)
        && let Some(longer) = name(end + 1)
    {
        (start, end) = (end + 1, longer);
    }
    Some((&line[start..end], end + 1))
}

/// Returns whether a byte is white space. Fast, because most bytes are not, and most white space is spaces.
#[inline]
fn is_space(byte: &u8) -> bool {
    *byte <= b' ' && (*byte == b' ' || byte.is_ascii_whitespace())
}

/// Returns the last word of `text`, and where it begins.
#[inline]
fn last_word(text: &[u8]) -> (usize, &[u8]) {
    let end = text.iter().rposition(|byte| !is_space(byte)).map_or(0, |at| at + 1);
    let text = &text[..end];
    let begins = text.iter().rposition(is_space).map_or(0, |at| at + 1);
    (begins, &text[begins..])
}

/// Returns the last word of `text`, and the text before it, or `None` if there is no word.
#[inline]
fn split_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (begins, word) = last_word(text);
    (begins > 0).then(|| (&text[..begins], word))
}

#[inline]
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let mut number = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    Some(number)
}
