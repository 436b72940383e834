// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/top.h"
#include "agent/ctl/client.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define BAR_CELLS     8
#define LINES_OF_HEAD 3
#define AMOUNTS       13
/* All columns but the name, and bars where there is room for them. */
#define WIDTH_OF_REST 59
#define WIDTH_OF_BARS (2 * (BAR_CELLS + 3))
#define WIDTH_BARS    100
#define WARN_PERMILLE 800
#define BAD_PERMILLE  950

const char *const top_sort_names[TOP_SORT_COUNT] = {
	[TOP_CPU] = "cpu",     [TOP_MEMORY] = "memory", [TOP_PRESSURE] = "pressure",
	[TOP_SLACK] = "slack", [TOP_AGE] = "age",       [TOP_NAME] = "name",
};

/* The key that sorts so: c, m, p, s, a, n. false: no such key. */
static bool top_sort_key(int key, enum top_sort *ret)
{
	for (int i = 0; i < TOP_SORT_COUNT; i++) {
		if (top_sort_names[i][0] == key) {
			*ret = (enum top_sort)i;
			return true;
		}
	}
	return false;
}

/* ---- what is known of a unit ---- */

/* The limit in force; VIEW_NONE: not known. */
static uint64_t known_limit(const cJSON *resource)
{
	uint64_t kernel = json_amount(resource, "kernel");

	return kernel != VIEW_NONE ? kernel : json_amount(resource, "limit");
}

/* The same; LIMIT_MAX: none or not known. */
static uint64_t limit_of(const cJSON *resource)
{
	uint64_t limit = known_limit(resource);

	return limit == VIEW_NONE ? LIMIT_MAX : limit;
}

/* 0: none or not known. */
static uint64_t number_of(const cJSON *resource, const char *key)
{
	uint64_t amount = json_amount(resource, key);

	return amount == VIEW_NONE ? 0 : amount;
}

static uint64_t share_permille(const cJSON *resource)
{
	uint64_t limit = limit_of(resource);

	return limit == LIMIT_MAX || limit == 0 ? 0 : number_of(resource, "use") * 1000 / limit;
}

static const cJSON *last_of(const cJSON *unit)
{
	const cJSON *cpu = json_object(json_object(unit, "cpu"), "last");
	const cJSON *memory = json_object(json_object(unit, "memory"), "last");

	return json_time(memory, "at") > json_time(cpu, "at") ? memory : cpu;
}

/* What a larger value of comes first. */
static uint64_t rank(const cJSON *unit, enum top_sort sort)
{
	const cJSON *cpu = json_object(unit, "cpu"), *memory = json_object(unit, "memory");
	uint64_t limit = limit_of(memory);

	switch (sort) {
	case TOP_MEMORY:
		return number_of(memory, "use");
	case TOP_PRESSURE:
		return number_of(cpu, "psi_some_ppm") + number_of(memory, "psi_some_ppm");
	case TOP_SLACK:
		return limit == LIMIT_MAX || limit < number_of(memory, "use")
			       ? 0
			       : limit - number_of(memory, "use");
	case TOP_AGE:
		return json_time(last_of(unit), "at");
	default:
		return number_of(cpu, "use");
	}
}

/* ---- which units, in which order ---- */

struct entry {
	const cJSON *unit;
	uint64_t rank;
};

static bool passes(const cJSON *unit, const char *filter)
{
	return filter[0] == '\0' || strstr(json_text(unit, "name"), filter) != NULL;
}

/* How many units pass the filter. */
static size_t top_count(const cJSON *answer, const char *filter)
{
	const cJSON *unit;
	size_t count = 0;

	cJSON_ArrayForEach (unit, cJSON_GetObjectItemCaseSensitive(answer, "units"))
		count += passes(unit, filter);
	return count;
}

static int by_rank(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int r = (x->rank < y->rank) - (x->rank > y->rank);

	return r != 0 ? r : strcmp(json_text(x->unit, "name"), json_text(y->unit, "name"));
}

static struct entry *sorted(const cJSON *answer, const struct top_view *v, size_t *ret_count)
{
	size_t count = top_count(answer, v->filter), i = 0;
	struct entry *e = calloc(MAX(count, 1u), sizeof *e);
	const cJSON *unit;

