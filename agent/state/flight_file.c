// SPDX-License-Identifier: Apache-2.0
#include "agent/state/flight_file.h"
#include "agent/base/file.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define HEADER       "vscaled-recording"
#define VERSION      3
#define HEADER_BYTES 64
#define CHECK_DIGITS 5
/* What the files of versions before began with. */
#define RING "VSCRING1"
/* Of containers: no node has more. */
#define NUMBERS 65536
#define WORD    sizeof(uint64_t)

/* Of what is seen, behind the time. */
static const size_t columns[] = {
	offsetof(struct usage, cpu_usage_usec),
	offsetof(struct usage, nr_periods),
	offsetof(struct usage, nr_throttled),
	offsetof(struct usage, stat.anon),
	offsetof(struct usage, events.oom_kill),
	offsetof(struct usage, limits.cpu_quota_usec),
	offsetof(struct usage, limits.cpu_period_usec),
	offsetof(struct usage, limits.mem_max),
};

/* What the words of a line may be of. */
struct line {
	struct flight_call call;
	struct control before;
	double weight[RESOURCE_COUNT][HISTOGRAM_BUCKETS];
	struct flight_node node;
};

#define AREA(letter, member)                                                                       \
	{letter, offsetof(struct line, member), sizeof((struct line *)0)->member / WORD}
static const struct area {
	const char *letter;
	size_t at, words;
} areas[] = {
	AREA("f", call),      AREA("c", before), AREA("x", weight[0]),
	AREA("y", weight[1]), AREA("n", node),
};

static_assert(sizeof(struct line) % WORD == 0 && sizeof(struct control) % WORD == 0 &&
		      sizeof(struct flight_call) % WORD == 0,
	      "written as words");

uint32_t flight_layout(void)
{
	static const uint32_t sizes[] = {
		sizeof(struct line),
		sizeof(struct control),
		sizeof(struct tuning),
		offsetof(struct control, cpu),
		offsetof(struct control, mem),
		offsetof(struct control, history),
		offsetof(struct control, last),
		REASON_COUNT * 1000 + BLOCKED_COUNT,
	};

	return crc32c(0, sizes, sizeof sizes);
}

void flight_file_name(const char *file, int age, char *ret, size_t size)
{
	snprintf(ret, size, age > 0 ? "%s.%d" : "%s", file, age);
}

/* ---- lines ---- */

static void put_number(struct text *t, const char *before, uint64_t v)
{
	text_add_string(t, before);
	text_add_number(t, v, 0);
}

static void put_words(struct text *t, const char *letter, const void *of, size_t size)
{
	bool follows = false;

	for (size_t i = 0; i < size / WORD; i++) {
		uint64_t v;

		memcpy(&v, (const uint8_t *)of + i * WORD, WORD);
		if (v != 0 && !follows) {
			text_add_string(t, " ");
			put_number(t, letter, i);
		}
		if (v != 0)
			put_number(t, follows ? "," : "=", v);
		follows = v != 0;
	}
}

/* Ends the line that begins at *from, which is moved on. */
static void end_line(struct text *t, size_t *from)
{
	uint16_t check = (uint16_t)crc32c(0, t->buf + *from, t->used - *from);

	text_add_string(t, " ");
	text_add_number(t, check, CHECK_DIGITS);
	text_add_string(t, "\n");
	*from = t->used;
}

static void put_header(struct text *t)
{
	size_t from = t->used;

	put_number(t, HEADER " ", VERSION);
	put_number(t, " ", flight_layout());
	end_line(t, &from);
}

static void put_line(struct text *t, const struct flight_line *line)
{
	struct usage seen = *line->seen;
	const double *cpu, *memory;
	struct control c;
	uint64_t v;

	seen.stat.anon = mem_unreclaimable(&seen.stat);
	text_add_string(t, flight_kind_names[line->kind]);
	put_number(t, " ", line->number);
	put_number(t, " ", line->now_real);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		memcpy(&v, (const uint8_t *)&seen + columns[i], WORD);
		put_number(t, " ", v);
	}
	if (line->call != NULL)
		put_words(t, "f", line->call, sizeof *line->call);
	if (line->before == NULL)
		return;
	/* What it points to stands by itself. */
	c = *line->before;
	cpu = c.history.cpu.weight;
	memory = c.history.memory.weight;
	c.history.cpu.weight = c.history.memory.weight = NULL;
	c.history.cpu.options = c.history.memory.options = NULL;
	put_words(t, "c", &c, sizeof c);
	put_words(t, "x", cpu, c.history.cpu.count * WORD);
	put_words(t, "y", memory, c.history.memory.count * WORD);
}

/* ---- writing ---- */

