//! Writes requests as records.

use crate::format::{more, request, zigzag};
use crate::writer::Writer;
use crate::{CgroupChange, Request};
use keel_abi::{CpuId, Instant, Span, TaskId};
use std::io::Write;

impl<W: Write> Writer<W> {
    pub(super) fn request(&mut self, at: Instant, cpu: CpuId, by: (TaskId, bool), request: &Request) {
        let (task, outside) = by;
        self.more(at, cpu, if outside { more::ASKS_OUTSIDE } else { more::ASKS });
        self.task(task);
        match request {
            Request::Nice(nice) => self.nice(request::NICE, *nice),
            Request::Cpus(cpus) => {
                self.byte(request::CPUS);
                self.cpu_set(cpus);
            }
            Request::Policy(policy) => {
                self.byte(request::POLICY);
                self.number(u64::from(policy.number()));
                self.byte(policy.rt_priority());
            }
            Request::Offline(target) => self.plug(request::OFFLINE, *target),
            Request::Online(target) => self.plug(request::ONLINE, *target),
            Request::Slice(slice) => self.span(request::SLICE, *slice),
            Request::RunFor(span) => self.span(request::RUN_FOR, *span),
            Request::Hint(hint) => {
                self.byte(request::HINT);
                self.byte(hint.rt_priority);
                self.byte(hint.policy as u8);
            }
            Request::MigrateDisable => self.byte(request::MIGRATE_DISABLE),
            Request::MigrateEnable => self.byte(request::MIGRATE_ENABLE),
            Request::Exec => self.byte(request::EXEC),
            Request::Setsid => self.byte(request::SETSID),
            Request::AutogroupNice(nice) => self.nice(request::AUTOGROUP_NICE, *nice),
            Request::Cgroup { path, change } => self.cgroup(path, *change),
        }
    }

    fn nice(&mut self, kind: u8, nice: i8) {
        self.byte(kind);
        self.number(zigzag(i64::from(nice)));
    }

    fn span(&mut self, kind: u8, span: Span) {
        self.byte(kind);
        self.number(span.as_ns());
    }

    fn plug(&mut self, kind: u8, target: CpuId) {
        self.byte(kind);
        self.target(target);
    }

    fn cgroup(&mut self, path: &str, change: CgroupChange) {
        self.byte(match change {
            CgroupChange::Join => request::CGROUP_JOIN,
            CgroupChange::JoinProcess => request::CGROUP_JOIN_PROCESS,
            CgroupChange::Make => request::CGROUP_MAKE,
            CgroupChange::Remove => request::CGROUP_REMOVE,
            CgroupChange::Weight(_) => request::CGROUP_WEIGHT,
            CgroupChange::Idle(true) => request::CGROUP_IDLE,
            CgroupChange::Idle(false) => request::CGROUP_NOT_IDLE,
            CgroupChange::Bandwidth(_) => request::CGROUP_BANDWIDTH,
        });
        self.text(path);
        match change {
            CgroupChange::Weight(weight) => self.number(u64::from(weight)),
            CgroupChange::Bandwidth(bandwidth) => self.bandwidth(bandwidth),
            _ => {}
        }
    }
}
