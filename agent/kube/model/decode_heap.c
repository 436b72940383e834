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
static int take_variable(const struct field *env, const struct variable *v,
			 struct heap_options *heap)
{
	const char *last = NULL, *key = NULL, *value = NULL;
	struct field item = {0};
	int r;

	while ((r = field_next(env, &item)) > 0) {
		r = field_text(&item, "name", &key);
		if (r == 0)
			r = field_text(&item, "value", &value);
		if (r < 0)
			return r;
		if (key != NULL && strcmp(key, v->name) == 0)
			last = value;
	}
	if (r == 0 && last != NULL)
		v->take(heap, last);
	return r;
}

static int take_list(const struct field *container, const char *key, struct heap_options *heap)
{
	struct field list, item = {0};
	const char *word;
	int r = field_array(container, key, &list);

	while (r == 0 && (r = field_next_text(&list, &item, &word)) > 0) {
		heap_words(heap, word);
		r = 0;
	}
	return r;
}

int decode_heap(const struct field *container, struct kube_container *c)
{
	struct heap_options heap = {0};
	struct field env;
	int r = field_array(container, "env", &env);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(before); i++)
		r = take_variable(&env, &before[i], &heap);
	if (r == 0)
		r = take_list(container, "command", &heap);
	if (r == 0)
		r = take_list(container, "args", &heap);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(after); i++)
		r = take_variable(&env, &after[i], &heap);
	c->heap = heap_highest(&heap);
	return r;
}
