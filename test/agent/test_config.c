// SPDX-License-Identifier: Apache-2.0
/* The configuration: what is taken over, what is refused and how it is said. */
#include "agent/config/config_table.h"
#include "test/check.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD "apiVersion: config.vscaled.dev/v1alpha1\nkind: VscaledConfiguration\n"

static int load(const char *text, struct config *ret, struct config_errors *errs)
{
	*errs = (struct config_errors){0};
	return config_load_text("f", text, strlen(text), ret, errs);
}

static void print_errors(const struct config_errors *errs)
{
	for (size_t i = 0; i < errs->count; i++)
		fprintf(stderr, "\t%s\n", errs->text[i]);
}

TEST(defaults)
{
	struct config_errors errs;
	struct config c, built_in;

	CHECK_EQ(load(HEAD, &c, &errs), 0);
	CHECK_EQ(errs.count, 0);
	CHECK_EQ(c.clocks.reflex_usec, 100 * USEC_PER_MSEC);
	CHECK_EQ(c.clocks.sample_usec, USEC_PER_SEC);
	CHECK_EQ(c.clocks.review_usec, 10 * USEC_PER_SEC);
	CHECK_EQ(c.clocks.state_usec, 5 * USEC_PER_MIN);
	CHECK_EQ(c.log.target, EVENT_TARGET_AUTO);
	CHECK_EQ(c.defaults.mode, MODE_AUTO);
	CHECK_EQ(c.unit_count, 0);
	CHECK(config_rule_for(&c, "web.service") == NULL);
	c.tuning.memory.page_bytes = PAGE_DEFAULT_BYTES;
	CHECK(memcmp(&c.tuning, &tuning_default, sizeof c.tuning) == 0);
	CHECK_EQ(config_default(&built_in), 0);
	CHECK(memcmp(&c, &built_in, sizeof c) == 0);
	config_free(&built_in);
	config_free(&c);
}

/* The table's default texts are the profile's values, and every value has a row. */
TEST(table)
{
	char text[CONFIG_ERROR_TEXT_MAX], seen[sizeof(struct tuning)] = {0};
	struct config c = {.tuning.memory.page_bytes = PAGE_DEFAULT_BYTES};

	/* The node's. */
	memset(seen + offsetof(struct tuning, memory.page_bytes), 1, 8);
	for (size_t i = 0; i < config_key_count; i++) {
		const struct config_key *k = &config_keys[i];
		size_t width = k->type == CONFIG_DURATION || k->type == CONFIG_BYTES ||
					       k->type == CONFIG_AMOUNT
				       ? 8
				       : 4;

		CHECK((k->fallback == NULL) != (k->builtin == NULL));
		CHECK(k->doc != NULL && k->doc[0] != '\0');
		CHECK(config_key_find(config_keys, config_key_count, k->path) == k);
		if (k->fallback == NULL)
			continue;
		CHECK_EQ(config_value_set(k, k->fallback, &c), 0);
		CHECK_STR(config_value_text(k, &c, text, sizeof text), k->fallback);
		if (k->offset >= offsetof(struct config, tuning) &&
		    k->offset < offsetof(struct config, tuning) + sizeof c.tuning)
			memset(seen + k->offset - offsetof(struct config, tuning), 1, width);
	}
	for (size_t i = 0; i < sizeof seen; i++)
		if (seen[i])
			CHECK_EQ(((char *)&c.tuning)[i], ((const char *)&tuning_default)[i]);
		else
			CHECK_EQ(((const char *)&tuning_default)[i], 0); /* padding */
	for (size_t i = 0; i < config_rule_key_count; i++) {
		const struct config_key *k = &config_rule_keys[i];

		CHECK_EQ(config_value_set(k, k->fallback, &c.defaults), 0);
		CHECK_STR(config_value_text(k, &c.defaults, text, sizeof text), k->fallback);
	}
	CHECK(memcmp(&c.defaults, &policy_rule_default, sizeof c.defaults) == 0);
	for (size_t i = 0; i < config_order_count; i++) {
		CHECK(config_key_find(config_keys, config_key_count, config_orders[i].low));
		CHECK(config_key_find(config_keys, config_key_count, config_orders[i].high));
	}
	config_free(&c);
}

