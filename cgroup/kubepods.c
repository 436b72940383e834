// SPDX-License-Identifier: Apache-2.0
#include "cgroup/kubepods.h"
#include "cgroup/group.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ID_CHARS 64 /* of a container's id */

#define UID_CHARS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Guaranteed pods stand directly below kubepods. */
static const char *const classes[] = {"", "burstable", "besteffort"};

/* --- names --- */

static void drop_dir(DIR **d)
{
	if (*d != NULL)
		closedir(*d);
}

static void kubepods_replace(char *s, char from, char to)
{
	for (; *s != '\0'; s++)
		if (*s == from)
			*s = to;
}

static bool ends_with(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(s + len - n, end, n) == 0;
}

/* All characters are of the given set, and there is room. */
static int kubepods_take(const char *from, size_t len, const char *set, char *ret, size_t size)
{
	if (len == 0 || len >= size || strspn(from, set) < len)
		return -EINVAL;
	memcpy(ret, from, len);
	ret[len] = '\0';
	return 0;
}

/* "kubepods-burstable-podU_I_D.slice", the kubelet's own root may stand in front. */
static int parse_slice(const char *part, size_t len, struct kubepods_name *ret)
{
	static const char marker[] = "kubepods";
	const char *dash = memrchr(part, '-', len);
	const char *uid;

	if (!ends_with(part, len, ".slice") || dash == NULL || strncmp(dash, "-pod", 4) != 0 ||
	    memmem(part, (size_t)(dash - part), marker, strlen(marker)) == NULL)
		return -EINVAL;
	uid = dash + strlen("-pod");
	if (kubepods_take(uid, len - strlen(".slice") - (size_t)(uid - part), UID_CHARS "_",
			  ret->uid, sizeof ret->uid) < 0)
		return -EINVAL;
	kubepods_replace(ret->uid, '_', '-');
	ret->driver = DRIVER_SYSTEMD;
	return kubepods_take(part, len, UID_CHARS "-_.", ret->unit, sizeof ret->unit);
}

/* "podU-I-D" below "kubepods", "kubepods/burstable" or "kubepods/besteffort". */
static int parse_folder(const char *path, const char *part, size_t len, struct kubepods_name *ret)
{
	size_t before = (size_t)(part - path);
	bool known = false;

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		char parent[32];
		int n = snprintf(parent, sizeof parent, "kubepods/%s%s", classes[i],
				 classes[i][0] ? "/" : "");

		known |= before >= (size_t)n && memcmp(part - n, parent, (size_t)n) == 0 &&
			 (before == (size_t)n || part[-n - 1] == '/');
	}
	if (!known || len <= 3 || memcmp(part, "pod", 3) != 0)
		return -EINVAL;
	ret->driver = DRIVER_CGROUPFS;
	return kubepods_take(part + 3, len - 3, UID_CHARS "-", ret->uid, sizeof ret->uid);
}

/* "cri-containerd-ID.scope", "crio-ID.scope", "ID", "crio-ID"; CRI-O's monitor is no container. The
 * runtime's driver may be another than the kubelet's. */
static int parse_container(const char *part, struct kubepods_name *ret)
{
	size_t len = strlen(part);
	bool scope = ends_with(part, len, ".scope");
	const char *dash;

	if (strstr(part, "conmon") != NULL ||
	    (ret->driver == DRIVER_SYSTEMD && !scope && len < ID_CHARS))
		return -EINVAL;
	ret->unit[0] = '\0';
	if (scope && ret->driver == DRIVER_SYSTEMD &&
	    kubepods_take(part, len, UID_CHARS "-_.:\\@", ret->unit, sizeof ret->unit) < 0)
		return -EINVAL;
	len -= scope ? strlen(".scope") : 0;
	dash = memrchr(part, '-', len);
	if (dash != NULL) {
		len -= (size_t)(dash + 1 - part);
		part = dash + 1;
	}
	return kubepods_take(part, len, UID_CHARS, ret->id, sizeof ret->id);
}

int kubepods_parse(const char *path, struct kubepods_name *ret)
{
	struct kubepods_name n = {0};
	const char *part = path + strspn(path, "/");

	for (;;) {
		size_t len = strcspn(part, "/");
		const char *next = part[len] == '/' ? part + len + 1 : NULL;

		if (len == 0)
			return -EINVAL;
		if (parse_slice(part, len, &n) == 0 || parse_folder(path, part, len, &n) == 0) {
			if (next != NULL &&
			    (strchr(next, '/') != NULL || parse_container(next, &n) < 0))
				return -EINVAL;
			*ret = n;
			return 0;
		}
		if (next == NULL)
			return -EINVAL;
		part = next;
	}
}

