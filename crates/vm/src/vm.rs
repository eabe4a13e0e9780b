//! A loaded object in its world: the engine that a simulation drives.
#![allow(unsafe_code)]

use crate::calls;
use crate::code::op::{FRAME_BYTES, MAX_FRAMES};
use crate::code::{Code, tasks_map};
use crate::config::{Mode, VmConfig};
use crate::context::{Context, HOST_COUNTS, HostCall, Job, NativeFn};
use crate::error::LoadError;
use crate::fiber::{Fiber, Link, Signal};
use crate::known::HOST_SERVES;
use crate::link::{self, Linker};
use crate::memory::{BASE, LineForm, VmWorld, WorldConfig, WorldError};
use crate::profile::{Profile, Taken, Tally};
use crate::races::Race;
use crate::stacks::{MAX_ARGS, Slot, Stacks};
use keel_abi::CpuId;
use keel_abi::bpf::{CallPlace, Ea, Engine, Entry, Fault, FaultKind, FuncId, Host, MapId, Progress, Usage};
use keel_abi::holders::HolderKey;
use keel_object::model::Object;
use std::ptr;
use std::sync::Arc;

/// A loaded object in its world.
pub struct Vm {
    // Fibers first: they point into the rest, though dropping them runs none of their code.
    fibers: Vec<Fiber>,
    /// Fibers without a job, the one used last on top; it stays there while it runs.
    idle: Vec<u32>,
    code: Arc<Code>,
    world: VmWorld,
    /// Per CPU.
    seats: Box<[Seat]>,
    stacks: Stacks,
    addresses: Box<[u64]>,
    callees: Box<[FuncId]>,
    config: VmConfig,
    /// Code that was extended, and its tables: a suspended callback may still be in it.
    extended: Vec<Extended>,
    /// Two bytes per operation: whether the jump there was not taken, and whether it was taken. Empty if nobody asked.
    branches: Box<[u8]>,
    /// Of fibers that are gone or at rest.
    bad_accesses: u64,
    /// Of the code that is loaded; the fibers have its address.
    profile: Option<Box<Profile>>,
    /// Of code that was replaced.
    profiles: Vec<Taken>,
    /// The same.
    raced: Vec<Race>,
}

impl Vm {
    /// Loads an object into a world of its own.
    ///
    /// # Errors
    /// A helper, kfunc or variable that `linker` does not have, a map that is not supported, or
    /// no room.
    pub fn new(
        code: Arc<Code>,
        object: &Object,
        config: VmConfig,
        linker: &mut dyn Linker<VmWorld>,
    ) -> Result<Self, LoadError> {
        let mut config = config;
        if !code.fits(object) && config.mode == Mode::Native {
            // Cranelift's code takes nothing for granted.
            config.mode = Mode::Cranelift;
        }
        native(&config, &code, object)?;
        let mut world = VmWorld::new(&object.maps, world_config(&config))?;
        crowd_tasks(&mut world, object);
        let callees = link::functions(&code, linker)?;
        let addresses = link::addresses(&code, object, &mut world, linker)?;
        let stacks = Stacks::new(&mut world, config.cpus)
            .ok_or_else(|| LoadError::NoRoom(format!("the stacks of {} CPUs", config.cpus)))?;
        let profile = profile(&config, &code);
        if profile.is_some() {
            world.region_mut().start_watch();
        }
        if config.races && config.mode == Mode::Interpreted {
            world.region_mut().start_races();
        }
        let is_covered = config.covered && config.mode == Mode::Interpreted;
        Ok(Self {
            fibers: Vec::new(),
            idle: Vec::new(),
            profile,
            profiles: Vec::new(),
            raced: Vec::new(),
            branches: vec![0; if is_covered { 2 * code.ops() } else { 0 }].into(),
            code,
            seats: seats(&world, config.cpus),
            world,
            stacks,
            addresses,
            callees,
            config,
            extended: Vec::new(),
            bad_accesses: 0,
        })
    }

