// SPDX-License-Identifier: Apache-2.0
/* The flight recorder in the daemon, and what vscalectl makes of its file. That every recorded call
 * decides the same again is checked by daemon_rig.c, at the end of each of its tests. */
#include "agent/backtest/backtest_cmd.h"
#include "agent/base/file.h"
#include "agent/state/flight_file.h"
#include "cgroup/writer.h"
#include "test/agent/daemon_rig.h"
#include "test/check.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char *out_text, *err_text;
static struct rig r;
/* Of step_burst(): the unit that grows; raises written, and decisions recorded since the last turn.
 */
static struct rig_unit *growing;
static unsigned raises, lines;

static void step_burst(struct rig *rig)
{
	lines = 0;
	rig_grow(rig, growing, 3 * MIB);
}

int __real_cg_write(struct cg *c, const struct change *ch);
int __wrap_cg_write(struct cg *c, const struct change *ch);
void __real_flight_log_add(struct flight_log *l, const struct tuning *tuning, uint64_t cpu_milli,
			   const struct flight_line *line);
void __wrap_flight_log_add(struct flight_log *l, const struct tuning *tuning, uint64_t cpu_milli,
			   const struct flight_line *line);

int __wrap_cg_write(struct cg *c, const struct change *ch)
{
	if (r.step == step_burst && ch->knob == KNOB_MEM_MAX && !change_lowers(ch)) {
		raises++;
		CHECK_EQ(lines, 0);
	}
	return __real_cg_write(c, ch);
}

void __wrap_flight_log_add(struct flight_log *l, const struct tuning *tuning, uint64_t cpu_milli,
			   const struct flight_line *line)
{
	lines += line->call != NULL && line->call->decided_count > 0;
	__real_flight_log_add(l, tuning, cpu_milli, line);
}

static int run(const char *line)
{
	char *words = strdup(line), *save = NULL, *argv[24] = {"vscalectl"}, state[128];
	size_t out_size, err_size;
	int argc = 1, code;
	struct ctl c;

	free(out_text);
	free(err_text);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	ctl_default(&c, strncmp(line, "backtest", 8) == 0 ? backtest_commands : ctl_commands);
	snprintf(state, sizeof state, "%s/state", r.folder);
	c.config = "/nonexistent";
	c.state_directory = state;
	c.out = open_memstream(&out_text, &out_size);
	c.err = open_memstream(&err_text, &err_size);
	code = ctl_main(&c, argc, argv);
	fclose(c.out);
	fclose(c.err);
	free(words);
	return code;
}

static void step_busy(struct rig *rig)
{
	rig_burn(rig, &rig->unit[0], 800);
	rig_grow(rig, &rig->unit[0], 100 * KIB);
}

static void step_idle(struct rig *rig)
{
	rig_burn(rig, &rig->unit[0], 5);
	rig_burn(rig, &rig->unit[1], 5);
}

/* A unit that grows and one that idles. */
static void record(void)
{
	rig_open(&r, "units:\n  - match: '*.service'\n");
	rig_add(&r, "busy.service", 100, 64 * MIB)->anon_bytes = 20 * MIB;
	rig_add(&r, "idle.service", 100, 64 * MIB)->anon_bytes = MIB;
	CHECK_EQ(rig_start(&r), 0);
	rig_reflex(&r, 300, step_idle);
	rig_reflex(&r, 600, step_busy);
	rig_reflex(&r, 900, step_idle); /* longer than it is recorded without reason */
	rig_stop(&r);
}

TEST(replay)
{
	CHECK_EQ(run("record replay"), CTL_OK);
	CHECK_STR(err_text, "");
	CHECK(strstr(out_text, "busy.service") != NULL);
	CHECK(strstr(out_text, "idle.service") != NULL);
	CHECK_EQ(run("record replay busy.service -o json"), CTL_OK);
	CHECK(strstr(out_text, "\"differ\":\t0") != NULL);
	CHECK(strstr(out_text, "\"replayed\":\t0") == NULL);
	/* Only samples of that one. */
	CHECK_EQ(run("record replay idle.service"), CTL_ERROR);
	CHECK(strstr(err_text, "no call that can be made again") != NULL);
	CHECK_EQ(run("record replay none.service"), CTL_NOT_MANAGED);
}

