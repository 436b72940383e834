// SPDX-License-Identifier: Apache-2.0
/* vscalectl backtest: its output must equal test/agent/golden (VSCALED_REGEN=1 rewrites), and every
 * mistake has its exit status and names file and line. */
#include "agent/backtest/backtest_cmd.h"
#include "policy/backtest/backtest.h"
#include "test/check.h"
#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#define GOLDEN_DIR "test/agent/golden"
#define SERIES     "test/agent/backtest/"

static char *out_text, *err_text;

/* err: closed; err_text has what is written to it if it is a memory stream. */
static int run_with(const char *line, FILE *err)
{
	char *words = strdup(line), *save = NULL, *argv[24] = {"vscalectl"};
	size_t out_size;
	int argc = 1, r;
	struct ctl c;

	free(out_text);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	ctl_default(&c, backtest_commands);
	c.config = "/nonexistent";
	c.out = open_memstream(&out_text, &out_size);
	c.err = err;
	r = ctl_main(&c, argc, argv);
	fclose(c.out);
	fclose(c.err);
	free(words);
	return r;
}

static int run(const char *line)
{
	size_t size;

	free(err_text);
	return run_with(line, open_memstream(&err_text, &size));
}

static void check_golden(const char *line, const char *name)
{
	char path[256], want[32768] = "";
	FILE *f;

	CHECK_EQ(run(line), CTL_OK);
	CHECK_STR(err_text, "");
	snprintf(path, sizeof path, GOLDEN_DIR "/%s", name);
	f = fopen(path, getenv("VSCALED_REGEN") ? "we" : "re");
	CHECK(f != NULL);
	if (f == NULL)
		return;
	if (getenv("VSCALED_REGEN"))
		CHECK(fputs(out_text, f) >= 0);
	else
		CHECK(fread(want, 1, sizeof want - 1, f) > 0);
	CHECK_EQ(fclose(f), 0);
	if (!getenv("VSCALED_REGEN"))
		CHECK_STR(out_text, want);
}

static void check_failure(const char *line, int code, const char *err)
{
	CHECK_EQ(run(line), code);
	CHECK_STR(out_text, "");
	CHECK(strstr(err_text, err) != NULL);
	if (strstr(err_text, err) == NULL)
		fprintf(stderr, "%s: %s", line, err_text);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	CHECK(f != NULL && fputs(text, f) >= 0);
	fclose(f);
}

/* On a terminal, progress is printed with the file's name, and cleared at the end. */
TEST(progress)
{
	static const char clear[] = "\r\033[K";
	char name[] = "/tmp/vscaled-series-XXXXXX", line[128], want[64], seen[4096] = "";
	FILE *series = fdopen(mkstemp(name), "we");
	size_t size = 0;
	int mine, other;
	ssize_t n;

	fputs("time,cpu_cores\n", series);
	for (int i = 0; i < 600; i++)
		fprintf(series, "%d,0.5\n", i);
	CHECK_EQ(fclose(series), 0);
	CHECK_EQ(openpty(&mine, &other, NULL, NULL, NULL), 0);
	snprintf(line, sizeof line, "backtest %s %s", name, name);
	CHECK_EQ(run_with(line, fdopen(dup(other), "we")), CTL_OK);
	CHECK_EQ(fcntl(mine, F_SETFL, O_NONBLOCK), 0);
	while ((n = read(mine, seen + size, sizeof seen - 1 - size)) > 0)
		size += (size_t)n;
	CHECK(size > strlen(clear));
	for (int i = 1; i <= 2; i++) {
		snprintf(want, sizeof want, "%s%d of 2, %s: ", clear, i, name);
		CHECK(strstr(seen, want) != NULL);
	}
	CHECK(strstr(seen, " % (") != NULL);
	CHECK_STR(seen + size - MIN(size, strlen(clear)), clear);
	close(mine);
	close(other);
	unlink(name);
}

