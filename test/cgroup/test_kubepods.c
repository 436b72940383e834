// SPDX-License-Identifier: Apache-2.0
#include "cgroup/kubepods.h"
#include "test/check.h"
#include "test/fake.h"
#include <errno.h>

#define UID   "0f9d2d5e-86a3-4f0a-9b1e-3c2f5d6a7b8c"
#define UID_  "0f9d2d5e_86a3_4f0a_9b1e_3c2f5d6a7b8c"
#define ID    "4f7c1a9be2d04f7c1a9be2d04f7c1a9be2d04f7c1a9be2d04f7c1a9be2d04f7c"
#define PAUSE "00001a9be2d04f7c1a9be2d04f7c1a9be2d04f7c1a9be2d04f7c1a9be2d00000"

#define SYSTEMD_POD  "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice"
#define CGROUPFS_POD "kubepods/burstable/pod" UID

static const struct {
	const char *path;
	enum cgroup_driver driver;
	const char *uid, *id, *unit;
} good[] = {
	{SYSTEMD_POD, DRIVER_SYSTEMD, UID, "", "kubepods-burstable-pod" UID_ ".slice"},
	{SYSTEMD_POD "/cri-containerd-" ID ".scope", DRIVER_SYSTEMD, UID, ID,
	 "cri-containerd-" ID ".scope"},
	{"/" SYSTEMD_POD "/crio-" ID ".scope", DRIVER_SYSTEMD, UID, ID, "crio-" ID ".scope"},
	{"kubepods.slice/kubepods-pod" UID_ ".slice/docker-" ID ".scope", DRIVER_SYSTEMD, UID, ID,
	 "docker-" ID ".scope"},
	{"foo.slice/foo-kubepods.slice/foo-kubepods-pod" UID_ ".slice", DRIVER_SYSTEMD, UID, "",
	 "foo-kubepods-pod" UID_ ".slice"},
	/* The runtime uses the other driver. */
	{SYSTEMD_POD "/" ID, DRIVER_SYSTEMD, UID, ID, ""},
	{CGROUPFS_POD "/cri-containerd-" ID ".scope", DRIVER_CGROUPFS, UID, ID, ""},
	/* A node in a container. */
	{"docker/1/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_ ".slice",
	 DRIVER_SYSTEMD, UID, "", "kubelet-kubepods-pod" UID_ ".slice"},
	{CGROUPFS_POD, DRIVER_CGROUPFS, UID, "", ""},
	{CGROUPFS_POD "/" ID, DRIVER_CGROUPFS, UID, ID, ""},
	{"kubepods/pod" UID "/crio-" ID, DRIVER_CGROUPFS, UID, ID, ""},
	{"/foo/kubepods/besteffort/pod" UID "/" ID, DRIVER_CGROUPFS, UID, ID, ""},
	/* A static pod's is the hash of its file. */
	{"kubepods/burstable/pod1234567890abcdef1234567890abcdef", DRIVER_CGROUPFS,
	 "1234567890abcdef1234567890abcdef", "", ""},
};

static const char *const bad[] = {
	"",
	"/",
	"system.slice/web.service",
	"kubepods.slice",
	"kubepods/burstable",
	"kubepods.slice/kubepods-burstable.slice",
	"kubepods/burstable/pod",
	"kubepods.slice/kubepods-pod.slice",
	"kubepods/other/pod" UID,
	"notkubepods/pod" UID,
	"machine.slice/machine-pod" UID_ ".slice",
	SYSTEMD_POD "/",
	SYSTEMD_POD "/cri-containerd-" ID ".scope/inner",
	SYSTEMD_POD "/crio-conmon-" ID ".scope",
	SYSTEMD_POD "/cri-containerd-.scope",
	SYSTEMD_POD "/plain",
	CGROUPFS_POD "/crio-conmon-" ID,
	CGROUPFS_POD "/" ID "/inner",
	CGROUPFS_POD "/cgroup.procs",
	"kubepods/burstable/pod../" ID,
	"kubepods/burstable/pod" UID UID,
	"kubepods//pod" UID,
};

TEST(names)
{
	struct kubepods_name n, untouched;

	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		CHECK_EQ(kubepods_parse(good[i].path, &n), 0);
		CHECK_EQ(n.driver, good[i].driver);
		CHECK_STR(n.uid, good[i].uid);
		CHECK_STR(n.id, good[i].id);
		CHECK_STR(n.unit, good[i].unit);
	}
	memset(&untouched, 7, sizeof untouched);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		memset(&n, 7, sizeof n);
		if (kubepods_parse(bad[i], &n) != -EINVAL)
			fprintf(stderr, "taken: %s\n", bad[i]);
		CHECK_EQ(kubepods_parse(bad[i], &n), -EINVAL);
		CHECK(memcmp(&n, &untouched, sizeof n) == 0);
	}
}

/* The path of the one with the id that is looked for. */
static void keep_container(void *path, const char *child, const struct kubepods_name *name)
{
	if (strcmp(name->id, ID) == 0)
		strcpy(path, child);
}

