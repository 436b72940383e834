// SPDX-License-Identifier: Apache-2.0
#include "cgroup/bpf/reader_bpf.h"
#include "cgroup/bpf/kernel/scan.h"
#include "cgroup/bpf/load_child.h"
#include "cgroup/bpf/scan_record.h"
#include "scan_acquire.skel.h"
#include "scan_cgroup.skel.h"
#include "scan_css.skel.h"
#include "scan_first.skel.h"
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct cg_scan {
	/* What holds the program and its maps in the kernel. */
	int link_fd;
	int slots_fd;
	struct scan_control *control; /* shared with the program */
	struct scan_record *records;  /* likewise, by slot */
	size_t records_bytes;
	uint64_t page_bytes;
	uint32_t offers;
	uint32_t slot_count;
	uint32_t free_count;
	uint32_t *free; /* stack of slots */
	uint64_t *ids;  /* by slot; 0: free */
	/* What holds the program that reports throttling, and its messages; -1, NULL: none. */
	int throttle_link_fd;
	int throttles_fd;
	struct ring_buffer *throttles;
	cg_throttled_fn *throttled;
	void *throttled_ctx;
};

/* Newest first; one that the kernel refuses is followed by the next. */
static const struct build {
	const char *name;
	const char *imports[3]; /* functions of the kernel */
	const void *(*elf)(size_t *ret_bytes);
} builds[] = {
	{"for 7.0",
	 {"css_rstat_flush", "bpf_rdonly_cast", "bpf_get_mem_cgroup"},
	 scan_acquire__elf_bytes},
	{"for 6.16", {"css_rstat_flush", "bpf_rdonly_cast"}, scan_css__elf_bytes},
	{"for 6.2", {"cgroup_rstat_flush", "bpf_rdonly_cast"}, scan_cgroup__elf_bytes},
	{"for 6.1", {"cgroup_rstat_flush"}, scan_first__elf_bytes},
};

// clang-format off
/* Lines of memory.stat: the kernel's name of each, and its place in memcg_vmstats.state where the
 * array holds only what the memory controller counts (since 6.10). There the order is that of
 * memcg_node_stat_items in mm/memcontrol.c, which no type describes; -1: counted from the array's
 * end. */
static const struct stat_name {
	const char *type;
	const char *name;
	int dense;
} stat_names[SCAN_STATS] = {
	[SCAN_STAT_ANON]             = {"node_stat_item",  "NR_ANON_MAPPED",          14},
	[SCAN_STAT_FILE]             = {"node_stat_item",  "NR_FILE_PAGES",           16},
	[SCAN_STAT_KERNEL]           = {"memcg_stat_item", "MEMCG_KMEM",              -1},
	[SCAN_STAT_SHMEM]            = {"node_stat_item",  "NR_SHMEM",                19},
	[SCAN_STAT_UNEVICTABLE]      = {"node_stat_item",  "NR_UNEVICTABLE",           4},
	[SCAN_STAT_SLAB_RECLAIMABLE] = {"node_stat_item",  "NR_SLAB_RECLAIMABLE_B",    5},
	[SCAN_STAT_SOCK]             = {"memcg_stat_item", "MEMCG_SOCK",              -1},
	[SCAN_STAT_INACTIVE_ANON]    = {"node_stat_item",  "NR_INACTIVE_ANON",         0},
	[SCAN_STAT_ACTIVE_ANON]      = {"node_stat_item",  "NR_ACTIVE_ANON",           1},
	[SCAN_STAT_INACTIVE_FILE]    = {"node_stat_item",  "NR_INACTIVE_FILE",         2},
	[SCAN_STAT_ACTIVE_FILE]      = {"node_stat_item",  "NR_ACTIVE_FILE",           3},
	[SCAN_STAT_REFAULT_ANON]     = {"node_stat_item",  "WORKINGSET_REFAULT_ANON",  7},
	[SCAN_STAT_REFAULT_FILE]     = {"node_stat_item",  "WORKINGSET_REFAULT_FILE",  8},
};
// clang-format on

