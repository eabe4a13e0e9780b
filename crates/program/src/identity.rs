//! Provides the program's identity: root, with only the rights that keel grants.

use crate::calls::{Answer, error};
use crate::program::Program;
use crate::thread::Thread;

/// The size of a thread's name, in bytes.
const NAME_BYTES: usize = 16;
/// How late a sleep of an ordinary task may end (`timer_slack_ns`).
pub(crate) const SLACK_NS: u64 = 50_000;

impl Program {
    pub(crate) fn identity_call(&mut self, t: &mut Thread, number: i64, a: [u64; 6]) -> Option<Answer> {
        Some(match number {
            libc::SYS_getpid | libc::SYS_getpgrp | libc::SYS_getpgid | libc::SYS_getsid => {
                Answer::Value(i64::from(self.machine.pid))
            }
            libc::SYS_getppid => Answer::Value(1),
            libc::SYS_gettid => Answer::Value(i64::from(t.own)),
            libc::SYS_getuid | libc::SYS_geteuid | libc::SYS_getgid | libc::SYS_getegid => Answer::Value(0),
            libc::SYS_getgroups | libc::SYS_setgroups | libc::SYS_setpgid => Answer::Value(0),
            libc::SYS_getresuid | libc::SYS_getresgid => self.real_and_saved(a),
            libc::SYS_setuid | libc::SYS_setgid => becomes(&a[..1]),
            libc::SYS_setreuid | libc::SYS_setregid => becomes(&a[..2]),
            libc::SYS_setresuid | libc::SYS_setresgid => becomes(&a[..3]),
            // It already leads its process group.
            libc::SYS_setsid => error(libc::EPERM),
            libc::SYS_prctl => self.process_control(t, a),
            _ => return None,
        })
    }

    fn real_and_saved(&self, a: [u64; 6]) -> Answer {
        let is_written = a[..3].iter().all(|&at| self.host.write(at, &0_u32.to_le_bytes()));
        if is_written { Answer::Value(0) } else { error(libc::EFAULT) }
    }

    fn process_control(&self, t: &mut Thread, a: [u64; 6]) -> Answer {
        match a[0] as i32 {
            libc::PR_SET_NAME => match self.text(a[1]) {
                Ok(name) => {
                    t.name = name.bytes().take(NAME_BYTES - 1).collect();
                    Answer::Value(0)
                }
                Err(_) => error(libc::EFAULT),
            },
            libc::PR_GET_NAME => {
                let mut name = t.name.clone();
                name.resize(NAME_BYTES, 0);
                self.put(a[1], &name, 0)
            }
            libc::PR_SET_VMA | libc::PR_SET_NO_NEW_PRIVS | libc::PR_SET_DUMPABLE => Answer::Value(0),
            libc::PR_SET_PDEATHSIG | libc::PR_SET_KEEPCAPS | libc::PR_SET_CHILD_SUBREAPER => Answer::Value(0),
            libc::PR_SET_THP_DISABLE | libc::PR_GET_SECCOMP => Answer::Value(0),
            libc::PR_SET_TIMERSLACK => {
                t.slack_ns = if a[1] == 0 { SLACK_NS } else { a[1] };
                Answer::Value(0)
            }
            libc::PR_GET_TIMERSLACK => Answer::Value(t.slack_ns as i64),
            libc::PR_GET_DUMPABLE | libc::PR_CAPBSET_READ => Answer::Value(1),
            _ => error(libc::EINVAL),
        }
    }
}

/// Lets the program keep its identity, but not change it.
fn becomes(ids: &[u64]) -> Answer {
    let is_same = ids.iter().all(|&id| [0, u32::MAX].contains(&(id as u32)));
    if is_same { Answer::Value(0) } else { error(libc::EPERM) }
}
