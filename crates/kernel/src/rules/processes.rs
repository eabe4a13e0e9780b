//! Processes: the process of a new task, whose pages it shares, and what is copied when it writes.

use crate::state::kernel::Kernel;
use crate::state::objects::pages::{MmId, On, lines_of};
use crate::state::objects::process::{Birth, Member};
use keel_abi::bpf::{Ea, Owner, World};
use keel_abi::lines::Line;
use keel_abi::{CpuId, TaskId};

impl Kernel {
    /// Places a new task, on `c`: sets its address space, thread group, parent and hint.
    pub(crate) fn place_new(
        &mut self,
        task: TaskId,
        spec: Option<u32>,
        c: CpuId,
        parent: TaskId,
        birth: Birth,
    ) {
        let own = Member {
            mm: None,
            mm_ea: self.tasks[task].ea,
            leader: task,
            parent: TaskId::IDLE,
            is_child: false,
            spaces: 0,
            children: 0,
            zombies: 0,
            waits: false,
            line: self.lines.transfers().line_of(c),
            zombie: Line::default(),
            hint: spec.and_then(|spec| self.workload.tasks[spec as usize].hint),
        };
        let maker = self.objects.processes.members.get(parent.index()).copied();
        let member = match (birth, maker, spec) {
            _ if self.is_kthread(task) => Member { mm_ea: Ea::NULL, ..own },
            (Birth::Thread, Some(maker), _) => {
                if let Some(mm) = maker.mm {
                    self.objects.memory.join(mm);
                }
                Member { hint: own.hint.or(maker.hint), ..thread_of(own, maker) }
            }
            (Birth::Process, Some(maker), _) => {
                self.objects.processes.members[parent.index()].children += 1;
                let mm = maker.mm.map(|mm| self.fork_pages(c, mm));
                Member { mm, parent, is_child: true, hint: own.hint.or(maker.hint), ..own }
            }
            (Birth::Start, _, Some(spec)) => self.start_in_process(task, spec, c, own),
            _ => own,
        };
        debug_assert_eq!(
            self.objects.processes.members.len(),
            task.index(),
            "tasks are placed as they are made"
        );
        self.objects.processes.members.push(member);
    }

    fn start_in_process(&mut self, task: TaskId, spec: u32, c: CpuId, own: Member) -> Member {
        let spec = &self.workload.tasks[spec as usize];
        let (process, pages) = (spec.process, spec.pages);
        let line = self.lines.transfers().line_of(c);
        let objects = &mut self.objects;
        match objects.processes.started.iter().find(|&&(number, ..)| number == process) {
            Some(&(_, mm, first)) if objects.processes.members[first.index()].mm == Some(mm) => {
                objects.memory.join(mm);
                thread_of(own, objects.processes.members[first.index()])
            }
            _ => {
                let mm = objects.memory.create(pages, line);
                objects.processes.started.retain(|&(number, ..)| number != process);
                objects.processes.started.push((process, mm, task));
                Member { mm: Some(mm), ..own }
            }
        }
    }

    fn fork_pages(&mut self, c: CpuId, mm: MmId) -> MmId {
        let on = On::new(&self.machine, &self.lines, &self.bus, c);
        let (child, ps) = self.objects.memory.fork(mm, on);
        self.charge_ps(c, ps);
        child
    }

    /// Makes the task leave its address space.
    pub(crate) fn leave_pages(&mut self, c: CpuId, task: TaskId) {
        let Some(mm) = self.objects.processes.members[task.index()].mm.take() else { return };
        let on = On::new(&self.machine, &self.lines, &self.bus, c);
        let ps = self.objects.memory.leave(mm, on);
        self.charge_ps(c, ps);
    }

    /// Charges `c` for writing the cache lines of a `task_struct`, which `line` represents.
    pub(crate) fn touch_task(&mut self, c: CpuId, line: &mut Line) {
        let on = On::new(&self.machine, &self.lines, &self.bus, c);
        let ps = lines_of(on.costs.task_bytes, on) * on.transfers.write_ps(line, c);
        self.charge_ps(c, ps);
    }

    /// Replaces the task's address space by an empty one.
    pub(crate) fn replace_pages(&mut self, c: CpuId, task: TaskId) -> MmId {
        let Some(old) = self.objects.processes.members[task.index()].mm.take() else {
            return self.objects.memory.create(0, self.lines.transfers().line_of(c));
        };
        let on = On::new(&self.machine, &self.lines, &self.bus, c);
        let (mm, ps) = self.objects.memory.replace(old, on);
        self.charge_ps(c, ps);
        mm
    }

    /// Writes the task's hint to the map in which the scheduler looks for it.
    pub(crate) fn deliver_hint<W: World>(&mut self, world: &mut W, task: TaskId) {
        let processes = &self.objects.processes;
        let (Some(map), Some(hint)) = (processes.hints, processes.members[task.index()].hint) else { return };
        let init = self.scx.scratch;
        world.put(init, &u32::from(hint.rt_priority).to_le_bytes());
        world.put(init.offset(4), &(hint.policy as u32).to_le_bytes());
        // If memory runs out, the scheduler sees no hint, as when user space's update fails.
        let _ = world.storage_get(map, Owner::Task(task.0), true, init);
    }
}

fn thread_of(own: Member, first: Member) -> Member {
    Member { mm: first.mm, mm_ea: first.mm_ea, leader: first.leader, parent: first.parent, ..own }
}