/* Value of an enumerator, -ENOENT if the kernel has none of that name. */
static int enum_value(const struct btf *btf, const char *type, const char *name)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_ENUM);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, (__u32)id);

	for (int i = 0; t != NULL && i < btf_vlen(t); i++)
		if (strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), name) == 0)
			return btf_enum(t)[i].val;
	return -ENOENT;
}

/* How many counters memcg_vmstats.state holds, -ENOENT. */
static int state_length(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "memcg_vmstats", BTF_KIND_STRUCT);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, (__u32)id);

	for (int i = 0; t != NULL && i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const struct btf_type *type = btf__type_by_id(btf, m->type);

		if (strcmp(btf__name_by_offset(btf, m->name_off), "state") == 0 &&
		    btf_is_array(type))
			return (int)btf_array(type)->nelems;
	}
	return -ENOENT;
}

/* What the kernel's types describe, looked up in one go: the description takes megabytes. */
struct findings {
	bool fits[ARRAY_SIZE(builds)];
	bool stats;     /* stat_at is known */
	bool throttles; /* there is a function to attach to */
	uint32_t stat_at[SCAN_STATS];
};

/* Where the lines of memory.stat are counted; false: unknown, then they are not offered. */
static bool find_stats(const struct btf *btf, uint32_t *ret_at)
{
	int length = state_length(btf);
	int all = enum_value(btf, "memcg_stat_item", "MEMCG_NR_STAT");

	if (length < 0 || all < 0)
		return false;
	for (int i = 0; i < SCAN_STATS; i++) {
		const struct stat_name *s = &stat_names[i];
		int at = enum_value(btf, s->type, s->name);

		if (at >= 0 && length != all)
			at = s->dense >= 0 ? s->dense : length - (all - at);
		if (at < 0 || at >= length)
			return false;
		ret_at[i] = (uint32_t)at;
	}
	return true;
}

static bool has_imports(const struct btf *btf, const struct build *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(b->imports); i++)
		if (b->imports[i] != NULL &&
		    btf__find_by_name_kind(btf, b->imports[i], BTF_KIND_FUNC) < 0)
			return false;
	return true;
}

static int look_up(struct findings *ret, struct cg_probe *p)
{
	struct btf *btf;

	cg_probe_listen();
	btf = btf__load_vmlinux_btf();
	if (btf == NULL)
		(void)cg_probe_fault(p, -errno, "the kernel's types: %s", strerror(errno));
	cg_probe_listen_end(p);
	if (btf == NULL)
		return p->error;
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++)
		ret->fits[i] = has_imports(btf, &builds[i]);
	ret->throttles = btf__find_by_name_kind(btf, "throttle_cfs_rq", BTF_KIND_FUNC) >= 0;
	ret->stats = find_stats(btf, ret->stat_at);
	if (!ret->stats)
		memset(ret->stat_at, 0, sizeof ret->stat_at);
	btf__free(btf);
	return 0;
}

/* The input of the loading process. */
struct order {
	int root_dirfd;
	uint32_t slot_count;
	bool throttles;
};

/* The descriptors that it returns, in this order; its number is whether memory.stat is known. */
enum {
	LOADED_LINK,
	LOADED_SLOTS,
	LOADED_CONTROL,
	LOADED_RECORDS,
	LOADED_THROTTLES, /* these two only where throttling is reported */
	LOADED_THROTTLE_LINK
};

/* The object, with its maps sized and its constants set, in the kernel. */
static int set_up(const struct order *o, const struct build *b, const struct findings *found,
		  struct bpf_object **ret, struct cg_probe *p)
{
	struct bpf_map *slots, *records, *constants, *throttles;
	struct bpf_program *throttled;
	size_t bytes = 0;
	const void *elf = b->elf(&bytes);
	int r;

