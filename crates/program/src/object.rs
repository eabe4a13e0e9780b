//! Makes an [`Object`] from everything that the program has loaded: an alternative to ELF files, for the same engine
//! and the same checks. libbpf has relocated the instructions against the simulated kernel's types; descriptors and
//! type ids in them become indices in the object.

use crate::ProgramError;
use crate::bpf::Bpf;
use crate::bpf::arenas::touched_pages;
use crate::bpf::maps::{Map, RDONLY_PROG, kind};
use crate::bpf::progs::{Prog, SLEEPABLE, SYSCALL, TRACING};
use crate::fds::Kind as Fd;
use crate::program::Program;
use keel_object::btf::{Kind, TypeId};
use keel_object::model::{
    PSEUDO_CALL, PSEUDO_FUNC, PSEUDO_KFUNC, PSEUDO_KSYM, PSEUDO_MAP, PSEUDO_MAP_VALUE, SCHEDULERS,
};
use keel_object::{Btf, Function, Insn, Kfunc, Ksym, LineInfo, MapDef, Object, Poison, StructOps};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

const LD_IMM64: u8 = 0x18;
const CALL: u8 = 0x85;
/// libbpf's helper numbers in instructions that it could not relocate: for helpers, and above that for maps and kfuncs.
const POISON: i32 = 0x0bad_2310;
const FIRST_POISON: i32 = 2_001_000_000;
/// The prefix of the type name of a struct_ops map's value, before the struct's name.
const OPS_VALUE: &str = "bpf_struct_ops_";

/// A value that the program has put into a map.
#[derive(Clone, Debug)]
pub struct Fill {
    /// The map's index in the object.
    pub map: u32,
    /// The key; empty in a queue or a stack, which takes the values one after another.
    pub key: Vec<u8>,
    /// Values: one, or one for each CPU.
    pub values: Vec<Vec<u8>>,
}

/// A run of a `SEC("syscall")` program.
#[derive(Clone, Debug)]
pub struct TestRun {
    /// Its index among the object's programs.
    pub program: u32,
    /// Its context.
    pub context: Vec<u8>,
}

/// A tracing program and its attach point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// Its index among the object's programs.
    pub program: u32,
    /// The attach point as in libbpf's section names: `tp_btf/sched_switch`, `fentry/scx_tick`.
    pub place: String,
}

/// Everything that the program has loaded when it first uses some of it.
#[derive(Debug)]
pub struct Loaded {
    /// Whether it extends the last loaded object. If so, that object's maps and programs come first, with the same
    /// indices, and only the rest is new.
    pub goes_on: bool,
    /// The object, without a scheduler.
    pub object: Object,
    /// The contents of its maps, in the order in which the program put them there.
    pub fills: Vec<Fill>,
    /// Maps whose pages the program has mapped, with the files of these pages.
    pub shared: Vec<(u32, File)>,
    /// Non-empty pages of arenas among these: map, first page, and count.
    pub touched: Vec<(u32, u64, u64)>,
}

impl Program {
    /// Returns whether the program has loaded something that the owner does not have.
    pub(crate) fn has_more(&self) -> bool {
        self.bpf.loaded.is_none() || self.open_progs().next().is_some()
    }

    /// Returns the programs that the owner may have to execute and does not have yet.
    fn open_progs(&self) -> impl Iterator<Item = u32> {
        (0..self.bpf.progs.len() as u32)
            .filter(|&n| self.bpf.progs[n as usize].is_kept() && self.bpf.place_of(n).is_none())
            .filter(|&n| self.fds.any(|kind| matches!(kind, Fd::Prog(p) if *p == n)))
    }

