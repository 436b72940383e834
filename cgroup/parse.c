// SPDX-License-Identifier: Apache-2.0
#include "cgroup/parse.h"
#include "policy/base/text.h"
#include <errno.h>

/* As many as a kernel can be built for. */
#define CPUS_MAX 8192
/* More than the values of any file that are wanted. */
#define VALUES_MAX 20

/* One wanted line of a flat-keyed file ("name value"), and where its value goes. */
struct key {
	const char *name;
	uint8_t len;
	uint8_t offset;
};

#define KEY(type, field, text) {text, sizeof(text) - 1, offsetof(type, field)}

struct keys {
	const struct key *key;
	uint32_t count;
	uint32_t required; /* bit i: key i must be there */
	size_t bytes;      /* of the struct that the values go to */
};

#define KEYS(type, keys_, required_) {keys_, ARRAY_SIZE(keys_), required_, sizeof(type)}

/* A last newline bounds every scan below, so that none of them needs to know the end. */
static bool text_valid(const char *text, size_t len)
{
	return len > 0 && text[len - 1] == '\n' && memchr(text, '\0', len) == NULL;
}

/* First byte after a decimal number; NULL: none, a leading zero, or not below UINT64_MAX (which
 * means "max" everywhere). */
static const char *scan_u64(const char *p, uint64_t *ret)
{
	const char *end = text_number(p, ret);

	return end == NULL || (*p == '0' && end - p > 1) || *ret == UINT64_MAX ? NULL : end;
}

/* Whether word stands at p. Stops at the first difference, the newline at the latest, which the
 * string functions do not promise for text without a NUL. */
static bool word_at(const char *p, const char *word)
{
	while (*word != '\0' && *p == *word) {
		p++;
		word++;
	}
	return *word == '\0';
}

static const char *scan_limit(const char *p, uint64_t *ret)
{
	if (!word_at(p, "max"))
		return scan_u64(p, ret);
	*ret = LIMIT_MAX;
	return p + 3;
}

static const char *scan_word(const char *p)
{
	while ((unsigned char)*p > ' ')
		p++;
	return p;
}

/* The kernel prints keys in a stable order: the one after the last hit is nearly always right. */
static int find_key(const struct keys *keys, uint32_t next, const char *name, size_t len)
{
	for (uint32_t i = 0; i < keys->count; i++, next++) {
		const struct key *k;

		if (next >= keys->count)
			next = 0;
		k = &keys->key[next];
		if (k->len == len && memcmp(k->name, name, len) == 0)
			return (int)next;
	}
	return -1;
}

/* Fills the uint64_t fields of *ret that keys name, the rest of it is 0; ret_seen has one bit per
 * key found. */
static int parse_flat(const char *text, size_t len, const struct keys *keys, void *ret,
		      uint32_t *ret_seen)
{
	uint64_t base[VALUES_MAX];
	const char *end = text + len;
	uint32_t next = 0, seen = 0;

	if (!text_valid(text, len))
		return -EBADMSG;
	memset(base, 0, keys->bytes);
	for (const char *p = text; p < end; p++) {
		const char *value = scan_word(p);
		int found;

		if (value == p || *value != ' ' || (unsigned char)value[1] <= ' ')
			return -EBADMSG;
		found = find_key(keys, next, p, (size_t)(value++ - p));
		if (found < 0) {
			p = memchr(value, '\n', (size_t)(end - value));
			continue;
		}
		p = scan_u64(value, (uint64_t *)((char *)base + keys->key[found].offset));
		if (p == NULL || *p != '\n' || seen & 1u << found)
			return -EBADMSG;
		seen |= 1u << found;
		next = (uint32_t)found + 1;
	}
	if ((seen & keys->required) != keys->required)
		return -ENODATA;
	memcpy(ret, base, keys->bytes);
	*ret_seen = seen;
	return 0;
}

int cg_parse_cpu_max(const char *text, size_t len, struct cg_cpu_max *ret)
{
	struct cg_cpu_max max;
	const char *p;

	if (!text_valid(text, len))
		return -EBADMSG;
	p = scan_limit(text, &max.quota_usec);
	if (p == NULL || *p != ' ')
		return -EBADMSG;
	p = scan_u64(p + 1, &max.period_usec);
	if (p == NULL || p != text + len - 1 || max.quota_usec == 0 || max.period_usec == 0)
		return -EBADMSG;
	*ret = max;
	return 0;
}