/* Another seed is another demand; the same one is the same. */
TEST(seed)
{
	char *first;

	CHECK_EQ(run("backtest " SERIES "ramp.csv --cpus 8 --seed 2"), CTL_OK);
	CHECK(strstr(out_text, "seed 2\n") != NULL);
	first = strdup(out_text);
	CHECK_EQ(run("backtest " SERIES "ramp.csv --cpus 8 --seed 2"), CTL_OK);
	CHECK_STR(out_text, first);
	CHECK_EQ(run("backtest " SERIES "ramp.csv --cpus 8 --seed 3"), CTL_OK);
	CHECK(strstr(strchr(out_text, '\n'), strchr(first, '\n')) == NULL);
	free(first);
}

static unsigned count(const char *what)
{
	unsigned n = 0;

	for (const char *s = out_text; (s = strstr(s, what)) != NULL; s++)
		n++;
	return n;
}

/* One page: a chart per policy and file, nothing from elsewhere. */
/* A range query's answer: the same as the CSV with the same values. */
TEST(prometheus)
{
	char *csv;

	CHECK_EQ(run("backtest -o json --cpus 8 " SERIES "answer.csv"), CTL_OK);
	csv = strdup(strstr(out_text, "\"seed\""));
	CHECK_EQ(run("backtest -o json --cpus 8 " SERIES "answer.json"), CTL_OK);
	CHECK_STR(strstr(out_text, "\"seed\""), csv);
	free(csv);
	check_failure("backtest " SERIES "answer-error.json", CTL_ERROR,
		      "answer-error.json: it is not the answer of a Prometheus server to a range "
		      "query: parse error\n");
	check_failure("backtest " SERIES "answer-short.json", CTL_ERROR,
		      "answer-short.json: sample ");
	/* Two series: two runs, named by their labels. */
	CHECK_EQ(run("backtest --cpus 8 " SERIES "answer-two.json"), CTL_OK);
	CHECK(strstr(out_text, "answer-two.json: {namespace:shop,pod:web-0}: 3 samples") != NULL);
	CHECK(strstr(out_text, "answer-two.json: {namespace:shop,pod:web-1}: 3 samples") != NULL);
}

/* Answers that servers give beside the one that was asked for. */
TEST(answers)
{
#define ANSWER(type, result) "{\"data\":{\"resultType\":\"" type "\",\"result\":[" result "]}}"
#define SAMPLES              "\"values\":[[5,\"0.2\"],[65,\"0.3\"]]"
	static const char *const refused[][2] = {
		{ANSWER("vector", "{\"metric\":{},\"value\":[5,\"1\"]}"), ": vector\n"},
		{ANSWER("scalar", "5,\"1\""), ": scalar\n"},
		{ANSWER("matrix", "{\"metric\":{}," SAMPLES ",\"histograms\":[[125,{}]]}"),
		 ": histograms\n"},
		{ANSWER("matrix", ""), ": no series\n"},
		{"{\"error\":\"\\u001b[2J\"}", "query: ?[2J\n"},
	};
	static const char *const taken[] = {
		/* A label with quotes in it; a mark of the byte order, and a tab. */
		ANSWER("matrix", "{\"metric\":{\"pod\":\"a\\\"\\tb\"}," SAMPLES "}"),
		"\xef\xbb\xbf\t" ANSWER("matrix", "{\"metric\":{}," SAMPLES "}"),
	};
	char path[] = "/tmp/vscaled-answer-XXXXXX", line[64];
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	snprintf(line, sizeof line, "backtest %s", path);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		put(path, refused[i][0]);
		check_failure(line, CTL_ERROR, refused[i][1]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		put(path, taken[i]);
		CHECK_EQ(run(line), CTL_OK);
		CHECK(strstr(out_text, ": 2 samples") != NULL);
	}
	put(path, "{\"warnings\":[\"a store is away\"],\"data\":{\"result\":[{" SAMPLES "}]}}");
	CHECK_EQ(run(line), CTL_OK);
	snprintf(line, sizeof line, "%s: the server warns: a store is away\n", path);
	CHECK_STR(err_text, line);
	close(fd);
	unlink(path);
}

