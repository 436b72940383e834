/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of an HTTP server: deadlines, and which one is closed for a new one. The limits
 * of libmicrohttpd refuse the newest: 64 silent clients would keep the kubelet's probes out. */
#pragma once

#include "agent/http/http.h"
#include <stdint.h>

/* Closed ones keep their entry until the library has finished with them. */
#define HTTP_PEERS_CLOSING_MAX 16
#define HTTP_PEERS_MAX         (HTTP_CONNECTIONS_MAX + HTTP_PEERS_CLOSING_MAX)

/* The bytes of an IPv6 address, or of IPv4 mapped into it; of a Unix socket: the user's number. */
struct http_peer_address {
	uint64_t high, low;
};

struct http_peer {
	void *connection; /* the library's; NULL: the entry is free */
	int fd;
	struct http_peer_address address;
	usec_t since_usec; /* the head of a request is awaited since */
	usec_t head_usec;  /* when it was complete; 0: it is awaited */
	uint64_t active;   /* the turn of the server at which it last made progress */
	bool closing;      /* shut down */
};

/* Stands for a connection that the library has not announced yet: libmicrohttpd before 1.0
 * announces it within MHD_add_connection(), later versions in their next turn. */
extern char http_peer_coming;
#define HTTP_PEER_COMING ((void *)&http_peer_coming)
/* The entry of such a connection by its descriptor; NULL: none. */
struct http_peer *http_peers_coming(struct http_peer peers[HTTP_PEERS_MAX], int fd);
/* Frees the entry of such a connection, which the library did not take. */
void http_peers_forget(struct http_peer peers[HTTP_PEERS_MAX], int fd);

/* A free entry; NULL: none. */
struct http_peer *http_peers_free(struct http_peer peers[HTTP_PEERS_MAX]);

/* The connection to close for a new one from this address; NULL: there is room. One of the address
 * if that has HTTP_PER_ADDRESS_MAX, in a full table one of the address that has most: the one
 * longest without progress (accepted, head complete, a piece of the answer taken). */
struct http_peer *http_peers_victim(struct http_peer peers[HTTP_PEERS_MAX],
				    const struct http_peer_address *from);
/* The connection without progress for longest, of all addresses; NULL: there is none. */
struct http_peer *http_peers_oldest(struct http_peer peers[HTTP_PEERS_MAX]);

/* When the connection has to be closed: its head, or its whole request, took too long. */
usec_t http_peer_deadline(const struct http_peer *p, usec_t timeout_usec);
/* The time until a connection must be checked: until its deadline, or a short time if it is overdue
 * or was shut down. UINT64_MAX: there is no connection. */
usec_t http_peers_wait(const struct http_peer peers[HTTP_PEERS_MAX], usec_t timeout_usec,
		       usec_t now);