    /// Returns the object as it is now. From now on the owner has its maps.
    pub(crate) fn assemble(&mut self) -> Result<Loaded, ProgramError> {
        let goes_on = self.bpf.loaded.is_some();
        let mut progs = self.bpf.in_places();
        progs.extend(self.open_progs());
        let used = |n: u32| {
            let uses =
                |insn: &Insn| insn.code == LD_IMM64 && matches!(insn.src, 1 | 2) && insn.imm as u32 == n;
            let progs = progs.iter().map(|&p| &self.bpf.progs[p as usize]);
            let is_open = self.fds.any(|kind| matches!(kind, Fd::Map(m) if *m == n));
            is_open || progs.into_iter().any(|prog| prog.insns.iter().any(uses))
        };
        let kept: Vec<u32> = (0..self.bpf.maps.len() as u32)
            .filter(|&n| self.bpf.maps[n as usize].kind != kind::STRUCT_OPS && used(n))
            .collect();
        let new: Vec<u32> = self
            .with_inner(kept)
            .into_iter()
            .filter(|&n| self.bpf.maps[n as usize].place.is_none())
            .collect();
        let mut kept = self.bpf.maps_in_places();
        kept.extend(&new);
        let mut maker = Maker { bpf: &self.bpf, object: Object::default(), places: BTreeMap::new() };
        let (mut shared, mut touched) = (Vec::new(), Vec::new());
        for &number in &kept {
            let map = &self.bpf.maps[number as usize];
            let place = maker.map(number, map)?;
            let is_new = map.place.is_none();
            if let (Some(file), kind::ARRAY | kind::ARENA, false, true) =
                (&map.file, map.kind, is_constant(map), is_new)
            {
                shared.push((place, file.try_clone().map_err(|e| host(&e))?));
                if map.is_arena() {
                    touched.extend(touched_pages(file).map(|(first, count)| (place, first, count)));
                }
            }
        }
        for &number in &kept {
            maker.nest(number, &self.bpf.maps[number as usize]);
        }
        for &number in &progs {
            maker.prog(&self.bpf.progs[number as usize])?;
        }
        let Maker { object, places, .. } = maker;
        let fills = self.fills(&new, &places);
        let place_of = |n: u32| progs.iter().position(|&p| p == n).map(|at| at as u32);
        self.bpf.loaded = Some((0..self.bpf.progs.len() as u32).map(place_of).collect());
        for &number in &new {
            self.bpf.maps[number as usize].place = places.get(&number).copied();
        }
        Ok(Loaded { goes_on, object, fills, shared, touched })
    }

    /// Returns these maps, and those in maps of maps or their templates, which the program need not keep open.
    fn with_inner(&self, kept: Vec<u32>) -> Vec<u32> {
        let outer = kept.iter().map(|&n| &self.bpf.maps[n as usize]).filter(|map| map.has_maps());
        let inner: BTreeSet<u32> =
            outer.flat_map(|map| map.inner.into_iter().chain(inner_values(map).map(|(_, n)| n))).collect();
        kept.into_iter().collect::<BTreeSet<u32>>().union(&inner).copied().collect()
    }

    /// Returns the members of the struct_ops map's value, of the loaded object.
    pub(crate) fn struct_ops(&self, ops: u32) -> Result<StructOps, ProgramError> {
        let map = &self.bpf.maps[ops as usize];
        let kernel = &self.bpf.kernel;
        let none = || ProgramError::Unsupported(format!("map {} holds no struct sched_ext_ops", map.name));
        let (value, _) = map.values.get(&0_u32.to_le_bytes()[..]).ok_or_else(none)?;
        let type_name = kernel.name(self.bpf.kernel_type(map.ops_value).ok_or_else(none)?);
        let ops =
            type_name.strip_prefix(OPS_VALUE).filter(|ops| SCHEDULERS.contains(ops)).ok_or_else(none)?;
        let data = kernel.field(type_name, "data").ok_or_else(none)?;
        let value = value.get(data.offset as usize..).ok_or_else(none)?;
        let id = kernel.find_composite(ops).ok_or_else(none)?;
        let members = kernel.members(id).ok_or_else(none)?;
        let mut made = StructOps {
            variable: map.name.clone(),
            type_name: ops.into(),
            link: true,
            ..StructOps::default()
        };
        for member in &members.members {
            let name = kernel.member_name(member).to_owned();
            let (from, ty) = (member.bit_offset as usize / 8, kernel.skip_modifiers(member.ty));
            let len = kernel.size_of(member.ty).unwrap_or(8) as usize;
            let Some(bytes) = value.get(from..from + len) else { return Err(none()) };
            if bytes.iter().all(|&b| b == 0) {
                continue;
            }
            match kernel.kind(ty) {
                Kind::Ptr(to)
                    if matches!(kernel.kind(kernel.skip_modifiers(*to)), Kind::FuncProto { .. }) =>
                {
                    let fd = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                    let prog = self.prog_of(fd).and_then(|prog| self.bpf.place_of(prog));
                    made.callbacks.push((name, prog.ok_or_else(none)?));
                }
                _ => made.fields.push((name, bytes.to_vec())),
            }
        }
        Ok(made)
    }

    fn fills(&self, kept: &[u32], places: &BTreeMap<u32, u32>) -> Vec<Fill> {
        let mut all: Vec<(u64, Fill)> = Vec::new();
        for &number in kept {
            let map = &self.bpf.maps[number as usize];
            if map.has_maps() || map.kind == kind::ARRAY && is_constant(map) {
                continue;
            }
            for (key, (value, order)) in &map.values {
                let values = match map.is_per_cpu() {
                    true => value
                        .chunks(map.stride() as usize)
                        .map(|one| one[..map.value_size as usize].to_vec())
                        .collect(),
                    false => vec![value.clone()],
                };
                // The numbers of a queue's values are not keys.
                let key = if map.is_queue() { Vec::new() } else { key.clone() };
                all.push((*order, Fill { map: places[&number], key, values }));
            }
        }
        all.sort_by_key(|(order, fill)| (*order, fill.map));
        all.into_iter().map(|(_, fill)| fill).collect()
    }
}