    /// Loads the object again into the same world. Its maps and variables start afresh, unless they were another
    /// program's memory. No callback may be suspended.
    ///
    /// # Errors
    /// As for [`Vm::new`]; and where the object has an arena whose pages are no program's.
    pub fn reload(&mut self, object: &Object, linker: &mut dyn Linker<VmWorld>) -> Result<(), LoadError> {
        assert!(
            self.seats.iter().all(|seat| seat.suspended.is_empty()),
            "no callback outlives its scheduler"
        );
        self.bad_accesses = self.bad_accesses();
        self.fibers.clear();
        self.idle.clear();
        self.extended.clear();
        if let Some(races) = self.world.region_mut().races() {
            races.forget_all();
        }
        self.world.renew(&object.maps).map_err(WorldError::Map)?;
        crowd_tasks(&mut self.world, object);
        self.seats = seats(&self.world, self.config.cpus);
        self.addresses = link::addresses(&self.code, object, &mut self.world, linker)?;
        Ok(())
    }

    /// Loads another object into the same world, as [`Vm::reload`] does the same one.
    ///
    /// # Errors
    /// As for [`Vm::reload`]; and where it has more maps than the first one.
    pub fn replace(
        &mut self,
        code: Arc<Code>,
        object: &Object,
        linker: &mut dyn Linker<VmWorld>,
    ) -> Result<(), LoadError> {
        native(&self.config, &code, object)?;
        self.callees = link::functions(&code, linker)?;
        self.profiles = self.profiles();
        self.raced = self.races();
        if let Some(races) = self.world.region_mut().races() {
            races.renew();
        }
        if let Some(watch) = self.world.region_mut().watch() {
            watch.forget();
        }
        self.profile = profile(&self.config, &code);
        if !self.branches.is_empty() {
            self.branches = vec![0; 2 * code.ops()].into();
        }
        self.code = code;
        self.reload(object, linker)
    }

    /// Goes on with a larger object, while callbacks may be suspended: the maps, functions and programs of the one so far
    /// are the first ones of it, and stay as they are.
    ///
    /// # Errors
    /// As for [`Vm::new`]; and where a new map is an arena, or there are more than [`VmConfig::spare_maps`].
    pub fn extend(
        &mut self,
        code: Arc<Code>,
        object: &Object,
        linker: &mut dyn Linker<VmWorld>,
    ) -> Result<(), LoadError> {
        self.world.extend(&object.maps).map_err(WorldError::Map)?;
        assert!(code.goes_on_from(&self.code), "what is there stays there");
        let native = native(&self.config, &code, object)?;
        let callees = link::functions(&code, linker)?;
        let addresses = link::addresses(&code, object, &mut self.world, linker)?;
        if let Some(profile) = &mut self.profile {
            profile.extend(code.functions[self.code.functions.len()..].iter().map(|f| f.ops.len() as u32));
        }
        let mut branches = vec![0; if self.branches.is_empty() { 0 } else { 2 * code.ops() }];
        branches[..self.branches.len()].copy_from_slice(&self.branches);
        self.extended.push(Extended {
            _branches: std::mem::replace(&mut self.branches, branches.into()),
            _code: std::mem::replace(&mut self.code, code),
            _callees: std::mem::replace(&mut self.callees, callees),
            _addresses: std::mem::replace(&mut self.addresses, addresses),
        });
        for fiber in &mut self.fibers {
            let context = fiber.context();
            context.code = Arc::as_ptr(&self.code);
            context.native = native;
            context.callees = self.callees.as_ptr();
            context.addresses = self.addresses.as_ptr();
            if !self.branches.is_empty() {
                context.branches = self.branches.as_mut_ptr();
            }
        }
        Ok(())
    }

    /// The counts so far, for each loaded object. Empty if no profile is kept.
    pub fn profiles(&self) -> Vec<Taken> {
        let moved = self.world.region().watched();
        let now = self.profile.as_ref().map(|profile| Taken::new(profile, &self.code, moved));
        self.profiles.iter().cloned().chain(now).collect()
    }

    /// Data races that were found so far, if the config asked for them.
    pub fn races(&self) -> Vec<Race> {
        let now = self.world.region().races_ref().map(|races| races.found(&self.code));
        self.raced.iter().cloned().chain(now.into_iter().flatten()).collect()
    }

    /// Loads and stores that were out of bounds: they read 0 and stored nothing.
    pub fn bad_accesses(&mut self) -> u64 {
        self.bad_accesses + self.fibers.iter_mut().map(|f| f.context().bad_accesses).sum::<u64>()
    }

    /// Which ways the conditional jumps of the code have gone, if the config asked for that: for each operation a byte that is
    /// not 0 once its jump was not taken, and one for once it was.
    pub fn branches(&self) -> &[u8] {
        &self.branches
    }

    /// The world between callbacks.
    pub fn world_ref(&self) -> &VmWorld {
        &self.world
    }