	*ret = bpf_object__open_mem(elf, bytes, NULL);
	if (*ret == NULL)
		return cg_probe_fault(p, -errno, "not opened: %s", strerror(errno));
	slots = bpf_object__find_map_by_name(*ret, "slots");
	records = bpf_object__find_map_by_name(*ret, "records");
	constants = bpf_object__find_map_by_name(*ret, ".rodata");
	throttles = bpf_object__find_map_by_name(*ret, "throttles");
	throttled = bpf_object__find_program_by_name(*ret, "throttled");
	if (slots == NULL || records == NULL || constants == NULL || throttles == NULL ||
	    throttled == NULL)
		return cg_probe_fault(p, -ENOENT, "the object lacks a part");
	bpf_program__set_autoload(throttled, found->throttles);
	bpf_map__set_autocreate(throttles, found->throttles);
	bpf_map__set_max_entries(slots, o->slot_count);
	bpf_map__set_max_entries(records, o->slot_count);
	r = bpf_map__set_initial_value(constants, found->stat_at, sizeof found->stat_at);
	if (r == 0)
		r = bpf_object__load(*ret);
	if (r < 0)
		return cg_probe_fault(p, r, "build %s: not loaded: %s", b->name, strerror(-r));
	return 0;
}

static int reader_bpf_attach(struct bpf_object *object, int root_dirfd, struct cg_load_result *ret,
			     struct cg_probe *p)
{
	union bpf_iter_link_info info = {
		.cgroup = {.order = BPF_CGROUP_ITER_DESCENDANTS_PRE,
			   .cgroup_fd = (__u32)root_dirfd},
	};
	struct bpf_iter_attach_opts options;
	struct bpf_program *program = bpf_object__find_program_by_name(object, "scan");
	struct bpf_link *link;
	int r;

	if (program == NULL)
		return cg_probe_fault(p, -ENOENT, "the object lacks its program");
	/* libbpf wants the padding to be zero as well, which an initializer does not promise. */
	memset(&options, 0, sizeof options);
	options.sz = sizeof options;
	options.link_info = &info;
	options.link_info_len = sizeof info;
	link = bpf_program__attach_iter(program, &options);
	if (link == NULL) {
		r = -errno;
		return cg_probe_fault(p, r, "not attached: %s", strerror(-r));
	}
	r = cg_load_keep(ret, bpf_link__fd(link), p);
	bpf_link__destroy(link);
	return r;
}

static int keep_maps(struct bpf_object *object, bool throttles, struct cg_load_result *ret,
		     struct cg_probe *p)
{
	static const char *const names[] = {"slots", ".bss", "records", "throttles"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names) - !throttles; i++)
		r = cg_load_keep(ret, bpf_object__find_map_fd_by_name(object, names[i]), p);
	return r;
}

static int attach_throttled(struct bpf_object *object, struct cg_load_result *ret,
			    struct cg_probe *p)
{
	struct bpf_link *link =
		bpf_program__attach(bpf_object__find_program_by_name(object, "throttled"));
	int r = link == NULL ? -errno : 0;

	if (link == NULL)
		return cg_probe_fault(p, r, "throttle events: not attached: %s", strerror(-r));
	r = cg_load_keep(ret, bpf_link__fd(link), p);
	bpf_link__destroy(link);
	return r;
}

static int load_build(const struct order *o, const struct build *b, const struct findings *found,
		      struct cg_load_result *ret, struct cg_probe *p)
{
	struct bpf_object *object = NULL;
	int r;

	cg_probe_listen();
	r = set_up(o, b, found, &object, p);
	if (r == 0)
		r = reader_bpf_attach(object, o->root_dirfd, ret, p);
	if (r == 0)
		r = keep_maps(object, found->throttles, ret, p);
	if (r == 0 && found->throttles)
		r = attach_throttled(object, ret, p);
	cg_probe_listen_end(p);
	bpf_object__close(object);
	if (r < 0) {
		cg_load_drop(ret);
		return r;
	}
	ret->number = found->stats;
	return cg_probe_fault(p, 0, "loaded, build %s%s%s", b->name,
			      found->stats ? "" : ", no memory.stat",
			      found->throttles ? ", throttle events" : ", no throttle events");
}

