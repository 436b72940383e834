// SPDX-License-Identifier: Apache-2.0
/* The page of metrics: what stands in it, in both formats, and what it costs. */
#include "agent/serve/metrics.h"
#include "metrics_fixture.h"
#include "test/check.h"
#include <errno.h>
#include <time.h>
#include <unistd.h>

static struct metrics_fixture fixture;

static char *render(size_t containers, size_t *ret_size)
{
	char *text = metrics_fixture_render(metrics_fixture_page(&fixture, containers), 4 * KIB);

	CHECK(text != NULL);
	*ret_size = strlen(text);
	return text;
}

static bool has_line(const char *text, const char *line)
{
	size_t n = strlen(line);

	for (const char *p = strstr(text, line); p != NULL; p = strstr(p + 1, line))
		if ((p == text || p[-1] == '\n') && p[n] == '\n')
			return true;
	fprintf(stderr, "no line: %s\n", line);
	return false;
}

#define APP                                                                                        \
	"namespace=\"shop\",pod=\"checkout-service-7d9c5b6f8-00000\",container=\"app\",workload="  \
	"\"checkout-service\""

static const char *const lines[] = {
	"# TYPE vscaled_container_limit_cpu_cores gauge",
	"vscaled_build_info{version=\"" VSCALED_VERSION "\",revision=\"unknown\"} 1",
	"vscaled_container_limit_cpu_cores{unit=\"web.service\",source=\"spec\"} 0.5",
	"vscaled_container_limit_cpu_cores{unit=\"web.service\",source=\"applied\"} 0.9",
	"vscaled_container_limit_cpu_cores{" APP ",source=\"applied\"} 0.902",
	"vscaled_container_limit_memory_bytes{" APP ",source=\"applied\"} 268435458",
	"vscaled_container_ceiling_cpu_cores{" APP "} 4",
	"vscaled_container_recommendation_cpu_cores{" APP ",bound=\"peak\"} 0.87",
	"vscaled_container_reclaimable_cpu_cores{" APP "} 0.6",
	"vscaled_container_reclaimable_memory_bytes{" APP "} 0",
	"vscaled_container_usage_memory_bytes{" APP "} 157286400",
	"vscaled_container_throttled_ratio{" APP "} 0.025",
	"vscaled_container_psi_some_ratio{" APP ",resource=\"cpu\"} 0.012345",
	"vscaled_container_psi_some_ratio{" APP ",resource=\"memory\"} 0",
	"vscaled_container_oom_events_total{" APP "} 1",
	"vscaled_container_limit_drifts_total{" APP ",resource=\"cpu\"} 2",
	"vscaled_container_usage_memory_bytes{unit=\"a\\\\x2db \\\"quoted\\\"\\n?.service\"} 5",
	"vscaled_managed_containers{mode=\"Auto\",state=\"managed\"} 2",
	"vscaled_managed_containers{mode=\"Off\",state=\"waiting\"} 1",
	"vscaled_limit_changes_total{resource=\"cpu\",direction=\"up\",reason=\"throttled\"} 1",
	"vscaled_limit_changes_total{resource=\"memory\",direction=\"down\",reason=\"shrink\"} 1",
	"vscaled_limit_changes_total{resource=\"memory\",direction=\"up\",reason=\"restore\"} 0",
	"vscaled_limit_change_blocked_total{reason=\"ceiling\"} 1",
	"vscaled_limit_reverted_total{by=\"systemd\"} 3",
	"vscaled_apply_duration_seconds_bucket{backend=\"cgroup\",le=\"0.0001\"} 2",
	"vscaled_apply_duration_seconds_bucket{backend=\"cgroup\",le=\"0.01\"} 3",
	"vscaled_apply_duration_seconds_bucket{backend=\"cgroup\",le=\"1.0\"} 3",
	"vscaled_apply_duration_seconds_bucket{backend=\"cgroup\",le=\"30.0\"} 3",
	"vscaled_apply_duration_seconds_bucket{backend=\"cgroup\",le=\"+Inf\"} 4",
	"vscaled_apply_duration_seconds_sum{backend=\"cgroup\"} 60.00713",
	"vscaled_apply_duration_seconds_count{backend=\"cgroup\"} 4",
	"vscaled_raise_duration_seconds_bucket{since=\"wake\",le=\"0.0001\"} 1",
	"vscaled_raise_duration_seconds_bucket{since=\"due\",le=\"0.0005\"} 0",
	"vscaled_raise_duration_seconds_bucket{since=\"due\",le=\"0.001\"} 1",
	"vscaled_loop_lag_seconds_sum 0.00025",
	"vscaled_loop_lag_seconds_bucket{le=\"0.0005\"} 1",
	"vscaled_scan_duration_seconds_bucket{clock=\"reflex\",le=\"0.0001\"} 1",
	"vscaled_scan_duration_seconds_sum{clock=\"sample\"} 0.0008",
	"vscaled_reader_bpf 0",
	"vscaled_loop_last_tick_timestamp_seconds 1700000100.25",
	"vscaled_apiserver_requests_total{verb=\"patch\",code=\"200\"} 2",
	"vscaled_apiserver_requests_total{verb=\"watch\",code=\"none\"} 1",
	"vscaled_apiserver_watch_healthy 1",
	"vscaled_reports_failed_total{reason=\"refused\"} 1",
	"vscaled_requests_waited_total 2",
	"vscaled_config_last_reload_success_timestamp_seconds 1700000000",
};

