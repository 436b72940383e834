/* SPDX-License-Identifier: Apache-2.0 */
/* The port of this process's listening TCP socket, where the kernel has chosen it; 0: there is
 * none. */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static inline unsigned tcp_port(void)
{
	for (int fd = 1023; fd >= 0; fd--) {
		struct sockaddr_storage at;
		socklen_t size = sizeof at, flag = sizeof(int);
		int listens = 0;

		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &flag) < 0 || !listens ||
		    getsockname(fd, (struct sockaddr *)&at, &size) < 0)
			continue;
		if (at.ss_family == AF_INET)
			return ntohs(((struct sockaddr_in *)&at)->sin_port);
		if (at.ss_family == AF_INET6)
			return ntohs(((struct sockaddr_in6 *)&at)->sin6_port);
	}
	return 0;
}
