//! A loaded object in its world: the engine that a simulation drives.
#![allow(unsafe_code)]

use crate::code::op::{Callee, Op};
use crate::code::{Code, tasks_map};
use crate::config::{Mode, VmConfig};
use crate::context::{Context, FIRST_ADDRESSES, HOST_COUNTS, Job, StartFn, Tables};
use crate::enter::{connect, disconnect, done, go_on, take_carry};
use crate::error::LoadError;
use crate::fiber::{self, Fiber, Link, Signal};
use crate::fixed::Fixed;
use crate::known::HOST_SERVES;
use crate::link::{self, Linker};
use crate::maps::kernel_address;
use crate::memory::{BASE, LineForm, VmWorld, WorldConfig, WorldError};
use crate::profile::{Profile, Taken, Tally};
use crate::races::Race;
use crate::seat::{Place, RunsAt, Seat, put_args, rewind, seats};
use crate::stacks::Stacks;
use keel_abi::CpuId;
use keel_abi::bpf::{
    AtOnce, CallPlace, Engine, Entry, Fault, FaultKind, Frequent, FuncId, Host, MapId, Progress, Usage,
};
use keel_object::model::Object;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{Ordering, compiler_fence};

/// A loaded object in its world.
pub struct Vm {
    // Fibers first: they point into the rest, though dropping them runs none of their code.
    fibers: Vec<Fiber>,
    /// A fiber without a job, for the next one, which stays here while it runs. There is one from the first job on.
    at_hand: AtHand,
    /// The others without a job.
    idle: Idle,
    code: Arc<Code>,
    /// The code's.
    tables: Tables,
    /// The fibers' contexts have its address.
    world: Fixed<VmWorld>,
    /// Per CPU.
    seats: Box<[Seat]>,
    stacks: Stacks,
    addresses: Box<[u64]>,
    callees: Box<[FuncId]>,
    starts: Starts,
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

/// By entry, where emitted code begins as a callback. The table is in the Vm itself and has a fixed length, so that
/// each callback finds its code at once.
struct Starts {
    all: [StartFn; MOST_STARTS],
    /// Whether it has them all.
    are_there: bool,
}

/// No object has so many programs; callbacks of one that has begin more slowly.
const MOST_STARTS: usize = 256;

impl Starts {
    fn new(code: &Code, tables: &Tables) -> Self {
        let are_there = !tables.starts.is_null() && code.entries.len() <= MOST_STARTS;
        let mut all = [no_program as StartFn; MOST_STARTS];
        for (start, &function) in all.iter_mut().zip(&code.entries).filter(|_| are_there) {
            // SAFETY: the table has an entry for each of the code's functions, and this is one of them.
            *start = unsafe { *tables.starts.add(function as usize) };
        }
        Self { all, are_there }
    }

    /// That of an entry, which is the code's.
    #[inline(always)]
    fn of(&self, entry: Entry) -> StartFn {
        debug_assert!(self.are_there && (entry.0 as usize) < MOST_STARTS);
        self.all[entry.0 as usize % MOST_STARTS]
    }
}

/// In place of a program that the code doesn't have.
unsafe extern "C" fn no_program() {
    std::process::abort();
}

/// A fiber, or none.
#[derive(Clone, Copy)]
struct AtHand {
    /// Its context; null if there is none.
    context: *mut Context,
    /// The CPU whose next callback begins at once on this fiber, or [`NOBODY`].
    ready_for: CpuId,
}

/// No CPU's number.
const NOBODY: CpuId = CpuId(u32::MAX);

// SAFETY: the context belongs to a fiber of the same Vm.
unsafe impl Send for AtHand {}

impl AtHand {
    const NONE: Self = Self::new(ptr::null_mut());