int cg_parse_cpu_stat(const char *text, size_t len, struct cg_cpu_stat *ret)
{
	static const struct key key[] = {
		KEY(struct cg_cpu_stat, usage_usec, "usage_usec"),
		KEY(struct cg_cpu_stat, nr_periods, "nr_periods"),
		KEY(struct cg_cpu_stat, nr_throttled, "nr_throttled"),
		KEY(struct cg_cpu_stat, throttled_usec, "throttled_usec"),
	};
	static const struct keys keys = KEYS(struct cg_cpu_stat, key, 1u << 0);
	const uint32_t throttle = 7u << 1;
	struct cg_cpu_stat stat;
	uint32_t seen;
	int r = parse_flat(text, len, &keys, &stat, &seen);

	if (r < 0)
		return r;
	stat.has_throttle = (seen & throttle) == throttle;
	*ret = stat;
	return 0;
}

int cg_parse_value(const char *text, size_t len, uint64_t *ret)
{
	uint64_t value;

	if (!text_valid(text, len) || scan_u64(text, &value) != text + len - 1)
		return -EBADMSG;
	*ret = value;
	return 0;
}

/* Ascending, as the kernel prints it: no CPU is named twice. */
int cg_parse_cpu_list(const char *text, size_t len, uint32_t *ret)
{
	uint64_t first, last, next = 0, count = 0;
	const char *at = text;

	if (len == 1 && text[0] == '\n') {
		*ret = 0;
		return 0;
	}
	if (!text_valid(text, len))
		return -EBADMSG;
	for (;;) {
		at = scan_u64(at, &first);
		last = first;
		if (at != NULL && *at == '-')
			at = scan_u64(at + 1, &last);
		if (at == NULL || first < next || last < first || last >= CPUS_MAX)
			return -EBADMSG;
		count += last - first + 1;
		next = last + 1;
		if (*at != ',')
			break;
		at++;
	}
	if (at != text + len - 1)
		return -EBADMSG;
	*ret = (uint32_t)count;
	return 0;
}

int cg_parse_limit(const char *text, size_t len, uint64_t *ret)
{
	uint64_t value;

	if (!text_valid(text, len) || scan_limit(text, &value) != text + len - 1)
		return -EBADMSG;
	*ret = value;
	return 0;
}

int cg_parse_mem_stat(const char *text, size_t len, uint64_t current, struct mem_stat *ret)
{
	struct raw {
		struct mem_stat stat;
		uint64_t stack, tables, percpu, slab, refault_anon, refault_file;
	} raw;
	static const struct key key[] = {
		KEY(struct raw, stat.anon, "anon"),
		KEY(struct raw, stat.file, "file"),
		KEY(struct raw, stat.kernel, "kernel"),
		KEY(struct raw, stack, "kernel_stack"),
		KEY(struct raw, tables, "pagetables"),
		KEY(struct raw, percpu, "percpu"),
		KEY(struct raw, stat.shmem, "shmem"),
		KEY(struct raw, stat.sock, "sock"),
		KEY(struct raw, stat.inactive_anon, "inactive_anon"),
		KEY(struct raw, stat.active_anon, "active_anon"),
		KEY(struct raw, stat.inactive_file, "inactive_file"),
		KEY(struct raw, stat.active_file, "active_file"),
		KEY(struct raw, stat.unevictable, "unevictable"),
		KEY(struct raw, stat.slab_reclaimable, "slab_reclaimable"),
		KEY(struct raw, refault_anon, "workingset_refault_anon"),
		KEY(struct raw, refault_file, "workingset_refault_file"),
		KEY(struct raw, slab, "slab"),
	};
	static const struct keys keys = KEYS(struct raw, key, 1u << 0 | 1u << 1);
	uint32_t seen;
	int r = parse_flat(text, len, &keys, &raw, &seen);

	if (r < 0)
		return r;
	if (!(seen & 1u << 2))
		mem_stat_no_kernel(&raw.stat,
				   raw.stack + raw.tables + raw.percpu +
					   MAX(raw.slab, raw.stat.slab_reclaimable),
				   current);
	raw.stat.refaults = raw.refault_anon + raw.refault_file;
	*ret = raw.stat;
	return 0;
}

