//! The real-time class: where its tasks go, and what they inherit. `semantics/realtime.rs` tests what a scheduler sees
//! of it.
#![forbid(unsafe_code)]

#[path = "rtclass/balance.rs"]
mod balance;
#[allow(dead_code, reason = "the semantics tests use the rest")]
#[path = "semantics/harness.rs"]
mod harness;
#[path = "rtclass/inherit.rs"]
mod inherit;
#[path = "rtclass/parts.rs"]
mod parts;
#[path = "rtclass/spin.rs"]
mod spin;
#[path = "rtclass/throttle.rs"]
mod throttle;
#[path = "rtclass/wakeup.rs"]
mod wakeup;
#[path = "rtclass/watch.rs"]
mod watch;