	if (e == NULL)
		return NULL;
	cJSON_ArrayForEach (unit, cJSON_GetObjectItemCaseSensitive(answer, "units"))
		if (passes(unit, v->filter))
			e[i++] =
				(struct entry){unit, v->sort == TOP_NAME ? 0 : rank(unit, v->sort)};
	qsort(e, count, sizeof *e, by_rank);
	for (i = 0; v->reverse && i < count / 2; i++) {
		struct entry other = e[i];

		e[i] = e[count - 1 - i];
		e[count - 1 - i] = other;
	}
	*ret_count = count;
	return e;
}

/* ---- lines ---- */

static enum paint paint_of(const cJSON *resource)
{
	uint64_t share = share_permille(resource);

	return share >= BAD_PERMILLE ? PAINT_BAD : share >= WARN_PERMILLE ? PAINT_WARN : PAINT_GOOD;
}

static void put_bar(const struct ctl *c, const cJSON *resource)
{
	uint64_t share = MIN(share_permille(resource), UINT64_C(1000));
	int filled = (int)((share * BAR_CELLS + 999) / 1000);
	enum paint p = paint_of(resource);

	if (limit_of(resource) == LIMIT_MAX)
		fprintf(c->out, " %*s  ", BAR_CELLS, "");
	else
		fprintf(c->out, "[%s%.*s%s%.*s] ", paint_on(c, p), filled, "########",
			paint_off(c, p), BAR_CELLS - filled, "--------");
}

/* "350m/1000m", "1.20Gi/4Gi" */
static void put_amounts(const struct ctl *c, enum resource which, const cJSON *resource)
{
	char use[HUMAN_SIZE], limit[HUMAN_SIZE], both[2 * HUMAN_SIZE];

	snprintf(both, sizeof both, "%s/%s",
		 render_narrow(which, json_amount(resource, "use"), use),
		 render_narrow(which, known_limit(resource), limit));
	fprintf(c->out, "%s%-*.*s%s ", paint_on(c, paint_of(resource)), AMOUNTS, AMOUNTS, both,
		paint_off(c, paint_of(resource)));
}

/* The end of a long name says more than its begin. */
static void put_name(const struct ctl *c, const char *name, int width)
{
	size_t length = strlen(name);

	if (length <= (size_t)width)
		fprintf(c->out, "%-*s ", width, name);
	else
		fprintf(c->out, "~%s ", name + length - (size_t)width + 1);
}

/* "5s", "12m", "3h", "2d" */
static const char *short_age(usec_t age_usec, char ret[static HUMAN_SIZE])
{
	static const struct {
		usec_t usec, below;
		char name;
	} units[] = {
		{USEC_PER_SEC, 100 * USEC_PER_SEC, 's'},
		{USEC_PER_MIN, 100 * USEC_PER_MIN, 'm'},
		{USEC_PER_HOUR, 48 * USEC_PER_HOUR, 'h'},
		{USEC_PER_DAY, UINT64_MAX, 'd'},
	};
	size_t i = 0;

	while (age_usec >= units[i].below)
		i++;
	snprintf(ret, HUMAN_SIZE, "%llu%c", (unsigned long long)(age_usec / units[i].usec),
		 units[i].name);
	return ret;
}

static void put_last(const struct ctl *c, const cJSON *unit)
{
	const cJSON *last = last_of(unit);
	bool cpu = last == json_object(json_object(unit, "cpu"), "last");
	enum resource which = cpu ? RESOURCE_CPU : RESOURCE_MEMORY;
	usec_t at = json_time(last, "at");
	char age[HUMAN_SIZE], from[HUMAN_SIZE], to[HUMAN_SIZE];

	if (at == 0) {
		fputs(" -", c->out);
		return;
	}
	fprintf(c->out, " %s %s->%s %s", cpu ? "cpu" : "mem",
		render_narrow(which, json_amount(last, "from"), from),
		render_narrow(which, json_amount(last, "to"), to),
		short_age(c->now_realtime_usec - MIN(at, c->now_realtime_usec), age));
}

