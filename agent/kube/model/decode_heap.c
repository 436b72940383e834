// SPDX-License-Identifier: Apache-2.0
/* The memory ceiling of a language runtime from what the pod says of a container. JVM options in
 * the order of HotSpot (Arguments::parse): JAVA_TOOL_OPTIONS, the command line with
 * JDK_JAVA_OPTIONS in front (java(1)), _JAVA_OPTIONS; the other variables are what start scripts of
 * widely used images put on the command line. Node.js: NODE_OPTIONS, then the command line. */
#include "agent/kube/model/decode_impl.h"
#include <string.h>

struct variable {
	const char *name;
	void (*take)(struct heap_options *h, const char *value);
};
static const struct variable before[] = {
	{"JAVA_TOOL_OPTIONS", heap_words},
	{"JDK_JAVA_OPTIONS", heap_words},
	{"JAVA_OPTS", heap_words},
	{"JAVA_OPTIONS", heap_words},
	{"JAVA_ARGS", heap_words},
	{"JVM_OPTS", heap_words},
	{"JVM_ARGS", heap_words},
	{"JAVA_OPTS_APPEND", heap_words},
	{"KAFKA_HEAP_OPTS", heap_words},
	{"ES_JAVA_OPTS", heap_words},
	{"CATALINA_OPTS", heap_words},
	{"NODE_OPTIONS", heap_words},
	{"GOMEMLIMIT", heap_go_limit},
	/* The name before .NET 6, then the name since. */
	{"COMPlus_GCHeapHardLimit", heap_dotnet_limit},
	{"COMPlus_GCHeapHardLimitPercent", heap_dotnet_percent},
	{"DOTNET_GCHeapHardLimit", heap_dotnet_limit},
	{"DOTNET_GCHeapHardLimitPercent", heap_dotnet_percent},
};
static const struct variable after[] = {{"_JAVA_OPTIONS", heap_words}};

/* Of several with one name the last counts, as in the container. */
static void take_variable(const struct field *env, const struct variable *v,
			  struct heap_options *heap)
{
	struct field item = {0};
	const char *last = NULL;

	while (field_next(env, &item)) {
		const char *value = field_text(&item, "value");

		if (field_text_is(&item, "name", v->name))
			last = value;
	}
	if (last != NULL)
		v->take(heap, last);
}

static void take_list(const struct field *container, const char *key, struct heap_options *heap)
{
	struct field list = field_array(container, key), item = {0};
	const char *word;

	while (field_next_text(&list, &item, &word))
		heap_words(heap, word);
}

void decode_heap(const struct field *container, struct kube_container *c)
{
	struct field env = field_array(container, "env");
	struct heap_options heap = {0};

	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		take_variable(&env, &before[i], &heap);
	take_list(container, "command", &heap);
	take_list(container, "args", &heap);
	for (size_t i = 0; i < ARRAY_SIZE(after); i++)
		take_variable(&env, &after[i], &heap);
	c->heap = heap_highest(&heap);
}