int cg_parse_mem_events(const char *text, size_t len, struct mem_events *ret)
{
	static const struct key key[] = {
		KEY(struct mem_events, high, "high"),
		KEY(struct mem_events, max, "max"),
		KEY(struct mem_events, oom_kill, "oom_kill"),
		KEY(struct mem_events, oom_group_kill, "oom_group_kill"),
	};
	/* All but the last, which came with Linux 5.17. */
	static const struct keys keys =
		KEYS(struct mem_events, key, (1u << (ARRAY_SIZE(key) - 1)) - 1);
	uint32_t seen;

	return parse_flat(text, len, &keys, ret, &seen);
}

int cg_parse_mem_ooms(const char *text, size_t len, uint64_t *ret)
{
	static const struct key key[] = {{"oom", 3, 0}};
	static const struct keys keys = KEYS(uint64_t, key, 1);
	uint32_t seen;

	return parse_flat(text, len, &keys, ret, &seen);
}

/* The fields of one pressure line, from the blank after its name up to the newline. */
static const char *scan_psi_total(const char *p, uint64_t *ret_total)
{
	uint64_t total = 0;
	bool seen = false;

	while (*p == ' ') {
		const char *field = ++p, *value_end;

		p = scan_word(field);
		if (p == field)
			return NULL;
		if (!word_at(field, "total="))
			continue;
		value_end = scan_u64(field + 6, &total);
		if (seen || value_end == NULL || value_end != p)
			return NULL;
		seen = true;
	}
	if (!seen || *p != '\n')
		return NULL;
	*ret_total = total;
	return p;
}

int cg_parse_psi(const char *text, size_t len, uint64_t *ret)
{
	const char *end = text + len;
	bool seen = false;
	uint64_t total;

	if (!text_valid(text, len))
		return -EBADMSG;
	for (const char *p = text; p < end; p++) {
		if (!word_at(p, "some ")) {
			p = memchr(p, '\n', (size_t)(end - p));
			continue;
		}
		p = scan_psi_total(p + 4, &total);
		if (p == NULL || seen)
			return -EBADMSG;
		seen = true;
	}
	if (!seen)
		return -EBADMSG;
	*ret = total;
	return 0;
}

int cg_parse_state(const char *text, size_t len, struct cg_state *ret)
{
	struct raw {
		uint64_t populated, frozen;
	} raw;
	static const struct key key[] = {
		KEY(struct raw, populated, "populated"),
		KEY(struct raw, frozen, "frozen"),
	};
	static const struct keys keys = KEYS(struct raw, key, 1u << 0);
	uint32_t seen;
	int r = parse_flat(text, len, &keys, &raw, &seen);

	if (r < 0)
		return r;
	if (raw.populated > 1 || raw.frozen > 1)
		return -EBADMSG;
	*ret = (struct cg_state){.populated = raw.populated == 1, .frozen = raw.frozen == 1};
	return 0;
}

// clang-format off
static const struct {
	enum cg_controller bit;
	const char *name;
} controllers[] = {
	{CG_CPU,    "cpu"},
	{CG_MEMORY, "memory"},
	{CG_CPUSET, "cpuset"},
	{CG_IO,     "io"},
	{CG_PIDS,   "pids"},
};
// clang-format on

static uint32_t controller_bit(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++)
		if (strlen(controllers[i].name) == len &&
		    memcmp(controllers[i].name, name, len) == 0)
			return controllers[i].bit;
	return 0;
}

int cg_parse_controllers(const char *text, size_t len, uint32_t *ret_mask)
{
	const char *p = text;
	uint32_t mask = 0;

	if (len > 0 && !text_valid(text, len))
		return -EBADMSG;
	while (len > 0) {
		const char *end = scan_word(p);

		if (end == p || (*end != ' ' && *end != '\n'))
			return -EBADMSG;
		mask |= controller_bit(p, (size_t)(end - p));
		if (*end == '\n' && end != text + len - 1)
			return -EBADMSG;
		if (*end == '\n')
			break;
		p = end + 1;
	}
	*ret_mask = mask;
	return 0;
}
