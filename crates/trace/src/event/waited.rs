//! How a task waited: in which call, and what ended the wait.

/// The class of the system call in which a task waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// Not known.
    #[default]
    Unknown,
    /// A sleep of a given length: `nanosleep()`, `clock_nanosleep()`.
    Sleep,
    /// A sleep until a given moment: `clock_nanosleep()` with `TIMER_ABSTIME`.
    SleepUntil,
    /// A disk (`in_iowait`).
    Disk,
    /// `futex()`.
    Futex,
    /// `poll()`, `select()`, `epoll_wait()`.
    Poll,
    /// Reading, writing, sending, receiving, connecting and accepting.
    Transfer,
    /// `wait4()`, `waitid()`.
    Child,
    /// Another system call.
    Other,
    /// None: the task is a kernel thread.
    Kernel,
    /// Reading from a pipe or a local socket, in recordings that have reads and writes.
    PipeRead,
    /// Writing to one, likewise.
    PipeWrite,
}

impl Call {
    /// All of them, by their numbers in recordings.
    pub const ALL: [Self; 12] = [
        Self::Unknown,
        Self::Sleep,
        Self::SleepUntil,
        Self::Disk,
        Self::Futex,
        Self::Poll,
        Self::Transfer,
        Self::Child,
        Self::Other,
        Self::Kernel,
        Self::PipeRead,
        Self::PipeWrite,
    ];

    /// Returns whether it is a read from or a write to a pipe or a local socket.
    pub const fn is_of_pipe(self) -> bool {
        matches!(self, Self::PipeRead | Self::PipeWrite)
    }

    /// Returns a word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Sleep => "sleep",
            Self::SleepUntil => "sleep_until",
            Self::Disk => "disk",
            Self::Futex => "futex",
            Self::Poll => "poll",
            Self::Transfer => "transfer",
            Self::Child => "child",
            Self::Other => "other",
            Self::Kernel => "kernel",
            Self::PipeRead => "pipe_read",
            Self::PipeWrite => "pipe_write",
        }
    }
}

/// What woke a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A task, or unknown.
    #[default]
    Task,
    /// A timer.
    Timer,
    /// A device's interrupt.
    Interrupt,
    /// An interrupt's deferred work (softirq).
    Softirq,
    /// The task that has just sent a packet to this machine itself.
    Sender,
}

impl Source {
    /// All of them, by their numbers in recordings.
    pub const ALL: [Self; 5] = [Self::Task, Self::Timer, Self::Interrupt, Self::Softirq, Self::Sender];
}

/// What a task does with a pipe or a local socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Piping {
    /// It has read.
    Read,
    /// It starts to write.
    Write,
    /// It starts to write a packet, which takes up pages of its own (`O_DIRECT`).
    Packet,
}

impl Piping {
    /// All of them, by their numbers in recordings.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Packet];
}