/* --- places --- */

static bool is_folder(int root, const char *path)
{
	struct stat st;

	/* Takes no descriptor: a pod is not gone because there are none left. */
	return fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* How the kubelet's root is followed by the folders of pods: slices from the mount on, folders, or
 * slices below folders (a node in a container, which has a systemd of its own). */
enum form { FORM_SLICES, FORM_FOLDERS, FORM_NESTED, FORM_COUNT };

/* Adds "a/"; for slices "a.slice/", and later ones carry what is before them. */
static int add_part(bool slice, const char *part, char *name, char *path, size_t size)
{
	size_t used = strlen(path), len = strlen(name);
	int n;

	if (slice) {
		n = snprintf(name + len, KUBEPODS_PATH_MAX - len, "%s%s", len ? "-" : "", part);
		if (n < 0 || (size_t)n >= KUBEPODS_PATH_MAX - len)
			return -ENAMETOOLONG;
		/* A dash inside a part would be read as one more level. */
		kubepods_replace(name + len + (len ? 1 : 0), '-', '_');
	}
	n = snprintf(path + used, size - used, "%s%s%s", used ? "/" : "", slice ? name : part,
		     slice ? ".slice" : "");
	return n < 0 || (size_t)n >= size - used ? -ENAMETOOLONG : 0;
}

/* Where the pods of one class are; with uid, where that pod is. */
static int kubepods_place(enum form form, const char *prefix, const char *class, const char *uid,
			  char *ret, size_t size)
{
	char name[KUBEPODS_PATH_MAX] = "", part[NAME_MAX + 1] = "";
	bool slices = form != FORM_FOLDERS;
	int r = 0;

	ret[0] = '\0';
	while (r == 0 && *(prefix += strspn(prefix, "/")) != '\0') {
		size_t len = strcspn(prefix, "/");

		if (len >= sizeof part || (len <= 2 && strspn(prefix, ".") >= len))
			return -EINVAL;
		memcpy(part, prefix, len);
		part[len] = '\0';
		r = add_part(form == FORM_SLICES, part, name, ret, size);
		prefix += len;
	}
	if (form == FORM_NESTED && part[0] == '\0')
		return -ENOENT; /* FORM_SLICES is the same */
	if (form == FORM_NESTED && ends_with(part, strlen(part), ".slice"))
		snprintf(name, sizeof name, "%.*s", (int)(strlen(part) - strlen(".slice")), part);
	if (r == 0)
		r = add_part(slices, "kubepods", name, ret, size);
	if (r == 0 && class[0] != '\0')
		r = add_part(slices, class, name, ret, size);
	if (r < 0 || uid == NULL)
		return r;
	if (strlen(uid) >= KUBEPODS_UID_MAX || uid[0] == '\0' ||
	    uid[strspn(uid, UID_CHARS "-")] != '\0')
		return -EINVAL;
	snprintf(part, sizeof part, "pod%s", uid);
	return add_part(slices, part, name, ret, size);
}

/* The first folder that is there, of the first so many classes. */
static int find_place(int root, const char *prefix, size_t class_count, const char *uid, char *ret,
		      size_t size)
{
	char path[KUBEPODS_PATH_MAX];

	for (size_t n = 0; n < FORM_COUNT * class_count; n++) {
		int r = kubepods_place(n / class_count, prefix, classes[n % class_count], uid, path,
				       sizeof path);

		if (r == -EINVAL)
			return r;
		/* Too long for the one form, which carries what is before, not the other. */
		if (r < 0 || !is_folder(root, path))
			continue;
		return (size_t)snprintf(ret, size, "%s", path) < size ? 0 : -ENAMETOOLONG;
	}
	return -ENOENT;
}

int kubepods_find_pod(int root, const char *prefix, const char *uid, char *ret, size_t size)
{
	return find_place(root, prefix, ARRAY_SIZE(classes), uid, ret, size);
}

int kubepods_parents(int root, const char *prefix, char ret[][KUBEPODS_PATH_MAX])
{
	int count = 0;

	for (enum form form = 0; form < FORM_COUNT; form++)
		for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
			if (kubepods_place(form, prefix, classes[i], NULL, ret[count],
					   KUBEPODS_PATH_MAX) == 0 &&
			    is_folder(root, ret[count]))
				count++;
	return count;
}

int kubepods_top(int root, const char *prefix, char *ret, size_t size)
{
	return find_place(root, prefix, 1, NULL, ret, size);
}

/* NULL: errno says why. */
static DIR *open_folder(int root, const char *path)
{
	int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (dir == NULL && fd >= 0)
		close(fd);
	return dir;
}

/* Calls fn for the folders of pods, or of containers, in this one; NULL: only counts them. */
static int each_child(int root, const char *parent, bool pods, kubepods_child_fn *fn, void *arg)
{
	OWN(drop_dir) DIR *dir = open_folder(root, parent);
	char path[KUBEPODS_PATH_MAX];
	const struct dirent *entry;
	int count = 0;

	if (dir == NULL)
		return -errno;
	while ((entry = readdir(dir)) != NULL) {
		struct kubepods_name name;
		int n = snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);

		if (entry->d_type != DT_DIR || n < 0 || (size_t)n >= sizeof path ||
		    kubepods_parse(path, &name) < 0 || (name.id[0] == '\0') != pods)
			continue;
		if (fn != NULL)
			fn(arg, path, &name);
		count++;
	}
	return count;
}