/// Returns the entries of a map of maps: index and map.
fn inner_values(map: &Map) -> impl Iterator<Item = (u32, u32)> {
    let word = |bytes: &[u8]| <[u8; 4]>::try_from(bytes).map_or(0, u32::from_le_bytes);
    map.values.iter().map(move |(key, (value, _))| (word(key), word(value)))
}

/// Returns whether it is read-only for both sides.
fn is_constant(map: &Map) -> bool {
    map.frozen && map.flags & RDONLY_PROG != 0
}

fn host(error: &std::io::Error) -> ProgramError {
    ProgramError::Host(format!("a map's pages: {}", crate::host::reason(error)))
}

/// Assembles an object.
struct Maker<'a> {
    bpf: &'a Bpf,
    object: Object,
    /// For each map, its index in the object.
    places: BTreeMap<u32, u32>,
}

impl Maker<'_> {
    fn map(&mut self, number: u32, map: &Map) -> Result<u32, ProgramError> {
        let read_only = is_constant(map);
        let mut initial = Vec::new();
        if map.kind == kind::ARRAY && read_only {
            initial = vec![0; map.value_size as usize];
            match (&map.file, map.values.get(&0_u32.to_le_bytes()[..])) {
                (Some(file), _) => file.read_exact_at(&mut initial, 0).map_err(|e| host(&e))?,
                (None, Some((value, _))) => initial.clone_from(value),
                (None, None) => {}
            }
        }
        // An arena's address is the one at which the program has mapped it.
        let extra = if map.kind == kind::ARENA { map.mapped_at.unwrap_or(map.extra) } else { map.extra };
        self.object.maps.push(MapDef {
            name: map.name.clone(),
            kind: map.kind,
            key_size: map.key_size,
            value_size: map.value_size,
            max_entries: map.max_entries,
            flags: map.flags,
            extra,
            initial,
            read_only,
            kptrs: map.kptrs.clone(),
            is_shared: map.file.is_some() && matches!(map.kind, kind::ARRAY | kind::ARENA) && !read_only,
            ..MapDef::default()
        });
        let place = self.object.maps.len() as u32 - 1;
        self.places.insert(number, place);
        Ok(place)
    }

    /// Sets which maps are in a map of maps, once all have their indices.
    fn nest(&mut self, number: u32, map: &Map) {
        if map.has_maps() {
            let place = |n: u32| self.places.get(&n).copied();
            let values = inner_values(map).filter_map(|(entry, n)| Some((entry, place(n)?))).collect();
            let inner = map.inner.and_then(place);
            let def = &mut self.object.maps[self.places[&number] as usize];
            (def.inner, def.values) = (inner, values);
        }
    }

    /// Adds a program with its own copies of its functions.
    fn prog(&mut self, prog: &Prog) -> Result<(), ProgramError> {
        let types = match prog.types {
            Some(types) => Btf::parse(&self.bpf.types[types as usize]).unwrap_or_default(),
            None => Btf::default(),
        };
        let first = self.object.functions.len() as u32;
        let starts: Vec<[u32; 2]> = if prog.funcs.is_empty() { vec![[0, 0]] } else { prog.funcs.clone() };
        for (index, &[start, ty]) in starts.iter().enumerate() {
            let end = starts.get(index + 1).map_or(prog.insns.len() as u32, |next| next[0]);
            let insns = prog.insns.get(start as usize..end as usize).ok_or_else(|| bad(prog))?.to_vec();
            let named = (ty as usize) < types.len() && ty > 0;
            let name = if named { types.name(TypeId(ty)).to_owned() } else { prog.name.clone() };
            let mut function = Function { name, insns, ..Function::default() };
            self.relocate(prog, &mut function, start, first, &starts)?;
            function.lines = lines(prog, &types, start..end);
            self.object.functions.push(function);
        }
        let section = match prog.kind {
            SYSCALL => "syscall".to_owned(),
            TRACING => prog.target.clone(),
            _ => self.section(prog),
        };
        self.object.programs.push(keel_object::Program {
            name: self.object.functions[first as usize].name.clone(),
            section,
            function: first,
            sleepable: prog.flags & SLEEPABLE != 0 || prog.kind == SYSCALL,
        });
        self.object.license.clone_from(&prog.license);
        if self.object.local_types.is_empty() {
            self.object.local_types = types
                .types()
                .filter(|(_, ty)| matches!(ty.kind, Kind::Struct(_)))
                .filter_map(|(id, _)| Some((id.0, types.size_of(id)?)))
                .collect();
        }
        Ok(())
    }

    fn section(&self, prog: &Prog) -> String {
        let kernel = &self.bpf.kernel;
        let members = self.bpf.kernel_type(prog.ops).and_then(|id| kernel.members(id));
        let member = members.and_then(|members| members.members.get(prog.member as usize));
        let sleeps = if prog.flags & SLEEPABLE != 0 { ".s" } else { "" };
        format!("struct_ops{sleeps}/{}", member.map_or("", |member| kernel.member_name(member)))
    }

    /// Replaces numbers of maps, types and instructions by indices in the object.
    fn relocate(
        &mut self,
        prog: &Prog,
        function: &mut Function,
        start: u32,
        first: u32,
        starts: &[[u32; 2]],
    ) -> Result<(), ProgramError> {
        let function_at = |at: usize, by: i32| {
            let target = i64::from(start) + at as i64 + 1 + i64::from(by);
            let index = starts.iter().position(|&[other, _]| i64::from(other) == target);
            index.map(|index| (first + index as u32) as i32).ok_or_else(|| bad(prog))
        };
        let mut at = 0;
        while at < function.insns.len() {
            let insn = function.insns[at];
            match (insn.code, insn.src) {
                (LD_IMM64, PSEUDO_MAP | PSEUDO_MAP_VALUE) => {
                    let place = self.places.get(&(insn.imm as u32)).ok_or_else(|| bad(prog))?;
                    function.insns[at].imm = *place as i32;
                }
                (LD_IMM64, PSEUDO_KSYM) => function.insns[at].imm = self.ksym(prog, insn.imm)?,
                (LD_IMM64, PSEUDO_FUNC) => function.insns[at].imm = function_at(at, insn.imm)?,
                // A missing weak symbol, as older and newer versions of libbpf encode it.
                (CALL, 0 | PSEUDO_KFUNC) if is_poison(insn) => {
                    let missing = "what it needs here is not among the simulated kernel's types".to_owned();
                    function.poison.push(Poison { insn: at as u32, missing });
                    function.insns[at] = Insn { src: 0, imm: POISON, ..insn };
                }
                (CALL, PSEUDO_CALL) => function.insns[at].imm = function_at(at, insn.imm)?,
                (CALL, PSEUDO_KFUNC) => function.insns[at].imm = self.kfunc(prog, insn)?,
                _ => {}
            }
            at += if insn.code == LD_IMM64 { 2 } else { 1 };
        }
        Ok(())
    }

    /// Returns the name of a kernel's type, and whether it is a function.
    fn kernel_name(&self, prog: &Prog, id: i32) -> Result<(String, bool), ProgramError> {
        let kernel = &self.bpf.kernel;
        let id = u32::try_from(id).ok().and_then(|id| self.bpf.kernel_type(id)).ok_or_else(|| bad(prog))?;
        Ok((kernel.name(id).to_owned(), matches!(kernel.kind(id), Kind::Func { .. })))
    }

    fn ksym(&mut self, prog: &Prog, id: i32) -> Result<i32, ProgramError> {
        let (name, is_function) = self.kernel_name(prog, id)?;
        let known = self.object.ksyms.iter().position(|ksym| ksym.name == name);
        Ok(known.unwrap_or_else(|| {
            self.object.ksyms.push(Ksym { name, is_function });
            self.object.ksyms.len() - 1
        }) as i32)
    }

    fn kfunc(&mut self, prog: &Prog, insn: Insn) -> Result<i32, ProgramError> {
        let (name, is_function) = self.kernel_name(prog, insn.imm)?;
        if insn.off != 0 || !is_function {
            return Err(bad(prog));
        }
        let known = self.object.kfuncs.iter().position(|kfunc| kfunc.name == name);
        Ok(known.unwrap_or_else(|| {
            self.object.kfuncs.push(Kfunc { symbol: name.clone(), name });
            self.object.kfuncs.len() - 1
        }) as i32)
    }
}

fn bad(prog: &Prog) -> ProgramError {
    ProgramError::Unsupported(format!("program {} has instructions that keel cannot relocate", prog.name))
}

/// Returns whether it is a call that libbpf could not relocate.
fn is_poison(insn: Insn) -> bool {
    match insn.src {
        PSEUDO_KFUNC => insn.imm == 0,
        _ => insn.imm == POISON || insn.imm >= FIRST_POISON,
    }
}

fn lines(prog: &Prog, types: &Btf, range: std::ops::Range<u32>) -> Arc<[LineInfo]> {
    let own = prog.lines.iter().filter(|line| range.contains(&line[0]));
    own.map(|&[insn, file, text, place]| LineInfo {
        insn: insn - range.start,
        file: types.string_lossy(file).into(),
        line: place >> 10,
        text: types.string_lossy(text).into(),
    })
    .collect()
}