/* Names in the table against those of policy/. */
TEST(names)
{
	const struct config_key *mode =
		config_key_find(config_rule_keys, config_rule_key_count, "mode");
	const struct config_key *algorithm =
		config_key_find(config_keys, config_key_count, "history.algorithm");

	for (int i = 0; i < MODE_COUNT; i++)
		CHECK_STR(mode->names[i], mode_name((enum mode)i));
	CHECK(mode->names[MODE_COUNT] == NULL);
	CHECK_STR(algorithm->names[ALGORITHM_DEFAULT], "default");
	CHECK_STR(algorithm->names[ALGORITHM_VPA], "vpa");
	CHECK(algorithm->names[ALGORITHM_COUNT] == NULL);
}

static const char full[] =
	HEAD "clocks: {reflexInterval: 100ms, sampleInterval: 2s, reviewInterval: 1m}\n"
	     "paths:\n"
	     "  stateDirectory: \"/tmp/it's state\"\n"
	     "  socketGroup: adm\n"
	     "log: {target: stderr, format: JSON}\n"
	     "history:\n"
	     "  algorithm: vpa\n"
	     "  halfLife: 12h30m\n"
	     "  upperPercentile: 97.5%\n"
	     "cpu:\n"
	     "  throttleTarget: 1.25%\n"
	     "memory:\n"
	     "  gapMin: 1536Ki\n"
	     "  pressureMax: 0.0001%\n"
	     "units:\n"
	     "- match: web-*.service\n"
	     "  mode: off\n"
	     "  max-cpu: 1.5\n"
	     "- match: ['web-[12].service', other.slice, 'a\\x2db.service']\n"
	     "  resources: [memory, cpu]\n"
	     "  min-memory: none\n"
	     "  max-memory: 2Gi\n"
	     "  scale-down: true\n"
	     "- match: '*.scope'\n"
	     "defaults:\n"
	     "  mode: Initial\n"
	     "  resources: memory\n"
	     "  min-memory: 64Mi\n"
	     "  scale-down: false\n";

TEST(full)
{
	const struct policy_rule *r;
	struct config_errors errs;
	OWN(config_free) struct config c;

	CHECK_EQ(load(full, &c, &errs), 0);
	print_errors(&errs);
	CHECK_EQ(c.clocks.reflex_usec, 100 * USEC_PER_MSEC);
	CHECK_STR(c.paths.state_dir, "/tmp/it's state");
	CHECK_STR(c.paths.socket_group, "adm");
	CHECK(c.paths.socket == NULL);
	CHECK_EQ(c.log.target, EVENT_TARGET_STDERR);
	CHECK_EQ(c.log.format, EVENT_FORMAT_JSON);
	CHECK_EQ(c.tuning.history.algorithm, ALGORITHM_VPA);
	CHECK_EQ(c.tuning.history.half_life_usec, 12 * USEC_PER_HOUR + 30 * USEC_PER_MIN);
	CHECK_EQ(c.tuning.history.upper_permille, 975);
	CHECK_EQ(c.tuning.cpu.throttle_target_ppm, 12500);
	CHECK_EQ(c.tuning.memory.gap_min_bytes, 1536 * KIB);
	CHECK_EQ(c.tuning.memory.psi_ppm, 1);
	CHECK_EQ(c.tuning.memory.gap_permille, tuning_default.memory.gap_permille);
	CHECK_EQ(c.unit_count, 3);
	/* The first match wins, and what an entry leaves out comes from defaults. */
	r = config_rule_for(&c, "web-1.service");
	CHECK(r == &c.units[0].rule);
	CHECK_EQ(r->mode, MODE_OFF);
	CHECK_EQ(r->resources, RESOURCES_MEMORY);
	CHECK_EQ(r->cpu_milli.max, 1500);
	CHECK_EQ(r->mem_bytes.min, 64 * MIB);
	CHECK(!r->scale_down);
	r = config_rule_for(&c, "a\\x2db.service");
	CHECK(r == &c.units[1].rule);
	CHECK_EQ(r->mode, MODE_INITIAL);
	CHECK_EQ(r->resources, RESOURCES_BOTH);
	CHECK_EQ(r->mem_bytes.min, 0);
	CHECK_EQ(r->mem_bytes.max, 2 * GIB);
	CHECK(r->scale_down);
	CHECK(config_rule_for(&c, "other.slice") == r);
	CHECK(config_rule_for(&c, "init.scope") == &c.units[2].rule);
	CHECK(config_rule_for(&c, "web.service") == NULL);
	CHECK(config_rule_for(&c, "web-1.serviceX") == NULL);
	CHECK(config_rule_for(&c, "") == NULL);
}

