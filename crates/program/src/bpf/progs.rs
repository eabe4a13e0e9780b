//! Loads the BPF programs of the program.

use super::attr::Attr;
use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::fds::Kind;
use crate::object::TestRun;
use crate::program::{Event, Program};
use crate::thread::Thread;
use keel_object::Insn;

/// `enum bpf_prog_type`, as far as it matters here.
pub(crate) const STRUCT_OPS: u32 = 27;
pub(crate) const SYSCALL: u32 = 31;
pub(crate) const TRACING: u32 = 26;
/// `BPF_TRACE_RAW_TP`, `BPF_TRACE_FENTRY`, `BPF_TRACE_FEXIT` of `enum bpf_attach_type`.
const RAW_TP: u32 = 23;
const FENTRY: u32 = 24;
const FEXIT: u32 = 25;
/// `BPF_F_SLEEPABLE`.
pub(crate) const SLEEPABLE: u32 = 1 << 4;
/// The maximum number of instructions of a program.
const MOST_INSNS: u32 = 1_000_000;
/// The maximum number of bytes of a program's context (`U16_MAX`).
const MOST_CONTEXT: u32 = 65535;
const LD_IMM64: u8 = 0x18;
/// Marks of `ld_imm64` for descriptors: of a map, and of its first value.
const MAP_FD: u8 = 1;
const MAP_VALUE: u8 = 2;

/// A loaded program.
#[derive(Debug)]
pub(crate) struct Prog {
    pub(crate) name: String,
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    /// For a scheduler's callback, the number of the struct's type among the kernel's.
    pub(crate) ops: u32,
    /// The number of its member in that struct.
    pub(crate) member: u32,
    /// For a tracing program, its attach point, as in libbpf's section names.
    pub(crate) target: String,
    pub(crate) license: String,
    /// Its instructions. `ld_imm64` of a map has the map's number instead of a descriptor.
    pub(crate) insns: Vec<Insn>,
    /// Its types.
    pub(crate) types: Option<u32>,
    /// The first instruction and the type of each function.
    pub(crate) funcs: Vec<[u32; 2]>,
    /// Instruction, file, text, and line with column.
    pub(crate) lines: Vec<[u32; 4]>,
}

impl Prog {
    /// Returns whether the simulated kernel loads it. Others are feature probes, or have no attach point there.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self.kind, STRUCT_OPS | SYSCALL) || self.kind == TRACING && !self.target.is_empty()
    }
}

impl Program {
    pub(super) fn prog_load(&mut self, t: &mut Thread, attr: &Attr) -> Result<Answer, ProgramError> {
        let prog = match self.read_prog(attr) {
            Ok(prog) => prog,
            Err(errno) => {
                self.tell_verdict(attr);
                return Ok(error(errno));
            }
        };
        if self.bpf.loaded.is_some() && prog.is_kept() && self.bpf.was_attached && !self.bpf.is_attached {
            self.bpf.begin_again();
        }
        self.bpf.progs.push(prog);
        let number = self.bpf.progs.len() as u32 - 1;
        self.new_fd(t, Kind::Prog(number), false)
    }

    /// Writes the verifier's message for the only rejection that is not the caller's own mistake: libbpf looks for
    /// these words to detect which features the kernel has.
    fn tell_verdict(&self, attr: &Attr) {
        const WORDS: &[u8] = b"invalid access to map value pointer\n\0";
        let (level, bytes, at) = (attr.u32(24), attr.u32(28) as usize, attr.u64(32));
        if level > 0 && bytes >= WORDS.len() {
            self.host.write(at, WORDS);
        }
    }

    fn read_prog(&self, attr: &Attr) -> Result<Prog, i32> {
        let count = attr.u32(4);
        if count == 0 || count > MOST_INSNS {
            return Err(libc::E2BIG);
        }
        let mut bytes = vec![0; 8 * count as usize];
        if !self.host.read(attr.u64(8), &mut bytes) {
            return Err(libc::EFAULT);
        }
        let mut insns: Vec<Insn> = bytes.chunks_exact(8).map(insn).collect();
        self.resolve_maps(&mut insns)?;
        let types = self.fds.get(attr.fd(72)).and_then(|open| match *open.kind.borrow() {
            Kind::Btf(types) => Some(types),
            _ => None,
        });
        Ok(Prog {
            name: attr.name(48),
            kind: attr.u32(0),
            flags: attr.u32(44),
            ops: attr.u32(108),
            member: attr.u32(68),
            target: self.target(attr.u32(0), attr.u32(68), attr.u32(108)),
            license: self.text(attr.u64(16)).unwrap_or_default(),
            insns,
            types,
            funcs: self.records(attr.u64(80), attr.u32(76), attr.u32(88))?,
            lines: self.records(attr.u64(96), attr.u32(92), attr.u32(104))?,
        })
    }