    const fn new(context: *mut Context) -> Self {
        Self { context, ready_for: NOBODY }
    }
}

/// Contexts of fibers.
#[derive(Default)]
struct Idle(Vec<*mut Context>);

// SAFETY: as for `AtHand`.
unsafe impl Send for Idle {}

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
        let tables = native(&config, &code, object)?;
        let mut world = VmWorld::new(&object.maps, world_config(&config))?;
        crowd_tasks(&mut world, object)?;
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
            at_hand: AtHand::NONE,
            idle: Idle::default(),
            tables,
            starts: Starts::new(&code, &tables),
            profile,
            profiles: Vec::new(),
            raced: Vec::new(),
            branches: vec![0; if is_covered { 2 * code.ops() } else { 0 }].into(),
            code,
            seats: seats(&world, config.cpus),
            world: Fixed::new(world),
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
        self.world.region_mut().forget_limits();
        self.at_hand = AtHand::NONE;
        self.idle.0.clear();
        // Before anything can fail: no seat is ready without a fiber at hand.
        self.seats = seats(&self.world, self.config.cpus);
        self.extended.clear();
        if let Some(races) = self.world.region_mut().races() {
            races.forget_all();
        }
        self.world.renew(&object.maps).map_err(WorldError::Map)?;
        crowd_tasks(&mut self.world, object)?;
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
        let tables = native(&self.config, &code, object)?;
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
        self.set_starts(Starts::new(&code, &tables));
        self.code = code;
        self.tables = tables;
        self.reload(object, linker)
    }

    /// Goes on with a larger object, while callbacks may be suspended: the maps, functions and programs of the one so
    /// far are the first ones of it, and stay as they are.
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
        let tables = native(&self.config, &code, object)?;
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
        self.set_starts(Starts::new(&self.code, &tables));
        self.tables = tables;
        let (serves, carry_ps) = (self.serves(), self.nothing_carried());
        for fiber in &mut self.fibers {
            let context = fiber.context();
            // Its code isn't running, so nothing was carried before either.
            context.carry_ps = carry_ps;
            context.code = Arc::as_ptr(&self.code);
            context.native = tables.native;
            context.serves = serves;
            // The host's entries depend on that.
            context.host_call = None;
            context.callees = self.callees.as_ptr();
            context.set_addresses(&self.addresses);
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

    /// The directions that the code's conditional jumps have taken, if the config asked for that. Each operation has
    /// two bytes: the first is not 0 if its jump was not taken at least once, the second if it was taken.
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

    /// Provides a fiber without a job.
    #[cold]
    #[inline(never)]
    fn new_fiber(&mut self) {
        let raw = self.world.region().raw();
        let first_line = BASE >> raw.lines.log2;
        let context = Context {
            insns: 0,
            // Room for an addition.
            no_insns: -i64::try_from(self.config.max_insns).unwrap_or(i64::MAX).min(i64::MAX / 2),
            limits: [0; 4],
            base: raw.base,
            sharers: raw.sharers,
            words: raw.sharers.wrapping_sub(first_line as usize),
            line_log2: raw.lines.log2,
            minus_base: BASE.wrapping_neg(),
            place: Place::NOWHERE,
            delta: (raw.base as u64).wrapping_sub(BASE),
            arena: kernel_address(0),
            addresses: ptr::null(),
            first_addresses: [0; FIRST_ADDRESSES],
            first_words: [ptr::null(); FIRST_ADDRESSES],
            denied: 0,
            loops_left: 0,
            host_call: None,
            frequent_calls: [None; Frequent::ALL.len()],
            frame: 0,
            site: 0,
            rounds_left: 0,
            first_line,
            writers: raw.writers.wrapping_sub(first_line as usize),
            moves: raw.moves.numbered_from_0(first_line),
            crowded: raw.crowded.numbered_from_0(first_line),
            checked: self.config.checked && self.config.mode == Mode::Interpreted,
            branches: if self.branches.is_empty() { ptr::null_mut() } else { self.branches.as_mut_ptr() },
            stall_ps: 0,
            bad_accesses: 0,
            host: ptr::null_mut(),
            host_turn: None,
            host_clock: None,
            host_meter: None,
            host_clocks: None,
            races: self.config.races && self.config.mode == Mode::Interpreted,
            profile: self.profile.as_deref_mut().map_or(ptr::null_mut(), ptr::from_mut),
            tally: Tally::default(),
            more_loops: 0,
            world: self.world.pointer(),
            signal: Signal::Done,
            link: Link::default(),
            code: Arc::as_ptr(&self.code),
            native: self.tables.native,
            callees: self.callees.as_ptr(),
            num_next_ps: self.config.num_next_ps.unwrap_or(HOST_COUNTS),
            carry_ps: self.nothing_carried(),
            known_ps: self.config.known_ps.unwrap_or_default(),
            number: self.fibers.len() as u32,
            makes_call: false,
            args: [0; 5],
            serves: self.serves(),
            job: Job::default(),
            refused: None,
            fault: None,
            panic: None,
        };
        let mut fiber = Fiber::new(context).expect("the process has memory for one more stack");
        fiber.context().set_addresses(&self.addresses);
        // SAFETY: the fiber is among those that are dropped before their limits are forgotten, or with the region.
        // Nobody uses a reference to a context while the region may grow.
        unsafe { self.world.region_mut().keep_limits(fiber.limits()) };
        self.at_hand = AtHand::new(fiber.pointer());
        self.fibers.push(fiber);
    }

    /// Whether the code has calls that emitted code handles itself.
    fn has_known_calls(&self) -> bool {
        self.config.mode == Mode::Native
            && self.code.has(|op| matches!(op, Op::Call { callee: Callee::Known(_), .. }))
    }

    /// Whether it has, and the host has said what they cost.
    fn serves(&self) -> bool {
        self.config.known_ps.is_some() && self.has_known_calls()
    }

    /// What a context carries while its code isn't running.
    fn nothing_carried(&self) -> u64 {
        if self.has_known_calls() && self.config.known_ps.is_none() { HOST_SERVES } else { 0 }
    }

    /// Makes the fiber at hand ready for the CPU's next callback, if that can begin at once.
    #[inline(always)]
    fn get_ready(&mut self, cpu: CpuId) -> bool {
        let (seat, context) = (&self.seats[cpu.index()], self.at_hand.context);
        if !seat.is_ready {
            return false;
        }
        debug_assert!(!context.is_null(), "a seat gets ready with its first job");
        // SAFETY: the fiber at hand has no job, and nobody uses a reference to its context.
        unsafe { (*context).place = seat.place };
        self.at_hand.ready_for = cpu;
        true
    }

    /// From now on emitted code begins there. Unless it is known where, no callback begins at once any more.
    fn set_starts(&mut self, starts: Starts) {
        if !starts.are_there {
            self.seats.iter_mut().for_each(Seat::make_unready);
            self.at_hand.ready_for = NOBODY;
        }
        self.starts = starts;
    }

    /// Whether the fiber at hand is as [`Vm::get_ready`] would make it.
    fn is_ready(&self, cpu: CpuId) -> bool {
        let (seat, at_hand) = (&self.seats[cpu.index()], &self.at_hand);
        // SAFETY: the fiber at hand has no job, and nobody uses a reference to its context.
        let of = unsafe { ((*at_hand.context).place.cpu, (*at_hand.context).place.first_frame) };
        seat.is_ready && of == (cpu, seat.place.first_frame)
    }

    /// Runs a job on a fiber of its own.
    #[inline(never)]
    fn launch<H: Host<VmWorld>>(&mut self, host: &mut H, cpu: CpuId, stack: RunsAt, job: Job) -> Progress {
        if self.at_hand.context.is_null() {
            self.new_fiber();
        }
        self.at_hand.ready_for = NOBODY;
        let context = self.at_hand.context;
        // SAFETY: the context is that of the fiber at hand, which has no job, and nobody uses a reference to it.
        unsafe {
            rewind(&mut *context);
            (*context).reset_loops();
            (*context).place = self.seats[cpu.index()].place.on(stack);
            (*context).job = job;
            let fiber = &mut self.fibers[(*context).number as usize];
            take_carry(context, host);
            connect(context, host);
            let value = fiber.begin();
            disconnect(context, host);
            match (*context).signal {
                Signal::Done => done(context, value),
                Signal::Suspended => {
                    self.suspend();
                    Progress::Suspended
                }
                Signal::Failed | Signal::Panicked => self.broken(context),
            }
        }
    }

    /// The fiber at hand, just launched for a job, was suspended.
    #[inline]
    fn suspend(&mut self) {
        let context = self.at_hand.context;
        // SAFETY: the fiber's code isn't running.
        let cpu = unsafe { (*context).place.cpu };
        match self.idle.0.pop() {
            Some(idle) => self.at_hand = AtHand::new(idle),
            None => self.new_fiber(),
        }
        self.seats[cpu.index()].suspend(context);
    }

    /// A job was stopped.
    #[cold]
    #[inline(never)]
    fn broken(&mut self, context: *mut Context) -> Progress {
        let (fault, usage) = self.why_broken(context);
        Progress::Failed { fault, usage }
    }

    /// Why a job was stopped, and what it has used. Goes on with the host's panic if that is the reason.
    #[cold]
    #[inline(never)]
    fn why_broken(&mut self, context: *mut Context) -> (Box<Fault>, Usage) {
        // SAFETY: the context is that of a fiber whose code isn't running, and nobody uses a reference to it.
        let number = unsafe { (*context).number };
        let f = &mut self.fibers[number as usize];
        f.reset();
        let context = f.context();
        if !context.profile.is_null() {
            context.profile_stop();
        }
        if let Some(panic) = context.panic.take() {
            std::panic::resume_unwind(panic);
        }
        let fault = context.fault.take().expect("a fiber that failed says why");
        (fault, context.usage())
    }

    /// Where the CPU's next callback runs; nothing when the world is full.
    fn place_on(&mut self, cpu: CpuId) -> Option<RunsAt> {
        let depth = self.seats[cpu.index()].suspended.len();
        let slot = self.stacks.slot(&mut self.world, cpu, depth)?;
        let base = self.world.region().raw().base;
        let args = base.wrapping_add((slot.args().0 - BASE) as usize).cast();
        let word = self.world.region().word_of(slot.r10());
        let place = RunsAt { end: slot.r10(), word, args };
        if depth == 0 && self.starts.are_there {
            self.seats[cpu.index()].make_ready(place);
        }
        Some(place)
    }

    /// There is no memory for one more stack.
    #[cold]
    fn no_slot(&self, function: u32) -> Progress {
        failed(self.code.fault(FaultKind::TooDeep, function, 0))
    }
}