/* In a process of its own: loads the newest build that this kernel takes, with throttle events if
 * that can be. */
static int reader_bpf_load(void *ctx, struct cg_load_result *ret, struct cg_probe *p)
{
	const struct order *o = ctx;
	struct findings found = {0};
	char why[CG_PROBE_TEXT_BYTES] = "";
	int r = look_up(&found, p);

	if (r < 0)
		return r;
	found.throttles &= o->throttles;
	r = cg_probe_fault(p, -EOPNOTSUPP, "this kernel offers no way to flush statistics");
	for (size_t i = 0, tries = ARRAY_SIZE(builds) << found.throttles; r < 0 && i < tries; i++) {
		size_t k = i % ARRAY_SIZE(builds);

		found.throttles = i + ARRAY_SIZE(builds) < tries;
		if (!found.fits[k])
			continue;
		r = load_build(o, &builds[k], &found, ret, p);
		if (r < 0 && why[0] == '\0')
			memcpy(why, p->why, sizeof why);
	}
	/* The newest build is the one that this kernel should have taken. */
	if (why[0] != '\0' && strcmp(why, p->why) != 0)
		snprintf(p->why + strlen(p->why), sizeof p->why - strlen(p->why), " (%s)", why);
	return r;
}

static int on_throttle(void *ctx, void *data, size_t bytes)
{
	struct cg_scan *s = ctx;
	const struct scan_throttle *event = data;

	if (bytes == sizeof *event && event->slot < s->slot_count && s->ids[event->slot] != 0)
		s->throttled(s->throttled_ctx, event->slot, event->period_end_nsec / 1000);
	/* One at a time: the next one has its own time, and what is urgent comes in between. */
	return -EAGAIN;
}

/* Without them the limits of throttled groups are raised a little later. */
static void take_throttles(struct cg_scan *s, struct cg_load_result *loaded)
{
	if (loaded->count <= LOADED_THROTTLE_LINK)
		return;
	s->throttles_fd = cg_load_take(loaded, LOADED_THROTTLES);
	s->throttle_link_fd = cg_load_take(loaded, LOADED_THROTTLE_LINK);
	s->throttles = ring_buffer__new(s->throttles_fd, on_throttle, s, NULL);
}

/* Maps the first bytes of a map to *ret. */
static int share(int map_fd, size_t bytes, void **ret, struct cg_probe *p)
{
	void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);

	if (shared == MAP_FAILED)
		return cg_probe_fault(p, -errno, "not shared: %s", strerror(errno));
	*ret = shared;
	return 0;
}

/* Where what was loaded is used. */
static int reader_bpf_take(struct cg_scan *s, struct cg_load_result *loaded, struct cg_probe *p)
{
	int r;

	s->offers = loaded->number != 0 ? SCAN_ALL : SCAN_ALL & ~(uint32_t)SCAN_MEM_STAT;
	s->link_fd = cg_load_take(loaded, LOADED_LINK);
	s->slots_fd = cg_load_take(loaded, LOADED_SLOTS);
	r = share(loaded->fd[LOADED_CONTROL], sizeof *s->control, (void **)&s->control, p);
	if (r == 0)
		r = share(loaded->fd[LOADED_RECORDS], s->records_bytes, (void **)&s->records, p);
	if (r == 0)
		take_throttles(s, loaded);
	return r;
}

static int allocate(struct cg_scan *s, uint32_t slots)
{
	long page = sysconf(_SC_PAGESIZE);

	s->link_fd = s->slots_fd = s->throttles_fd = s->throttle_link_fd = -1;
	s->page_bytes = (uint64_t)page;
	s->slot_count = slots;
	s->records_bytes = slots * sizeof(struct scan_record);
	s->free = malloc(slots * sizeof *s->free);
	s->ids = calloc(slots, sizeof *s->ids);
	if (s->free == NULL || s->ids == NULL)
		return -ENOMEM;
	while (s->free_count < slots) {
		s->free[s->free_count] = slots - 1 - s->free_count;
		s->free_count++;
	}
	return 0;
}