int kubepods_children(int root, const char *pod_path, kubepods_child_fn *fn, void *arg)
{
	return each_child(root, pod_path, false, fn, arg);
}

bool kubepods_any_pod(int root, const char *prefix)
{
	char parents[KUBEPODS_PARENTS_MAX][KUBEPODS_PATH_MAX];
	int count = kubepods_parents(root, prefix, parents);

	for (int i = 0; i < count; i++)
		if (each_child(root, parents[i], true, NULL, NULL) > 0)
			return true;
	return false;
}

bool kubepods_prefix_fits(const char *prefix)
{
	char path[KUBEPODS_PATH_MAX - KUBEPODS_UID_MAX - KUBEPODS_ID_MAX];

	return kubepods_place(FORM_FOLDERS, prefix, "", NULL, path, sizeof path) == 0 &&
	       strncmp(path, "sys/fs/cgroup/", strlen("sys/fs/cgroup/")) != 0 &&
	       !ends_with(path, strlen(path), "kubepods/kubepods") &&
	       !ends_with(path, strlen(path), "kubepods.slice/kubepods");
}

/* --- a kubelet's root that is not configured --- */

/* The folders of services and containers that a node in one of them has above its own. */
#define SEARCH_LEVELS  10
#define SEARCH_FOLDERS 4096

struct search {
	int root;
	const char *uid; /* NULL: any pod */
	unsigned left;   /* folders that may still be opened */
	char *ret;
	size_t size;
};

static bool search_hit(const struct search *s, const char *path)
{
	char pod[KUBEPODS_PATH_MAX];

	return s->uid != NULL ? kubepods_find_pod(s->root, path, s->uid, pod, sizeof pod) == 0
			      : kubepods_any_pod(s->root, path);
}

/* Looks at what is exactly so many levels down: what is near the root is found first. */
static int search_below(struct search *s, const char *path, unsigned level)
{
	OWN(drop_dir)
	DIR *dir = s->left != 0 ? open_folder(s->root, path[0] != '\0' ? path : ".") : NULL;
	const struct dirent *e;
	char next[KUBEPODS_PATH_MAX];

	if (dir == NULL)
		return -ENOENT;
	s->left--;
	while ((e = readdir(dir)) != NULL) {
		bool pods = strcmp(e->d_name, "kubepods") == 0 ||
			    ends_with(e->d_name, strlen(e->d_name), "kubepods.slice");
		int n = snprintf(next, sizeof next, "%s%s%s", path, path[0] != '\0' ? "/" : "",
				 e->d_name);

		if (e->d_type != DT_DIR || e->d_name[0] == '.' || (size_t)n >= sizeof next)
			continue;
		/* The kubelet's root itself may be named like that: Docker Desktop. */
		const char *const roots[] = {path, next};
		for (size_t i = 0; pods && level == 0 && i < ARRAY_SIZE(roots); i++)
			if (strlen(roots[i]) < s->size && search_hit(s, roots[i])) {
				strcpy(s->ret, roots[i]);
				return 0;
			}
		/* What is in pods is theirs: no node's own. */
		if (!pods && level > 0 && search_below(s, next, level - 1) == 0)
			return 0;
	}
	return -ENOENT;
}

int kubepods_search(int root, const char *uid, char *ret, size_t size)
{
	struct search s = {root, uid, SEARCH_FOLDERS, ret, size};

	for (unsigned level = 0; level < SEARCH_LEVELS; level++)
		if (search_below(&s, "", level) == 0)
			return 0;
	return -ENOENT;
}
