//! Reads steps that rt-app lacks, `"evenkeel": {"steps": [...]}`, which are executed at the position of the key, and
//! the channels that they use.

use crate::compile::{Compiler, MAX_STEPS_PER_TASK};
use crate::error::{WorkloadError, shown};
use crate::json::{Field, fields};
use crate::place::Place;
use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use keel_abi::cgroup::CgroupStep;
use keel_abi::task::{Amount, Channel, ChannelKind, ObjectId, Step, TimerMode};
use keel_abi::{CpuSet, Span};

/// Represents the task's own timer in its steps, until the task is known.
const OWN_TIMER: ObjectId = ObjectId(u32::MAX);

/// The maximum number of channels of a workload.
const MAX_CHANNELS: usize = 1_000_000;
/// The maximum capacity of a channel, and the maximum size of one transfer, in bytes.
const MAX_BYTES: i64 = 1 << 30;
/// The maximum number of pages of a process: 4 GiB.
const MAX_PAGES: i64 = 1 << 20;
/// The maximum working set of a task, in bytes.
const MAX_TOUCHED: i64 = 1 << 40;

impl<'a> Compiler<'a> {
    /// Reads the top-level `channels`: kind and capacity by name.
    pub(crate) fn channels(&mut self, at: &Place<'_>, field: &Field<'a>) -> Result<(), WorkloadError> {
        let channels = fields(self.object(at, field.value)?, |_| false).list;
        if channels.len() > MAX_CHANNELS {
            return Err(self.error(at, format!("a workload has at most {MAX_CHANNELS} channels")));
        }
        for channel in channels {
            let at = at.child(channel.key, channel.start);
            let mut made = Channel { kind: ChannelKind::Pipe, capacity_bytes: 0 };
            for part in fields(self.object(&at, channel.value)?, |_| false).list {
                let at = at.child(part.key, part.start);
                match part.key {
                    "kind" => made.kind = self.channel_kind(&at, &part)?,
                    "bytes" => {
                        made.capacity_bytes =
                            self.count_of(&at, part.value, 1, MAX_BYTES, "capacity in bytes")?
                    }
                    _ => {
                        return Err(self.error(&at, "is not a channel setting; the settings are kind, bytes"));
                    }
                }
            }
            if made.capacity_bytes == 0 {
                return Err(self.error(&at, "a channel needs its capacity in \"bytes\""));
            }
            self.channel_ids.insert(channel.key, ObjectId(self.channels.len() as u32));
            self.channels.push(made);
        }
        Ok(())
    }

    fn channel_kind(&self, at: &Place<'_>, field: &Field<'_>) -> Result<ChannelKind, WorkloadError> {
        match self.string(at, field.value)? {
            "pipe" => Ok(ChannelKind::Pipe),
            "unix" => Ok(ChannelKind::Unix),
            "tcp" => Ok(ChannelKind::Tcp),
            "queue" => Ok(ChannelKind::Queue),
            other => {
                let problem =
                    format!("must be \"pipe\", \"unix\", \"tcp\" or \"queue\", not \"{}\"", shown(other));
                Err(self.error(at, problem))
            }
        }
    }

    /// Reads a list of steps.
    pub(crate) fn extra_steps(
        &mut self,
        at: &Place<'_>,
        field: &Field<'a>,
    ) -> Result<Vec<Step>, WorkloadError> {
        let Some(list) = field.value.as_array() else {
            return Err(self.wrong_type(at, field.value, "a list of steps"));
        };
        if list.elements.len() > MAX_STEPS_PER_TASK {
            return Err(self.error(at, format!("a task has at most {MAX_STEPS_PER_TASK} events")));
        }
        list.elements.iter().map(|step| self.extra_step(&at.at(step.start()), step)).collect()
    }

