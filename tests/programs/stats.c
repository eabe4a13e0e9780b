// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A statistics server with scx_stats' protocol: a line of JSON each way. It answers each query with the number of queries
 * in total and on this connection. At the third it hangs up without an answer, at the fifth after it. Beside it, the
 * main thread sleeps for ten seconds. With an argument, the server starts two and a half seconds later.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PLACE "/var/run/scx/root/stats"
#define QUESTION "{\"req\":\"stats\",\"args\":{}}\n"

static int listener, questions;

static void *serve(void *unused)
{
	char text[128];
	int client, len, here;

	while ((client = accept(listener, NULL, NULL)) >= 0) {
		for (here = 1;; here++) {
			memset(text, 0, sizeof(text));
			if (read(client, text, sizeof(text) - 1) <= 0 || strcmp(text, QUESTION) || ++questions == 3)
				break;
			len = snprintf(text, sizeof(text), "{\"questions\":%d,\"here\":%d}\n", questions, here);
			/* In two parts, as it may arrive. */
			write(client, text, 5);
			write(client, text + 5, len - 5);
			if (questions == 5)
				break;
		}
		close(client);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = PLACE };
	pthread_t server;
	int i;

	if (argc > 1)
		usleep(2500000);
	mkdir("/var/run/scx", 0755);
	mkdir("/var/run/scx/root", 0755);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 1))
		return 2;
	if (pthread_create(&server, NULL, serve, NULL))
		return 3;
	for (i = 0; i < 100; i++)
		usleep(100000);
	return 0;
}
