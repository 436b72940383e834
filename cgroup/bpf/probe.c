// SPDX-License-Identifier: Apache-2.0
#include "cgroup/bpf/probe.h"
#include "policy/base/base.h"
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BTF_PATH "/sys/kernel/btf/vmlinux"

/* libbpf hands its printer no context. The process has one thread, and loading is one call. */
static char complaint[CG_PROBE_TEXT_BYTES / 2];
static libbpf_print_fn_t printer_before;

int cg_probe_fault(struct cg_probe *p, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->why, sizeof p->why, format, args);
	va_end(args);
	p->error = error;
	return error;
}

static bool capable(const struct __user_cap_data_struct *caps, unsigned cap)
{
	return caps[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap);
}

int cg_probe_host(struct cg_probe *p)
{
	static const struct {
		unsigned cap;
		const char *name;
	} needed[] = {{CAP_BPF, "CAP_BPF"}, {CAP_PERFMON, "CAP_PERFMON"}};
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {0};

	if (access(BTF_PATH, R_OK) < 0)
		return cg_probe_fault(p, -errno,
				      BTF_PATH ": %s: the kernel does not describe its types",
				      strerror(errno));
	if (syscall(SYS_capget, &header, caps) < 0)
		return cg_probe_fault(p, -errno, "capget: %s", strerror(errno));
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!capable(caps, needed[i].cap) && !capable(caps, CAP_SYS_ADMIN))
			return cg_probe_fault(p, -EPERM, "%s is missing", needed[i].name);
	return 0;
}

/* The last line of text that says something: the verifier ends with a line of statistics. */
static void keep_line(const char *text)
{
	size_t len = strlen(text);

	while (len > 0) {
		const char *begin;

		while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
			len--;
		begin = memrchr(text, '\n', len);
		begin = begin == NULL ? text : begin + 1;
		if (strncmp(begin, "processed ", 10) != 0 && strncmp(begin, "-- END", 6) != 0 &&
		    strncmp(begin, "verification time", 17) != 0) {
			snprintf(complaint, sizeof complaint, "%.*s", (int)(text + len - begin),
				 begin);
			return;
		}
		len = (size_t)(begin - text);
	}
}

/* The first message names the place. The verifier's log replaces it. */
static int hear(enum libbpf_print_level level, const char *format, va_list args)
{
	OWN(drop_free) char *text = NULL;

	if (level != LIBBPF_WARN)
		return 0;
	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		return 0;
	}
	if (complaint[0] == '\0' || strstr(text, "BEGIN PROG LOAD LOG") != NULL)
		keep_line(text);
	return 0;
}

void cg_probe_listen(void)
{
	complaint[0] = '\0';
	printer_before = libbpf_set_print(hear);
}

void cg_probe_listen_end(struct cg_probe *p)
{
	size_t len = strlen(p->why);

	libbpf_set_print(printer_before);
	if (p->error != 0 && complaint[0] != '\0')
		snprintf(p->why + len, sizeof p->why - len, " (%s)", complaint);
}
