//! Names of system calls and of commands of bpf(2) that keel refuses.

/// Returns a call's name, or its number if it is not among those that programs are known to try.
pub(crate) fn name_of(number: i64) -> String {
    let name = match number {
        libc::SYS_sendfile => "sendfile",
        libc::SYS_ptrace => "ptrace",
        libc::SYS_mount => "mount",
        libc::SYS_umount2 => "umount2",
        libc::SYS_unshare => "unshare",
        libc::SYS_setns => "setns",
        libc::SYS_splice => "splice",
        libc::SYS_tee => "tee",
        libc::SYS_vmsplice => "vmsplice",
        libc::SYS_fallocate => "fallocate",
        libc::SYS_copy_file_range => "copy_file_range",
        libc::SYS_process_vm_readv => "process_vm_readv",
        libc::SYS_process_vm_writev => "process_vm_writev",
        libc::SYS_kcmp => "kcmp",
        libc::SYS_userfaultfd => "userfaultfd",
        libc::SYS_pidfd_open => "pidfd_open",
        libc::SYS_pidfd_getfd => "pidfd_getfd",
        libc::SYS_pidfd_send_signal => "pidfd_send_signal",
        libc::SYS_io_uring_setup => "io_uring_setup",
        libc::SYS_fanotify_init => "fanotify_init",
        libc::SYS_add_key => "add_key",
        libc::SYS_keyctl => "keyctl",
        libc::SYS_mbind => "mbind",
        libc::SYS_set_mempolicy => "set_mempolicy",
        libc::SYS_get_mempolicy => "get_mempolicy",
        libc::SYS_sysfs => "sysfs",
        libc::SYS_syslog => "syslog",
        libc::SYS_reboot => "reboot",
        libc::SYS_init_module => "init_module",
        libc::SYS_finit_module => "finit_module",
        libc::SYS_iopl => "iopl",
        libc::SYS_ioperm => "ioperm",
        libc::SYS_mknod | libc::SYS_mknodat => "mknod",
        libc::SYS_chroot => "chroot",
        libc::SYS_getxattr => "getxattr",
        libc::SYS_setxattr => "setxattr",
        libc::SYS_shmget => "shmget",
        libc::SYS_semget => "semget",
        libc::SYS_msgget => "msgget",
        libc::SYS_mq_open => "mq_open",
        number => return format!("system call {number}"),
    };
    format!("{name}()")
}

/// Returns a command's name, or its number if keel knows of no kernel that has it.
pub(crate) fn command_name(number: u64) -> String {
    let name = match number {
        8 => "BPF_PROG_ATTACH",
        9 => "BPF_PROG_DETACH",
        16 => "BPF_PROG_QUERY",
        20 => "BPF_TASK_FD_QUERY",
        32 => "BPF_ENABLE_STATS",
        33 => "BPF_ITER_CREATE",
        number => return format!("bpf command {number}"),
    };
    name.to_owned()
}