static void put_unit(const struct ctl *c, const cJSON *unit, int name_width, bool bars)
{
	const cJSON *cpu = json_object(unit, "cpu"), *memory = json_object(unit, "memory");

	put_name(c, json_text(unit, "name"), name_width);
	if (bars)
		put_bar(c, cpu);
	put_amounts(c, RESOURCE_CPU, cpu);
	if (bars)
		put_bar(c, memory);
	put_amounts(c, RESOURCE_MEMORY, memory);
	fprintf(c->out, "%3llu %3llu", /* percent */
		(unsigned long long)number_of(cpu, "throttled_permille") / 10,
		(unsigned long long)(number_of(cpu, "psi_some_ppm") +
				     number_of(memory, "psi_some_ppm")) /
			10000);
	put_last(c, unit);
}

struct sums {
	uint64_t use[RESOURCE_COUNT], limit[RESOURCE_COUNT];
	size_t managed, other;
};

static void add_unit(struct sums *s, const cJSON *unit)
{
	if (strcmp(json_text(unit, "state"), "managed") == 0)
		s->managed++;
	else
		s->other++;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		const cJSON *resource = json_object(unit, resource_names[r]);

		if (limit_of(resource) == LIMIT_MAX)
			continue;
		s->use[r] += number_of(resource, "use");
		s->limit[r] += limit_of(resource);
	}
}

static void put_head(const struct ctl *c, const cJSON *answer, const cJSON *status,
		     const char *end_of_line)
{
	const cJSON *cluster = json_object(status, "cluster"), *unit;
	char text[4][HUMAN_SIZE];
	struct sums s = {0};

	cJSON_ArrayForEach (unit, cJSON_GetObjectItemCaseSensitive(answer, "units"))
		add_unit(&s, unit);
	fprintf(c->out, "vscaled: %zu managed, %zu not; cpu %s of %s, memory %s of %s%s", s.managed,
		s.other, human_amount(RESOURCE_CPU, s.use[RESOURCE_CPU], text[0]),
		human_amount(RESOURCE_CPU, s.limit[RESOURCE_CPU], text[1]),
		human_amount(RESOURCE_MEMORY, s.use[RESOURCE_MEMORY], text[2]),
		human_amount(RESOURCE_MEMORY, s.limit[RESOURCE_MEMORY], text[3]), end_of_line);
	if (cluster == NULL)
		fprintf(c->out, "%s%s", json_flag(status, "paused") ? "paused" : "", end_of_line);
	else if (json_flag(cluster, "healthy"))
		fprintf(c->out, "API server: ok%s", end_of_line);
	else
		fprintf(c->out, "API server: %.60s%s", json_text(cluster, "trouble"), end_of_line);
}

static void put_titles(const struct ctl *c, const struct top_view *v, int name_width, int bar,
		       const char *end_of_line)
{
	char name[TOP_FILTER_SIZE + 16];

	snprintf(name, sizeof name, v->filter[0] != '\0' || v->typing ? "/%s%s" : "NAME", v->filter,
		 v->typing ? "_" : "");
	fprintf(c->out, "%s%-*.*s %-*s%-*sTHR PSI CHANGE%s%s", paint_on(c, PAINT_BOLD), name_width,
		name_width, name, bar + AMOUNTS + 1, "CPU use/limit", bar + AMOUNTS + 1,
		"MEM use/limit", paint_off(c, PAINT_BOLD), end_of_line);
}

int top_frame(const struct ctl *c, const cJSON *answer, const cJSON *status,
	      const struct top_view *v, const char *end_of_line)
{
	unsigned width = MAX(v->width, (unsigned)TOP_WIDTH_MIN);
	bool bars = width >= WIDTH_BARS;
	int name_width = (int)(width - WIDTH_OF_REST - (bars ? WIDTH_OF_BARS : 0));
	size_t count = 0, end;
	OWN(drop_free) struct entry *e = sorted(answer, v, &count);

	if (e == NULL)
		return -ENOMEM;
	put_head(c, answer, status, end_of_line);
	put_titles(c, v, name_width, bars ? BAR_CELLS + 3 : 0, end_of_line);
	end = v->height == 0
		      ? count
		      : MIN(count, v->first + MAX(v->height, LINES_OF_HEAD + 1u) - LINES_OF_HEAD);
	for (size_t i = v->first; i < end; i++) {
		put_unit(c, e[i].unit, name_width, bars);
		fputs(end_of_line, c->out);
	}
	return 0;
}

/* ---- vscalectl top: the terminal, the keys, and two queries per frame. */

