// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What a program can read about tasks: /proc, the CPU time of a cgroup, and cgroups that come and go.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* A file's text, without the last newline. Empty if the file does not exist. */
static const char *text_of(const char *format, const char *task, char *text, size_t size)
{
	char path[512];
	ssize_t len;
	int file;

	snprintf(path, sizeof(path), format, task);
	file = open(path, O_RDONLY);
	len = file < 0 ? 0 : read(file, text, size - 1);
	if (file >= 0)
		close(file);
	text[len > 0 ? len : 0] = 0;
	if (len > 0 && text[len - 1] == '\n')
		text[len - 1] = 0;
	return text;
}

/* CPU time of a task, in hundredths of a second. */
static long time_of(const char *place)
{
	char text[1024];
	const char *rest = strrchr(text_of("/proc/%s/stat", place, text, sizeof(text)), ')');
	long user = -1;

	if (rest)
		sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld", &user);
	return user;
}

/* The threads of a process, and their CPU time. */
static int threads_of(const char *process, long *time)
{
	char place[512];
	struct dirent *entry;
	DIR *folder;
	int count = 0;

	snprintf(place, sizeof(place), "/proc/%s/task", process);
	folder = opendir(place);
	while (folder && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		count++;
		snprintf(place, sizeof(place), "%s/task/%s", process, entry->d_name);
		*time += time_of(place);
	}
	if (folder)
		closedir(folder);
	return count;
}

static int by_number(const void *one, const void *other)
{
	return *(const int *)one - *(const int *)other;
}

static void say_events(void)
{
	static int fd = -1;
	char room[1024] __attribute__((aligned(8)));
	ssize_t len, at = 0;

	if (fd < 0) {
		fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		inotify_add_watch(fd, "/sys/fs/cgroup", IN_CREATE | IN_DELETE | IN_ONLYDIR);
	}
	len = read(fd, room, sizeof(room));
	while (at < len) {
		const struct inotify_event *event = (void *)&room[at];

		printf("event: %s %s\n", event->mask & IN_CREATE ? "made" : "removed", event->name);
		at += sizeof(*event) + event->len;
	}
}

/* Prints names, threads and cgroups of user processes, and whether a cgroup's CPU time is its process's. */
void say_tasks(void)
{
	char text[1024], name[32], own[16];
	int all[64], count = 0, i, is_right = 1;
	long used = 0, time;
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	say_events();
	while (proc && (entry = readdir(proc)) && count < 64)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			all[count++] = atoi(entry->d_name);
	if (proc)
		closedir(proc);
	qsort(all, count, sizeof(all[0]), by_number);
	sscanf(text_of("/sys/fs/cgroup/%s/cpu.stat", "web", text, sizeof(text)), "usage_usec %ld", &used);
	printf("tasks:");
	for (i = 0; i < count; i++) {
		snprintf(own, sizeof(own), "%d", all[i]);
		/* Kernel threads have no command line. */
		if (!*text_of("/proc/%s/cmdline", own, text, sizeof(text)))
			continue;
		text_of("/proc/%s/comm", own, name, sizeof(name));
		time = 0;
		printf(" %s %d", name, threads_of(own, &time));
		printf(" %s", text_of("/proc/%s/cgroup", own, text, sizeof(text)));
		if (!strcmp(text, "0::/web"))
			is_right &= used > 0 && used / 10000 >= time && used / 10000 <= time + 2;
		if (all[i] == getpid()) {
			text_of("/proc/%s/status", "self", text, sizeof(text));
			is_right &= !!strstr(text, "\nPid:\t2\n");
		}
	}
	printf(", %s\n", is_right ? "right" : "wrong");
}
