// SPDX-License-Identifier: Apache-2.0
/* The sections http and kubernetes: addresses, bounds, and what a reload leaves alone. */
#include "agent/base/listen.h"
#include "agent/config/config_table.h"
#include "test/check.h"
#include <arpa/inet.h>
#include <errno.h>

#define HEAD "apiVersion: config.vscaled.dev/v1alpha1\nkind: VscaledConfiguration\n"

static const struct {
	const char *text;
	int result;
	const char *host; /* NULL: any */
	unsigned port;
} addresses[] = {
	{":9753", 0, NULL, 9753},
	{"127.0.0.1:1", 0, "127.0.0.1", 1},
	{"0.0.0.0:65535", 0, "0.0.0.0", 65535},
	{"[::1]:9753", 0, "::1", 9753},
	{"[::]:9753", 0, "::", 9753},
	{"[2001:db8::17]:80", 0, "2001:db8::17", 80},
	{"", -EINVAL, NULL, 0},
	{"9753", -EINVAL, NULL, 0},
	{":", -EINVAL, NULL, 0},
	{":0", -ERANGE, NULL, 0},
	{":65536", -ERANGE, NULL, 0},
	{":99999999999999999999", -ERANGE, NULL, 0},
	{":080", -EINVAL, NULL, 0},
	{":+80", -EINVAL, NULL, 0},
	{":-1", -EINVAL, NULL, 0},
	{":80 ", -EINVAL, NULL, 0},
	{" :80", -EINVAL, NULL, 0},
	{"::1:80", -EINVAL, NULL, 0},
	{"[::1]80", -EINVAL, NULL, 0},
	{"[::1]", -EINVAL, NULL, 0},
	{"[]:80", -EINVAL, NULL, 0},
	{"[:80", -EINVAL, NULL, 0},
	{"]:80", -EINVAL, NULL, 0},
	{"[127.0.0.1]:80", -EINVAL, NULL, 0},
	{"127.1:80", -EINVAL, NULL, 0},
	{"256.0.0.1:80", -EINVAL, NULL, 0},
	{"localhost:80", -EINVAL, NULL, 0},
	{"[fe80::1%eth0]:80", -EINVAL, NULL, 0},
	{"[1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa]:80", -EINVAL, NULL, 0},
};

TEST(addresses)
{
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct listen_address a = {.size = 7};
		char host[INET6_ADDRSTRLEN] = "";
		int r = listen_parse(addresses[i].text, &a);

		if (r != addresses[i].result)
			fprintf(stderr, "\"%s\"\n", addresses[i].text);
		CHECK_EQ(r, addresses[i].result);
		if (r < 0) {
			CHECK_EQ(a.size, 7);
			continue;
		}
		CHECK_EQ(a.any, addresses[i].host == NULL);
		if (a.address.ss_family == AF_INET) {
			const struct sockaddr_in *in = (const void *)&a.address;

			CHECK_EQ(ntohs(in->sin_port), addresses[i].port);
			CHECK(inet_ntop(AF_INET, &in->sin_addr, host, sizeof host) != NULL);
		} else {
			const struct sockaddr_in6 *in = (const void *)&a.address;

			CHECK_EQ(ntohs(in->sin6_port), addresses[i].port);
			CHECK(inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof host) != NULL);
		}
		CHECK_STR(host, addresses[i].host != NULL ? addresses[i].host : "::");
	}
}

static int load(const char *text, struct config *ret, struct config_errors *errs)
{
	*errs = (struct config_errors){0};
	return config_load_text("f", text, strlen(text), ret, errs);
}

static const char full[] = HEAD "http: {listen: '[::1]:9753'}\n"
				"kubernetes:\n"
				"  enabled: true\n"
				"  kubeconfig: /etc/vscaled/kubeconfig\n"
				"  context: kubernetes-admin@kubernetes\n"
				"  nodeName: node-1.example\n"
				"  cgroupPrefix: /kube\n"
				"  writeBurst: 5\n"
				"  leaseTime: 30s\n"
				"  marginMin: 32Mi\n"
				"  minCpu: 50m\n"
				"  maxMemory: 8Gi\n";

static char *dump(const struct config *c)
{
	cJSON *tree = config_dump_json(c);
	char *text = cJSON_PrintUnformatted(tree);

	cJSON_Delete(tree);
	return text;
}