TEST(text)
{
	size_t size;
	OWN(drop_free) char *text = render(1, &size);

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		CHECK(has_line(text, lines[i]));
	/* What is not known, and no limit, have no series; nor has what never happened a time. */
	CHECK(strstr(text, "limit_memory_bytes{unit=\"a") == NULL);
	CHECK(strstr(text, "usage_cpu_cores{unit=\"a") == NULL);
	CHECK(strstr(text, "\nvscaled_state_last_save_success_timestamp_seconds ") == NULL);
	CHECK(strstr(text, "reason=\"none\"") == NULL && strstr(text, "(null)") == NULL);
	CHECK(strstr(text, "# EOF") == NULL && strstr(text, "# UNIT") == NULL);
}

/* Without a cluster nothing is said about one, and what is gone is gone. */
TEST(standalone)
{
	OWN(drop_free)
	char *text = metrics_fixture_render(calloc(1, sizeof(struct metrics_page)), 64);

	CHECK(text != NULL);
	CHECK(strstr(text, "apiserver") == NULL && strstr(text, "vscaled_pods") == NULL);
	CHECK(strstr(text, "vscaled_reports") == NULL);
	CHECK(strstr(text, "unit=") == NULL && strstr(text, "pod=") == NULL);
	CHECK(strstr(text, "\nvscaled_unsupported{") == NULL);
}

/* Why nothing can be managed, or that the kernel is older than any that is tested. */
static void test_unsupported(const char *why, const char *line)
{
	struct metrics_page *page = calloc(1, sizeof *page);
	OWN(drop_free) char *text = NULL;

	page->kernel_old = true;
	page->unsupported = why;
	text = metrics_fixture_render(page, 64);
	CHECK(text != NULL && strstr(text, line) != NULL);
}

/* What the scrape found stays what it is, however long the client takes, and whatever goes. */
TEST(pieces)
{
	OWN(metrics_fixture_free) struct metrics_fixture f;
	struct metrics_page *page = NULL;
	OWN(drop_free) char *whole = NULL, *text = calloc(1, MIB);
	size_t size = 0, n = 0;

	metrics_fixture_init(&f, 20);
	whole = metrics_fixture_render(metrics_fixture_page(&f, 20), MIB);
	page = metrics_fixture_page(&f, 20);
	CHECK_EQ(page->unit_count, 22);
	counters_change(&f.counters, RESOURCE_CPU, 1, 2, REASON_THROTTLED);
	memset(f.names, 'x', 20 * sizeof *f.names);
	f.workload[0] = 'x';
	for (ssize_t got = 1; got > 0 && size < MIB / 2; n++) {
		got = metrics_page_read(page, text + size, n % 2 == 0 ? 1 : 5000);
		CHECK(got >= 0);
		size += (size_t)MAX(got, (ssize_t)0);
	}
	CHECK(n > 5 && size > 40 * KIB);
	CHECK(whole != NULL && strcmp(text, whole) == 0);
	metrics_page_free(page);
	/* Half read. */
	page = metrics_fixture_page(&f, 20);
	CHECK_EQ(metrics_page_read(page, text, 10), 10);
	metrics_page_free(page);
}

/* Of a container little more is kept than its names. */
TEST(size)
{
	struct metrics_page *page = metrics_fixture_page(&fixture, 1000);

	fprintf(stderr, "1000 containers: %zu bytes packed\n", page->units.size);
	CHECK(page->units.size < 220 * 1000);
	metrics_page_free(page);
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && strcmp(text + n - m, end) == 0;
}