/// Native code that was compiled from this object, if its mode has any.
fn native(config: &VmConfig, code: &Code, object: &Object) -> Result<Tables, LoadError> {
    let shape = (object.maps.len(), object.ksyms.len());
    assert_eq!(shape, code.shape, "the code was compiled from this object");
    let num_next_ps = config.num_next_ps.filter(|_| config.known_ps.is_some());
    config.mode.tables(code, LineForm::of(&config.transfers), num_next_ps)
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

/// Sets for the region which array stands for the tasks' structures, if the object has one.
fn crowd_tasks(world: &mut VmWorld, object: &Object) -> Result<(), LoadError> {
    let Some(tasks) = tasks_map(object) else { return Ok(()) };
    let Some(array) = object.variables.iter().find(|variable| variable.map == tasks) else { return Ok(()) };
    let Some(at) = world.map_value_address(MapId(array.map), array.offset) else { return Ok(()) };
    let size = u64::from(array.size / array.len.max(1));
    world.region_mut().crowd(at, u64::from(array.size), size).map_err(WorldError::Reserve)?;
    Ok(())
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

    fn start<H: Host<VmWorld>>(&mut self, host: &mut H, cpu: CpuId, entry: Entry, args: &[u64]) -> Progress {
        let function = self.code.entries[entry.0 as usize];
        let Some(place) = self.place_on(cpu) else { return self.no_slot(function) };
        // SAFETY: the place is the callback's own.
        unsafe { put_args(place.args, args) };
        let at = place.end.0;
        self.launch(host, cpu, place, Job { function, r10: at, args: [at, 0, 0, 0, 0] })
    }

    #[inline(always)]
    fn start_at_once<H: Host<VmWorld>>(
        &mut self,
        host: &mut H,
        cpu: CpuId,
        entry: Entry,
        args: [u64; 3],
        begins: impl FnOnce(&mut H),
    ) -> AtOnce {
        if self.at_hand.ready_for != cpu && !self.get_ready(cpu) {
            return AtOnce::Refused;
        }
        debug_assert!(self.is_ready(cpu), "the fiber at hand is as the CPU's callbacks expect it");
        let code = self.starts.of(entry);
        let context = self.at_hand.context;
        // First, so that what the host has just looked at is still at hand.
        begins(host);
        // SAFETY: the place is the callback's own. The fiber at hand has no job, and nobody uses a reference to its
        // context or to the world. The code is where emitted code begins as a callback.
        let (value, context) = unsafe {
            put_args((*context).place.args, &args);
            rewind(&mut *context);
            take_carry(context, host);
            connect(context, host);
            fiber::start(context, code)
        };
        // SAFETY: the same.
        unsafe {
            if !(*context).ends_plainly() {
                // Behind this both are read again, so that they are compared in memory.
                compiler_fence(Ordering::SeqCst);
                disconnect(context, host);
                match (*context).signal {
                    Signal::Done => {}
                    Signal::Suspended => return AtOnce::Suspended,
                    Signal::Failed | Signal::Panicked => return AtOnce::Failed,
                }
            }
            AtOnce::Done { value, usage: (*context).usage() }
        }
    }

    #[inline(always)]
    fn put_aside(&mut self) {
        self.suspend();
    }

    #[cold]
    fn failed(&mut self) -> (Box<Fault>, Usage) {
        self.why_broken(self.at_hand.context)
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
        self.launch(host, cpu, place, Job { function: index, r10: place.end.0, args })
    }

    #[inline(always)]
    fn resume<H: Host<VmWorld>>(&mut self, host: &mut H, cpu: CpuId) -> Progress {
        let seat = &mut self.seats[cpu.index()];
        let context = *seat.suspended.last().expect("a callback of this CPU is suspended");
        // SAFETY: the context is the fiber's own, and nobody uses a reference to it or to the world.
        let (value, context) = unsafe { go_on(context, host, &mut self.fibers) };
        // SAFETY: the same.
        let signal = unsafe { (*context).signal };
        if signal == Signal::Suspended {
            return Progress::Suspended;
        }
        seat.end_suspended();
        // The fiber at hand may be ready for a CPU, so it stays there.
        self.idle.0.push(context);
        if signal != Signal::Done {
            let (fault, usage) = self.why_broken(context);
            return Progress::Failed { fault, usage };
        }
        // SAFETY: the same.
        unsafe { done(context, value) }
    }
}
