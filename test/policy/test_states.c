// SPDX-License-Identifier: Apache-2.0
/* The table of states: complete, and the page docs/states.md has it item by item. */
#include "policy/types/reason.h"
#include "test/check.h"

static char page[64 * 1024];

TEST(read_page)
{
	FILE *f = fopen("docs/states.md", "re");

	CHECK(f != NULL);
	if (f == NULL)
		return;
	page[fread(page, 1, sizeof page - 1, f)] = '\0';
	fclose(f);
}

/* The item of a reason, under the heading of its state: - `name`: in words → what to do */
static void check_item(const struct state_row *r)
{
	char heading[64], line[1024];
	const char *at, *item, *end;

	snprintf(heading, sizeof heading, "\n## %s\n", unit_state_names[r->state]);
	snprintf(line, sizeof line, "\n- `%s`%s%s%s%s\n", r->name, r->text != NULL ? ": " : "",
		 r->text != NULL ? r->text : "", r->remedy != NULL ? " → " : "",
		 r->remedy != NULL ? r->remedy : "");
	at = strstr(page, heading);
	end = at != NULL ? strstr(at + 1, "\n## ") : NULL;
	item = at != NULL ? strstr(at, line) : NULL;
	if (item == NULL || (end != NULL && item > end))
		fprintf(stderr, "docs/states.md lacks under %s:%s", unit_state_names[r->state],
			line);
	CHECK(item != NULL && (end == NULL || item < end));
}

TEST(page)
{
	size_t rows = 0;

	for (size_t i = 0; i < STATE_REASON_COUNT; i++) {
		const struct state_row *r = &state_rows[i];

		CHECK(r->name != NULL && r->name[0] != '\0');
		if (r->name == NULL)
			continue;
		check_item(r);
		for (size_t k = 0; k < i; k++)
			CHECK(strcmp(state_rows[k].name, r->name) != 0);
		/* What is reported later says what to do. */
		CHECK(!r->late || (r->text != NULL && r->remedy != NULL));
	}
	for (const char *at = page; (at = strstr(at, "\n- `")) != NULL; at++)
		rows++;
	CHECK_EQ(rows, STATE_REASON_COUNT);
}

TEST(late)
{
	struct state_seen s = {.reason = STATE_SIZING};
	usec_t now = 1000 * USEC_PER_SEC;

	CHECK(!state_is_late(&s, STATE_SIZING, now));
	CHECK(!state_is_late(&s, STATE_CGROUP_NOT_READY, now));
	CHECK(!state_is_late(&s, STATE_CGROUP_NOT_READY, now + STATE_LATE_USEC - 1));
	CHECK(state_is_late(&s, STATE_CGROUP_NOT_READY, now + STATE_LATE_USEC));
	CHECK(!state_is_late(&s, STATE_CGROUP_NOT_READY, now + 2 * STATE_LATE_USEC));
	/* Another reason begins anew; one that need not pass is never told. */
	CHECK(!state_is_late(&s, STATE_NO_CGROUP, now + 2 * STATE_LATE_USEC));
	CHECK(state_is_late(&s, STATE_NO_CGROUP, now + 3 * STATE_LATE_USEC));
	CHECK(!state_is_late(&s, STATE_NOT_RUNNING, now + 3 * STATE_LATE_USEC));
	CHECK(!state_is_late(&s, STATE_NOT_RUNNING, now + 9 * STATE_LATE_USEC));
}