TEST(dump)
{
	char path[RIG_PATH_MAX], line[RIG_PATH_MAX + 32];
	FILE *f;

	CHECK_EQ(run("record dump busy.service"), CTL_OK);
	CHECK(strstr(out_text, "(throttled)") != NULL);
	CHECK(strstr(out_text, "(settled)") != NULL);
	CHECK_EQ(run("record dump busy.service -o json"), CTL_OK);
	CHECK(strstr(out_text, "e+") == NULL);
	CHECK(strstr(out_text, "\"reason\":\"settled\"") != NULL);
	CHECK_EQ(run("record dump busy.service -o csv"), CTL_OK);
	snprintf(path, sizeof path, "%s/busy.csv", r.folder);
	f = fopen(path, "we");
	CHECK(f != NULL && fputs(out_text, f) > 0 && fclose(f) == 0);
	snprintf(line, sizeof line, "backtest --cpus 4 %s", path);
	CHECK_EQ(run(line), CTL_OK);
	CHECK(strstr(out_text, "MEMORY") != NULL);
	CHECK_EQ(run("record dump -o csv"), CTL_USAGE);
	CHECK_EQ(run("record dump -o patch"), CTL_USAGE);
}

TEST(charts)
{
	setenv("LC_ALL", "C", 1);
	CHECK_EQ(run("history busy.service"), CTL_OK);
	CHECK(strstr(out_text, "CPU, cores: use, limit; throttled") != NULL);
	CHECK(strstr(out_text, "#") != NULL);
	for (const char *at = out_text; *at != '\0'; at++)
		CHECK((unsigned char)*at < 0x80);
	setenv("LC_ALL", "C.UTF-8", 1);
	unsetenv("TERM");
	CHECK_EQ(run("history busy.service"), CTL_OK);
	CHECK(strstr(out_text, "█") != NULL);
	CHECK_EQ(run("history busy.service -o html"), CTL_OK);
	CHECK(strstr(out_text, "<svg") != NULL);
	CHECK_EQ(run("history idle.service -o json"), CTL_OK);
	CHECK(strstr(out_text, "\"memory_limit_bytes\":\t67108864") != NULL);
	CHECK_EQ(run("history none.service"), CTL_NOT_MANAGED);
	CHECK_EQ(run("history"), CTL_USAGE);
}

/* ---- a recording that does not replay ---- */

static void write_file(const char *path, const char *text, size_t size)
{
	FILE *f = fopen(path, "we");

	CHECK(f != NULL && fwrite(text, 1, size, f) == size && fclose(f) == 0);
}

/* The line, with another reason of the last step that was decided: its number is the last one
 * before the control. */
static void change_reason(char *line)
{
	char *at = strstr(line, " c0="), *end = strchr(line, '\n') - 5;
	char check[8];

	CHECK(at != NULL && at < end);
	at[-1] = at[-1] == '0' ? '1' : (char)(at[-1] - 1);
	snprintf(check, sizeof check, "%05u", crc32c(0, line, (size_t)(end - 1 - line)) & 0xffff);
	memcpy(end, check, 5);
}

TEST(differs)
{
	char path[RIG_PATH_MAX], line[RIG_PATH_MAX + 64], *call;
	static char text[MIB];
	size_t size;
	FILE *f;

	snprintf(path, sizeof path, "%s/state/" FLIGHT_FILE, r.folder);
	f = fopen(path, "re");
	CHECK(f != NULL);
	size = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	call = strstr(text, "\nreflex ");
	CHECK(call != NULL);
	change_reason(call + 1);
	snprintf(path, sizeof path, "%s/changed", r.folder);
	write_file(path, text, size);
	snprintf(line, sizeof line, "record replay --recording %s", path);
	CHECK_EQ(run(line), CTL_ERROR);
	CHECK(strstr(err_text, ": 1 of ") != NULL);
	CHECK(strstr(err_text, "calls differ") != NULL);
	CHECK_EQ(run("record replay --recording /dev/null"), CTL_ERROR);
	CHECK_EQ(run("record replay --recording /nonexistent"), CTL_ERROR);
	CHECK(strstr(err_text, "recorder.enabled") != NULL);
	/* Of a version before, a ring of blocks. */
	write_file(path, "VSCRING1\0\1\2\3\n", 13);
	CHECK_EQ(run(line), CTL_ERROR);
	CHECK(strstr(err_text, "a recording of another version") != NULL);
	CHECK(strstr(err_text, "read it with that version's vscalectl") != NULL);
	write_file(path, "vscaled-recording 4 1 00000\n", 28);
	CHECK_EQ(run(line), CTL_ERROR);
	CHECK(strstr(err_text, "not a recording") != NULL);
}