    /// How many callbacks of `cpu` are suspended.
    pub fn suspended(&self, cpu: CpuId) -> usize {
        self.seats[cpu.index()].suspended.len()
    }

    /// Writes a struct_ops context. The first words are written even if the callback has fewer arguments: that is
    /// faster than checking.
    #[inline(always)]
    fn put_args(&mut self, at: Ea, args: &[u64]) {
        let raw = self.world.region().raw();
        // SAFETY: a slot has room for `MAX_ARGS` aligned words within the region, and no
        // reference into the region is alive.
        let put = |i: usize, word: u64| unsafe {
            // Volatile, because a call of memcpy takes longer than these few words.
            raw.base.add((at.0 - BASE) as usize).cast::<u64>().add(i).write_volatile(word.to_le());
        };
        match *args {
            [a, b, c] => {
                put(0, a);
                put(1, b);
                put(2, c);
            }
            _ => {
                assert!(args.len() <= MAX_ARGS, "a struct_ops callback has at most {MAX_ARGS} arguments");
                args.iter().enumerate().for_each(|(i, &word)| put(i, word));
            }
        }
    }

    /// A fiber without a job, which stays the last of those.
    #[inline]
    fn idle_fiber(&mut self) -> u32 {
        match self.idle.last() {
            Some(&fiber) => fiber,
            None => self.new_fiber(),
        }
    }

    #[cold]
    fn new_fiber(&mut self) -> u32 {
        let raw = self.world.region().raw();
        let native = self
            .config
            .mode
            .table(&self.code, raw.lines, self.config.num_next_ps.is_some())
            .unwrap_or(ptr::null());
        let context = Context {
            insns: 0,
            // Room for an addition.
            max_insns: i64::try_from(self.config.max_insns).unwrap_or(i64::MAX).min(i64::MAX / 2),
            limits: [0; 4],
            base: raw.base,
            sharers: raw.sharers,
            words: raw.sharers.wrapping_sub((BASE >> raw.lines.log2) as usize),
            line_log2: raw.lines.log2,
            minus_base: BASE.wrapping_neg(),
            shared: 0,
            alone: 0,
            addresses: self.addresses.as_ptr(),
            denied: 0,
            stack_floor: 0,
            loops_left: 0,
            host_call: None,
            frame: 0,
            site: 0,
            cpu: CpuId(0),
            prices: ptr::null(),
            writers: raw.writers,
            moves: raw.moves,
            crowded_first: raw.crowded.0,
            crowded_lines: raw.crowded.1,
            again: false,
            checked: self.config.checked && self.config.mode == Mode::Interpreted,
            branches: if self.branches.is_empty() { ptr::null_mut() } else { self.branches.as_mut_ptr() },
            stall_ps: 0,
            bad_accesses: 0,
            high_water: raw.high_water,
            seen_high_water: 0,
            host: ptr::null_mut(),
            host_try: None,
            host_turn: None,
            host_clock: None,
            host_meter: None,
            host_clocks: None,
            races: self.config.races && self.config.mode == Mode::Interpreted,
            profile: self.profile.as_deref_mut().map_or(ptr::null_mut(), ptr::from_mut),
            tally: Tally::default(),
            more_loops: 0,
            world: ptr::null_mut(),
            link: Link::default(),
            code: Arc::as_ptr(&self.code),
            native,
            callees: self.callees.as_ptr(),
            num_next_ps: self.config.num_next_ps.unwrap_or(HOST_COUNTS),
            carry_ps: HOST_SERVES,
            known_ps: self.config.known_ps.unwrap_or_default(),
            serves: self.config.known_ps.is_some() && self.config.mode == Mode::Native,
            scratch: Ea::NULL,
            job: Job::default(),
            value: 0,
            refused: None,
            fault: None,
            panic: None,
        };
        let fiber = Fiber::new(context).expect("the process has memory for one more stack");
        self.fibers.push(fiber);
        let number = self.fibers.len() as u32 - 1;
        self.idle.push(number);
        number
    }

