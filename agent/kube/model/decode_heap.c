// SPDX-License-Identifier: Apache-2.0
/* The memory ceiling of a language runtime from what the pod says of a container. JVM options in
 * the order of HotSpot (Arguments::parse): JAVA_TOOL_OPTIONS, the command line with
 * JDK_JAVA_OPTIONS in front (java(1)), _JAVA_OPTIONS; the other variables are what start scripts of
 * widely used images put on the command line. Node.js: NODE_OPTIONS, then the command line.
 *
 * $(NAME) stands for a variable: in a value for one further up, in command and args for any. A
 * value may be the container's own limit or request: what is made of it is a share of that, as it
 * was when the container started. */
#include "agent/kube/model/decode_impl.h"
#include "policy/base/base.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of an expanded text; the rest of a longer one is not seen. */
#define TEXT_MAX (8 * KIB)
/* References in one container: they may refer to each other. */
#define REFERENCES_MAX 256

struct variable {
	const char *name;
	void (*take)(struct heap_options *h, const char *value);
};
/* clang-format off */
#define WORDS(name) {name, heap_words}
static const struct variable before[] = {
	/* What an image's script writes to a file of options, or takes where no options say more. */
	{"ELASTICSEARCH_HEAP_SIZE", heap_jvm_size}, {"OPENSEARCH_HEAP_SIZE", heap_jvm_size}, {"ES_HEAP_SIZE", heap_jvm_size},
	{"LS_HEAP_SIZE", heap_jvm_size}, {"ZK_HEAP_SIZE", heap_jvm_size}, {"ZOO_HEAP_SIZE", heap_jvm_mib},
	WORDS("JAVA_TOOL_OPTIONS"), WORDS("JDK_JAVA_OPTIONS"), WORDS("JAVA_OPTS"), WORDS("JAVA_OPTIONS"), WORDS("JAVA_ARGS"),
	WORDS("JVM_OPTS"), WORDS("JVM_ARGS"), WORDS("JAVA_OPTS_APPEND"), WORDS("KAFKA_HEAP_OPTS"), WORDS("KAFKA_OPTS"),
	WORDS("ES_JAVA_OPTS"), WORDS("OPENSEARCH_JAVA_OPTS"), WORDS("LS_JAVA_OPTS"), WORDS("CATALINA_OPTS"),
	/* cassandra-env.sh: behind JVM_OPTS. bin/solr: SOLR_HEAP counts where both are set. */
	{"MAX_HEAP_SIZE", heap_jvm_size}, WORDS("JVM_EXTRA_OPTS"),
	WORDS("SOLR_JAVA_MEM"), {"SOLR_HEAP", heap_jvm_size}, WORDS("SOLR_OPTS"),
	/* zkEnv.sh, zkServer.sh */
	{"ZK_SERVER_HEAP", heap_jvm_mib}, WORDS("ZK_SERVER_JVMFLAGS"), WORDS("SERVER_JVMFLAGS"), WORDS("JVMFLAGS"),
	WORDS("NODE_OPTIONS"), {"GOMEMLIMIT", heap_go_limit},
	/* The name before .NET 6, then the name since. */
	{"COMPlus_GCHeapHardLimit", heap_dotnet_limit}, {"COMPlus_GCHeapHardLimitPercent", heap_dotnet_percent},
	{"DOTNET_GCHeapHardLimit", heap_dotnet_limit}, {"DOTNET_GCHeapHardLimitPercent", heap_dotnet_percent},
};
/* clang-format on */
static const struct variable last = WORDS("_JAVA_OPTIONS");

struct reader {
	struct field env;
	const struct kube_container *c;
	struct heap_options heap;
	unsigned references;
	const uint64_t *of;    /* the text is this limit or request, or is made of it */
	const uint64_t *share; /* the highest value is */
	size_t len;
	char text[TEXT_MAX];
};

/* Of several with one name the last counts, as in the container. count: of those to look at. */
static struct field find(const struct reader *r, const char *name, size_t len, size_t count)
{
	struct field item = {0}, found = {0};

	while (field_next(&r->env, &item) && item.index < count) {
		const char *own = field_text(&item, "name");

		if (own != NULL && strlen(own) == len && memcmp(own, name, len) == 0)
			found = item;
	}
	return found;
}

