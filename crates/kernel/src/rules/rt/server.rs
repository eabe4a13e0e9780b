//! The deadline servers (`ext_server`, `fair_server`), which keep a class from being starved by those above it.
//!
//! If the scheduler's tasks have waited on a CPU for 950 ms and got less than 50 ms of it, they run before those of
//! higher classes until they have had their 50 ms. This repeats as long as necessary. Fair tasks are protected from
//! real-time tasks in the same way. Kernels that throttle real-time tasks ([`super::throttle`]) have no such servers.

use crate::state::class::SchedClass;
use crate::state::kernel::Kernel;
use crate::state::rt::server::ClassServer;
use crate::state::timer_number;
use keel_abi::{CpuId, Instant, Span};

/// The runtime per second (the default runtime and period of `fair_server` and `ext_server`).
const RUNTIME: Span = Span::from_ms(50);

const LAXITY: Span = Span::from_ms(950);

impl crate::state::cpu::Cpu {
    /// Returns the server of a class.
    fn server_of(&mut self, class: SchedClass) -> &mut ClassServer {
        match class {
            SchedClass::Fair => &mut self.fair_server,
            _ => &mut self.server,
        }
    }
}

impl Kernel {
    /// Returns whether tasks of a class wait for `cpu` while a task of a higher class runs there or is about to.
    fn is_starving(&self, cpu: CpuId, class: SchedClass) -> bool {
        let cpu = &self.cpus[cpu];
        let waits = match class {
            SchedClass::Fair => !cpu.fair.is_empty(),
            _ => cpu.nr_running > cpu.rt.len() + cpu.fair.len() + cpu.fair.limbo(),
        };
        cpu.next_class > class && cpu.next_class < SchedClass::Stop && waits
    }

    /// Arms the servers of all classes that have one, where their tasks are starving.
    pub(crate) fn arm_servers(&mut self, rq: CpuId) {
        if self.machine.realtime.throttle.is_some() {
            return;
        }
        self.arm_server(rq, SchedClass::Ext);
        self.arm_server(rq, SchedClass::Fair);
    }

    /// Arms the server of a class, unless it is already armed.
    fn arm_server(&mut self, rq: CpuId, class: SchedClass) {
        if self.cpus[rq].server_of(class).armed.is_some() || !self.is_starving(rq, class) {
            return;
        }
        let due = self.now + LAXITY;
        let server = self.cpu(rq).server_of(class);
        server.armed = Some((due, server.ran));
        let first = match class {
            SchedClass::Fair => timer_number::FIRST_FAIR_SERVER,
            _ => timer_number::FIRST_SERVER,
        };
        self.queue.push(due, first + rq.0);
    }

    /// Handles an expired timer: if the tasks got too little, the server starts to serve them. The timer of a CPU that
    /// has gone offline in the meantime does nothing.
    pub(crate) fn server_fires(&mut self, c: CpuId, cpu: CpuId, class: SchedClass) {
        let now = self.now;
        let server = self.this_cpu().server_of(class);
        let is_due = |&mut (due, _): &mut (Instant, Span)| c == cpu && due <= now;
        let Some((_, before)) = server.armed.take_if(is_due) else { return };
        let got = Span::from_ns(server.ran.as_ns() - before.as_ns());
        if got >= RUNTIME {
            return self.arm_server(c, class);
        }
        if self.is_starving(c, class) {
            let server = self.this_cpu().server_of(class);
            server.until = before + RUNTIME;
            self.resched(c, c);
        }
    }
}