/* One thing wrong each: the text, and the message it must give, alone. */
static const struct {
	const char *text;
	const char *message;
} wrong[] = {
	{"", "f: no keys; allowed: a file that begins with apiVersion"},
	{"# nothing\n", "f: no keys; allowed: a file that begins with apiVersion"},
	{"- a\n", "f: no keys; allowed: a file that begins with apiVersion"},
	{"kind: VscaledConfiguration\n",
	 "f:1: apiVersion: missing; allowed: config.vscaled.dev/v1alpha1"},
	{"apiVersion: v1\nkind: VscaledConfiguration\n",
	 "f:1: apiVersion: \"v1\" is not known; allowed: config.vscaled.dev/v1alpha1"},
	{"apiVersion: config.vscaled.dev/v1alpha1\nkind: [a]\n",
	 "f:2: kind: \"a list\" is not known; allowed: VscaledConfiguration"},
	{HEAD "unit: []\n",
	 "f:3: unit: unknown key; allowed: apiVersion, kind, clocks, paths, log, recorder, "
	 "prometheus, cgroup, bpf, "
	 "http, "
	 "kubernetes, node, history, cpu, memory, threshold, common, defaults, units, pods"},
	{HEAD "clocks: 5s\n",
	 "f:3: clocks: a single value; allowed: a section with reflexInterval, "
	 "sampleInterval, reviewInterval, stateInterval"},
	{HEAD "log:\n  level: debug\n", "f:4: log.level: unknown key; allowed: target, format"},
	{HEAD "log:\n  target: syslog\n",
	 "f:4: log.target: \"syslog\" is not valid; allowed: auto, journal, stderr"},
	{HEAD "log:\n  target: [auto]\n",
	 "f:4: log.target: a list; allowed: auto, journal, stderr"},
	{HEAD "log:\n  target:\n", "f:4: log.target: no value; allowed: auto, journal, stderr"},
	{HEAD "clocks:\n  reflexInterval: 1\n",
	 "f:4: clocks.reflexInterval: \"1\" is not valid; allowed: a duration from 10ms to 1m"},
	{HEAD "clocks:\n  reflexInterval: 1ms\n",
	 "f:4: clocks.reflexInterval: \"1ms\" is out of range; allowed: a duration from 10ms to "
	 "1m"},
	{HEAD "clocks:\n  reflexInterval: 5s\n",
	 "f:4: clocks.reflexInterval: 5s is above clocks.sampleInterval (1s); allowed: at most "
	 "that"},
	{HEAD "history: {margin: 15}\n", "f:3: history.margin: \"15\" is not valid; allowed: a "
					 "percentage with at most one decimal from 0% to 1000%"},
	{HEAD "history: {margin: 1.55%}\n",
	 "f:3: history.margin: \"1.55%\" is not valid; allowed: a percentage with at most one "
	 "decimal from 0% to 1000%"},
	{HEAD "history: {margin: 1001%}\n",
	 "f:3: history.margin: \"1001%\" is out of range; allowed: a percentage with at most one "
	 "decimal from 0% to 1000%"},
	{HEAD "cpu: {throttleTarget: 0%}\n",
	 "f:3: cpu.throttleTarget: \"0%\" is out of range; allowed: a percentage from 0.0001% to "
	 "33%"},
	{HEAD "cpu: {verdictPeriods: 020}\n", "f:3: cpu.verdictPeriods: \"020\" is not valid; "
					      "allowed: a number from 1 to 100000"},
	{HEAD "memory: {gapMin: 8MB}\n", "f:3: memory.gapMin: \"8MB\" is not valid; allowed: an "
					 "amount of memory from 4Ki to 1Gi"},
	{HEAD "history:\n  lowerPercentile: 91%\n",
	 "f:4: history.lowerPercentile: 91% is above history.targetPercentile (90%); allowed: at "
	 "most that"},
	{HEAD "paths: {stateDirectory: state}\n",
	 "f:3: paths.stateDirectory: \"state\" is not valid; allowed: an absolute path of at most "
	 "4032 bytes"},
	{HEAD "paths: {socketGroup: 'a b'}\n", "f:3: paths.socketGroup: \"a b\" is not valid; "
					       "allowed: a name of letters, digits, . _ and "
					       "- of at most 32 bytes"},
	{HEAD "units: web.service\n",
	 "f:3: units: a single value; allowed: a list of sections with match"},
	{HEAD "units:\n- web.service\n",
	 "f:4: units[0]: a single value; allowed: a section that begins with match"},
	{HEAD "units:\n- mode: Off\n",
	 "f:4: units[0].match: missing; allowed: a name or glob, or a list of them"},
	{HEAD "units:\n- match: web\n", "f:4: units[0].match: \"web\" is not valid; allowed: a "
					"name or glob that ends in .service, "
					".scope, .slice or *, or a list of them"},
	{HEAD "units:\n- match: []\n",
	 "f:4: units[0].match: \"a list\" is not valid; allowed: a name or glob that ends in "
	 ".service, .scope, .slice or *, or a list of them"},
	{HEAD "units:\n- match: [a.slice, ../b.slice]\n",
	 "f:4: units[0].match: \"../b.slice\" is not valid; allowed: a name or glob that ends in "
	 ".service, .scope, .slice or *, or a list of them"},
	{HEAD "units:\n- match: a.slice\n- match: b.slice\n  mode: InPlaceOrRecreate\n",
	 "f:6: units[1].mode: \"InPlaceOrRecreate\" is not valid; allowed: Off, Initial, Auto"},
	{HEAD "units:\n- match: a.slice\n  goal: fast\n",
	 "f:5: units[0].goal: \"fast\" is not valid; allowed: balanced, savings, latency"},
	{HEAD "units:\n- match: a.slice\n  cpu-percentile: 30%\n",
	 "f:5: units[0].cpu-percentile: \"30%\" is out of range; allowed: a percentage with at "
	 "most one decimal from 50% to 100%, or none"},
	{HEAD "units:\n- match: a.slice\n  memory-margin: 1001%\n",
	 "f:5: units[0].memory-margin: \"1001%\" is out of range; allowed: a percentage with at "
	 "most one decimal from 0.1% to 1000%, or none"},
	{HEAD "units:\n- match: a.slice\n  rollout: 5%\n",
	 "f:5: units[0].rollout: is for pods and means nothing for a unit; allowed: match, mode, "
	 "goal, priority, resources, min-cpu, max-cpu, min-memory, max-memory, cpu-percentile, "
	 "memory-margin, scale-down"},
	{HEAD "defaults: {startup-boost: 2x 30s}\n",
	 "f:3: defaults.startup-boost: is for pods and means nothing for a unit; allowed: mode, "
	 "goal, priority, resources, min-cpu, max-cpu, min-memory, max-memory, cpu-percentile, "
	 "memory-margin, scale-down"},
	{HEAD "defaults: {match: '*'}\n",
	 "f:3: defaults.match: unknown key; allowed: mode, goal, priority, resources, min-cpu, "
	 "max-cpu, min-memory, max-memory, cpu-percentile, memory-margin, scale-down"},
	{HEAD "units:\n- match: a.slice\n  resources: [cpu, disk]\n",
	 "f:5: units[0].resources: \"a list\" is not valid; allowed: cpu, memory, or both as "
	 "cpu,memory"},
	{HEAD "units:\n- match: a.slice\n  max-memory: 0\n",
	 "f:5: units[0].max-memory: \"0\" is out of range; allowed: an amount of memory from 1Mi "
	 "to 1Pi, or none"},
	{HEAD "units:\n- match: a.slice\n  min-cpu: 2\n  max-cpu: 500m\n",
	 "f:4: units[0]: min-cpu (2) is above max-cpu (500m); allowed: at most that"},
	{HEAD "defaults: {min-memory: 1Gi}\nunits:\n- {match: a.slice, max-memory: 512Mi}\n",
	 "f:5: units[0]: min-memory (1Gi) is above max-memory (512Mi); allowed: at most that"},
	{HEAD "units:\n- match: a.slice\n  scale-down: yes\n",
	 "f:5: units[0].scale-down: \"yes\" is not valid; allowed: true or false"},
	{HEAD "log: {target: auto, target: auto}\n",
	 "f:3: target: is there twice, first on line 3; allowed: once"},
	{HEAD "units:\n- match: a.slice\nunits:\n- match: b.slice\n- match: c.slice\n",
	 "f:5: units: is there twice, first on line 3; allowed: once"},
	{HEAD "units:\n- match: a.slice\n  match: [b.slice]\n",
	 "f:5: match: is there twice, first on line 4; allowed: once"},
	{HEAD "log: &a {target: auto}\n",
	 "f:3: anchors (&name) are not allowed; write the value again"},
	{HEAD "log: {target: !!str auto}\n",
	 "f:3: tags (!name) are not allowed; write the value alone"},
	{HEAD "log: *a\n", "f:3: aliases (*name) are not allowed; write the value again"},
	{HEAD "? [a]\n: b\n", "f:3: a key must be one plain word"},
	{HEAD "---\na: b\n", "f:3: a second document; allowed: one"},
	{"%YAML 1.1\n---\n" HEAD, "f:1: directives (%NAME) are not allowed"},
	{HEAD "log: {target: \"a\\0b\"}\n", "f:3: a NUL byte is not allowed in a value"},
	{HEAD "log: {target: \"a\\e[1mb\"}\n",
	 "f:3: log.target: \"a?[1mb\" is not valid; allowed: auto, journal, stderr"},
	{HEAD "log:\n\ttarget: auto\n", "f:4: syntax: found character that cannot start any token"},
	{HEAD "x: [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]\n",
	 "f:3: nested too deeply; allowed: 16 levels"},
};

