// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What a program asks of its machine besides bpf(2): a node's CPUs, settings that it writes, symbols, barriers.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SETTING "/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us"

/* Whether a word is in one of a file's lines. */
static int has_word(const char *path, const char *word)
{
	char line[256], found[128];
	FILE *file = fopen(path, "r");
	int has = 0;

	while (file && !has && fgets(line, sizeof(line), file))
		has = sscanf(line, "%*s %*s %127s", found) == 1 && !strcmp(found, word);
	if (file)
		fclose(file);
	return has;
}

static long cpus_of_node(void)
{
	DIR *node = opendir("/sys/devices/system/node/node0");
	struct dirent *entry;
	long cpus = 0;

	while (node && (entry = readdir(node)))
		cpus += !strncmp(entry->d_name, "cpu", 3) && entry->d_name[3] >= '0' && entry->d_name[3] <= '9';
	if (node)
		closedir(node);
	return cpus;
}

/* Whether the machine has both worked and been idle, according to /proc/stat. */
int has_worked(void)
{
	unsigned long user = 0, idle = 0;
	FILE *file = fopen("/proc/stat", "r");
	int read = file ? fscanf(file, "cpu %lu %*u %*u %lu", &user, &idle) : 0;

	if (file)
		fclose(file);
	return read == 2 && user && idle;
}

/* Pins itself to CPU 1 if it exists. Returns 0 if everything is as expected. */
static int stay_home(void)
{
	int home = sysconf(_SC_NPROCESSORS_CONF) > 1;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	if (!sched_setaffinity(0, sizeof(cpus), &cpus))
		return 8;
	CPU_SET(home, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || sched_getaffinity(0, sizeof(cpus), &cpus))
		return 9;
	return CPU_COUNT(&cpus) == 1 && CPU_ISSET(home, &cpus) ? 0 : 10;
}

/* Whether it can give up system calls. Without a filter, that is an error. */
static int can_filter(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog filter = { .len = 1, .filter = &allow };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == -1 && errno == EFAULT &&
	       !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
}

/* Whether it can read its own binary, and drop capabilities, but not regain them. */
static int can_step_down(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct all[2], none[2] = {};
	char magic[4] = "", own[256];
	int file = open("/proc/self/exe", O_RDONLY);
	int has_read = read(file, magic, sizeof(magic)) == 4 && !memcmp(magic, "\177ELF", 4);

	close(file);
	if (!has_read || readlink("/proc/self/exe", own, sizeof(own)) <= 0)
		return 0;
	if (syscall(SYS_capget, &header, all) || !all[0].effective || syscall(SYS_capset, &header, none))
		return 0;
	if (syscall(SYS_capset, &header, all) != -1 || errno != EPERM)
		return 0;
	return !syscall(SYS_capget, &header, all) && !all[0].effective && !prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* Whether a coarse clock shows whole ticks. */
static int has_ticks(void)
{
	struct timespec fine, coarse, now;

	return !clock_getres(CLOCK_MONOTONIC, &fine) && fine.tv_nsec == 1 &&
	       !clock_getres(CLOCK_MONOTONIC_COARSE, &coarse) && coarse.tv_nsec == 1000000 &&
	       !clock_gettime(CLOCK_MONOTONIC_COARSE, &now) && now.tv_nsec % 1000000 == 0;
}

/* Whether a cgroup's folder can be found by the cgroup's id, which is 1 for the root. */
static int has_cgroup_id(void)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + 8];
	} root = { .handle.handle_bytes = 8 };
	unsigned long long id = 0;
	struct stat found, opened;
	int mount, folder = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY);

	if (stat("/sys/fs/cgroup", &found) || fstat(folder, &opened) || found.st_ino != 1 || opened.st_ino != 1)
		return 0;
	close(folder);
	if (name_to_handle_at(AT_FDCWD, "/sys/fs/cgroup", &root.handle, &mount, 0))
		return 0;
	memcpy(&id, root.handle.f_handle, sizeof(id));
	return id == 1;
}

/* 0 if everything is as expected. */
int use_host(void)
{
	char text[8] = "";
	int file;

	if (cpus_of_node() != sysconf(_SC_NPROCESSORS_ONLN))
		return 1;
	file = open(SETTING, O_WRONLY | O_TRUNC);
	if (file < 0 || write(file, "32", 2) != 2)
		return 2;
	close(file);
	file = open(SETTING, O_RDONLY);
	if (read(file, text, sizeof(text)) != 2 || memcmp(text, "32", 2))
		return 3;
	close(file);
	if (open("/etc/keel-was-here", O_WRONLY | O_CREAT, 0644) >= 0)
		return 4;
	if (!has_word("/proc/kallsyms", "scx_tick") || !has_word("/proc/kallsyms", "ext_sched_class") ||
	     access("/proc/sys/kernel/ftrace_enabled", F_OK))
		return 5;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		return 6;
	if (access("/proc/sys/kernel/pid_max", R_OK) || sched_get_priority_max(SCHED_FIFO) != 99 || mlockall(MCL_CURRENT))
		return 7;
	if (!can_filter())
		return 11;
	if (!has_ticks())
		return 12;
	if (!can_step_down())
		return 13;
	if (!has_cgroup_id())
		return 14;
	return stay_home();
}