static void check_found(const char *prefix, const char *pod, const char *container)
{
	char full[KUBEPODS_PATH_MAX], path[KUBEPODS_PATH_MAX], pause[KUBEPODS_PATH_MAX];
	OWN(fake_close) struct fake f;

	fake_open(&f, NULL, 0);
	CHECK_EQ(kubepods_find_pod(f.fd, prefix, UID, path, sizeof path), -ENOENT);
	snprintf(full, sizeof full, "%s/%s", pod, container);
	snprintf(pause, sizeof pause, "%s/%s", pod,
		 strstr(container, ".scope") ? "cri-containerd-" PAUSE ".scope" : PAUSE);
	fake_put(&f, pause, NULL);
	CHECK_EQ(kubepods_find_pod(f.fd, prefix, UID, path, sizeof path), 0);
	CHECK_STR(path, pod);
	/* The pause container's id is no container's. */
	path[0] = '\0';
	CHECK_EQ(kubepods_children(f.fd, pod, keep_container, path), 1);
	CHECK_STR(path, "");
	fake_put(&f, full, NULL);
	CHECK_EQ(kubepods_children(f.fd, pod, keep_container, path), 2);
	CHECK_STR(path, full);
	CHECK_EQ(kubepods_find_pod(f.fd, prefix, UID, path, 10), -ENAMETOOLONG);
	/* Another pod is none of ours. */
	CHECK_EQ(kubepods_find_pod(f.fd, prefix, "ffff", path, sizeof path), -ENOENT);
	CHECK_EQ(kubepods_find_pod(f.fd, prefix, "../x", path, sizeof path), -EINVAL);
	CHECK_EQ(kubepods_find_pod(f.fd, prefix, "", path, sizeof path), -EINVAL);
}

TEST(finds_both_drivers)
{
	check_found("", SYSTEMD_POD, "cri-containerd-" ID ".scope");
	check_found("", SYSTEMD_POD, "crio-" ID ".scope");
	check_found("", "kubepods.slice/kubepods-pod" UID_ ".slice", "cri-containerd-" ID ".scope");
	check_found("", CGROUPFS_POD, ID);
	check_found("", "kubepods/besteffort/pod" UID, "crio-" ID);
	check_found("/foo/b-r", "foo/b-r/kubepods/pod" UID, ID);
	check_found("/foo/b-r",
		    "foo.slice/foo-b_r.slice/foo-b_r-kubepods.slice/foo-b_r-kubepods-pod" UID_
		    ".slice",
		    "cri-containerd-" ID ".scope");
	/* A node in a container has a systemd of its own. */
	check_found("/docker/1", "docker/1/kubepods.slice/kubepods-pod" UID_ ".slice", ID);
	check_found("a.service/kubelet.slice",
		    "a.service/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort"
		    ".slice/kubelet-kubepods-besteffort-pod" UID_ ".slice",
		    "crio-" ID ".scope");
	/* So deep that slices, which carry what is before them, would be longer than any path. */
	check_found(
		"/user.slice/user-1000.slice/user@1000.service/app.slice/k3s-rootless.service/a/b",
		"user.slice/user-1000.slice/user@1000.service/app.slice/k3s-rootless.service/"
		"a/b/kubepods/burstable/pod" UID,
		ID);
}

#define OTHER    "1f9d2d5e-86a3-4f0a-9b1e-3c2f5d6a7b8c"
#define ROOTLESS "user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope"

/* Where nothing says where the pods are. */
TEST(searches)
{
	static const struct {
		const char *prefix, *pods;
	} places[] = {
		{"kubelet", "kubelet/kubepods/burstable/pod"},
		{"kubelet.slice",
		 "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
		 "kubelet-kubepods-besteffort-pod"},
		{ROOTLESS, ROOTLESS "/kubepods.slice/kubepods-pod"},
		{ROOTLESS "/kubelet", ROOTLESS "/kubelet/kubepods/pod"},
		{"", "kubepods/pod"},
		/* Docker Desktop: the kubelet's root has the name of what is below it. */
		{"kubepods", "kubepods/kubepods/burstable/pod"},
	};
	char prefix[KUBEPODS_PATH_MAX], path[KUBEPODS_PATH_MAX];

	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		bool slices = strstr(places[i].pods, ".slice/kube") != NULL;
		struct fake f;

		fake_open(&f, NULL, 0);
		fake_put(&f, "system.slice/a.service/kubepods/burstable/pod" OTHER, NULL);
		fake_put(&f, "system.slice/b.service/kubepods", NULL);
		CHECK_EQ(kubepods_search(f.fd, UID, prefix, sizeof prefix), -ENOENT);
		CHECK_EQ(kubepods_search(f.fd, NULL, prefix, sizeof prefix), 0);
		CHECK_STR(prefix, "system.slice/a.service");
		/* What a pod makes in its own cgroup is no node. */
		fake_put(&f, "kubepods/pod" OTHER "/kubepods/pod" UID, NULL);
		CHECK_EQ(kubepods_search(f.fd, UID, prefix, sizeof prefix), -ENOENT);
		snprintf(path, sizeof path, "%s%s%s", places[i].pods, slices ? UID_ : UID,
			 slices ? ".slice" : "");
		fake_put(&f, path, NULL);
		CHECK_EQ(kubepods_search(f.fd, UID, prefix, sizeof prefix), 0);
		CHECK_STR(prefix, places[i].prefix);
		CHECK_EQ(kubepods_search(f.fd, UID, prefix, strlen(places[i].prefix)), -ENOENT);
		fake_close(&f);
	}
}

