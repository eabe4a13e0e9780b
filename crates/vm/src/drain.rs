//! `bpf_user_ringbuf_drain`: calls a function of the object with each record that user space has written.
#![allow(unsafe_code)]

use crate::calls::{ask_host, callback, map_of, round, scratch};
use crate::code::op::Size;
use crate::context::Context;
use keel_abi::bpf::{Dynptr, Errno, World};

/// `BPF_MAX_USER_RINGBUF_SAMPLES`.
const MAX_RECORDS: u64 = 128 << 10;
/// `BPF_RB_NO_WAKEUP` and `BPF_RB_FORCE_WAKEUP`.
const WAKEUP_FLAGS: u64 = 3;
/// From a record back to its header.
const HEADER: u64 = 8;

/// `bpf_user_ringbuf_drain(map, callback, context, flags)`: the host charges for it, the rounds run here.
///
/// # Safety
/// As for [`crate::calls::invoke`].
pub(crate) unsafe extern "C" fn drain(
    context: *mut Context,
    map: u64,
    function: u64,
    data: u64,
    flags: u64,
    r5: u64,
) -> u64 {
    // SAFETY: as above; the world is used between calls only.
    unsafe {
        let (site, frame) = ((*context).site, (*context).frame);
        ask_host(context, [map, function, data, flags, r5]);
        let function = callback(context, function, "bpf_user_ringbuf_drain");
        if flags & !WAKEUP_FLAGS != 0 {
            return Errno::EINVAL.as_r0();
        }
        let id = map_of(context, site, map, "bpf_user_ringbuf_drain");
        if let Err(why) = (*(*context).world).maps_mut().0.begin_drain(id) {
            return why.as_r0();
        }
        let dynptr = scratch(context, frame);
        // A discarded record counts as a round, but not as a record.
        let (mut rounds, mut seen) = (0, 0);
        let mut answer = None;
        while rounds < MAX_RECORDS {
            rounds += 1;
            let (maps, region) = (*(*context).world).maps_mut();
            let (record, len) = match maps.peek_record(region, id) {
                Ok(found) => found,
                Err(Errno::ENOENT) => break,
                Err(Errno::EAGAIN) => continue,
                Err(why) => {
                    answer = Some(why.as_r0());
                    break;
                }
            };
            (*context).access(record.0.wrapping_sub(HEADER), Size(3), false);
            (*(*context).world).put(dynptr, &Dynptr::new(record, len as u32).to_bytes());
            seen += 1;
            let done = round(context, function, site, frame, [dynptr.0, data, 0, 0, 0]) != 0;
            (*(*context).world).maps_mut().0.release_record(id, len);
            if done {
                break;
            }
        }
        (*(*context).world).maps_mut().0.end_drain(id);
        answer.unwrap_or(seen)
    }
}