static void put(struct reader *r, const char *s, size_t len)
{
	len = MIN(len, sizeof r->text - 1 - r->len);
	memcpy(r->text + r->len, s, len);
	r->len += len;
	r->text[r->len] = '\0';
}

/* valueFrom: the container's own memory; anything else is not in the pod. */
static bool put_amount(struct reader *r, const struct field *item)
{
	struct field from = field_object(item, "valueFrom");
	struct field ref = field_object(&from, "resourceFieldRef");
	bool limit = field_text_is(&ref, "resource", "limits.memory");
	const uint64_t *of = limit ? r->c->spec.limit : r->c->spec.request;
	uint64_t amount = of[RESOURCE_MEMORY], divisor;
	char number[24];

	if ((!limit && !field_text_is(&ref, "resource", "requests.memory")) || amount == 0 ||
	    amount == LIMIT_MAX ||
	    (field_has(&ref, "containerName") && !field_text_is(&ref, "containerName", r->c->name)))
		return false;
	divisor = MAX(field_quantity(&ref, "divisor", RESOURCE_MEMORY), (uint64_t)1);
	r->of = &of[RESOURCE_MEMORY];
	snprintf(number, sizeof number, "%" PRIu64, amount / divisor + (amount % divisor != 0));
	put(r, number, strlen(number));
	return true;
}

static void put_expanded(struct reader *r, const char *text, size_t count);

static bool put_variable(struct reader *r, const struct field *item)
{
	const char *value = field_text(item, "value");

	if (value == NULL)
		return put_amount(r, item);
	put_expanded(r, value, item->index);
	return true;
}

/* What cannot be resolved stays as it is written, as in the container; ${NAME} is for a shell. */
static void put_expanded(struct reader *r, const char *text, size_t count)
{
	while (*text != '\0' && r->len < sizeof r->text - 1) {
		bool brace = strncmp(text, "${", 2) == 0;
		bool may =
			(brace || strncmp(text, "$(", 2) == 0) && r->references++ < REFERENCES_MAX;
		const char *end = may ? strchr(text, brace ? '}' : ')') : NULL;
		struct field item = {0};

		if (end != NULL)
			item = find(r, text + 2, (size_t)(end - text) - 2, count);
		if (item.json != NULL && put_variable(r, &item)) {
			text = end + 1;
			continue;
		}
		put(r, text, 1);
		text += strncmp(text, "$$", 2) == 0 ? 2 : 1;
	}
}

static const char *expanded(struct reader *r, const char *text, size_t count)
{
	if (strchr(text, '$') == NULL)
		return text;
	r->len = 0;
	put_expanded(r, text, count);
	return r->text;
}

/* What it is a share of counts where the highest value is made of it. */
static void take(struct reader *r, void (*fn)(struct heap_options *h, const char *value),
		 const char *text)
{
	uint64_t highest = heap_highest(&r->heap).bytes;

	fn(&r->heap, text);
	if (heap_highest(&r->heap).bytes != highest)
		r->share = r->of;
	r->of = NULL;
}

static void take_variable(struct reader *r, const struct variable *v)
{
	struct field item = find(r, v->name, strlen(v->name), SIZE_MAX);
	const char *value = field_text(&item, "value");

	r->len = 0;
	if (value != NULL)
		take(r, v->take, expanded(r, value, item.index));
	else if (put_amount(r, &item))
		take(r, v->take, r->text);
}

static void take_list(struct reader *r, const struct field *container, const char *key)
{
	struct field list = field_array(container, key), item = {0};
	const char *word;

	while (field_next_text(&list, &item, &word))
		take(r, heap_words, expanded(r, word, SIZE_MAX));
}

void decode_heap(const struct field *container, struct kube_container *c)
{
	struct reader r = {.env = field_array(container, "env"), .c = c};
	const uint64_t *limit = &c->spec.limit[RESOURCE_MEMORY];

	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		take_variable(&r, &before[i]);
	take_list(&r, container, "command");
	take_list(&r, container, "args");
	take_variable(&r, &last);
	c->heap = heap_highest(&r.heap);
	if (r.share == &c->spec.request[RESOURCE_MEMORY])
		c->heap_request = *r.share;
	if (r.share != limit || c->heap.bytes == 0)
		return;
	c->heap.permille = (uint32_t)mul_div(MIN(c->heap.bytes, *limit), 1000, *limit);
	c->heap.bytes = 0;
}