TEST(full)
{
	OWN(drop_free) char *first = NULL, *second = NULL;
	struct config_errors errs;
	struct config c, again;

	CHECK_EQ(load(full, &c, &errs), 0);
	CHECK_STR(c.http.listen, "[::1]:9753");
	CHECK_EQ(c.kubernetes.enabled, CONFIG_TRUE);
	CHECK_STR(c.kubernetes.kubeconfig, "/etc/vscaled/kubeconfig");
	CHECK_STR(c.kubernetes.context, "kubernetes-admin@kubernetes");
	CHECK_STR(c.kubernetes.node, "node-1.example");
	CHECK_STR(c.kubernetes.cgroup_prefix, "/kube");
	CHECK_EQ(c.kubernetes.write_burst, 5);
	CHECK_EQ(c.kubernetes.report.lease_usec, 30 * USEC_PER_SEC);
	CHECK_EQ(c.kubernetes.report.margin_min_bytes, 32 * MIB);
	CHECK_EQ(c.kubernetes.cpu_milli.min, 50);
	CHECK_EQ(c.kubernetes.cpu_milli.max, 0);
	CHECK_EQ(c.kubernetes.mem_bytes.max, 8 * GIB);
	first = dump(&c);
	CHECK_EQ(load(first, &again, &errs), 0);
	second = dump(&again);
	CHECK_STR(second, first);
	config_free(&again);
	config_free(&c);
	/* As it is usually written. */
	CHECK_EQ(load(HEAD "http:\n  listen: :9753\n", &c, &errs), 0);
	CHECK_STR(c.http.listen, ":9753");
	config_free(&c);
}

static const struct {
	const char *text;
	const char *error;
} wrong[] = {
	{HEAD "http: {listen: 'localhost:80'}\n",
	 "f:3: http.listen: \"localhost:80\" is not valid; allowed: an address and a port from 1 to"
	 " 65535, as 127.0.0.1:9753, [::1]:9753 or :9753"},
	{HEAD "http: {listen: ':0'}\n",
	 "f:3: http.listen: \":0\" is out of range; allowed: an address and a port from 1 to"
	 " 65535, as 127.0.0.1:9753, [::1]:9753 or :9753"},
	{HEAD "http: {port: 80}\n", "f:3: http.port: unknown key; allowed: listen"},
	{HEAD "kubernetes: {enabled: yes}\n",
	 "f:3: kubernetes.enabled: \"yes\" is not valid; allowed: auto, true, false"},
	{HEAD "kubernetes: {context: 'a b'}\n",
	 "f:3: kubernetes.context: \"a b\" is not valid; allowed: a name without blanks of at most"
	 " 253 bytes"},
	{HEAD "kubernetes: {kubeconfig: config}\n",
	 "f:3: kubernetes.kubeconfig: \"config\" is not valid; allowed: an absolute path of at most"
	 " 4032 bytes"},
	{HEAD "kubernetes: {cgroupPrefix: /kubelet/../a}\n",
	 "f:3: kubernetes.cgroupPrefix: \"/kubelet/../a\" is not valid; allowed: an absolute path "
	 "below the cgroup mount, without the mount and without kubepods, of at most 310 bytes"},
	{HEAD "kubernetes: {cgroupPrefix: /kubepods}\n",
	 "f:3: kubernetes.cgroupPrefix: \"/kubepods\" is not valid; allowed: an absolute path below"
	 " the cgroup mount, without the mount and without kubepods, of at most 310 bytes"},
	{HEAD "kubernetes:\n  minCpu: 2\n  maxCpu: 1\n",
	 "f:5: kubernetes.minCpu: 2 is above kubernetes.maxCpu (1); allowed: at most that"},
	{HEAD "kubernetes: {minMemory: 2Gi, maxMemory: 1Gi}\n",
	 "f:3: kubernetes.minMemory: 2Gi is above kubernetes.maxMemory (1Gi); allowed: at most"
	 " that"},
	{HEAD "kubernetes: {upInterval: 10m}\n",
	 "f:3: kubernetes.upInterval: 10m is above kubernetes.downInterval (5m); allowed: at most"
	 " that"},
	{HEAD "kubernetes: {writeBurst: 0}\n",
	 "f:3: kubernetes.writeBurst: \"0\" is out of range; allowed: a number from 1 to 1000"},
};

TEST(wrong)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct config_errors errs;
		struct config c;

		CHECK_EQ(load(wrong[i].text, &c, &errs), -EBADMSG);
		CHECK_EQ(errs.count, 1);
		CHECK_STR(errs.text[0], wrong[i].error);
	}
}

/* A lower bound alone is no bound above `none`. */
TEST(one_bound)
{
	struct config_errors errs;
	OWN(config_free) struct config c;

	CHECK_EQ(load(HEAD "kubernetes: {minCpu: 2, minMemory: 1Gi}\n", &c, &errs), 0);
	CHECK_EQ(c.kubernetes.cpu_milli.min, 2000);
	CHECK_EQ(c.kubernetes.mem_bytes.max, 0);
}