    fn extra_step(&mut self, at: &Place<'_>, step: &'a Value<'a>) -> Result<Step, WorkloadError> {
        if let Some(word) = step.as_string_lit() {
            return match &*word.value {
                "yield" => Ok(Step::Yield),
                "syscall" => Ok(Step::Syscall),
                "exec" => Ok(Step::Exec),
                "setsid" => Ok(Step::Setsid),
                "wait_child" => Ok(Step::WaitChild),
                "count" => Ok(Step::Count),
                "migrate_disable" => Ok(Step::MigrateDisable),
                "migrate_enable" => Ok(Step::MigrateEnable),
                "every_cpu" => Ok(Step::Affinity(CpuSet::new())),
                other => Err(self.no_step(at, other)),
            };
        }
        let words = match step.as_object() {
            Some(object) => fields(object, |_| false).list,
            None => return Err(self.wrong_type(at, step, "a step such as \"yield\" or {\"run\": 100}")),
        };
        let [word] = words[..] else {
            return Err(self.error(at, "a step is one word and its value, such as {\"run\": 100}"));
        };
        let here = at.child(word.key, word.start);
        match word.key {
            "run" => Ok(Step::Run(self.fine_amount(&here, word.value)?)),
            "sleep" => Ok(Step::Sleep(self.fine_amount(&here, word.value)?)),
            "timer" => {
                let period = self.fine_time(&here, word.value)?;
                Ok(Step::Timer { timer: OWN_TIMER, period, mode: TimerMode::Absolute })
            }
            "fork" => self.spawned(&here, word.value).map(Step::Fork),
            "autogroup_nice" => {
                let nice = self.integer(&here, word.value, -20..=19, "nice value")?;
                Ok(Step::AutogroupNice(nice as i8))
            }
            "nice" => self.nice_step(&here, &word),
            "cpus" => self.cpu_list(&here, &word).map(Step::Affinity),
            "policy" => self.policy_step(&here, &word),
            "touch" => {
                let bytes = self.integer(&here, word.value, 0..=MAX_TOUCHED, "number of bytes")?;
                Ok(Step::Touch(bytes.unsigned_abs()))
            }
            "write" => Ok(Step::Write(self.pages(&here, word.value, 1)?)),
            "spawn" => self.spawned(&here, word.value).map(Step::Spawn),
            "cgroup" => self.known_cgroup(&here, word.value).map(|id| Step::Cgroup(CgroupStep::Join(id))),
            "cgroup_process" => {
                self.known_cgroup(&here, word.value).map(|id| Step::Cgroup(CgroupStep::JoinProcess(id)))
            }
            "make_cgroup" => {
                self.known_cgroup(&here, word.value).map(|id| Step::Cgroup(CgroupStep::Make(id)))
            }
            "remove_cgroup" => {
                self.known_cgroup(&here, word.value).map(|id| Step::Cgroup(CgroupStep::Remove(id)))
            }
            "set_cgroup" => self.set_cgroup(&here, word.value),
            "spin_barrier" => self.spin_barrier(&here, word.value),
            "post" => self.post(&here, word.value),
            "await" => self.semaphore(&here, word.value).map(Step::Await),
            "raise" => self.flag(&here, word.value).map(Step::Raise),
            "lower" => self.flag(&here, word.value).map(Step::Lower),
            "send" => self.transfer(&here, word.value).map(|(channel, bytes)| Step::Send { channel, bytes }),
            "receive" => {
                self.transfer(&here, word.value).map(|(channel, bytes)| Step::Receive { channel, bytes })
            }
            other => Err(self.no_step(at, other)),
        }
    }

    fn no_step(&self, at: &Place<'_>, word: &str) -> WorkloadError {
        let problem = format!(
            "there is no step {}; there are run, sleep, timer, fork, touch, write, spawn, send, receive, spin_barrier, \
             raise, lower, post, await, cgroup, cgroup_process, make_cgroup, remove_cgroup, set_cgroup, autogroup_nice, nice, \
             cpus, policy with a value, and yield, syscall, exec, setsid, wait_child, count, migrate_disable, \
             migrate_enable, every_cpu",
            shown(word)
        );
        self.error(at, problem)
    }

