// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A server inside the program, like a statistics server: a thread that listens at a Unix socket, and a client.
 */
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PLACE "/var/run/keel/stats"

static int listener;

static void *serve(void *unused)
{
	struct pollfd ready = { .fd = listener, .events = POLLIN };
	char question[8] = "";
	int client;

	if (poll(&ready, 1, -1) != 1)
		return NULL;
	client = accept(listener, NULL, NULL);
	if (read(client, question, sizeof(question)) == 4 && !memcmp(question, "ping", 4))
		write(client, "pong", 4);
	close(client);
	return NULL;
}

/* 0 if everything is as expected. */
int use_sockets(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = PLACE };
	char answer[8] = "";
	pthread_t server;
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* Nobody is there yet. */
	if (!connect(client, (struct sockaddr *)&address, sizeof(address)))
		return 1;
	mkdir("/var/run/keel", 0755);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 1))
		return 2;
	if (pthread_create(&server, NULL, serve, NULL))
		return 3;
	if (connect(client, (struct sockaddr *)&address, sizeof(address)) || write(client, "ping", 4) != 4)
		return 4;
	if (read(client, answer, sizeof(answer)) != 4 || memcmp(answer, "pong", 4))
		return 5;
	/* It has closed its end. */
	if (read(client, answer, sizeof(answer)))
		return 6;
	pthread_join(server, NULL);
	close(client);
	close(listener);
	return 0;
}