TEST(keep)
{
	struct config_errors errs;
	struct config old, fresh;
	char changed[256];

	CHECK_EQ(load(full, &old, &errs), 0);
	CHECK_EQ(load(full, &fresh, &errs), 0);
	CHECK_STR(config_keep_restart_only(&fresh, &old, changed, sizeof changed), "");
	config_free(&fresh);
	CHECK_OK(load(HEAD "clocks: {reflexInterval: 100ms}\n"
			   "paths: {socketGroup: adm}\n"
			   "http: {listen: ':80'}\n"
			   "kubernetes: {enabled: true, kubeconfig: /etc/vscaled/kubeconfig,"
			   " context: kubernetes-admin@kubernetes, nodeName: node-1.example,"
			   " cgroupPrefix: /kube, marginMin: 32Mi, minCpu: 70m}\n",
		      &fresh, &errs));
	CHECK_STR(config_keep_restart_only(&fresh, &old, changed, sizeof changed),
		  "paths.socketGroup, http.listen, kubernetes.writeBurst, kubernetes.leaseTime");
	/* What may change has changed, the rest is as it was; nothing is lost or freed twice. */
	CHECK_EQ(fresh.clocks.reflex_usec, 100 * USEC_PER_MSEC);
	CHECK(fresh.paths.socket_group == NULL);
	CHECK_STR(fresh.http.listen, "[::1]:9753");
	CHECK_EQ(fresh.kubernetes.write_burst, 5);
	CHECK_EQ(fresh.kubernetes.report.lease_usec, 30 * USEC_PER_SEC);
	CHECK_EQ(fresh.kubernetes.cpu_milli.min, 70);
	CHECK_EQ(fresh.kubernetes.mem_bytes.max, 0);
	CHECK_STR(old.http.listen, ":80");
	/* A list that does not fit is cut, not overrun. */
	CHECK_STR(config_keep_restart_only(&fresh, &old, changed, 8), "paths.s");
	config_free(&old);
	config_free(&fresh);
}

/* paths, recorder, prometheus, cgroup, http and kubernetes, but for what an administrator may want
 * to change at once. */
TEST(at_start)
{
	static const char *const sections[] = {"paths.", "recorder.", "prometheus.", "cgroup.",
					       "bpf.",   "http.",     "kubernetes."};
	static const char *const live[] = {
		"kubernetes.highestMode", "kubernetes.minCpu",
		"kubernetes.maxCpu",      "kubernetes.minMemory",
		"kubernetes.maxMemory",   "kubernetes.unratifiedCeiling",
		"kubernetes.observe",     "kubernetes.observedContainers"};

	for (size_t i = 0; i < config_key_count; i++) {
		const struct config_key *k = &config_keys[i];
		bool want = false;

		for (size_t j = 0; j < ARRAY_SIZE(sections); j++)
			want |= strncmp(k->path, sections[j], strlen(sections[j])) == 0;
		for (size_t j = 0; j < ARRAY_SIZE(live); j++)
			want &= strcmp(k->path, live[j]) != 0;
		if (k->at_start != want)
			fprintf(stderr, "%s\n", k->path);
		CHECK_EQ(k->at_start, want);
	}
}

/* The table's default texts are the values of policy/, and every value has a row. */
TEST(report)
{
	char seen[sizeof(struct report_tuning)] = {0};
	size_t start = offsetof(struct config, kubernetes.report);
	struct config c = {.kubernetes.report.page_bytes = PAGE_DEFAULT_BYTES};

	memset(seen + offsetof(struct report_tuning, page_bytes), 1, 8);
	for (size_t i = 0; i < config_key_count; i++) {
		const struct config_key *k = &config_keys[i];
		bool wide = k->type == CONFIG_DURATION || k->type == CONFIG_BYTES;

		if (k->offset < start || k->offset >= start + sizeof seen)
			continue;
		CHECK_EQ(config_value_set(k, k->fallback, &c), 0);
		memset(seen + k->offset - start, 1, wide ? 8 : 4);
	}
	for (size_t i = 0; i < sizeof seen; i++)
		if (seen[i])
			CHECK_EQ(((char *)&c.kubernetes.report)[i],
				 ((const char *)&report_tuning_default)[i]);
		else
			CHECK_EQ(((const char *)&report_tuning_default)[i], 0); /* padding */
	CHECK_EQ(config_default(&c), 0);
	c.kubernetes.report.page_bytes = PAGE_DEFAULT_BYTES;
	CHECK(memcmp(&c.kubernetes.report, &report_tuning_default, sizeof seen) == 0);
	config_free(&c);
}

/* Bytes, or a share of the node's memory. */
TEST(amount)
{
	const struct config_key *k =
		config_key_find(config_keys, config_key_count, "node.evictionThreshold");
	static const struct {
		const char *text;
		int result;
		uint64_t value;
	} rows[] = {
		{"0", 0, 0},
		{"512Mi", 0, 512 * MIB},
		{"5%", 0, AMOUNT_SHARE | 50},
		{"0%", 0, AMOUNT_SHARE},
		{"100%", 0, AMOUNT_SHARE | 1000},
		{"2.5%", 0, AMOUNT_SHARE | 25},
		{"100.1%", -ERANGE, 0},
		{"2Ti", -ERANGE, 0},
		{"2.55%", -EINVAL, 0},
		{"-5%", -EINVAL, 0},
		{"5%%", -EINVAL, 0},
		{"%", -EINVAL, 0},
		{"5 %", -EINVAL, 0},
		{"none", -EINVAL, 0},
	};
	char text[CONFIG_VALUE_TEXT];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct config c = {.tuning.node.eviction = 1};

		CHECK_EQ(config_value_set(k, rows[i].text, &c), rows[i].result);
		CHECK_EQ(c.tuning.node.eviction, rows[i].result == 0 ? rows[i].value : 1);
		if (rows[i].result == 0)
			CHECK_STR(config_value_text(k, &c, text, sizeof text), rows[i].text);
	}
}