/* On the saver's thread. A text that begins with a header begins a file. */
static int append(int dir, const char *text, size_t size)
{
	OWN(drop_fd) int fd = -1;
	char from[sizeof FLIGHT_FILE + 4], to[sizeof FLIGHT_FILE + 4];

	for (int age = FLIGHT_FILES - 1; age > 0 && *text == *HEADER; age--) {
		flight_file_name(FLIGHT_FILE, age - 1, from, sizeof from);
		flight_file_name(FLIGHT_FILE, age, to, sizeof to);
		if (renameat(dir, from, dir, to) < 0 && errno != ENOENT)
			return -errno;
	}
	fd = openat(dir, FLIGHT_FILE, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	return state_write_all(fd, text, size);
}

int flight_log_flush(struct flight_log *l)
{
	struct save save = {.append = append, .len = l->lines.used};
	int r;

	saver_take(l->saver, SAVE_RECORDING, &l->error);
	if (save.len == 0 || saver_busy(l->saver, SAVE_RECORDING))
		return l->error;
	save.body = malloc(save.len);
	if (save.body == NULL)
		return -ENOMEM;
	memcpy(save.body, l->lines.buf, save.len);
	l->lines.used = 0;
	r = saver_put(l->saver, SAVE_RECORDING, l->dir, &save);
	if (r < 0)
		l->error = r;
	return l->error;
}

/* Names and node follow anew. before: an empty line, in a file that may end in a torn one. */
static void begin(struct flight_log *l, const char *before)
{
	l->files++;
	l->node = (struct flight_node){0};
	text_add_string(&l->lines, before);
	put_header(&l->lines);
}

int flight_log_open(struct flight_log *l, struct saver *saver, int dir, uint64_t bytes)
{
	OWN(drop_fd)
	int fd = openat(dir, FLIGHT_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char ours[HEADER_BYTES], first[HEADER_BYTES];
	struct text header = text_over(ours, sizeof ours);
	size_t size = 0;
	bool goes_on;

	if (fd < 0 && errno != ENOENT)
		return -errno;
	put_header(&header);
	goes_on = fd >= 0 && read_whole(fd, first, header.used, &size) == 0 &&
		  size == header.used && memcmp(first, ours, size) == 0;
	l->saver = saver;
	l->dir = dir;
	l->size = goes_on ? (uint64_t)lseek(fd, 0, SEEK_END) : 0;
	l->size_max = bytes / FLIGHT_FILES;
	l->lines = text_over(l->waiting, sizeof l->waiting);
	begin(l, goes_on ? "\n" : "");
	return 0;
}

void flight_log_add(struct flight_log *l, const struct tuning *tuning, uint64_t cpu_milli,
		    const struct flight_line *line)
{
	const struct flight_node node = {*tuning, cpu_milli};
	size_t first, from;

	if (l->lines.used > FLIGHT_WAITING_BYTES / 8)
		flight_log_flush(l);
	/* What waits belongs to the file before. Of that, what was not written may be its begin. */
	if (l->lines.used == 0 && l->error < 0) {
		begin(l, "\n");
	} else if (l->lines.used == 0 && l->size > l->size_max) {
		l->size = 0;
		begin(l, "");
	}
	from = first = l->lines.used;
	/* A number that is written as other bytes is written anew: no harm. */
	if (memcmp((const char *)&l->node, (const char *)&node, sizeof node) != 0) {
		l->node = node;
		text_add_string(&l->lines, "node");
		put_words(&l->lines, "n", &l->node, sizeof l->node);
		end_line(&l->lines, &from);
	}
	if (*line->file != l->files) {
		put_number(&l->lines, "name ", line->number);
		text_add_string(&l->lines, " ");
		text_add_string(&l->lines, line->name);
		end_line(&l->lines, &from);
	}
	put_line(&l->lines, line);
	end_line(&l->lines, &from);
	if (l->lines.full) {
		l->lines.full = false;
		l->lines.used = first;
		l->node.cpu_milli = 0;
		l->dropped++;
		return;
	}
	*line->file = l->files;
	l->size += from - first;
}

/* ---- reading ---- */

struct reading {
	bool begun;
	struct flight_node node;
	char **names; /* by number; owned */
	size_t name_count;
	struct line line; /* under way */
	flight_event_fn *call;
	void *user;
};

/* Of a line. */
struct rest {
	const char *at, *end;
};

static bool take(struct rest *r, const char *text)
{
	size_t size = strlen(text);

	if ((size_t)(r->end - r->at) < size || memcmp(r->at, text, size) != 0)
		return false;
	r->at += size;
	return true;
}

static bool take_number(struct rest *r, const char *before, uint64_t *ret)
{
	const char *end;

	if (!take(r, before))
		return false;
	/* A blank or the line's end is behind it. */
	end = text_number(r->at, ret);
	r->at = end != NULL ? end : r->at;
	return end != NULL;
}

static int take_words(struct rest *r, struct line *ret)
{
	while (take(r, " ")) {
		const struct area *a = areas;
		const char *before = "=";
		uint64_t i, v;

		while (a < areas + ARRAY_SIZE(areas) && !take(r, a->letter))
			a++;
		if (a == areas + ARRAY_SIZE(areas) || !take_number(r, "", &i))
			return -EBADMSG;
		do {
			if (i >= a->words || !take_number(r, before, &v))
				return -EBADMSG;
			memcpy((uint8_t *)ret + a->at + i++ * WORD, &v, WORD);
			before = ",";
		} while (r->at < r->end && *r->at == *before);
	}
	return r->at == r->end ? 0 : -EBADMSG;
}

static int on_name(struct reading *r, struct rest *rest)
{
	uint64_t number;

	if (!take_number(rest, "", &number) || number >= NUMBERS || !take(rest, " "))
		return -EBADMSG;
	if (number >= r->name_count) {
		char **names = reallocarray(r->names, number + 1, sizeof *names);

		if (names == NULL)
			return -ENOMEM;
		memset(names + r->name_count, 0, (number + 1 - r->name_count) * sizeof *names);
		r->names = names;
		r->name_count = number + 1;
	}
	free(r->names[number]);
	r->names[number] = strndup(rest->at, (size_t)(rest->end - rest->at));
	return r->names[number] != NULL ? 0 : -ENOMEM;
}

static int on_node(struct reading *r, struct rest *rest)
{
	int e;

	r->line.node = (struct flight_node){0};
	e = take_words(rest, &r->line);
	r->node = r->line.node;
	return e;
}

static int on_call(struct reading *r, enum flight_kind kind, struct rest *rest)
{
	struct line *l = &r->line;
	struct flight_event event = {.kind = kind, .call = &l->call};
	uint64_t number, v;
	int e;

	*l = (struct line){.call.usage.have = USAGE_CPU | USAGE_THROTTLE | USAGE_MEM_STAT};
	if (!take_number(rest, " ", &number) || number >= NUMBERS ||
	    !take_number(rest, " ", &l->call.now_real))
		return -EBADMSG;
	event.container = number < r->name_count ? r->names[number] : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (!take_number(rest, " ", &v))
			return -EBADMSG;
		memcpy((uint8_t *)&l->call.usage + columns[i], &v, WORD);
	}
	if (kind != FLIGHT_SAMPLE)
		l->call = (struct flight_call){0};
	e = take_words(rest, l);
	if (e == 0 && !flight_possible(&l->call))
		e = -EBADMSG;
	/* Its name was torn. */
	if (e < 0 || event.container == NULL)
		return e;
	/* No control is without it. */
	if (l->before.page_bytes != 0) {
		l->before.history.cpu.weight = l->weight[RESOURCE_CPU];
		l->before.history.memory.weight = l->weight[RESOURCE_MEMORY];
		e = flight_replay(&l->before, &r->node, kind, &l->call);
		event.replayed = true;
		event.same = e > 0;
	}
	return e >= 0 ? r->call(r->user, &event) : e;
}

static int on_line(struct reading *r, struct rest *rest)
{
	uint64_t version, layout;

	if (take_number(rest, HEADER " ", &version)) {
		r->begun = version == VERSION && take_number(rest, " ", &layout) &&
			   layout == flight_layout();
		return r->begun ? 0 : -EPROTONOSUPPORT;
	}
	if (!r->begun)
		return 0;
	if (take(rest, "name "))
		return on_name(r, rest);
	if (take(rest, "node"))
		return on_node(r, rest);
	for (enum flight_kind kind = 0; kind < FLIGHT_KIND_COUNT; kind++)
		if (take(rest, flight_kind_names[kind]))
			return on_call(r, kind, rest);
	return -EBADMSG;
}

/* Without its checksum; false: it is torn. */
static bool is_whole(const char *line, size_t size, struct rest *ret)
{
	struct rest check;
	uint64_t v;

	if (size <= CHECK_DIGITS)
		return false;
	*ret = (struct rest){line, line + size - CHECK_DIGITS - 1};
	check = (struct rest){ret->end, line + size};
	return take_number(&check, " ", &v) &&
	       v == (uint16_t)crc32c(0, line, (size_t)(ret->end - line));
}

int flight_read(const char *text, size_t size, flight_event_fn *call, void *user)
{
	struct reading *r = calloc(1, sizeof *r);
	const char *next;
	struct rest rest = {text, text + size};
	int e = 0;

	if (r == NULL)
		return -ENOMEM;
	r->call = call;
	r->user = user;
	if (take(&rest, RING))
		e = -EPROTONOSUPPORT;
	for (; e >= 0 && (next = memchr(text, '\n', size)) != NULL; text = next + 1) {
		size -= (size_t)(next + 1 - text);
		if (is_whole(text, (size_t)(next - text), &rest))
			e = on_line(r, &rest);
	}
	if (e == 0 && !r->begun)
		e = -EBADMSG;
	for (size_t i = 0; i < r->name_count; i++)
		free(r->names[i]);
	free(r->names);
	free(r);
	return e;
}
