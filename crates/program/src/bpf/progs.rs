//! Loaded programs, as the program gives them.

use super::attr::Attr;
use crate::ProgramError;
use crate::calls::{Answer, error};
use crate::fds::Kind;
use crate::object::TestRun;
use crate::program::{Event, Program};
use crate::thread::Thread;
use keel_object::Insn;

/// `enum bpf_prog_type`, as far as something depends on it here.
pub(crate) const STRUCT_OPS: u32 = 27;
pub(crate) const SYSCALL: u32 = 31;
/// `BPF_F_SLEEPABLE`.
pub(crate) const SLEEPABLE: u32 = 1 << 4;
/// Instructions that a program may have.
const MOST_INSNS: u32 = 1_000_000;
/// Bytes of a program's context.
const MOST_CONTEXT: u32 = 4096;
const LD_IMM64: u8 = 0x18;
/// Marks of `ld_imm64` that stand for descriptors: of a map, and of its first value.
const MAP_FD: u8 = 1;
const MAP_VALUE: u8 = 2;

/// A loaded program.
#[derive(Debug)]
pub(crate) struct Prog {
    pub(crate) name: String,
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    /// Of a callback of `struct sched_ext_ops` the number of its member.
    pub(crate) member: u32,
    pub(crate) license: String,
    /// Instructions; in `ld_imm64` of a map stands its number, not a descriptor.
    pub(crate) insns: Vec<Insn>,
    /// Its types.
    pub(crate) types: Option<u32>,
    /// First instruction and type of each function.
    pub(crate) funcs: Vec<[u32; 2]>,
    /// Instruction, file, text, and line with column.
    pub(crate) lines: Vec<[u32; 4]>,
}

impl Program {
    pub(super) fn prog_load(&mut self, t: &mut Thread, attr: &Attr) -> Result<Answer, ProgramError> {
        let prog = match self.read_prog(attr) {
            Ok(prog) => prog,
            Err(errno) => return Ok(error(errno)),
        };
        if self.bpf.loaded.is_some() && matches!(prog.kind, STRUCT_OPS | SYSCALL) {
            return Err(ProgramError::Unsupported(format!(
                "it loads program {} after its scheduler was attached, which keel does not simulate",
                prog.name
            )));
        }
        self.bpf.progs.push(prog);
        let number = self.bpf.progs.len() as u32 - 1;
        self.new_fd(t, Kind::Prog(number), false)
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
            member: attr.u32(68),
            license: self.text(attr.u64(16)).unwrap_or_default(),
            insns,
            types,
            funcs: self.records(attr.u64(80), attr.u32(76), attr.u32(88))?,
            lines: self.records(attr.u64(96), attr.u32(92), attr.u32(104))?,
        })
    }

    /// A table of `count` records of `size` bytes, the first words of each.
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

    /// Descriptors of maps become their numbers.
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

    /// `BPF_PROG_TEST_RUN`: at once where the object is loaded, else when it is.
    pub(super) fn test_run(&mut self, attr: &Attr) -> Answer {
        let Some(number) = self.prog_of(attr.fd(0)) else { return error(libc::EBADF) };
        let prog = &self.bpf.progs[number as usize];
        if prog.kind != SYSCALL {
            return error(libc::EOPNOTSUPP);
        }
        let len = attr.u32(40);
        if len > MOST_CONTEXT {
            return error(libc::E2BIG);
        }
        let mut context = vec![0; len as usize];
        if len > 0 && !self.host.read(attr.u64(48), &mut context) {
            return error(libc::EFAULT);
        }
        match &self.bpf.loaded {
            Some(places) => match places.get(number as usize).copied().flatten() {
                Some(program) => Answer::Outside(Event::Run(TestRun { program, context })),
                None => error(libc::EINVAL),
            },
            None => {
                self.bpf.runs.push((number, context));
                Answer::Value(0)
            }
        }
    }

    /// A run that the owner has made.
    pub(crate) fn finish_run(&mut self, t: &Thread, value: u32, context: &[u8]) -> i64 {
        let [_, at, ..] = t.args();
        self.host.write(at + 4, &value.to_le_bytes());
        if let Some([out]) = self.words(at + 56)
            && out != 0
        {
            self.host.write(out, context);
        }
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