TEST(wrong)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct config c = {.unit_count = 77};
		struct config_errors errs;

		CHECK_EQ(load(wrong[i].text, &c, &errs), -EBADMSG);
		CHECK_EQ(c.unit_count, 77);
		/* An escaped NUL and an alias leave a second thing wrong behind. */
		if (strstr(wrong[i].message, "NUL") == NULL)
			CHECK_EQ(errs.count, 1);
		CHECK_STR(errs.text[0], wrong[i].message);
	}
}

/* All that is wrong is said at once, up to the cap. */
TEST(all_errors)
{
	char text[4000] = HEAD;
	struct config_errors errs;
	struct config c;

	CHECK_EQ(load("kind: x\nlog: {target: 1}\nnope: 1\nunits: [{mode: Of}]\ncpu: &a {gap: 1}\n",
		      &c, &errs),
		 -EBADMSG);
	CHECK_EQ(errs.count, 8);
	CHECK_EQ(errs.dropped, 0);
	for (int i = 0; i < 50; i++)
		sprintf(text + strlen(text), "key%d: 1\n", i);
	CHECK_EQ(load(text, &c, &errs), -EBADMSG);
	CHECK_EQ(errs.count, CONFIG_ERRORS_MAX);
	CHECK_EQ(errs.dropped, 30);
}

