// SPDX-License-Identifier: Apache-2.0
/* vscalectl top: the terminal, the keys, and two queries per frame. */
#include "agent/ctl/client.h"
#include "agent/ctl/top_frame.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

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

static void on_end(int)
{
	ended = 1;
}

static void on_stop(int)
{
	stopped = 1;
}

/* A new size of the window ends the wait. */
static void on_size(int)
{
}

/* ---- the terminal ---- */

static void set_handlers(void)
{
	static const struct {
		int signal;
		void (*handler)(int);
	} rows[] = {
		{SIGINT, on_end},    {SIGTERM, on_end},  {SIGHUP, on_end},
		{SIGWINCH, on_size}, {SIGTSTP, on_stop},
	};

	ended = stopped = 0;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		sigaction(rows[i].signal, &(struct sigaction){.sa_handler = rows[i].handler}, NULL);
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
	switch (key) {
	case 'q':
		t->quit = true;
		break;
	case 'r':
		v->reverse = !v->reverse;
		break;
	case '/':
		v->typing = true;
		v->filter[0] = '\0';
		break;
	case 'k':
		scroll(t, -1);
		break;
	case 'j':
		scroll(t, 1);
		break;
	case ' ':
		scroll(t, page);
		break;
	case 'b':
		scroll(t, -page);
		break;
	default:
		break;
	}
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

static usec_t realtime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (usec_t)now.tv_sec * USEC_PER_SEC + (usec_t)now.tv_nsec / 1000;
}

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
		t->c.now_realtime_usec = realtime();
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
	/* An error is printed once the terminal is as before. */
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
