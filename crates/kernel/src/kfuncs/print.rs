//! Printing: `bpf_printk`, `bpf_snprintf`, and the messages of `scx_bpf_error()` and similar functions, all in the
//! kernel's format language.

use crate::kfuncs::Served;
use crate::state::bpf::functions::F;
use crate::state::kernel::Kernel;
use crate::state::log::LogLine;
use keel_abi::bpf::{Ea, Errno, World};
use keel_abi::scx::ExitKind;
use keel_abi::{CpuId, Pid, TaskId};

/// `BPF_STDOUT`, `BPF_STDERR`: the streams that each program has.
const STDOUT: i32 = 1;
const STDERR: i32 = 2;
/// The most bytes that a text's values can have (`MAX_BPRINTF_VARARGS` words).
const MOST_ARGS_BYTES: u64 = 12 * 8;

/// The longest text that one call produces (`SCX_EXIT_MSG_LEN`).
const MOST_BYTES: usize = 1024;

impl Kernel {
    pub(super) fn serve_print<W: World>(&mut self, w: &mut W, c: CpuId, f: F, a: &[u64; 5]) -> Served {
        match f {
            F::Printk => {
                let text = format(&bytes(w, Ea(a[0]), a[1]), &a[2..5], w);
                self.print(c, text)
            }
            F::Vprintk => {
                let text = format(&bytes(w, Ea(a[0]), a[1]), &words(w, Ea(a[2]), a[3]), w);
                self.print(c, text)
            }
            F::StreamVprintk => self.stream_print(w, c, a),
            F::Snprintf => snprintf(w, a),
            F::ErrorBstr => {
                let text = bstr(w, a[0], a[1], a[2]);
                self.end_scheduler(c, ExitKind::ErrorBpf, 0, text);
                0.into()
            }
            F::ExitBstr => {
                let text = bstr(w, a[1], a[2], a[3]);
                self.end_scheduler(c, ExitKind::UnregBpf, a[0] as i64, text);
                0.into()
            }
            _ => 0.into(),
        }
    }

    /// `bpf_stream_vprintk()`: a program writes to its standard output or error.
    fn stream_print<W: World>(&mut self, w: &mut W, c: CpuId, a: &[u64; 5]) -> Served {
        let (stream, len) = (a[0] as i32, a[3] & 0xffff_ffff);
        if !(STDOUT..=STDERR).contains(&stream) {
            return Errno::ENOENT.as_r0().into();
        }
        if len % 8 != 0 || len > MOST_ARGS_BYTES || len > 0 && a[2] == 0 {
            return Errno::EINVAL.as_r0().into();
        }
        let text = bstr(w, a[1], a[2], len);
        self.print(c, text);
        0.into()
    }

    /// Keeps a line for the log.
    pub(crate) fn print(&mut self, c: CpuId, text: String) -> Served {
        let len = text.len() as u64;
        let line = self.log.has_room().then(|| {
            let (task, pid) = match self.cpus.this_cpu.curr {
                TaskId::IDLE => ("<idle>".to_owned(), Pid(0)),
                curr => (self.comm(curr), self.tasks[curr].pid),
            };
            let (at, text) = (self.cpus.this_cpu.clock, text.trim_end_matches('\n'));
            LogLine { at, cpu: c, task: task.into(), pid, text: text.into() }
        });
        self.log.add(line);
        len.into()
    }
}

fn bytes<W: World>(w: &W, at: Ea, len: u64) -> Vec<u8> {
    let text = w.slice(at, len.min(MOST_BYTES as u64)).map(<[u8]>::to_vec).unwrap_or_default();
    let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
    text[..end].to_vec()
}

/// A NUL-terminated string of unknown length.
fn string<W: World>(w: &W, at: Ea) -> Vec<u8> {
    let mut text = Vec::new();
    while text.len() < MOST_BYTES {
        match w.slice(at.offset(text.len() as u64), 1) {
            Some([0]) | None => break,
            Some(byte) => text.push(byte[0]),
        }
    }
    text
}

fn words<W: World>(w: &W, at: Ea, len: u64) -> Vec<u64> {
    let bytes = w.slice(at, len.min(8 * 12)).unwrap_or_default();
    bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes"))).collect()
}

fn bstr<W: World>(w: &W, text: u64, data: u64, len: u64) -> String {
    format(&string(w, Ea(text)), &words(w, Ea(data), len), w)
}