#define WIDTH_DEFAULT 80
#define KEY_ESCAPE    27
#define KEY_DELETE    127
/* The rest of a key's bytes may take so long over a slow line; Escape alone has none. */
#define KEY_REST_MSEC 50

/* Another screen, no cursor, and the terminal cuts lines that are too long. */
#define SCREEN_BEGIN "\033[?1049h\033[?25l\033[?7l"
#define SCREEN_END   "\033[?7h\033[?25h\033[?1049l"
#define SCREEN_HOME  "\033[H"
#define SCREEN_REST  "\033[J"
/* Clears what an earlier frame left behind the text. */
#define LINE_END "\033[K\r\n"

struct top {
	struct ctl c; /* with the time of the frame */
	struct top_view view;
	struct termios saved;
	bool screen; /* a terminal on both sides */
	bool quit;
	size_t count; /* units that pass the filter */
};

static volatile sig_atomic_t ended, stopped;

/* SIGWINCH: a new size of the window ends the wait. */
static void on_signal(int signal)
{
	if (signal == SIGTSTP)
		stopped = 1;
	else if (signal != SIGWINCH)
		ended = 1;
}

/* ---- the terminal ---- */

static void set_handlers(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP};

	ended = stopped = 0;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &(struct sigaction){.sa_handler = on_signal}, NULL);
}

static int screen_begin(struct top *t)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &t->saved) < 0)
		return -errno;
	raw = t->saved;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0)
		return -errno;
	set_handlers();
	fputs(SCREEN_BEGIN, t->c.out);
	return 0;
}

static void screen_end(const struct top *t)
{
	fputs(SCREEN_END, t->c.out);
	fflush(t->c.out);
	tcsetattr(STDIN_FILENO, TCSANOW, &t->saved);
}

/* Ctrl-Z: the shell gets its screen, and after `fg` the frames go on. */
static int stop(struct top *t)
{
	screen_end(t);
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	return screen_begin(t);
}

static void read_size(struct top *t)
{
	struct winsize size;

	t->view.width = WIDTH_DEFAULT;
	t->view.height = 0;
	if (t->screen && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0) {
		t->view.width = size.ws_col;
		/* The last line stays empty: a line's end there would scroll. */
		t->view.height = size.ws_row - 1u;
	}
}

/* ---- keys ---- */

static void type_filter(struct top_view *v, int key)
{
	size_t length = strlen(v->filter);

	if (key == '\n' || key == '\r') {
		v->typing = false;
	} else if (key == KEY_ESCAPE) {
		v->typing = false;
		v->filter[0] = '\0';
	} else if (key == KEY_DELETE || key == '\b') {
		v->filter[length > 0 ? length - 1 : 0] = '\0';
	} else if (key > ' ' && key < KEY_DELETE && length + 1 < sizeof v->filter) {
		v->filter[length] = (char)key;
		v->filter[length + 1] = '\0';
	}
	v->first = 0;
}

static void scroll(struct top *t, int lines)
{
	size_t first = t->view.first;

	if (lines < 0)
		first -= MIN((size_t)-lines, first);
	else
		first = MIN(first + (size_t)lines, t->count > 0 ? t->count - 1 : 0);
	t->view.first = first;
}

static void take_key(struct top *t, int key)
{
	struct top_view *v = &t->view;
	int page = (int)v->height > 4 ? (int)v->height - 4 : 1;

	if (v->typing) {
		type_filter(v, key);
		return;
	}
	if (top_sort_key(key, &v->sort)) {
		v->first = 0;
		return;
	}
	if (key == '/') {
		v->typing = true;
		v->filter[0] = '\0';
	}
	t->quit |= key == 'q';
	v->reverse ^= key == 'r';
	scroll(t, key == 'k' ? -1 : key == 'j' ? 1 : key == 'b' ? -page : key == ' ' ? page : 0);
}

/* Arrows and page keys arrive as these sequences. *ret_used 0: the rest is still to come. */
static int key_of(const char *sequence, size_t size, size_t *ret_used)
{
	static const struct {
		const char *sequence;
		int key;
	} rows[] = {{"\033[A", 'k'}, {"\033[B", 'j'}, {"\033[5~", 'b'}, {"\033[6~", ' '}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t length = strlen(rows[i].sequence);

		if (memcmp(sequence, rows[i].sequence, MIN(size, length)) == 0) {
			*ret_used = size < length ? 0 : length;
			return rows[i].key;
		}
	}
	*ret_used = 1;
	return (unsigned char)sequence[0];
}

