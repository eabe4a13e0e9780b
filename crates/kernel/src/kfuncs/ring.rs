//! The helpers for ring buffers, and for perf event arrays that nobody has opened.

use crate::kfuncs::Served;
use crate::kfuncs::maps::not_a_map;
use crate::state::bpf::functions::F;
use crate::state::kernel::Kernel;
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, Errno, MapId, RingCount, World};
use keel_trace::policy;

/// `BPF_RB_NO_WAKEUP` and `BPF_RB_FORCE_WAKEUP`: there is no consumer to wake.
const WAKEUP_FLAGS: u64 = 3;

/// From a record back to its header, which has the same number of bytes.
const HEADER: u64 = 8;

/// `BPF_F_INDEX_MASK`, which is also `BPF_F_CURRENT_CPU`.
const INDEX_MASK: u64 = 0xffff_ffff;

/// Bytes of a `struct bpf_perf_event_value`.
const EVENT_VALUE: u64 = 24;

impl Kernel {
    pub(super) fn serve_ring<W: World>(&mut self, w: &mut W, c: CpuId, f: F, a: &[u64; 5]) -> Served {
        match f {
            F::RingSubmit | F::RingDiscard => {
                let record = Ea(a[0]);
                let ps = w.touch_ps(Ea(a[0].wrapping_sub(HEADER)), HEADER, c, true);
                self.charge_ps(c, ps);
                match w.ring_commit(record, f == F::RingDiscard) {
                    Some((map, len)) => {
                        if f == F::RingSubmit {
                            self.hear(w, map, record, len);
                        }
                        0.into()
                    }
                    None => Served::forbidden(format!(
                        "{}() was given {:#x}, which is not a record",
                        f.name(),
                        a[0]
                    )),
                }
            }
            F::RingReserve if a[2] != 0 => 0.into(),
            F::RingReserve => self.ring_reserve(w, c, f, a[0], a[1]).map_or_else(|no| no, |at| at.0.into()),
            F::RingOutput if a[3] & !WAKEUP_FLAGS != 0 => Errno::EINVAL.as_r0().into(),
            F::RingOutput => match self.ring_reserve(w, c, f, a[0], a[2]) {
                Ok(at) if at.is_null() => Errno::EAGAIN.as_r0().into(),
                Ok(at) => {
                    let bytes = w.slice(Ea(a[1]), a[2]).map(<[u8]>::to_vec);
                    if let (Some(bytes), Some(room)) = (bytes, w.slice_mut(at, a[2])) {
                        room.copy_from_slice(&bytes);
                    }
                    if let Some((map, len)) = w.ring_commit(at, false) {
                        self.hear(w, map, at, len);
                    }
                    0.into()
                }
                Err(no) => no,
            },
            _ => ring_query(w, a),
        }
    }

    /// Emits the decisions that the scheduler has just reported. The record is consumed at once, with or without a
    /// listener: otherwise the scheduler could notice the difference by how full its ring is.
    fn hear<W: World>(&mut self, w: &mut W, map: MapId, record: Ea, len: u64) {
        if self.decisions != Some(map) {
            return;
        }
        let bytes = w.slice(record, len);
        let Some(told) = bytes.and_then(|bytes| policy::read(bytes, self.machine.topology.cpus())) else {
            return;
        };
        w.ring_consume(map);
        self.out.emit_decision(self.now, told.policy);
    }

    /// Where a record begins, or null. The caller holds the ring's lock.
    fn ring_reserve<W: World>(
        &mut self,
        w: &mut W,
        c: CpuId,
        f: F,
        handle: u64,
        len: u64,
    ) -> Result<Ea, Served> {
        let map = w.map_at(Ea(handle)).ok_or_else(|| not_a_map(f, handle))?;
        let at = w.ring_reserve(map, len);
        let record = at.map_or(0, |at| w.touch_ps(Ea(at.0 - HEADER), HEADER, c, true));
        let ps = w.touch_ps(Ea(handle), 8, c, true) + record;
        self.charge_ps(c, ps);
        Ok(at.unwrap_or_default())
    }

    /// No map has any event: `get_map_perf_counter()` fails at that point.
    pub(super) fn perf_read<W: World>(&mut self, w: &mut W, c: CpuId, a: &[u64; 5]) -> Served {
        let Some(map) = w.map_at(Ea(a[0])) else { return not_a_map(F::PerfRead, a[0]) };
        let len = a[3] & 0xffff_ffff;
        if let Some(value) = w.slice_mut(Ea(a[2]), len) {
            value.fill(0);
        }
        let index = if a[1] == INDEX_MASK { u64::from(c.0) } else { a[1] };
        let why = if len != EVENT_VALUE || a[1] & !INDEX_MASK != 0 {
            Errno::EINVAL
        } else if index >= u64::from(w.map_info(map).max_entries) {
            Errno::E2BIG
        } else {
            Errno::ENOENT
        };
        why.as_r0().into()
    }
}

fn ring_query<W: World>(w: &mut W, a: &[u64; 5]) -> Served {
    let Some(map) = w.map_at(Ea(a[0])) else { return not_a_map(F::RingQuery, a[0]) };
    let what = match a[1] {
        0 => RingCount::Available,
        1 => RingCount::Size,
        2 => RingCount::Consumer,
        3 => RingCount::Producer,
        _ => return 0.into(),
    };
    w.ring_count(map, what).unwrap_or(0).into()
}
