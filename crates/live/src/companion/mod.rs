//! Runs a recipe's companions for a scheduler in the running kernel: one thread each, which that scheduler schedules.
//!
//! A thread exists before the object is loaded, so that the object can get its pid, and is running before the scheduler
//! is attached: from then on, no task gets a CPU unless the companion continues. For the same reason, it never waits
//! for another thread of this process, and all memory of the process is locked.

mod desk;
mod sys;

use crate::errors::LiveError;
use desk::Desk;
use keel_object::Outline;
use keel_recipe::companion::{Machine, Pause, Rest};
use keel_recipe::{Action, Companion};
use libbpf_rs::Object;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The maximum number of lines that wait to be printed. More are dropped, because companions never wait.
const MOST_LINES: usize = 1024;

/// How a companion's thread ended.
type Ended = Result<(), String>;

/// The threads of all companions.
#[derive(Debug)]
pub(crate) struct Companions {
    threads: Vec<Thread>,
    stop: Arc<AtomicBool>,
    lines: Receiver<String>,
}

#[derive(Debug)]
struct Thread {
    companion: Companion,
    pid: u32,
    /// Receives what it needs from the loaded object.
    parts: Sender<desk::Parts>,
    /// Reports that it is running, or why it cannot.
    ready: Receiver<Ended>,
    handle: Option<JoinHandle<Ended>>,
}

impl Companions {
    /// Starts a thread for each companion, which waits for the object.
    pub(crate) fn start(actions: &[Action]) -> Result<Self, LiveError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, lines) = sync_channel(MOST_LINES);
        let mut all = Self { threads: Vec::new(), stop, lines };
        for action in actions {
            let Action::Accompany(companion) = action else { continue };
            let thread = Thread::start(companion, all.stop.clone(), sender.clone());
            all.threads.push(thread.map_err(|why| failed(&companion.name, why))?);
        }
        Ok(all)
    }

    /// Sets their pids in the object.
    pub(crate) fn introduce(&self, outline: &mut Outline) -> Result<(), LiveError> {
        for thread in &self.threads {
            let Some(variable) = &thread.companion.pid else { continue };
            let place = format!("the pid of companion {}", thread.companion.name);
            let set = outline.object.set_number(variable, thread.pid.into());
            set.map_err(|error| LiveError::Set { place, error })?;
        }
        Ok(())
    }

    /// Starts all companions on the loaded object.
    pub(crate) fn begin(&self, outline: &Outline, object: &Object) -> Result<(), LiveError> {
        for thread in &self.threads {
            let name = &thread.companion.name;
            let parts = desk::Parts::take(&thread.companion.program, outline, object);
            let sent = thread.parts.send(parts.map_err(|why| failed(name, why))?);
            let reported = sent.ok().and_then(|()| thread.ready.recv().ok());
            reported
                .unwrap_or_else(|| Err("its thread has died".to_owned()))
                .map_err(|why| failed(name, why))?;
        }
        Ok(())
    }

    /// Checks that all are running.
    ///
    /// # Errors
    /// The error of the first that is not running.
    pub(crate) fn check(&mut self) -> Result<(), LiveError> {
        for thread in &mut self.threads {
            let Some(handle) = thread.handle.take_if(|handle| handle.is_finished()) else { continue };
            let why = match handle.join() {
                Ok(Err(why)) => why,
                _ => "its thread has died".to_owned(),
            };
            return Err(failed(&thread.companion.name, why));
        }
        Ok(())
    }

    /// Returns their output since the last call.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.try_iter().collect()
    }
}

impl Drop for Companions {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for Thread { parts, handle, .. } in self.threads.drain(..) {
            // Companions that still wait for the object stop waiting.
            drop(parts);
            // It has already reported how it ended.
            let _ = handle.map(JoinHandle::join);
        }
    }
}

fn failed(name: &str, why: String) -> LiveError {
    LiveError::Program { program: format!("{name} (a companion)"), why }
}

impl Thread {
    fn start(
        companion: &Companion,
        stop: Arc<AtomicBool>,
        lines: SyncSender<String>,
    ) -> Result<Self, String> {
        let (parts, object) = channel();
        let (say, ready) = channel();
        let (tell_pid, pid) = channel();
        let own = companion.clone();
        // Names of threads have no NUL; the kernel cuts them.
        let name = companion.name.replace('\0', " ");
        let handle = std::thread::Builder::new().name(name).spawn(move || {
            let _ = tell_pid.send(sys::thread_id());
            match object.recv() {
                Ok(parts) => work(&own, parts, &stop, lines, &say),
                Err(_) => Ok(()),
            }
        });
        let handle = Some(handle.map_err(|e| e.to_string())?);
        let pid = pid.recv().map_err(|e| e.to_string())?;
        Ok(Self { companion: companion.clone(), pid, parts, ready, handle })
    }
}

/// Runs round after round until asked to stop.
fn work(
    companion: &Companion,
    parts: desk::Parts,
    stop: &AtomicBool,
    lines: SyncSender<String>,
    say: &Sender<Ended>,
) -> Ended {
    let desk = sys::prepare_thread().and_then(|()| Desk::open(parts, lines));
    let mut desk = match desk {
        Ok(desk) => desk,
        Err(why) => {
            let _ = say.send(Err(why.clone()));
            return Err(why);
        }
    };
    let _ = say.send(Ok(()));
    let mut machine = Machine::new(&companion.program);
    while !stop.load(Ordering::Relaxed) {
        match machine.go_on(&mut desk) {
            Pause::Worked(_) | Pause::Called(_) | Pause::Printed => {}
            Pause::Round => match companion.rest {
                Rest::Yield => std::thread::yield_now(),
                Rest::Sleep(span) => std::thread::sleep(Duration::from_nanos(span.as_ns())),
            },
            Pause::Failed(why) => return Err(why),
        }
    }
    Ok(())
}