int cg_scan_open(int root_dirfd, uint32_t slots, bool throttles, struct cg_scan **ret,
		 struct cg_probe *p)
{
	OWN(drop_cg_scan) struct cg_scan *s = NULL;
	struct order order = {root_dirfd, slots, throttles};
	struct cg_load_result loaded = {0};
	int r;

	*p = (struct cg_probe){.program = "scan"};
	if (slots == 0 || slots > CG_SCAN_SLOTS_MAX)
		return cg_probe_fault(p, -EINVAL, "%u slots", slots);
	r = cg_probe_host(p);
	if (r < 0)
		return r;
	s = calloc(1, sizeof *s);
	r = s == NULL ? -ENOMEM : allocate(s, slots);
	if (r < 0)
		return cg_probe_fault(p, r, "%s", strerror(-r));
	r = cg_load_in_child(reader_bpf_load, &order, &loaded, p);
	if (r == 0)
		r = reader_bpf_take(s, &loaded, p);
	cg_load_drop(&loaded);
	if (r < 0)
		return r;
	*ret = STEAL(s);
	return 0;
}

void cg_scan_close(struct cg_scan *s)
{
	if (s == NULL)
		return;
	if (s->control != NULL)
		munmap(s->control, sizeof *s->control);
	if (s->records != NULL)
		munmap(s->records, s->records_bytes);
	ring_buffer__free(s->throttles);
	if (s->throttles_fd >= 0)
		close(s->throttles_fd);
	if (s->throttle_link_fd >= 0)
		close(s->throttle_link_fd);
	if (s->link_fd >= 0)
		close(s->link_fd);
	if (s->slots_fd >= 0)
		close(s->slots_fd);
	free(s->free);
	free(s->ids);
	free(s);
}

uint32_t cg_scan_offers(const struct cg_scan *s)
{
	return s->offers;
}

int cg_scan_add(struct cg_scan *s, uint64_t id, uint32_t *ret_slot)
{
	uint32_t slot;

	if (id == 0)
		return -EINVAL;
	if (s->free_count == 0)
		return -ENOSPC;
	slot = s->free[s->free_count - 1];
	if (bpf_map_update_elem(s->slots_fd, &id, &slot, BPF_NOEXIST) < 0)
		return -errno;
	s->free_count--;
	s->ids[slot] = id;
	*ret_slot = slot;
	return 0;
}

void cg_scan_remove(struct cg_scan *s, uint32_t slot)
{
	if (slot >= s->slot_count || s->ids[slot] == 0)
		return;
	(void)bpf_map_delete_elem(s->slots_fd, &s->ids[slot]);
	s->ids[slot] = 0;
	/* A result of an earlier pass must not count for the next owner of the slot. */
	s->records[slot].pass = 0;
	s->records[slot].armed = 0;
	s->free[s->free_count++] = slot;
}

int cg_scan_throttles_fd(const struct cg_scan *s)
{
	return s->throttles != NULL ? ring_buffer__epoll_fd(s->throttles) : -EOPNOTSUPP;
}

void cg_scan_arm(struct cg_scan *s, uint32_t slot)
{
	if (slot < s->slot_count && s->ids[slot] != 0)
		s->records[slot].armed = 1;
}

void cg_scan_take_throttles(struct cg_scan *s, cg_throttled_fn *throttled, void *ctx)
{
	s->throttled = throttled;
	s->throttled_ctx = ctx;
	(void)ring_buffer__consume(s->throttles);
}