    /// Runs a job on a fiber of its own.
    #[inline(always)]
    fn launch<H: Host<VmWorld>>(&mut self, host: &mut H, cpu: CpuId, place: RunsAt, job: Job) -> Progress {
        let number = self.idle_fiber();
        let RunsAt { slot, key, prices } = place;
        let fiber = &mut self.fibers[number as usize];
        let context = fiber.context();
        context.insns = -context.max_insns;
        context.stall_ps = 0;
        context.reset_loops();
        context.cpu = cpu;
        context.prices = prices;
        (context.shared, context.alone) = (key.shared, key.alone);
        context.scratch = slot.scratch();
        context.again = false;
        context.stack_floor = job.r10 - (MAX_FRAMES - 1) * FRAME_BYTES;
        context.job = job;
        match enter(fiber, host, &mut self.world, Fiber::begin) {
            Signal::Done => done(fiber),
            signal => self.not_done(cpu, number, signal),
        }
    }

    /// The fiber just launched for a job of `cpu` was left before the job was done.
    #[inline(never)]
    fn not_done(&mut self, cpu: CpuId, number: u32, signal: Signal) -> Progress {
        match signal {
            Signal::Suspended => {
                self.idle.pop();
                self.seats[cpu.index()].suspended.push(number);
                Progress::Suspended
            }
            _ => self.broken(number),
        }
    }

    /// A job was stopped, or the host panicked.
    #[cold]
    fn broken(&mut self, fiber: u32) -> Progress {
        let f = &mut self.fibers[fiber as usize];
        f.reset();
        let context = f.context();
        if !context.profile.is_null() {
            context.profile_stop();
        }
        if let Some(panic) = context.panic.take() {
            std::panic::resume_unwind(panic);
        }
        let fault = context.fault.take().expect("a fiber that failed says why");
        Progress::Failed { fault, usage: context.usage() }
    }

    /// Where the CPU's next callback runs; nothing when the world is full.
    #[inline(always)]
    fn place_on(&mut self, cpu: CpuId) -> Option<RunsAt> {
        let seat = &self.seats[cpu.index()];
        let (key, prices) = (seat.key, seat.prices);
        let slot = match seat.first {
            Some(slot) if seat.suspended.is_empty() => slot,
            _ => self.another_slot(cpu)?,
        };
        Some(RunsAt { slot, key, prices })
    }

    /// The slot of a CPU's first callback, or of one that is nested in another.
    #[inline(never)]
    fn another_slot(&mut self, cpu: CpuId) -> Option<Slot> {
        let seat = &mut self.seats[cpu.index()];
        let depth = seat.suspended.len();
        let slot = self.stacks.slot(&mut self.world, cpu, depth)?;
        if depth == 0 {
            seat.first = Some(slot);
        }
        Some(slot)
    }

    /// There is no memory for one more stack.
    #[cold]
    fn no_slot(&self, function: u32) -> Progress {
        failed(self.code.fault(FaultKind::TooDeep, function, 0))
    }
}

/// Native code that was compiled from this object, if its mode has any.
fn native(config: &VmConfig, code: &Code, object: &Object) -> Result<*const NativeFn, LoadError> {
    let shape = (object.maps.len(), object.ksyms.len());
    assert_eq!(shape, code.shape, "the code was compiled from this object");
    config.mode.table(code, LineForm::of(&config.transfers), config.num_next_ps.is_some())
}

/// An empty profile, if one is to be kept.
fn profile(config: &VmConfig, code: &Code) -> Option<Box<Profile>> {
    let is_kept = config.profiled && config.mode == Mode::Interpreted;
    is_kept.then(|| Box::new(Profile::new(code.functions.iter().map(|f| f.ops.len() as u32))))
}

fn world_config(config: &VmConfig) -> WorldConfig {
    let world = WorldConfig::new(config.transfers.clone(), config.cpus);
    WorldConfig { checked: config.checked, spare_maps: config.spare_maps, ..world }
}

/// What frames of suspended callbacks may point into; nothing else looks at it.
struct Extended {
    _branches: Box<[u8]>,
    _code: Arc<Code>,
    _callees: Box<[FuncId]>,
    _addresses: Box<[u64]>,
}

/// Where a callback runs.
#[derive(Clone, Copy)]
struct RunsAt {
    slot: Slot,
    key: HolderKey,
    prices: *const u32,
}

/// What a callback on a CPU needs to know of it.
struct Seat {
    key: HolderKey,
    /// As [`Context::prices`].
    prices: *const u32,
    /// The slot of a callback that is in no other one, once there was one.
    first: Option<Slot>,
    /// Fibers of its suspended activations, the innermost last.
    suspended: Vec<u32>,
}

// SAFETY: the prices belong to the region, which lives as long as the Vm, and nobody changes them.
unsafe impl Send for Seat {}