    /// Reads a post: a semaphore's name, or an object with the name.
    fn post(&mut self, at: &Place<'_>, value: &'a Value<'a>) -> Result<Step, WorkloadError> {
        if value.as_object().is_none() {
            return self.semaphore(at, value).map(|semaphore| Step::Post { semaphore, sync: false });
        }
        let (mut semaphore, mut sync) = (None, false);
        for part in fields(self.object(at, value)?, |_| false).list {
            let at = at.child(part.key, part.start);
            match part.key {
                "ref" => semaphore = Some(self.semaphore(&at, part.value)?),
                "sync" => sync = self.boolean(&at, part.value)?,
                _ => return Err(self.error(&at, "has no meaning here; there are ref, sync")),
            }
        }
        match semaphore {
            Some(semaphore) => Ok(Step::Post { semaphore, sync }),
            None => Err(self.error(at, "needs the semaphore's name in \"ref\"")),
        }
    }

    fn semaphore(&mut self, at: &Place<'_>, value: &'a Value<'a>) -> Result<ObjectId, WorkloadError> {
        Ok(self.semaphores.id(self.string(at, value)?))
    }

    /// Reads a time that may have decimals, or an object with the time and its jitter.
    fn fine_amount(&self, at: &Place<'_>, value: &Value<'_>) -> Result<Amount, WorkloadError> {
        if value.as_object().is_none() {
            return self.fine_time(at, value).map(Amount::fixed);
        }
        let (mut base, mut percent) = (None, 0);
        for part in fields(self.object(at, value)?, |_| false).list {
            let at = at.child(part.key, part.start);
            match part.key {
                "us" => base = Some(self.fine_time(&at, part.value)?),
                "jitter_percent" => percent = self.integer(&at, part.value, 0..=100, "percentage")?,
                _ => return Err(self.error(&at, "has no meaning here; there are us, jitter_percent")),
            }
        }
        let base = base.ok_or_else(|| self.error(at, "needs its time in \"us\""))?;
        let spread = Span::from_ns((u128::from(base.as_ns()) * percent as u128 / 100) as u64);
        Ok(Amount { base, spread })
    }

    fn spawned(&self, at: &Place<'_>, value: &Value<'_>) -> Result<u32, WorkloadError> {
        let name = self.string(at, value)?;
        let task = self.task_indices.get(name).copied();
        task.ok_or_else(|| self.error(at, format!("there is no task \"{}\" to spawn", shown(name))))
    }

    fn transfer(&self, at: &Place<'_>, value: &Value<'_>) -> Result<(ObjectId, u32), WorkloadError> {
        let (mut channel, mut bytes) = (None, None);
        for part in fields(self.object(at, value)?, |_| false).list {
            let at = at.child(part.key, part.start);
            match part.key {
                "channel" => channel = Some(self.channel(&at, part.value)?),
                "bytes" => bytes = Some(self.count_of(&at, part.value, 1, MAX_BYTES, "number of bytes")?),
                _ => return Err(self.error(&at, "has no meaning here; there are channel, bytes")),
            }
        }
        match (channel, bytes) {
            (Some(channel), Some(bytes)) => Ok((channel, bytes)),
            _ => Err(self.error(at, "needs both \"channel\" and \"bytes\"")),
        }
    }

    fn channel(&self, at: &Place<'_>, value: &Value<'_>) -> Result<ObjectId, WorkloadError> {
        let name = self.string(at, value)?;
        let problem =
            || format!("there is no channel \"{}\" under evenkeel.channels at the top", shown(name));
        self.channel_ids.get(name).copied().ok_or_else(|| self.error(at, problem()))
    }

    /// Reads a number of pages.
    pub(crate) fn pages(&self, at: &Place<'_>, value: &Value<'_>, least: i64) -> Result<u32, WorkloadError> {
        self.count_of(at, value, least, MAX_PAGES, "number of pages")
    }

    fn count_of(
        &self,
        at: &Place<'_>,
        value: &Value<'_>,
        least: i64,
        most: i64,
        what: &str,
    ) -> Result<u32, WorkloadError> {
        let number = self.integer(at, value, least..=most, what)?;
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    }
}