/* 0: none came in time. */
static size_t read_keys(struct top *t, char *keys, size_t room, uint64_t wait_msec)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	ssize_t got;

	if (poll(&in, t->screen ? 1 : 0, (int)wait_msec) <= 0)
		return 0;
	got = read(STDIN_FILENO, keys, room);
	t->quit = got <= 0;
	return got <= 0 ? 0 : (size_t)got;
}

/* Waits for the next frame's time, or a key. */
static void wait_keys(struct top *t)
{
	char keys[64];
	size_t size = read_keys(t, keys, sizeof keys / 2, t->c.delay_msec), used;

	for (size_t i = 0; i < size; i += used) {
		int key = key_of(keys + i, size - i, &used);

		if (used == 0) {
			size_t more = read_keys(t, keys + size, sizeof keys - size, KEY_REST_MSEC);

			size += more;
			if (more > 0)
				continue;
			key = KEY_ESCAPE;
			used = 1;
		}
		/* Arrows are no text. */
		if (used == 1 || !t->view.typing)
			take_key(t, key);
	}
}

/* ---- frames ---- */

static int draw(struct top *t)
{
	cJSON *answer = NULL, *status = NULL;
	int r = client_call(&t->c, "/v1/units", NULL, &answer);

	if (r == CTL_OK)
		r = client_call(&t->c, "/v1/status", NULL, &status);
	if (r == CTL_OK) {
		t->count = top_count(answer, t->view.filter);
		read_size(t);
		fputs(t->screen ? SCREEN_HOME : "", t->c.out);
		if (top_frame(&t->c, answer, status, &t->view, t->screen ? LINE_END : "\n") < 0)
			r = ctl_fail(&t->c, CTL_ERROR, NULL, "%s", strerror(ENOMEM));
		fputs(t->screen ? SCREEN_REST : "", t->c.out);
		fflush(t->c.out);
	}
	cJSON_Delete(answer);
	cJSON_Delete(status);
	return r;
}

static int run(struct top *t)
{
	int r = CTL_OK;

	for (uint64_t frame = 1; r == CTL_OK && !t->quit && !ended; frame++) {
		r = draw(t);
		if (frame == t->c.frames || r != CTL_OK)
			break;
		wait_keys(t);
		if (stopped && stop(t) < 0)
			r = ctl_fail(&t->c, CTL_ERROR, NULL, "the terminal: %s", strerror(errno));
		t->c.now_realtime_usec = ctl_now();
		if (!t->screen)
			fputc('\n', t->c.out);
	}
	return r;
}

static int find_sort(const struct ctl *c, enum top_sort *ret)
{
	for (int i = 0; i < TOP_SORT_COUNT; i++) {
		if (c->sort == NULL || strcmp(c->sort, top_sort_names[i]) == 0) {
			*ret = (enum top_sort)i;
			return CTL_OK;
		}
	}
	return ctl_fail(c, CTL_USAGE, "one of cpu, memory, pressure, slack, age, name",
			"no such order: %s", c->sort);
}

int ctl_top(const struct ctl *c)
{
	struct top t = {.c = *c};
	char *text = NULL;
	size_t size;
	int r = find_sort(c, &t.view.sort);

	if (r != CTL_OK)
		return r;
	t.screen = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && c->out == stdout;
	if (!t.screen && t.c.frames == 0)
		t.c.frames = 1;
	if (!t.screen)
		return run(&t);
	/* An error is printed once the terminal is as before, also that there is no memory. */
	cJSON_InitHooks(NULL);
	t.c.err = open_memstream(&text, &size);
	if (t.c.err == NULL)
		return ctl_fail(c, CTL_ERROR, NULL, "%s", strerror(errno));
	r = screen_begin(&t);
	if (r == 0) {
		r = run(&t);
		screen_end(&t);
	}
	fclose(t.c.err);
	fputs(text, c->err);
	free(text);
	return r < 0 ? ctl_fail(c, CTL_ERROR, NULL, "the terminal: %s", strerror(-r)) : r;
}
