// SPDX-License-Identifier: Apache-2.0
/* Memory that the node did not have for a unit: reported once for as long as that lasts. */
#include "agent/manage/denied.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "agent/metrics/counters.h"
#include "agent/view/human.h"
#include <stdio.h>
#include <string.h>

static void __attribute__((format(printf, 3, 4))) add(char *text, size_t size, const char *format,
						      ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}

static const char *bytes(uint64_t value, char buf[static HUMAN_SIZE])
{
	return human_amount(RESOURCE_MEMORY, value, buf);
}

static const char *name_of(const struct unit_table *t, uint32_t entry)
{
	const struct managed *m = managed_by_id(t, entry);

	return m != NULL ? m->name : "another one";
}

/* What lacks the memory. */
static const char *where(const struct managed *m)
{
	uint32_t above = m->control.denial.verdict.above;

	return above == 0 ? "the node" : m->table->memory->above.items[above].path;
}

static void figures(const struct managed *m, char *text, size_t size)
{
	const struct ledger_verdict *v = &m->control.denial.verdict;
	char a[HUMAN_SIZE], b[HUMAN_SIZE], c[HUMAN_SIZE];

	text[0] = '\0';
	if (v->above != 0)
		add(text, size, "%s available below the limit of %s, %s granted and not used yet",
		    bytes(v->available, a), where(m), bytes(v->outstanding, c));
	else if (v->kubelet)
		add(text, size,
		    "%s available to the kubelet less %s for its eviction threshold and a margin,"
		    " %s granted and not used yet",
		    bytes(v->available, a), bytes(v->reserve, b), bytes(v->outstanding, c));
	else
		add(text, size, "%s available less %s reserve, %s granted and not used yet",
		    bytes(v->available, a), bytes(v->reserve, b), bytes(v->outstanding, c));
	if (v->kept > 0)
		add(text, size, ", %s kept for higher priority, such as %s", bytes(v->kept, a),
		    name_of(m->table, v->kept_for));
	if (v->holder_bytes > 0)
		add(text, size, "; the largest unused grant is %s of %s", bytes(v->holder_bytes, a),
		    name_of(m->table, v->holder));
}

bool denied_text(const struct managed *m, char *ret, size_t size)
{
	const struct ledger_verdict *v = &m->control.denial.verdict;
	char desired[HUMAN_SIZE], allowed[HUMAN_SIZE], why[DENIED_TEXT_BYTES];

	if (!control_denied(&m->control, m->wake->now))
		return false;
	figures(m, why, sizeof why);
	snprintf(ret, size, "needs %s, %s has memory for %s: %s", bytes(v->desired, desired),
		 where(m), bytes(v->allowed, allowed), why);
	return true;
}

static void report_denial(struct managed *m)
{
	const struct ledger_verdict *v = &m->control.denial.verdict;
	char why[DENIED_TEXT_BYTES], text[2 * DENIED_TEXT_BYTES];

	m->table->tally->denials++;
	figures(m, why, sizeof why);
	event_tell(EVENT_MEMORY_DENIED, .who = message_who(m), .resource = RESOURCE_MEMORY,
		   .from = v->allowed, .to = v->desired, .detail = why);
	if (m->pod != NULL && denied_text(m, why, sizeof why)) {
		snprintf(text, sizeof text, "%s memory: %s", pod_container_of(m), why);
		pod_warn(m->pod, "MemoryDenied", "Resize", text);
	}
}

void denied_report(struct managed *m)
{
	bool denied = control_denied(&m->control, m->wake->now);

	if (denied && !m->reported.denied)
		report_denial(m);
	m->reported.denied = denied;
}
