// SPDX-License-Identifier: Apache-2.0
#include "cgroup/bpf/load_child.h"
#include "policy/base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct answer {
	uint32_t number;
	uint32_t count; /* descriptors that come along */
	int error;
	char why[CG_PROBE_TEXT_BYTES];
};

/* Room for the descriptors of one message, aligned as their header wants it. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(CG_LOAD_FDS_MAX * sizeof(int))];
};

int cg_load_keep(struct cg_load_result *a, int fd, struct cg_probe *p)
{
	int kept = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (kept < 0 || a->count == CG_LOAD_FDS_MAX)
		return cg_probe_fault(p, fd < 0 ? -ENOENT : -EMFILE, "a descriptor is missing");
	a->fd[a->count++] = kept;
	return 0;
}

int cg_load_take(struct cg_load_result *a, uint32_t i)
{
	int fd = a->fd[i];

	a->fd[i] = -1;
	return fd;
}

void cg_load_drop(struct cg_load_result *a)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (a->fd[i] >= 0)
			close(a->fd[i]);
	a->count = 0;
}

static void send_result(int to, const struct cg_load_result *a, const struct cg_probe *p)
{
	struct answer answer = {.number = a->number, .count = a->count, .error = p->error};
	struct iovec bytes = {&answer, sizeof answer};
	union control control;
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};

	memcpy(answer.why, p->why, sizeof answer.why);
	if (a->count > 0) {
		memset(&control, 0, sizeof control);
		control.header = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(a->count * sizeof(int)),
		};
		memcpy(CMSG_DATA(&control.header), a->fd, a->count * sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(a->count * sizeof(int));
	}
	(void)sendmsg(to, &message, MSG_NOSIGNAL);
}

/* Fewer than were sent where this process may have no more. */
static void take_fds(const struct cmsghdr *header, struct cg_load_result *ret)
{
	ret->count = 0;
	if (header == NULL || header->cmsg_type != SCM_RIGHTS)
		return;
	ret->count = (uint32_t)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(ret->fd, CMSG_DATA(header), ret->count * sizeof(int));
}

static int receive_result(int from, struct cg_load_result *ret, struct cg_probe *p)
{
	struct answer answer;
	struct iovec bytes = {&answer, sizeof answer};
	union control control;
	struct msghdr message = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof control,
	};
	ssize_t n;

	do
		n = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n != sizeof answer || answer.count > CG_LOAD_FDS_MAX)
		return cg_probe_fault(p, -EIO, "the process that loads it ended");
	memcpy(p->why, answer.why, sizeof p->why);
	p->error = answer.error;
	if (answer.error != 0)
		return answer.error;
	ret->number = answer.number;
	take_fds(CMSG_FIRSTHDR(&message), ret);
	if (ret->count == answer.count)
		return 0;
	cg_load_drop(ret);
	return cg_probe_fault(p, -EMFILE, "no descriptors are left for it");
}

static void __attribute__((noreturn)) child(pid_t parent, int to, cg_load_fn *load, void *ctx,
					    struct cg_probe *p)
{
	struct cg_load_result made = {0};

	/* It holds every open descriptor of the parent, also the lock against a second agent. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	if (load(ctx, &made, p) < 0)
		made.count = 0;
	send_result(to, &made, p);
	_exit(0);
}

int cg_load_in_child(cg_load_fn *load, void *ctx, struct cg_load_result *ret, struct cg_probe *p)
{
	const pid_t self = getpid();
	int pair[2], r;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return cg_probe_fault(p, -errno, "socketpair: %s", strerror(errno));
	pid = fork();
	if (pid == 0)
		child(self, pair[1], load, ctx, p);
	r = pid < 0 ? cg_probe_fault(p, -errno, "fork: %s", strerror(errno)) : 0;
	/* Else the end of the child would not be noticed. */
	close(pair[1]);
	if (r == 0)
		r = receive_result(pair[0], ret, p);
	close(pair[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}
