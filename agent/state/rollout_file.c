// SPDX-License-Identifier: Apache-2.0
#include "agent/state/rollout_file.h"
#include "agent/state/record.h"
#include <errno.h>
#include <string.h>

const struct state_kind rollout_state = {"rollouts", 1, MIB};

#define FIELD(name, type, member, max) {name, type, offsetof(struct rollout_stop, member), max}

static const struct record_field fields[] = {
	FIELD("workload", RECORD_NAME, workload, 0),
	FIELD("percent", RECORD_U32, percent, ROLLOUT_ALL_PERCENT),
	FIELD("hurt", RECORD_U32, hurt, ROLLOUT_HURT_COUNT - 1),
};

static const struct record_layout layout = {fields, ARRAY_SIZE(fields),
					    sizeof(struct rollout_stop)};

void rollout_stops_free(struct rollout_stops *s)
{
	for (size_t i = 0; i < s->count; i++)
		record_clear(&layout, &s->items[i]);
	free(s->items);
	*s = (struct rollout_stops){0};
}

static int append(struct rollout_stops *s, const struct rollout_stop *stop)
{
	struct rollout_stop *grown;

	if (s->count == ROLLOUT_STOPS_MAX)
		return -ENOSPC;
	grown = reallocarray(s->items, s->count + 1, sizeof *grown);
	if (grown == NULL)
		return -ENOMEM;
	s->items = grown;
	grown[s->count++] = *stop;
	return 0;
}

int rollout_stops_add(struct rollout_stops *s, const char *workload, uint32_t percent,
		      enum rollout_hurt hurt)
{
	struct rollout_stop stop = {strdup(workload), percent, hurt};
	int r = stop.workload != NULL ? append(s, &stop) : -ENOMEM;

	if (r < 0)
		free(stop.workload);
	return r;
}

int rollout_stops_encode(const struct rollout_stops *s, char **ret, size_t *ret_len)
{
	return record_encode(&layout, s->items, s->count, ret, ret_len);
}

static int decode_line(void *ctx, const char *line, size_t len)
{
	struct rollout_stops *s = ctx;
	struct rollout_stop stop;
	int r = record_read(&layout, line, len, &stop);

	if (r < 0)
		return r;
	r = stop.hurt != ROLLOUT_UNHURT ? append(s, &stop) : -EBADMSG;
	if (r < 0)
		record_clear(&layout, &stop);
	return r == -ENOSPC ? -EBADMSG : r;
}

int rollout_stops_decode(const char *text, size_t len, struct rollout_stops *ret)
{
	OWN(rollout_stops_free) struct rollout_stops s = {0};
	int r = record_lines(text, len, decode_line, &s);

	if (r < 0)
		return r;
	*ret = s;
	s = (struct rollout_stops){0};
	return 0;
}

int rollout_stops_load(int dir, char *aside, struct rollout_stops *ret)
{
	OWN(state_file_free) struct state_file f = {0};
	int r = state_file_load(dir, &rollout_state, aside, &f);

	if (r < 0)
		return r;
	r = rollout_stops_decode(f.body, f.len, ret);
	if (r == -EBADMSG)
		state_file_set_aside(dir, &rollout_state, aside);
	return r;
}
