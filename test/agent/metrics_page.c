// SPDX-License-Identifier: Apache-2.0
/* metrics_page text N: a page with N containers. metrics_page serve N: the same over
 * TCP, on a port that is printed, until standard input ends. */
#include "agent/metrics/metrics_server.h"
#include "metrics_fixture.h"
#include "test/agent/tcp_port.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct metrics_fixture fixture;
static size_t containers;

static int answer(void *ctx, struct http_stream *ret)
{
	int r = metrics_fixture_answer(ctx, containers, ret);

	if (r == 0)
		((struct metrics_page *)ret->ctx)->last_tick_real =
			(usec_t)time(NULL) * USEC_PER_SEC;
	return r;
}

static int probe(void *, const struct http_request *request, struct http_response *ret)
{
	static const struct probe_input in = {
		.now = 1, .started = 1, .cgroup_writable = true, .config_valid = true};

	return probe_answer(&in, request, ret);
}

static int on_input(sd_event_source *, int, uint32_t, void *event)
{
	return sd_event_exit(event, 0);
}

static int serve(void)
{
	static const struct metrics_ops ops = {.metrics = answer, .probe = probe};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct listen_address at = {.size = sizeof in};
	struct metrics_server *server = NULL;
	sd_event *event = NULL;

	memcpy(&at.address, &in, sizeof in);
	if (sd_event_new(&event) < 0 ||
	    sd_event_add_io(event, NULL, 0, EPOLLIN | EPOLLHUP, on_input, event) < 0 ||
	    metrics_server_new(event, &at, &ops, &fixture, &server) < 0)
		return EXIT_FAILURE;
	printf("%u\n", tcp_port());
	fflush(stdout);
	sd_event_loop(event);
	metrics_server_free(server);
	sd_event_unref(event);
	return EXIT_SUCCESS;
}

static int print(void)
{
	struct http_stream page;
	char *text;

	if (answer(&fixture, &page) < 0)
		return EXIT_FAILURE;
	text = metrics_fixture_render(page.ctx, 4 * KIB);
	if (text == NULL)
		return EXIT_FAILURE;
	fputs(text, stdout);
	free(text);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	int r;

	if (argc != 3)
		return 2;
	containers = strtoul(argv[2], NULL, 10);
	metrics_fixture_init(&fixture, containers);
	if (strcmp(argv[1], "serve") == 0)
		r = serve();
	else
		r = print();
	metrics_fixture_free(&fixture);
	return r;
}
