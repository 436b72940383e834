// SPDX-License-Identifier: Apache-2.0
/*
 * VPA's recorded figures, bit for bit. The excerpt kept in the tree always runs; the full set runs
 * where it is: VSCALED_VECTORS, else ../shared/vectors. With --kept the excerpt runs alone.
 */
#include "test/check.h"
#include "test/policy/vectors.h"
#include <dirent.h>
#include <inttypes.h>

#define KEPT_DIR    "test/policy/kept"
#define DEFAULT_DIR "../shared/vectors"
/* The excerpt is promised to hold at least this many. */
#define KEPT_FIGURES_MIN 60

struct tally vectors_tally;

/* Only the first differences are shown: one fault can spoil thousands of rows. */
#define SHOWN_MAX 20

static void failed(const struct csv *at, const char *what)
{
	vectors_tally.failures++;
	if (vectors_tally.failures <= SHOWN_MAX)
		fprintf(stderr, "row %" PRIu64 " %s: ", at->row, what);
}

void expect_double(const struct csv *at, const char *what, double got, double want)
{
	vectors_tally.figures++;
	if (memcmp(&got, &want, sizeof got) == 0)
		return;
	failed(at, what);
	if (vectors_tally.failures <= SHOWN_MAX)
		fprintf(stderr, "%.17g, want %.17g\n", got, want);
}

void expect_near(const struct csv *at, const char *what, double got, double want, double tolerance)
{
	double off = got > want ? got - want : want - got;

	vectors_tally.figures++;
	if (off <= tolerance * (want < 0 ? -want : want))
		return;
	failed(at, what);
	if (vectors_tally.failures <= SHOWN_MAX)
		fprintf(stderr, "%.17g, want %.17g\n", got, want);
}

void expect_int(const struct csv *at, const char *what, int64_t got, int64_t want)
{
	vectors_tally.figures++;
	if (got == want)
		return;
	failed(at, what);
	if (vectors_tally.failures <= SHOWN_MAX)
		fprintf(stderr, "%" PRId64 ", want %" PRId64 "\n", got, want);
}

void expect_text(const struct csv *at, const char *what, const char *got, const char *want)
{
	vectors_tally.figures++;
	if (strcmp(got, want) == 0)
		return;
	failed(at, what);
	if (vectors_tally.failures <= SHOWN_MAX)
		fprintf(stderr, "\"%s\", want \"%s\"\n", got, want);
}

const struct histogram_options *vectors_options(const char *kind)
{
	return strcmp(kind, "cpu") == 0 ? &histogram_cpu : &histogram_memory;
}

const char *vectors_weights(const struct checkpoint *c, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < c->count && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%d:%u", i > 0 ? ";" : "",
					 c->buckets[i].bucket, c->buckets[i].weight);
	return buf;
}

static const struct file {
	const char *base;
	void (*run)(const char *dir); /* NULL: read by the others, or nothing here does it */
} files[] = {
	{"bucket_starts", run_bucket_starts},
	{"decay_checkpoints", run_decay_checkpoints},
	{"decay_percentiles", run_decay_percentiles},
	{"decay_reload_percentiles", run_decay_reload_percentiles},
	{"decay_samples", NULL},
	{"e2e_input", run_e2e_input},
	{"e2e_recommendation", run_e2e_recommendation},
	{"find_bucket", run_find_bucket},
	{"merge", NULL},
	{"proportional_limits", NULL},
	{"round_up", run_round_up},
	{"single_value", run_single_value},
	{"unit_test_vectors", NULL},
	{"update_decisions", run_update_decisions},
	{NULL, NULL},
};

/* The row of a file name with the ending .csv or .csv.gz. */
static const struct file *file_of(const char *name)
{
	size_t base = strcspn(name, ".");
	const struct file *f;

	if (strcmp(name + base, ".csv") != 0 && strcmp(name + base, ".csv.gz") != 0)
		return NULL;
	for (f = files; f->base; f++)
		if (strlen(f->base) == base && memcmp(f->base, name, base) == 0)
			return f;
	return NULL;
}

static void run_file(const char *dir, const char *name)
{
	const struct file *f = file_of(name);
	struct tally before = vectors_tally;

	if (!f)
		fprintf(stderr, "%s/%s: nothing here knows this file\n", dir, name);
	CHECK(f != NULL);
	if (!f || !f->run)
		return;
	f->run(dir);
	fprintf(stderr, "%s: %" PRIu64 " figures, %" PRIu64 " differ\n", name,
		vectors_tally.figures - before.figures, vectors_tally.failures - before.failures);
	CHECK_EQ(vectors_tally.failures - before.failures, 0);
	CHECK(vectors_tally.figures > before.figures);
}

static int is_data(const struct dirent *e)
{
	return e->d_name[0] != '.' && strcmp(e->d_name, "README.md") != 0;
}

/* Runs every file of a folder; returns their number, negative when there is no such folder. */
static int run_folder(const char *dir)
{
	struct dirent **entries;
	int count = scandir(dir, &entries, is_data, alphasort);

	for (int i = 0; i < count; i++) {
		run_file(dir, entries[i]->d_name);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return count;
}

int main(int argc, char **argv)
{
	const char *dir = getenv("VSCALED_VECTORS");

	CHECK(run_folder(KEPT_DIR) > 0);
	fprintf(stderr, "%s: %" PRIu64 " figures\n", KEPT_DIR, vectors_tally.figures);
	CHECK(vectors_tally.figures >= KEPT_FIGURES_MIN);
	if (argc > 1 && strcmp(argv[1], "--kept") == 0)
		return check_result();

	if (!dir)
		dir = DEFAULT_DIR;
	if (run_folder(dir) <= 0) {
		fprintf(stderr, "recorded data absent: no files in %s, only the kept ones ran\n",
			dir);
	}
	fprintf(stderr, "%" PRIu64 " figures in all\n", vectors_tally.figures);
	return check_result();
}
