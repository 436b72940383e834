// SPDX-License-Identifier: Apache-2.0
#include "systemd/unit_props.h"
#include <errno.h>
#include <string.h>

#define UNIT_NAME_MAX 255

/* clang-format off */
const struct unit_prop_row unit_prop_rows[UNIT_PROP_ROWS] = {
	{UNIT_PROP_CPU_QUOTA, "CPUQuotaPerSecUSec", "50-CPUQuota.conf",          offsetof(struct unit_props, cpu_quota_per_sec_usec)},
	{UNIT_PROP_CPU_QUOTA, "CPUQuotaPeriodUSec", "50-CPUQuotaPeriodSec.conf", offsetof(struct unit_props, cpu_quota_period_usec)},
	{UNIT_PROP_MEM_MAX,   "MemoryMax",          "50-MemoryMax.conf",         offsetof(struct unit_props, mem_max)},
	{UNIT_PROP_MEM_HIGH,  "MemoryHigh",         "50-MemoryHigh.conf",        offsetof(struct unit_props, mem_high)},
};

static const struct {
	const char *suffix;
	const char *interface;
} kinds[] = {
	{".service", "org.freedesktop.systemd1.Service"},
	{".scope",   "org.freedesktop.systemd1.Scope"},
	{".slice",   "org.freedesktop.systemd1.Slice"},
};

/* What libsystemd does not know by itself. */
static const struct {
	const char *name;
	int error;
} errors[] = {
	{"org.freedesktop.systemd1.NoSuchUnit",   ENOENT},
	{"org.freedesktop.systemd1.UnitMasked",   ENOENT},
	{"org.freedesktop.systemd1.LoadFailed",   ENOENT},
	{"org.freedesktop.systemd1.ShuttingDown", ESHUTDOWN},
	{SD_BUS_ERROR_DISCONNECTED,               ENOTCONN},
	{SD_BUS_ERROR_NAME_HAS_NO_OWNER,          ENOTCONN},
	{SD_BUS_ERROR_SERVICE_UNKNOWN,            ENOTCONN},
};

/* Every state in which a unit may have processes; "refreshing" is 257's. */
static const char *const live_states[] = {
	"active", "reloading", "refreshing", "activating", "deactivating",
};
/* clang-format on */

static bool name_valid(const char *unit)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789:-_.\\@";
	size_t len = strlen(unit);

	return len <= UNIT_NAME_MAX && strspn(unit, allowed) == len && unit[0] != '.';
}

const char *unit_interface_of(const char *unit)
{
	const char *dot = unit ? strrchr(unit, '.') : NULL;

	if (dot == NULL || dot == unit || !name_valid(unit))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(dot, kinds[i].suffix) == 0)
			return kinds[i].interface;
	return NULL;
}

static uint64_t value_in(const struct unit_props *p, const struct unit_prop_row *row)
{
	return *(const uint64_t *)((const char *)p + row->offset);
}

void unit_props_merge(struct unit_props *into, const struct unit_props *from, uint32_t mask)
{
	for (size_t i = 0; i < UNIT_PROP_ROWS; i++)
		if (unit_prop_rows[i].bit & mask)
			*(uint64_t *)((char *)into + unit_prop_rows[i].offset) =
				value_in(from, &unit_prop_rows[i]);
}

bool unit_props_equal(const struct unit_props *a, const struct unit_props *b, uint32_t mask)
{
	for (size_t i = 0; i < UNIT_PROP_ROWS; i++)
		if ((unit_prop_rows[i].bit & mask) &&
		    value_in(a, &unit_prop_rows[i]) != value_in(b, &unit_prop_rows[i]))
			return false;
	return true;
}

int unit_message_append_set(sd_bus_message *m, const char *unit, const struct unit_props *props,
			    uint32_t mask)
{
	int r = sd_bus_message_append(m, "sb", unit, 1);

	if (r < 0)
		return r;
	r = sd_bus_message_open_container(m, 'a', "(sv)");
	for (size_t i = 0; r >= 0 && i < UNIT_PROP_ROWS; i++)
		if (unit_prop_rows[i].bit & mask)
			r = sd_bus_message_append(m, "(sv)", unit_prop_rows[i].name, "t",
						  value_in(props, &unit_prop_rows[i]));
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_strings(sd_bus_message *m, const char *const *strings, size_t count)
{
	int r = sd_bus_message_open_container(m, 'a', "s");

	for (size_t i = 0; r >= 0 && i < count; i++)
		r = sd_bus_message_append(m, "s", strings[i]);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

int unit_message_append_list(sd_bus_message *m, const char *const *patterns, size_t count)
{
	int r = append_strings(m, live_states, ARRAY_SIZE(live_states));

	return r < 0 ? r : append_strings(m, patterns, count);
}

int unit_message_read_row(sd_bus_message *m, const char **ret_name, const char **ret_state)
{
	const char *name, *state;
	int r = sd_bus_message_enter_container(m, 'r', "ssssssouso");

	if (r <= 0)
		return r;
	r = sd_bus_message_read(m, "ssss", &name, NULL, NULL, &state);
	if (r >= 0)
		r = sd_bus_message_skip(m, "ssouso");
	if (r >= 0)
		r = sd_bus_message_exit_container(m);
	if (r < 0)
		return r;
	*ret_name = name;
	*ret_state = state;
	return 1;
}

int unit_error_to_errno(const sd_bus_error *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (sd_bus_error_has_name(e, errors[i].name))
			return -errors[i].error;
	return -sd_bus_error_get_errno(e);
}

int unit_message_error(sd_bus_message *m)
{
	const sd_bus_error *e = sd_bus_message_get_error(m);

	if (e == NULL)
		return 0;
	/* When the connection ends, libsystemd answers what is open with the same error as after a
	 * timeout. */
	if (sd_bus_is_open(sd_bus_message_get_bus(m)) <= 0)
		return -ENOTCONN;
	return unit_error_to_errno(e);
}

int unit_message_read_u64(sd_bus_message *m, uint64_t *ret)
{
	uint64_t value;
	int r = sd_bus_message_read(m, "v", "t", &value);

	if (r <= 0)
		return r < 0 ? r : -EBADMSG;
	*ret = value;
	return 0;
}

int unit_message_read_string(sd_bus_message *m, char **ret)
{
	const char *value;
	char *copy;
	int r = sd_bus_message_read(m, "v", "s", &value);

	if (r <= 0)
		return r < 0 ? r : -EBADMSG;
	copy = strdup(value);
	if (copy == NULL)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

int unit_message_read_id(sd_bus_message *m, char ret[33])
{
	const void *bytes;
	sd_id128_t id;
	size_t n = 0;
	int r = sd_bus_message_enter_container(m, 'v', "ay");

	if (r <= 0)
		return r < 0 ? r : -EBADMSG;
	r = sd_bus_message_read_array(m, 'y', &bytes, &n);
	if (r < 0)
		return r;
	if (n != 0 && n != sizeof id)
		return -EBADMSG;
	ret[0] = '\0';
	if (n != 0)
		sd_id128_to_string(*(sd_id128_t *)memcpy(&id, bytes, n), ret);
	return 0;
}
