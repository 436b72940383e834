// SPDX-License-Identifier: Apache-2.0
/* The connection that is closed for a new one, and the deadlines of connections. */
#include "agent/http/http_peers.h"
#include "test/check.h"

static struct http_peer peers[HTTP_PEERS_MAX];
static const struct http_peer_address a = {.low = 1}, b = {.low = 2}, c = {.high = 1, .low = 1};

static struct http_peer *add(const struct http_peer_address *from, uint64_t active)
{
	struct http_peer *p = http_peers_free(peers);

	CHECK(p != NULL);
	*p = (struct http_peer){.connection = peers, .address = *from, .active = active};
	return p;
}

static void clear(void)
{
	memset(peers, 0, sizeof peers);
}

TEST(per_address)
{
	struct http_peer *oldest;

	clear();
	CHECK(http_peers_victim(peers, &a) == NULL);
	CHECK(http_peers_oldest(peers) == NULL);
	add(&b, 1);
	add(&a, 20);
	oldest = add(&a, 10);
	for (uint64_t i = 2; i < HTTP_PER_ADDRESS_MAX; i++) {
		CHECK(http_peers_victim(peers, &a) == NULL);
		add(&a, 20 + i);
	}
	/* Its own oldest, although there is room and another address has an older one. */
	CHECK(http_peers_victim(peers, &a) == oldest);
	CHECK(http_peers_victim(peers, &b) == NULL);
	CHECK(http_peers_victim(peers, &c) == NULL);
	/* What is being closed counts no more. */
	oldest->closing = true;
	CHECK(http_peers_victim(peers, &a) == NULL);
	oldest->closing = false;
	/* One that moves on is not the oldest. */
	oldest->active = 1000;
	CHECK(http_peers_victim(peers, &a) == &peers[1]);
}

/* The library announces a connection while it is handed over, or later. */
TEST(coming)
{
	struct http_peer *p, *q;

	clear();
	CHECK(http_peers_coming(peers, 7) == NULL);
	p = http_peers_free(peers);
	*p = (struct http_peer){.connection = HTTP_PEER_COMING, .fd = 7, .address = a};
	q = http_peers_free(peers);
	CHECK(q != p);
	*q = (struct http_peer){.connection = HTTP_PEER_COMING, .fd = 8, .address = a};
	CHECK(http_peers_coming(peers, 8) == q);
	CHECK(http_peers_coming(peers, 7) == p);
	p->connection = peers;
	CHECK(http_peers_coming(peers, 7) == NULL);
	http_peers_forget(peers, 7); /* it has come */
	CHECK(p->connection == peers);
	http_peers_forget(peers, 8);
	CHECK(q->connection == NULL && http_peers_free(peers) == q);
}

TEST(full)
{
	struct http_peer_address from = {.high = 7};
	struct http_peer *single, *oldest = NULL;

	clear();
	single = add(&a, 1);
	for (uint64_t i = 1; i < HTTP_CONNECTIONS_MAX; i++) {
		struct http_peer *p;

		from.low = i % 5;
		p = add(&from, 100 + i);
		/* 63 of five addresses: all have 13 but number 0, which has 12. */
		if (from.low == 1 && oldest == NULL)
			oldest = p;
	}
	/* The address that has most, not the oldest of all. */
	CHECK(http_peers_victim(peers, &b) == oldest);
	CHECK(http_peers_oldest(peers) == single);
	/* The new one counts: it makes its address the one that has most. */
	from.low = 3;
	CHECK_EQ(http_peers_victim(peers, &from)->address.low, 3);
	/* Each address has one connection: the oldest. */
	clear();
	for (uint64_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		from.low = i;
		add(&from, i == 40 ? 5 : 100 + i);
	}
	CHECK(http_peers_victim(peers, &b) == &peers[40]);
	/* The address of the new one has a connection already: that one. */
	from.low = 50;
	CHECK(http_peers_victim(peers, &from) == &peers[50]);
	/* A full table has entries left for what is being closed, and no more. */
	for (int i = 0; i < HTTP_PEERS_CLOSING_MAX; i++)
		add(&a, 1)->closing = true;
	CHECK(http_peers_free(peers) == NULL);
}

TEST(deadline)
{
	const usec_t s = USEC_PER_SEC;
	struct http_peer p = {.since_usec = 100 * s};

	CHECK_EQ(http_peer_deadline(&p, 10 * s), (100 + HTTP_HEAD_TIMEOUT_SEC) * s);
	CHECK_EQ(http_peer_deadline(&p, 1 * s), 101 * s);
	p.head_usec = 103 * s;
	CHECK_EQ(http_peer_deadline(&p, 10 * s), 110 * s);
	/* The earliest of all; soon for one that is overdue or was shut down. */
	clear();
	CHECK_EQ(http_peers_wait(peers, 10 * s, 100 * s), UINT64_MAX);
	add(&a, 1)->since_usec = 100 * s;
	add(&a, 2)->since_usec = 99 * s;
	CHECK_EQ(http_peers_wait(peers, 10 * s, 101 * s), 3 * s);
	CHECK_EQ(http_peers_wait(peers, 10 * s, 104 * s), 100 * USEC_PER_MSEC);
	peers[0].closing = true;
	CHECK_EQ(http_peers_wait(peers, 10 * s, 101 * s), 100 * USEC_PER_MSEC);
}