TEST(sizes)
{
	char *text = malloc(CONFIG_TEXT_MAX + 2);
	struct config_errors errs = {0};
	struct config c;
	size_t n;

	memset(text, '\n', CONFIG_TEXT_MAX + 1);
	memcpy(text, HEAD, strlen(HEAD));
	CHECK_EQ(config_load_text("f", text, CONFIG_TEXT_MAX, &c, &errs), 0);
	config_free(&c);
	CHECK_EQ(config_load_text("f", text, CONFIG_TEXT_MAX + 1, &c, &errs), -EBADMSG);
	CHECK_STR(errs.text[0], "f: larger than 1 MiB");
	n = (size_t)sprintf(text, HEAD "units: [");
	for (int i = 0; i < CONFIG_NODES_MAX; i++)
		n += (size_t)sprintf(text + n, "1,");
	sprintf(text + n, "]\n");
	CHECK_EQ(load(text, &c, &errs), -EBADMSG);
	CHECK_STR(errs.text[0], "f:3: too many values; allowed: 20000");
	free(text);
}

/* Sections that are there and empty, as in a file where everything is commented out. */
TEST(empty_sections)
{
	struct config_errors errs;
	struct config c;

	CHECK_EQ(load(HEAD "units:\ndefaults:\nlog: ~\ncpu: {}\nmemory: null\n", &c, &errs), 0);
	CHECK_EQ(c.unit_count, 0);
	config_free(&c);
	CHECK_EQ(load(HEAD "units: []\ndefaults: {}\n", &c, &errs), 0);
	config_free(&c);
}

