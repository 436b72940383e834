// SPDX-License-Identifier: Apache-2.0
/* One eviction per workload and hour, by any node: the Lease of the workload. */
#include "test/kube/test_recreate.h"

/* Another agent's. renewed: of RFC 3339. */
static void put_lease(const char *method, const char *path, const char *renewed)
{
	char body[320];

	snprintf(body, sizeof body,
		 "{\"metadata\":{\"name\":\"" WEB_LEASE "\"},\"spec\":{\"holderIdentity\":"
		 "\"web-other_1\",\"leaseDurationSeconds\":3600,\"renewTime\":\"%s\"}}",
		 renewed);
	cJSON_Delete(crig_ask(&c, method, path, body));
}

/* Another node has evicted, a moment ago, and the successor is not there yet. */
TEST(leased)
{
	begin_refused(&(struct setting){.metadata = {web}});
	put_lease("POST", LEASES, "2100-01-01T00:00:00.000000Z");
	rig_run(&c.rig, 700, burn_699);
	CHECK_EQ(evictions(0), 0);
	CHECK_EQ(crig_lines(&c, EVENT_EVICTION_REFUSED, "to be evicted"), 1);
	check_holder("web-other_1");
}

/* It is taken; at the second try, as the first answer is no Lease. */
TEST(expired)
{
	begin_refused(&(struct setting){.metadata = {web}});
	put_lease("POST", LEASES, "2020-01-01T00:00:00.000000Z");
	crig_fault(&c, "garbage", "\"match\":\"GET .*/leases/\",\"count\":1");
	rig_run(&c.rig, 720, burn_699);
	CHECK_EQ(crig_requests(&c, "GET " LEASE, 200), 2);
	CHECK_EQ(evictions(201), 1);
	check_holder("web-0_");
}

static bool is_lease_read(struct crig *x)
{
	return crig_requests(x, "GET " LEASE, 200) > 0;
}

/* Two agents read an expired lease; the other one is first to take it. */
TEST(race)
{
	begin_refused(&(struct setting){.metadata = {web}});
	put_lease("POST", LEASES, "2020-01-01T00:00:00.000000Z");
	crig_fault(&c, "delay", "\"match\":\"PATCH .*/leases/\",\"count\":1,\"seconds\":3");
	CHECK(crig_until(&c, 1000, burn_699, is_lease_read));
	put_lease("PATCH", LEASE, "2020-01-01T00:00:01.000000Z");
	rig_run(&c.rig, 200, burn_699);
	CHECK_EQ(evictions(0), 0);
	CHECK_EQ(crig_lines(&c, EVENT_EVICTION_REFUSED, "to be evicted"), 1);
	check_holder("web-other_1");
}

/* Its owner sets the mode Auto while the lease is on its way. */
TEST(unwanted)
{
	begin_refused(&(struct setting){.metadata = {web}});
	put_lease("POST", LEASES, "2020-01-01T00:00:00.000000Z");
	crig_fault(&c, "delay", "\"match\":\"PATCH .*/leases/\",\"count\":1,\"seconds\":3");
	CHECK(crig_until(&c, 1000, burn_699, is_lease_read));
	crig_annotate(&c, &c.rig.pod[0], "mode", "Auto");
	rig_run(&c.rig, 200, burn_699);
	check_holder("web-0_");
	CHECK_EQ(evictions(0), 0);
}