/* A tree of any size is searched in a bounded part. */
TEST(search_ends)
{
	char path[KUBEPODS_PATH_MAX] = "", prefix[KUBEPODS_PATH_MAX];
	OWN(fake_close) struct fake f;

	fake_open(&f, NULL, 0);
	for (unsigned i = 0; i < 12; i++) {
		strcat(path, "deep/");
		fake_put(&f, path, NULL);
	}
	strcat(path, "kubepods/pod" UID);
	fake_put(&f, path, NULL);
	CHECK_EQ(kubepods_search(f.fd, UID, prefix, sizeof prefix), -ENOENT);
}

TEST(prefixes)
{
	static const char *const right[] = {"/",        "/kubelet",       "/kubelet/",
					    "/foo/b-r", "/kubelet.slice", "/kubepods-root"};
	static const char *const wrong[] = {"/..",
					    "/a/../b",
					    "/.",
					    "/kubepods",
					    "/a/kubepods/",
					    "/kubelet.slice/kubelet-kubepods.slice",
					    "/sys/fs/cgroup/kubelet",
					    "/sys/fs/cgroup"};
	char deep[KUBEPODS_PATH_MAX];

	for (size_t i = 0; i < sizeof right / sizeof right[0]; i++)
		CHECK(kubepods_prefix_fits(right[i]));
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		CHECK(!kubepods_prefix_fits(wrong[i]));
	memset(deep, 'a', sizeof deep);
	for (size_t i = 0; i < sizeof deep; i += 100)
		deep[i] = '/';
	deep[sizeof deep - 1] = '\0';
	CHECK(!kubepods_prefix_fits(deep));
}

TEST(parents)
{
	char paths[KUBEPODS_PARENTS_MAX][KUBEPODS_PATH_MAX];
	char top[KUBEPODS_PATH_MAX];
	OWN(fake_close) struct fake f;

	fake_open(&f, NULL, 0);
	CHECK_EQ(kubepods_parents(f.fd, "", paths), 0);
	CHECK_EQ(kubepods_top(f.fd, "", top, sizeof top), -ENOENT);
	fake_put(&f, "kubepods.slice/kubepods-burstable.slice", NULL);
	CHECK_EQ(kubepods_parents(f.fd, "", paths), 2);
	CHECK_EQ(kubepods_top(f.fd, "", top, sizeof top), 0);
	CHECK_STR(top, paths[0]);
	CHECK_EQ(kubepods_top(f.fd, "", top, 4), -ENAMETOOLONG);
	CHECK_EQ(kubepods_top(f.fd, "/other", top, sizeof top), -ENOENT);
	CHECK_EQ(kubepods_top(f.fd, "/../etc", top, sizeof top), -EINVAL);
	CHECK_STR(paths[0], "kubepods.slice");
	CHECK_STR(paths[1], "kubepods.slice/kubepods-burstable.slice");
	fake_put(&f, "kubepods/besteffort", NULL);
	CHECK_EQ(kubepods_parents(f.fd, "", paths), 4);
	CHECK(!kubepods_any_pod(f.fd, ""));
	fake_put(&f, "kubepods/burstable/pod" UID, NULL);
	CHECK(kubepods_any_pod(f.fd, ""));
	CHECK(!kubepods_any_pod(f.fd, "/other"));
	CHECK_STR(paths[3], "kubepods/besteffort");
	CHECK_EQ(kubepods_parents(f.fd, "/../etc", paths), 0);
}

static void count_child(void *arg, const char *path, const struct kubepods_name *name)
{
	int *count = arg;

	CHECK(strstr(path, name->id) != NULL);
	(*count)++;
}

TEST(children)
{
	OWN(fake_close) struct fake f;
	int count = 0;

	fake_open(&f, NULL, 0);
	fake_put(&f, CGROUPFS_POD "/" ID "/nested", NULL);
	fake_put(&f, CGROUPFS_POD "/" PAUSE, NULL);
	fake_put(&f, CGROUPFS_POD "/cpu.max", "max 100000\n");
	CHECK_EQ(kubepods_children(f.fd, CGROUPFS_POD, count_child, &count), 2);
	CHECK_EQ(count, 2);
	CHECK_EQ(kubepods_children(f.fd, "kubepods/none", count_child, &count), -ENOENT);
}
