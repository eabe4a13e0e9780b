//! Open-coded iterators: `bpf_iter_num` and `bpf_iter_scx_dsq`. Their state is in the program's
//! own memory, so it is read as untrusted data.

use crate::kfuncs::Served;
use crate::state::bpf::functions::F;
use crate::state::dsq::Cursor;
use crate::state::kernel::Kernel;
use keel_abi::bpf::{Ea, Errno, World};
use keel_abi::iter::{num_next, put_pair};
use keel_abi::{CpuId, DsqId};

/// How the six opaque words of a `struct bpf_iter_scx_dsq` are used.
pub(super) mod iter_dsq {
    /// The iteration's number, and a mark that it was created.
    pub(crate) const SLOT: u64 = 0;
    /// The slice for the next move.
    pub(crate) const SLICE: u64 = 8;
    /// The vtime for the next move.
    pub(crate) const VTIME: u64 = 16;
    /// Which of the two are set.
    pub(crate) const SET: u64 = 24;
    /// Total size in bytes.
    pub(crate) const SIZE: u64 = 48;
}

/// `SCX_DSQ_ITER_REV`.
const ITER_REV: u64 = 1 << 16;

/// Marks an iterator that was created; anything else iterates over nothing.
const LIVE: u64 = 0x6b65_656c;

/// What `scx_bpf_dsq_move_set_slice()` and `scx_bpf_dsq_move_set_vtime()` have set for the next move.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overrides {
    pub(super) slice: Option<u64>,
    pub(super) vtime: Option<u64>,
}

impl Kernel {
    pub(super) fn serve_num_iter<W: World>(&mut self, w: &mut W, f: F, a: &[u64; 5]) -> Served {
        let at = Ea(a[0]);
        if f == F::IterNumNext {
            return num_next(w, at).into();
        }
        if w.bytes::<8>(at).is_none() {
            return Errno::EINVAL.as_r0().into();
        }
        match f {
            F::IterNumNew => {
                let (start, end) = (a[1] as i32, a[2] as i32);
                let (start, end, answer) = match end.checked_sub(start) {
                    _ if start > end => (0, 0, Errno::EINVAL.as_r0()),
                    Some(n) if n <= 8 * 1024 * 1024 => (start, end, 0),
                    _ => (0, 0, Errno::E2BIG.as_r0()),
                };
                // The kernel stores the number before the next one; the program reads the value there.
                put_pair(w, at, start.wrapping_sub(1), end);
                answer.into()
            }
            _ => {
                put_pair(w, at, 0, 0);
                0.into()
            }
        }
    }

    pub(super) fn serve_dsq_iter<W: World>(&mut self, w: &mut W, c: CpuId, f: F, a: &[u64; 5]) -> Served {
        let at = Ea(a[0]);
        match f {
            F::DsqIterNew => self.iter_dsq_new(w, at, DsqId(a[1]), a[2]),
            F::DsqIterNext => self.iter_dsq_next(w, c, at),
            _ => {
                if let Some(bytes) = w.slice_mut(at, iter_dsq::SIZE) {
                    bytes.fill(0);
                }
                0.into()
            }
        }
    }

    fn iter_dsq_new<W: World>(&mut self, w: &mut W, at: Ea, id: DsqId, flags: u64) -> Served {
        let Some(bytes) = w.slice_mut(at, iter_dsq::SIZE) else { return Errno::EINVAL.as_r0().into() };
        bytes.fill(0);
        if flags & !ITER_REV != 0 {
            return Errno::EINVAL.as_r0().into();
        }
        let Some(queue) = self.queues.table.find(id) else { return Errno::ENOENT.as_r0().into() };
        self.read_queue(queue);
        let cursor = self.queues.table.queue(queue).iter_new(flags & ITER_REV != 0);
        let slot = self.cursors.keep(cursor);
        put_iter(w, at, slot);
        0.into()
    }

    fn iter_dsq_next<W: World>(&mut self, w: &mut W, c: CpuId, at: Ea) -> Served {
        let Some(slot) = iter_slot(w, at) else { return 0.into() };
        let Some(mut cursor) = self.cursors.get(slot) else { return 0.into() };
        // The cursor is linked behind the task that it has reached, under the queue's lock.
        self.lock_queue(c, cursor.queue());
        let next = self.queues.table.iter_next(&mut cursor);
        let ps = next.map_or(0, |task| self.lines.write_task_ps(task, self.cpus.holder()));
        self.charge_ps(c, ps);
        self.unlock_queue(cursor.queue());
        self.cursors.set(slot, cursor);
        next.map_or(0, |task| self.tasks[task].ea.0).into()
    }

    /// The cursor behind an iterator and the overrides for the move, which apply to one move.
    pub(super) fn take_iter<W: World>(&mut self, w: &mut W, at: Ea) -> Option<(Cursor, Overrides)> {
        let slot = iter_slot(w, at)?;
        let cursor = self.cursors.get(slot)?;
        let word = |w: &W, offset| w.bytes::<8>(at.offset(offset)).map_or(0, u64::from_le_bytes);
        let set = word(w, iter_dsq::SET);
        let overrides = Overrides {
            slice: (set & 1 != 0).then(|| word(w, iter_dsq::SLICE)),
            vtime: (set & 2 != 0).then(|| word(w, iter_dsq::VTIME)),
        };
        w.put(at.offset(iter_dsq::SET), &[0; 8]);
        Some((cursor, overrides))
    }

    pub(super) fn iter_override<W: World>(
        &mut self,
        w: &mut W,
        at: Ea,
        field: u64,
        bit: u64,
        value: u64,
    ) -> Served {
        if iter_slot(w, at).is_some() {
            let set = w.u64_at(at.offset(iter_dsq::SET)) | bit;
            w.put(at.offset(iter_dsq::SET), &set.to_le_bytes());
            w.put(at.offset(field), &value.to_le_bytes());
        }
        0.into()
    }
}

fn put_iter<W: World>(w: &mut W, at: Ea, slot: u32) {
    w.put(at.offset(iter_dsq::SLOT), &(LIVE << 32 | u64::from(slot)).to_le_bytes());
}

fn iter_slot<W: World>(w: &W, at: Ea) -> Option<u32> {
    w.slice(at, iter_dsq::SIZE)?;
    let word = u64::from_le_bytes(w.bytes(at.offset(iter_dsq::SLOT))?);
    (word >> 32 == LIVE).then_some(word as u32)
}
