//! Per-CPU kernel variables: `runqueues`, `sd_llc_id`, `sd_llc_size`, `sched_core_priority`, which is 0 as where
//! no driver ranks cores, and `cpufreq_cpu_data`, which is null everywhere.
//!
//! As in the kernel, a variable's address is not used directly: it is an offset into each CPU's copy. The copies are
//! created on first use. The fields of a runqueue that change all the time (`curr`, `nr_running`, the clocks) are only
//! written when BPF asks for them, and have that moment's value.

use crate::state::kernel::Kernel;
use crate::state::layout::rq;
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, World};

/// The address of the first variable: nothing is there.
const SYMBOLS: Ea = Ea(0xffff_ffff_8200_0000);

/// The offset of `sd_llc_id` in a CPU's copy, behind `runqueues`.
pub(crate) const LLC_ID: u64 = rq::SIZE.next_multiple_of(LINE);

/// The offset of `sd_llc_size`.
pub(crate) const LLC_SIZE: u64 = LLC_ID + 4;

/// The offset of `cpufreq_cpu_data`.
const CPUFREQ: u64 = LLC_ID + 8;

/// The offset of `sched_core_priority`.
const CORE_PRIORITY: u64 = CPUFREQ + 8;

/// Bytes of a CPU's copy: whole lines.
const PART: u64 = LLC_ID + LINE;

const LINE: u64 = keel_abi::lines::LINE_BYTES;

/// The address of a kernel variable that BPF may refer to.
pub fn variable(name: &str) -> Option<Ea> {
    let offset = match name {
        "runqueues" => 0,
        "sd_llc_id" => LLC_ID,
        "sd_llc_size" => LLC_SIZE,
        "cpufreq_cpu_data" => CPUFREQ,
        "sched_core_priority" => CORE_PRIORITY,
        _ => return None,
    };
    Some(SYMBOLS.offset(offset))
}

/// The copy of `cpu`, given that the first CPU's is at `base`.
pub(crate) const fn of(base: Ea, cpu: CpuId) -> Ea {
    base.offset(PART * cpu.0 as u64)
}

impl Kernel {
    /// `bpf_per_cpu_ptr()` and `bpf_this_cpu_ptr()`: null for an unknown variable or CPU, and when out of memory.
    pub(crate) fn per_cpu_ptr<W: World>(&mut self, w: &mut W, variable: Ea, cpu: u64) -> u64 {
        let offset = variable.0.wrapping_sub(SYMBOLS.0);
        let cpu = CpuId(cpu as u32);
        if offset >= PART || cpu.index() >= self.cpus.len() || !self.make_parts(w) {
            return 0;
        }
        if offset < rq::SIZE {
            self.mirror_runqueue(w, cpu);
        }
        of(self.per_cpu, cpu).offset(offset).0
    }

    /// `cpu_rq()`, with current values; null when the world is full.
    pub(crate) fn runqueue_at<W: World>(&mut self, w: &mut W, cpu: CpuId) -> Ea {
        if !self.make_parts(w) {
            return Ea::NULL;
        }
        self.mirror_runqueue(w, cpu);
        of(self.per_cpu, cpu)
    }

    /// Creates each CPU's copy; false when the world is full.
    fn make_parts<W: World>(&mut self, w: &mut W) -> bool {
        if !self.per_cpu.is_null() {
            return true;
        }
        let Some(base) = w.reserve(PART * self.cpus.len() as u64) else { return false };
        self.per_cpu = base;
        for cpu in self.machine.topology.iter() {
            let at = of(base, cpu);
            w.put(at.offset(rq::CPU), &cpu.0.to_le_bytes());
            w.put(at.offset(rq::CPU_CAPACITY), &self.capacity(cpu).to_le_bytes());
            w.put(at.offset(rq::IDLE), &self.idle_task_ea(cpu).0.to_le_bytes());
        }
        self.mirror_domains(w);
        true
    }

    /// Writes a CPU's runqueue as it is now.
    fn mirror_runqueue<W: World>(&self, w: &mut W, cpu: CpuId) {
        let at = of(self.per_cpu, cpu);
        let (rq, clock_ns) = (&self.cpus[cpu], self.cpus[cpu].clock.as_ns());
        w.put(at.offset(rq::NR_RUNNING), &rq.nr_running.to_le_bytes());
        w.put(at.offset(rq::ONLINE), &u32::from(rq.online).to_le_bytes());
        w.put(at.offset(rq::CURR), &self.current_ea(cpu).0.to_le_bytes());
        for field in [rq::CLOCK, rq::CLOCK_TASK, rq::CLOCK_PELT] {
            w.put(at.offset(field), &clock_ns.to_le_bytes());
        }
    }
}