/* A raise that is decided in the very call in which the growth is seen first. It is written before
 * it is recorded. */
TEST(surprise)
{
	rig_close(&r);
	CHECK(r.replayed > 10);
	rig_open(&r, "units:\n  - match: '*.service'\n");
	growing = rig_add(&r, "burst.service", 100, 64 * MIB);
	growing->anon_bytes = 2 * MIB;
	CHECK_EQ(rig_start(&r), 0);
	rig_reflex(&r, 50, NULL);
	raises = 0;
	rig_reflex(&r, 30, step_burst);
	CHECK(raises > 0);
	rig_stop(&r);
	CHECK_EQ(run("record dump burst.service"), CTL_OK);
	CHECK(strstr(out_text, "memory 20 MiB  memory.max 64 MiB -> ") != NULL);
	CHECK_EQ(run("record replay burst.service -o json"), CTL_OK);
	CHECK(strstr(out_text, "\"differ\":\t0") != NULL);
}

/* The same below a pod's limit, which is raised before the container's. */
TEST(surprise_in_pod)
{
	struct rig_pod *p;

	rig_close(&r);
	rig_open(&r, "");
	p = rig_pod_add(&r, DRIVER_CGROUPFS, "web");
	p->mode = "Auto";
	growing = rig_container_add(&r, p, "app", 100, 64 * MIB)->unit;
	growing->anon_bytes = 2 * MIB;
	rig_pod_realise(&r, p);
	CHECK_EQ(rig_start(&r), 0);
	rig_pod_run(&r, p, 5, NULL);
	raises = 0;
	rig_reflex(&r, 30, step_burst);
	CHECK(raises > 1);
	CHECK(rig_bytes(&r, p->level, "memory.max") > 64 * MIB);
	rig_stop(&r);
	CHECK_EQ(run("record dump default/web"), CTL_OK);
	CHECK(strstr(out_text, "applied    memory.max 64 MiB -> ") != NULL);
}

/* The folder is made anew: so is the recording, with the names of all. */
TEST(new_folder)
{
	char command[RIG_PATH_MAX + 32];

	rig_close(&r);
	rig_open(&r, "units:\n  - match: '*.service'\n");
	rig_add(&r, "busy.service", 100, 64 * MIB);
	CHECK_EQ(rig_start(&r), 0);
	rig_reflex(&r, 300, step_busy);
	snprintf(command, sizeof command, "rm -rf '%s/state'", r.folder);
	CHECK_EQ(system(command), 0);
	rig_reflex(&r, 900, step_busy);
	rig_stop(&r);
	CHECK_EQ(run("record dump busy.service"), CTL_OK);
	CHECK(strstr(out_text, " sample ") != NULL);
}

/* Switched off: no file. */
TEST(off)
{
	char path[RIG_PATH_MAX];

	rig_close(&r);
	rig_open(&r, "recorder: {enabled: false}\nunits:\n  - match: '*.service'\n");
	rig_add(&r, "busy.service", 100, 64 * MIB);
	CHECK_EQ(rig_start(&r), 0);
	rig_reflex(&r, 50, step_busy);
	rig_stop(&r);
	snprintf(path, sizeof path, "%s/state/" FLIGHT_FILE, r.folder);
	CHECK(access(path, F_OK) < 0);
}

int main(void)
{
	record();
	check_run();
	rig_close(&r);
	free(out_text);
	free(err_text);
	return check_result();
}