/* What a spreadsheet writes, from standard input; what of it is not used is said. */
TEST(spreadsheet)
{
	CHECK(freopen(SERIES "spreadsheet.csv", "re", stdin) != NULL);
	CHECK_EQ(run("backtest -"), CTL_OK);
	CHECK_STR(err_text,
		  "-: columns that are not used: notes\n-: empty cells in 2 lines: the value "
		  "before holds\n");
	CHECK(strstr(out_text, "-: 5 samples, 0.1 h, 16 CPUs, seed 1\n") != NULL);
}

TEST(html)
{
	CHECK_EQ(run("backtest -o html --cpus 8 " SERIES "ramp.csv " SERIES "percent.csv"), CTL_OK);
	CHECK_STR(err_text, "");
	CHECK(strncmp(out_text, "<!DOCTYPE html>", 15) == 0);
	CHECK(strstr(out_text, "</body></html>\n") != NULL);
	/* Memory of one file, where a policy sizes it. */
	CHECK_EQ(count("<svg "), 3 * BACKTEST_POLICY_COUNT - 2);
	CHECK_EQ(count("</svg>"), 3 * BACKTEST_POLICY_COUNT - 2);
	CHECK_EQ(count("stroke=\"var(--limit)\""), 3 * BACKTEST_POLICY_COUNT - 2);
	CHECK(strstr(out_text, "<h3>vscaled-balanced, memory</h3>") != NULL);
	CHECK(strstr(out_text, "&#9632;</span> mean use") != NULL);
	CHECK(strstr(out_text, "vpa              VPA 1.8: limit = request") != NULL);
	CHECK_EQ(count("fill=\"var(--mean)\""), 2 * BACKTEST_POLICY_COUNT);
	CHECK_EQ(count(">0 us<"), 0);
	CHECK_EQ(count("<script") + count("http") + count("nan") + count("inf"), 0);
	CHECK(strstr(out_text, "<h3>vscaled-savings</h3>") != NULL);
	CHECK(strstr(out_text, "static-p95") != NULL);
	CHECK_EQ(run("list -o html"), CTL_USAGE);
}

/* A weekend off is no load, and no reason to refuse the rest. */
TEST(gap)
{
	CHECK_EQ(run("backtest " SERIES "gap.csv"), CTL_OK);
	CHECK(strstr(err_text, "gap.csv: left out 1 d 23 h without a sample (gaps: 1)\n") != NULL);
	CHECK(strstr(out_text, "4 samples, ") != NULL);
}

int main(void)
{
	check_run();
	check_golden("backtest --cpus 8 " SERIES "ramp.csv " SERIES "percent.csv", "backtest.txt");
	check_golden("backtest --cpus 8 --seed 18446744073709551615 -o json " SERIES "ramp.csv",
		     "backtest.json");
	check_failure("backtest", CTL_USAGE, "backtest needs an argument");
	check_failure("backtest --cpus 0 x", CTL_USAGE, "not a number from 1 to 16: 0");
	check_failure("backtest --cpus 17 x", CTL_USAGE, "not a number from 1 to 16: 17");
	check_failure("backtest --seed -1 x", CTL_USAGE, "not a number");
	check_failure("backtest --seed 18446744073709551616 x", CTL_USAGE, "not a number");
	check_failure("backtest -o wide x", CTL_USAGE, "no format wide");
	check_failure("backtest /nonexistent.csv", CTL_ERROR,
		      "/nonexistent.csv: No such file or directory");
	check_failure("backtest " SERIES, CTL_ERROR, "Is a directory");
	check_failure("backtest /dev/null", CTL_ERROR, "/dev/null:1: fewer than two samples");
	check_failure("backtest " SERIES "malformed.csv", CTL_ERROR,
		      SERIES "malformed.csv:3: cpu_cores is not a decimal number");
	check_failure("backtest " SERIES "percent.csv", CTL_ERROR,
		      SERIES
		      "percent.csv:1: column value: percent need the number of CPUs: --cpus N");
	check_failure("backtest -o json --cpus 8 " SERIES "ramp.csv " SERIES "malformed.csv",
		      CTL_ERROR, "malformed.csv:3:");
	free(out_text);
	free(err_text);
	return check_result();
}
