//! What keeps real-time tasks from starving sched_ext's: the deadline server (`ext_server`).
//!
//! Where tasks of the scheduler's have waited on a CPU for 950 ms and got less than 50 ms of it, they go before real-time
//! tasks until they have had their 50 ms; and so again.

use crate::class::SchedClass;
use crate::kernel::Kernel;
use crate::setup::timer_number;
use keel_abi::{CpuId, Instant, Span};

/// What is theirs of each second (`fair_server`'s and `ext_server`'s default runtime and period).
const RUNTIME: Span = Span::from_ms(50);
const LAXITY: Span = Span::from_ms(950);

/// The server of a CPU.
#[derive(Debug, Default)]
pub(crate) struct ExtServer {
    /// Its timer runs until this moment; what tasks of the scheduler's had got of the CPU when it began.
    armed: Option<(Instant, Span)>,
    /// What tasks of the scheduler's have got of the CPU in all.
    pub(crate) ran: Span,
    /// They go before real-time tasks until they have got this in all.
    until: Span,
}

impl ExtServer {
    #[inline]
    pub(crate) fn is_serving(&self) -> bool {
        self.ran < self.until
    }

    #[inline]
    pub(crate) fn stop(&mut self) {
        self.until = Span::ZERO;
    }

    /// Its CPU goes away: the timer that may run is nobody's.
    pub(crate) fn disarm(&mut self) {
        self.armed = None;
        self.stop();
    }
}

impl Kernel {
    /// Do tasks of the scheduler's wait for `cpu` while a real-time task has it or is about to?
    fn is_starving(&self, cpu: CpuId) -> bool {
        let cpu = &self.cpus[cpu];
        cpu.next_class == SchedClass::Rt && cpu.nr_running > cpu.rt.len()
    }

    /// Watches over them, unless it does so already.
    pub(crate) fn arm_server(&mut self, rq: CpuId) {
        if self.cpus[rq].server.armed.is_some() || !self.is_starving(rq) {
            return;
        }
        let ran = self.cpus[rq].server.ran;
        let due = self.now + LAXITY;
        self.cpu(rq).server.armed = Some((due, ran));
        self.queue.push(due, timer_number::FIRST_SERVER + rq.0);
    }

    /// The timer is over: whoever has got too little is served. One of a CPU that has gone since says nothing.
    pub(crate) fn server_fires(&mut self, c: CpuId, cpu: CpuId) {
        let now = self.now;
        let server = &mut self.me().server;
        let is_due = |&mut (due, _): &mut (Instant, Span)| c == cpu && due <= now;
        let Some((_, before)) = server.armed.take_if(is_due) else { return };
        let got = Span::from_ns(server.ran.as_ns() - before.as_ns());
        if got >= RUNTIME {
            return self.arm_server(c);
        }
        if self.is_starving(c) {
            let server = &mut self.me().server;
            server.until = before + RUNTIME;
            self.resched(c, c);
        }
    }
}