    /// Returns the attach point of a tracing program, or empty for other programs.
    fn target(&self, kind: u32, attach: u32, id: u32) -> String {
        let traced = self.bpf.kernel_type(id).filter(|_| kind == TRACING);
        let Some(traced) = traced else { return String::new() };
        let name = self.bpf.kernel.name(traced);
        match (attach, name.strip_prefix("btf_trace_")) {
            (RAW_TP, Some(point)) => format!("tp_btf/{point}"),
            (FENTRY, _) => format!("fentry/{name}"),
            (FEXIT, _) => format!("fexit/{name}"),
            _ => String::new(),
        }
    }

    /// Reads a table of `count` records of `size` bytes. Returns the first words of each.
    fn records<const N: usize>(&self, at: u64, size: u32, count: u32) -> Result<Vec<[u32; N]>, i32> {
        let size = size as usize;
        if count == 0 {
            return Ok(Vec::new());
        }
        if size < 4 * N || size > 256 || count > MOST_INSNS {
            return Err(libc::EINVAL);
        }
        let mut bytes = vec![0; size * count as usize];
        if !self.host.read(at, &mut bytes) {
            return Err(libc::EFAULT);
        }
        let word = |record: &[u8], i: usize| u32::from_le_bytes(std::array::from_fn(|j| record[4 * i + j]));
        Ok(bytes.chunks_exact(size).map(|record| std::array::from_fn(|i| word(record, i))).collect())
    }

    /// Replaces descriptors of maps by their numbers.
    fn resolve_maps(&self, insns: &mut [Insn]) -> Result<(), i32> {
        let mut at = 0;
        while at < insns.len() {
            let insn = insns[at];
            if insn.code == LD_IMM64 {
                if matches!(insn.src, MAP_FD | MAP_VALUE) {
                    let map = self.map_of(insn.imm).ok_or(libc::EBADF)?;
                    let offset = insns.get(at + 1).map_or(0, |second| second.imm as u32);
                    if insn.src == MAP_VALUE
                        && offset >= self.bpf.maps[map as usize].value_size.max(1)
                        && self.bpf.maps[map as usize].value_size > 0
                    {
                        return Err(libc::EINVAL);
                    }
                    insns[at].imm = map as i32;
                }
                at += 1;
            }
            at += 1;
        }
        Ok(())
    }

    /// `BPF_PROG_TEST_RUN`.
    pub(super) fn test_run(&mut self, attr: &Attr) -> Result<Answer, ProgramError> {
        let Some(number) = self.prog_of(attr.fd(0)) else { return Ok(error(libc::EBADF)) };
        let prog = &self.bpf.progs[number as usize];
        if prog.kind != SYSCALL {
            return Ok(error(libc::EOPNOTSUPP));
        }
        // `bpf_prog_test_run_syscall()`: no data, no second context, no repetition, no flags.
        let is_plain = [16, 24, 56].iter().all(|&at| attr.u64(at) == 0);
        let len = attr.u32(40);
        if !is_plain || [32, 36, 64].iter().any(|&at| attr.u32(at) != 0) || len > MOST_CONTEXT {
            return Ok(error(libc::EINVAL));
        }
        let mut context = vec![0; len as usize];
        if len > 0 && !self.host.read(attr.u64(48), &mut context) {
            return Ok(error(libc::EFAULT));
        }
        self.when_loaded(|program| {
            let place = program.bpf.place_of(number);
            Ok(place.map(|place| Event::Run(TestRun { program: place, context })))
        })
    }

    /// Requests an action on the loaded object from the owner, or returns `EINVAL` if there is none. The owner first
    /// loads everything that the program has loaded since the last time.
    pub(super) fn when_loaded(
        &mut self,
        then: impl FnOnce(&mut Self) -> Result<Option<Event>, ProgramError>,
    ) -> Result<Answer, ProgramError> {
        let loaded = if self.has_more() { Some(self.assemble()?) } else { None };
        Ok(match (then(self)?, loaded) {
            (Some(event), Some(loaded)) => Answer::Outside(Event::Load(Box::new(loaded), Box::new(event))),
            (Some(event), None) => Answer::Outside(event),
            (None, _) => error(libc::EINVAL),
        })
    }

    /// Ends a run that the owner has made: writes the context back to the program's memory.
    pub(crate) fn finish_run(&mut self, t: &Thread, value: u32, context: &[u8]) -> i64 {
        let [_, at, ..] = t.args();
        let Some([context_at]) = self.words(at + 48) else { return -i64::from(libc::EFAULT) };
        self.host.write(at + 4, &value.to_le_bytes());
        self.host.write(context_at, context);
        0
    }
}

fn insn(bytes: &[u8]) -> Insn {
    Insn {
        code: bytes[0],
        dst: bytes[1] & 15,
        src: bytes[1] >> 4,
        off: i16::from_le_bytes([bytes[2], bytes[3]]),
        imm: i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
    }
}