static char *dump(const struct config *c)
{
	cJSON *tree = config_dump_json(c);
	char *text = cJSON_PrintUnformatted(tree);

	cJSON_Delete(tree);
	return text;
}

/* JSON is YAML: the dump loads again and gives the same. */
TEST(dump)
{
	OWN(drop_free) char *json = NULL, *json_again = NULL;
	struct config_errors errs;
	struct config c, again;

	CHECK_EQ(load(full, &c, &errs), 0);
	json = dump(&c);
	CHECK(strstr(json, "\"upperPercentile\":\"97.5%\"") != NULL);
	CHECK(strstr(json, "{\"match\":[\"web-*.service\"],\"mode\":\"Off\"") != NULL);
	CHECK_EQ(load(json, &again, &errs), 0);
	print_errors(&errs);
	json_again = dump(&again);
	CHECK_STR(json_again, json);
	CHECK(memcmp(&again.tuning, &c.tuning, sizeof c.tuning) == 0);
	CHECK_STR(again.units[1].match.item[2], "a\\x2db.service");
	CHECK_STR(again.paths.state_dir, "/tmp/it's state");
	config_free(&again);
	config_free(&c);
}

TEST(paths)
{
	char long_path[200] = "/";
	struct config_errors errs;
	struct config c;

	CHECK_EQ(load(HEAD, &c, &errs), 0);
	CHECK_EQ(config_set_paths(&c, NULL, ""), 0);
	CHECK_STR(c.paths.state_dir, "/var/lib/vscaled");
	CHECK_STR(c.paths.runtime_dir, "/run/vscaled");
	CHECK_STR(c.paths.socket, "/run/vscaled/control.sock");
	CHECK_STR(c.paths.cgroup_root, "/sys/fs/cgroup");
	config_free(&c);
	CHECK_EQ(load(HEAD "paths: {runtimeDirectory: /run/x}\n", &c, &errs), 0);
	CHECK_EQ(config_set_paths(&c, "/a:/b", "/c"), 0);
	CHECK_STR(c.paths.state_dir, "/a");
	CHECK_STR(c.paths.runtime_dir, "/run/x");
	CHECK_STR(c.paths.socket, "/run/x/control.sock");
	config_free(&c);
	memset(long_path + 1, 'x', 150);
	CHECK_EQ(load(HEAD, &c, &errs), 0);
	CHECK_EQ(config_set_paths(&c, NULL, long_path), -ENAMETOOLONG);
	config_free(&c);
}

TEST(file)
{
	char path[] = "/tmp/vscaled-config-XXXXXX", want[128];
	struct config_errors errs = {0};
	struct config c;
	int fd = mkstemp(path);

	CHECK(write(fd, HEAD "log:\n", strlen(HEAD) + 5) > 0);
	CHECK_EQ(config_load_file(path, &c, &errs), 0);
	CHECK_EQ(c.clocks.review_usec, 10 * USEC_PER_SEC);
	config_free(&c);
	CHECK(write(fd, " 1", 2) == 2);
	CHECK_EQ(config_load_file(path, &c, &errs), -EBADMSG);
	snprintf(want, sizeof want, "%s:", path);
	CHECK(strncmp(errs.text[0], want, strlen(want)) == 0);
	close(fd);
	unlink(path);
	errs = (struct config_errors){0};
	CHECK_EQ(config_load_file(path, &c, &errs), -ENOENT);
	snprintf(want, sizeof want, "%s: cannot be read: No such file or directory", path);
	CHECK_STR(errs.text[0], want);
	CHECK_EQ(config_load_file("/tmp", &c, &errs), -EISDIR);
}

/* What is installed as the example loads, and manages nothing. */
TEST(example)
{
	struct config_errors errs = {0};
	struct config c, built_in;

	CHECK_EQ(config_load_file("agent/vscaled.yaml", &c, &errs), 0);
	print_errors(&errs);
	CHECK_EQ(config_default(&built_in), 0);
	CHECK_EQ(c.unit_count, 0);
	CHECK(memcmp(&c.tuning, &built_in.tuning, sizeof c.tuning) == 0);
	CHECK(memcmp(&c.clocks, &built_in.clocks, sizeof c.clocks) == 0);
	CHECK(memcmp(&c.defaults, &built_in.defaults, sizeof c.defaults) == 0);
	config_free(&c);
	config_free(&built_in);
}