int cg_scan_pass(struct cg_scan *s, uint32_t want)
{
	char nothing[64];
	ssize_t n;
	int fd, r = 0;

	s->control->pass++;
	s->control->want = want;
	/* A walk is read once; a new one over the same link costs no loading. */
	fd = bpf_iter_create(s->link_fd);
	if (fd < 0)
		return -errno;
	do
		n = read(fd, nothing, sizeof nothing);
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	if (n < 0)
		r = -errno;
	close(fd);
	if (r == 0 && s->control->walked != s->control->pass)
		r = -ENODEV;
	return r;
}

int cg_scan_get(const struct cg_scan *s, uint32_t slot, uint32_t want, struct usage *ret)
{
	struct scan_expect e = {
		.pass = s->control->pass, .page_bytes = s->page_bytes, .want = want & s->offers};

	if (slot >= s->slot_count || s->ids[slot] == 0 || e.pass == 0)
		return -ENODEV;
	e.id = s->ids[slot];
	return scan_record_decode(&s->records[slot], sizeof s->records[slot], &e, ret);
}

uint32_t cg_scan_passed(const struct cg_scan *s)
{
	return s->offers & s->control->want;
}

void cg_scan_withdraw(struct cg_scan *s, uint32_t parts)
{
	s->offers &= ~parts;
}

/* --- the proof */

/* A busy cgroup changes between two reads; a wrong offset is wrong every time. */
#define TRIES 16

/* Flushes, so that the text reads that frame a pass are as fresh as the pass. */
static int reader_bpf_prove_compare(struct cg_scan *s, struct cg *c, uint32_t slot,
				    uint64_t *ret_differs)
{
	uint32_t want = cg_scan_offers(s);
	struct usage before, scan, after;
	int r = cg_scan_pass(s, want);

	if (r == 0)
		r = cg_read(c, want, &before);
	if (r == 0)
		r = cg_scan_pass(s, want);
	if (r == 0)
		r = cg_scan_get(s, slot, want, &scan);
	if (r == 0)
		r = cg_read(c, want, &after);
	if (r == 0)
		*ret_differs = scan_differing_fields(&before, &scan, &after);
	return r;
}

static void name_parts(uint32_t parts, struct cg_probe *p)
{
	static const struct {
		uint32_t part;
		const char *name;
	} names[] = {
		{USAGE_CPU, "CPU time"},         {USAGE_THROTTLE, "throttling"},
		{USAGE_MEM, "memory.current"},   {USAGE_MEM_STAT, "memory.stat"},
		{USAGE_MEM_PEAK, "memory.peak"}, {USAGE_MEM_EVENTS, "memory.events"},
		{USAGE_PSI_CPU, "cpu.pressure"}, {USAGE_PSI_MEM, "memory.pressure"},
		{USAGE_CPU_LIMIT, "cpu.max"},    {USAGE_MEM_LIMIT, "memory.max and high"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(p->why);

		if (parts & names[i].part)
			snprintf(p->why + len, sizeof p->why - len, "%s %s",
				 len == 0 || p->why[len - 1] == ':' ? "" : ",", names[i].name);
	}
}

int cg_scan_prove(struct cg_scan *s, struct cg *c, struct cg_probe *p)
{
	uint64_t open = UINT64_MAX, differs;
	uint32_t slot, parts;
	int r = cg_scan_add(s, cg_id(c), &slot);

	if (r < 0)
		return r;
	/* A field is proven by one comparison that agrees: in a busy cgroup some field of
	 * memory.stat goes up and down at any moment. */
	for (int i = 0; i < TRIES && open != 0 && r == 0; i++) {
		r = reader_bpf_prove_compare(s, c, slot, &differs);
		if (r == 0)
			open &= differs;
	}
	cg_scan_remove(s, slot);
	if (r < 0)
		return r;
	parts = scan_parts_of(open);
	cg_scan_withdraw(s, parts);
	if (parts != 0) {
		size_t len = strlen(p->why);

		snprintf(p->why + len, sizeof p->why - len, "; unlike its file, so left to it:");
		name_parts(parts, p);
	}
	return 0;
}
