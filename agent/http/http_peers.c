// SPDX-License-Identifier: Apache-2.0
#include "agent/http/http_peers.h"

/* A connection that was shut down is collected soon after. */
#define CLOSING_USEC (100 * USEC_PER_MSEC)

static bool is_open(const struct http_peer *p)
{
	return p->connection != NULL && !p->closing;
}

static bool same_address(const struct http_peer_address *a, const struct http_peer_address *b)
{
	return a->low == b->low && a->high == b->high;
}

char http_peer_coming;

struct http_peer *http_peers_coming(struct http_peer peers[HTTP_PEERS_MAX], int fd)
{
	for (size_t i = 0; i < HTTP_PEERS_MAX; i++)
		if (peers[i].connection == HTTP_PEER_COMING && peers[i].fd == fd)
			return &peers[i];
	return NULL;
}

void http_peers_forget(struct http_peer peers[HTTP_PEERS_MAX], int fd)
{
	struct http_peer *p = http_peers_coming(peers, fd);

	if (p != NULL)
		*p = (struct http_peer){0};
}

struct http_peer *http_peers_free(struct http_peer peers[HTTP_PEERS_MAX])
{
	for (size_t i = 0; i < HTTP_PEERS_MAX; i++)
		if (peers[i].connection == NULL)
			return &peers[i];
	return NULL;
}

/* The open connections of an address, and the one that is about to come. */
static size_t count_address(const struct http_peer peers[HTTP_PEERS_MAX],
			    const struct http_peer_address *address,
			    const struct http_peer_address *from)
{
	size_t n = same_address(address, from);

	for (size_t i = 0; i < HTTP_PEERS_MAX; i++)
		n += is_open(&peers[i]) && same_address(&peers[i].address, address);
	return n;
}

struct http_peer *http_peers_oldest(struct http_peer peers[HTTP_PEERS_MAX])
{
	struct http_peer *oldest = NULL;

	for (size_t i = 0; i < HTTP_PEERS_MAX; i++)
		if (is_open(&peers[i]) && (!oldest || peers[i].active < oldest->active))
			oldest = &peers[i];
	return oldest;
}

struct http_peer *http_peers_victim(struct http_peer peers[HTTP_PEERS_MAX],
				    const struct http_peer_address *from)
{
	struct http_peer *victim = NULL;
	bool crowded = count_address(peers, from, from) > HTTP_PER_ADDRESS_MAX;
	size_t most = 0, open = 0;

	for (size_t i = 0; i < HTTP_PEERS_MAX; i++)
		open += is_open(&peers[i]);
	if (!crowded && open < HTTP_CONNECTIONS_MAX)
		return NULL;
	for (size_t i = 0; i < HTTP_PEERS_MAX; i++) {
		struct http_peer *p = &peers[i];
		size_t n;

		if (!is_open(p) || (crowded && !same_address(&p->address, from)))
			continue;
		n = count_address(peers, &p->address, from);
		if (n > most || (n == most && p->active < victim->active))
			victim = p;
		most = MAX(most, n);
	}
	return victim;
}

usec_t http_peers_wait(const struct http_peer peers[HTTP_PEERS_MAX], usec_t timeout_usec,
		       usec_t now)
{
	usec_t wait = UINT64_MAX;

	for (size_t i = 0; i < HTTP_PEERS_MAX; i++) {
		usec_t due = http_peer_deadline(&peers[i], timeout_usec);

		if (peers[i].connection != NULL)
			wait = MIN(wait, peers[i].closing || due <= now ? CLOSING_USEC : due - now);
	}
	return wait;
}

usec_t http_peer_deadline(const struct http_peer *p, usec_t timeout_usec)
{
	if (p->head_usec == 0)
		return p->since_usec + MIN(timeout_usec, HTTP_HEAD_TIMEOUT_SEC * USEC_PER_SEC);
	return p->since_usec + timeout_usec;
}