fn seats(world: &VmWorld, cpus: u32) -> Box<[Seat]> {
    let region = world.region();
    let seat = |cpu| Seat {
        key: region.key(cpu),
        prices: region.prices_to(cpu).map_or(ptr::null(), <[u32]>::as_ptr),
        first: None,
        suspended: Vec::new(),
    };
    (0..cpus).map(CpuId).map(seat).collect()
}

/// Sets for the region which array stands for the tasks' structures, if the object has one.
fn crowd_tasks(world: &mut VmWorld, object: &Object) {
    let Some(tasks) = tasks_map(object) else { return };
    let Some(array) = object.variables.iter().find(|variable| variable.map == tasks) else { return };
    if let Some(at) = world.map_value_address(MapId(array.map), array.offset) {
        world.region_mut().crowd(at, u64::from(array.size), u64::from(array.size / array.len.max(1)));
    }
}

fn failed(fault: Fault) -> Progress {
    Progress::Failed { fault: Box::new(fault), usage: Usage::default() }
}

impl Engine for Vm {
    type World = VmWorld;

    fn world(&mut self) -> &mut VmWorld {
        &mut self.world
    }

    fn place(&self, number: u32) -> Option<CallPlace> {
        self.code.place(number)
    }

    #[inline(always)]
    fn start<H: Host<VmWorld>>(&mut self, host: &mut H, cpu: CpuId, entry: Entry, args: &[u64]) -> Progress {
        let function = self.code.entries[entry.0 as usize];
        let Some(place) = self.place_on(cpu) else { return self.no_slot(function) };
        let at = place.slot.args();
        self.put_args(at, args);
        let job = Job { function, r10: place.slot.r10().0, args: [at.0, 0, 0, 0, 0] };
        self.launch(host, cpu, place, job)
    }

    fn start_function<H: Host<VmWorld>>(
        &mut self,
        host: &mut H,
        cpu: CpuId,
        function: u64,
        args: [u64; 5],
    ) -> Progress {
        let Some(index) = self.code.function_at(function) else {
            let kind = FaultKind::BadCall(format!("{function:#x} is not a function of the object"));
            return failed(Fault { kind, program: String::new(), insn: 0, source: None });
        };
        let Some(place) = self.place_on(cpu) else { return self.no_slot(index) };
        self.launch(host, cpu, place, Job { function: index, r10: place.slot.r10().0, args })
    }

    #[inline]
    fn resume<H: Host<VmWorld>>(&mut self, host: &mut H, cpu: CpuId) -> Progress {
        let suspended = &mut self.seats[cpu.index()].suspended;
        let number = *suspended.last().expect("a callback of this CPU is suspended");
        let fiber = &mut self.fibers[number as usize];
        let signal = enter(fiber, host, &mut self.world, Fiber::resume);
        if signal == Signal::Suspended {
            return Progress::Suspended;
        }
        suspended.pop();
        self.idle.push(number);
        if signal == Signal::Done { done(fiber) } else { self.broken(number) }
    }
}

/// Enters a fiber on behalf of `host`, by `way`, and returns why it was left.
#[inline(always)]
fn enter<H: Host<VmWorld>>(
    fiber: &mut Fiber,
    host: &mut H,
    world: &mut VmWorld,
    way: impl FnOnce(&mut Fiber) -> Signal,
) -> Signal {
    let context = fiber.context();
    context.world = ptr::from_mut(world);
    context.host = ptr::from_mut(host).cast();
    let host_call: HostCall = calls::host_call::<H>;
    if context.host_call.map(|known| known as usize) != Some(host_call as usize) {
        // The first time, or a host of another type.
        context.host_call = Some(host_call);
        context.host_try = Some(calls::host_try::<H>);
        context.host_turn = Some(calls::host_turn::<H>);
        context.host_clock = Some(calls::host_clock::<H>);
        context.host_meter = Some(calls::host_meter::<H>);
        context.host_clocks = Some(calls::host_clocks::<H>);
    }
    if context.serves {
        context.carry_ps = host.take_spent_ps().unwrap_or(HOST_SERVES);
    }
    context.refresh();
    let signal = way(fiber);
    let carry_ps = fiber.context().carry_ps;
    if carry_ps != HOST_SERVES {
        host.give_spent_ps(carry_ps);
    }
    signal
}

/// What the job that a fiber has done comes to.
#[inline(always)]
fn done(fiber: &mut Fiber) -> Progress {
    let context = fiber.context();
    Progress::Done { value: context.value, usage: context.usage() }
}