fn snprintf<W: World>(w: &mut W, a: &[u64; 5]) -> Served {
    let args = words(w, Ea(a[3]), a[4]);
    let mut text = format(&string(w, Ea(a[2])), &args, w).into_bytes();
    let whole = text.len() as u64 + 1;
    text.truncate(usize::try_from(a[1].saturating_sub(1)).unwrap_or(0).min(MOST_BYTES));
    text.push(0);
    if a[1] > 0
        && let Some(room) = w.slice_mut(Ea(a[0]), text.len() as u64)
    {
        room.copy_from_slice(&text);
    }
    whole.into()
}

/// How one conversion is written: flags, width and how wide its argument is.
#[derive(Clone, Copy, Default)]
struct Conversion {
    zero: bool,
    left: bool,
    /// What comes before a number that is not negative.
    sign: Option<char>,
    alternate: bool,
    width: usize,
    long: bool,
}

/// Formats as `bpf_bstr_printf()` does: `%d %i %u %x %X %o %c %s %p %%` with flags, width and the length modifiers `h`,
/// `l`, `ll`. Anything else is left as it is.
fn format<W: World>(text: &[u8], args: &[u64], w: &W) -> String {
    let mut out = String::new();
    let mut args = args.iter().copied();
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            out.push_str(&String::from_utf8_lossy(&[byte]));
        } else if let Some((&b'%', tail)) = rest.split_first() {
            out.push('%');
            rest = tail;
        } else {
            rest = convert(rest, &mut args, w, &mut out);
        }
        if out.len() > MOST_BYTES {
            out.truncate(out.floor_char_boundary(MOST_BYTES));
            break;
        }
    }
    out
}

fn convert<'t, W: World>(
    text: &'t [u8],
    args: &mut impl Iterator<Item = u64>,
    w: &W,
    out: &mut String,
) -> &'t [u8] {
    let mut how = Conversion::default();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'0' if how.width == 0 => how.zero = true,
            b'-' => how.left = true,
            b'#' => how.alternate = true,
            b'+' => how.sign = Some('+'),
            b' ' => how.sign = how.sign.or(Some(' ')),
            b'.' | b'h' => {}
            b'0'..=b'9' => how.width = (how.width * 10 + usize::from(byte - b'0')).min(64),
            b'l' | b'z' | b'j' | b't' => how.long = true,
            _ => break,
        }
        at += 1;
    }
    let Some(&kind) = text.get(at) else { return &[] };
    let arg = args.next().unwrap_or(0);
    let body = match kind {
        b'd' | b'i' if how.long => signed(arg as i64, how.sign),
        b'd' | b'i' => signed(i64::from(arg as i32), how.sign),
        b'u' if how.long => arg.to_string(),
        b'u' => (arg as u32).to_string(),
        b'x' | b'X' | b'o' => radix(kind, if how.long { arg } else { arg & 0xffff_ffff }, how.alternate),
        b'c' => char::from(arg as u8).to_string(),
        b's' => String::from_utf8_lossy(&string(w, Ea(arg))).into_owned(),
        b'p' => format!("{arg:016x}"),
        other => format!("%{}", char::from(other)),
    };
    pad(out, &body, how);
    let after = &text[at + 1..];
    match after {
        // The kind of address makes no difference here.
        [b'x' | b'K' | b's' | b'S' | b'B', after @ ..] if kind == b'p' => after,
        _ => after,
    }
}

fn signed(value: i64, sign: Option<char>) -> String {
    match sign.filter(|_| value >= 0) {
        Some(sign) => format!("{sign}{value}"),
        None => value.to_string(),
    }
}

fn radix(kind: u8, value: u64, alternate: bool) -> String {
    match (kind, alternate) {
        (b'x', true) => format!("{value:#x}"),
        (b'x', false) => format!("{value:x}"),
        (b'X', _) => format!("{value:X}"),
        _ => format!("{value:o}"),
    }
}

fn pad(out: &mut String, body: &str, how: Conversion) {
    let missing = how.width.saturating_sub(body.chars().count());
    let fill = |c: char| std::iter::repeat_n(c, missing);
    if how.left {
        out.push_str(body);
        out.extend(fill(' '));
    } else if how.zero {
        let (sign, digits) = body.split_at(usize::from(body.starts_with(['-', '+', ' '])));
        out.push_str(sign);
        out.extend(fill('0'));
        out.push_str(digits);
    } else {
        out.extend(fill(' '));
        out.push_str(body);
    }
}