/* Prometheus' naming rules, for each row. */
TEST(table)
{
	for (size_t i = 0; i < metrics_table_size; i++) {
		const struct metric *m = &metrics_table[i];

		CHECK(strncmp(m->name, "vscaled_", 8) == 0 || strncmp(m->name, "process_", 8) == 0);
		CHECK(strspn(m->name, "abcdefghijklmnopqrstuvwxyz_") == strlen(m->name));
		CHECK_EQ(ends_with(m->name, "_total"), m->type == METRIC_COUNTER);
		CHECK(ends_with(m->help, "."));
		CHECK((m->names == NULL) == (m->count == 0));
		CHECK((m->emit == NULL) != (m->values == NULL));
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(m->name, metrics_table[j].name) != 0);
	}
}

/* Pairs beyond the room share one place. */
TEST(many_codes)
{
	struct counters c = {0};
	uint64_t sum = 0;

	for (unsigned i = 0; i < 3 * COUNTERS_REQUESTS; i++)
		counters_request(&c, "patch", 100 + i);
	counters_request(&c, "patch", 100);
	for (size_t i = 0; i < COUNTERS_REQUESTS; i++)
		sum += c.requests[i].count;
	CHECK_EQ(sum, 3 * COUNTERS_REQUESTS + 1);
	CHECK_EQ(c.requests[0].count, 2);
	CHECK_STR(c.requests[COUNTERS_REQUESTS - 1].verb, "other");
	CHECK_EQ(c.requests[COUNTERS_REQUESTS - 1].code, 0);
}

/* 1,000 containers: within a fraction of a second. */
TEST(cost)
{
	size_t size = 0;
	uint64_t took = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t start = now_usec();
		OWN(drop_free) char *text = render(1000, &size);

		took = MIN(took, now_usec() - start);
		CHECK(strstr(text, "checkout-service-7d9c5b6f8-00999") != NULL);
	}
	fprintf(stderr, "1000 containers: %zu bytes in %llu us\n", size, (unsigned long long)took);
	CHECK(size > MIB && size < 4 * MIB);
	CHECK(check_emulated() || took < 500 * USEC_PER_MSEC);
}

TEST(process)
{
	static const char stat[] = "12 (a) b) S 1 2 3 -4 5 6 7 8 9 10 250 50 13 14 20 0 1 0 777 "
				   "4096000 25 18446744073709551615 1 1\n";
	struct process_facts f = {0};
	uint64_t start = 0, boot = 0;

	CHECK_EQ(process_parse_stat(stat, &f, &start), 0);
	CHECK_EQ(f.cpu_usec, 300 * USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	CHECK_EQ(f.virtual_bytes, 4096000);
	CHECK_EQ(f.resident_bytes, 25 * (uint64_t)sysconf(_SC_PAGESIZE));
	CHECK_EQ(start, 777);
	CHECK_EQ(process_parse_stat("12 (a) S 1 2", &f, &start), -EBADMSG);
	CHECK_EQ(process_parse_stat("", &f, &start), -EBADMSG);
	CHECK_EQ(process_parse_boot("cpu 1\nbtime 1700000000\nx", &boot), 0);
	CHECK_EQ(boot, 1700000000);
	CHECK_EQ(process_parse_boot("cpu 1\nbtime x\n", &boot), -EBADMSG);
	CHECK_EQ(process_parse_boot("xbtime 1\n", &boot), -EBADMSG);
	process_read(&f);
	CHECK(check_emulated() || (f.resident_bytes > MIB && f.resident_bytes <= f.virtual_bytes));
	CHECK(f.fds >= 3 && f.fds < f.fds_max);
	/* Started less than some minutes ago; the boot's time is in whole seconds. */
	CHECK(f.started_real / USEC_PER_SEC + 600 > (uint64_t)time(NULL));
	CHECK(f.started_real / USEC_PER_SEC <= (uint64_t)time(NULL) + 2);
}

int main(void)
{
	metrics_fixture_init(&fixture, 1000);
	check_run();
	test_unsupported(NULL, "\nvscaled_unsupported{reason=\"kernel-old\"} 1\n");
	test_unsupported("cgroup-v1", "\nvscaled_unsupported{reason=\"cgroup-v1\"} 1\n");
	metrics_fixture_free(&fixture);
	return check_result();
}
