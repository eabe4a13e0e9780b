//! Changes from outside during a run ([`keel_abi::timeline`]): CPUs go online and offline, and tasks get other CPUs,
//! nice values or policies.
//!
//! No task on the machine makes them. The boot CPU does so between its other work, one task or CPU after another. A
//! repeating entry is due again after its previous round is complete, at the next multiple of its period, so rounds
//! never pile up.

use crate::paths::sim::Sim;
use crate::state::frame::Frame;
use crate::state::outside::Member;
use crate::state::scx::Phase;
use keel_abi::CpuId;
use keel_abi::bpf::Engine;

impl<E: Engine> Sim<E> {
    /// Runs [`Frame::Happen`]: applies entry `entry` to its `nth` task or CPU, and then to the others.
    pub(crate) fn happen(&mut self, c: CpuId, entry: u32, nth: u32) {
        match self.k.scx.phase {
            Phase::Enabled | Phase::Absent => {}
            // Neither CPUs (`cpus_read_lock()`) nor tasks change while a scheduler is being enabled.
            Phase::Loaded | Phase::Enabling | Phase::Disabling => {
                return self.k.outside.waiting.push((entry, nth));
            }
            Phase::Gone if self.k.again.is_awaited() => {}
            Phase::Gone => return,
        }
        let member = self.k.outside.member(entry, nth);
        if member.is_none() && self.k.outside.has_follower(entry) {
            self.k.forget_dead(entry);
            return self.k.this_cpu().stack.push(Frame::Happen { entry: entry + 1, nth: 0 });
        }
        self.k.emit_happening(c, member.is_some().then_some(entry));
        match member {
            None => self.k.done_happening(c, entry),
            Some(Member::Cpu(cpu)) => {
                self.k.emit_asked(entry, Member::Cpu(cpu));
                self.begin_hotplug(c, cpu, entry, nth);
            }
            Some(Member::Task(task)) => {
                let next = Frame::Happen { entry, nth: nth + 1 };
                if self.k.is_dead(task) {
                    return self.k.this_cpu().stack.push(next);
                }
                self.k.emit_asked(entry, Member::Task(task));
                let syscall_ns = self.k.machine.costs.syscall_ns;
                self.k.charge_ns(c, syscall_ns);
                let rq = self.k.tasks[task].cpu;
                self.k.this_cpu().stack.extend([next, Frame::OutsideLock { entry, task, rq }]);
            }
        }
    }
}
