// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/client.h"
#include "agent/base/json.h"
#include "agent/base/listen.h"
#include "agent/ctl/render.h"
#include <curl/curl.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* 10,000 units with 3 KiB each. */
#define ANSWER_MAX (32 * MIB)
/* A restore waits for systemd, which may take tens of seconds when it is busy. */
#define ANSWER_TIMEOUT_SEC 120L
/* Five seconds in all. */
#define RETRIES    50
#define RETRY_USEC (100 * USEC_PER_MSEC)

static void drop_curl(CURL **c)
{
	curl_easy_cleanup(*c);
}

static void drop_headers(struct curl_slist **l)
{
	curl_slist_free_all(*l);
}

static void drop_file(FILE **f)
{
	if (*f != NULL)
		fclose(*f);
}

int client_probe(const char *socket_path)
{
	return listen_probe(socket_path, SOCK_STREAM);
}

bool client_no_daemon(int error)
{
	return error == -ENOENT || error == -ECONNREFUSED;
}

static int say_unreachable(const struct ctl *c, int error)
{
	if (client_no_daemon(error))
		return ctl_fail(c, CTL_ERROR,
				"start it with: systemctl start vscaled; or name its socket with "
				"--socket; restore, lift and doctor work without it",
				"vscaled is not running: no process listens at %s", c->socket);
	if (error == -EACCES || error == -EPERM)
		return ctl_fail(c, CTL_ERROR,
				"run vscalectl as root, or as a member of the socket's group "
				"(paths.socketGroup in the configuration)",
				"no permission to use %s", c->socket);
	return ctl_fail(c, CTL_ERROR, NULL, "%s: %s", c->socket, strerror(-error));
}

static int say_refused(const struct ctl *c, long status, const cJSON *answer)
{
	const char *error = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(answer, "error"));
	const char *hint = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(answer, "hint"));
	int code = status == 404   ? CTL_NOT_MANAGED
		   : status == 503 ? CTL_TRY_LATER
		   : status == 400 ? CTL_USAGE
				   : CTL_ERROR;

	if (code == CTL_NOT_MANAGED && c->missing_ok)
		return code;
	return ctl_fail(c, code, hint, "%s (status %ld)", error ? error : "the daemon refused",
			status);
}

static int read_answer(const struct ctl *c, CURL *curl, const char *text, size_t size, cJSON **ret)
{
	struct scan_error fault;
	cJSON *answer = NULL;
	long status = 0;
	int r;

	if (size > 0)
		(void)json_parse(text, size, &answer, &fault);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	json_remove_controls(answer);
	if (status == 200 && answer) {
		*ret = answer;
		return CTL_OK;
	}
	if (status == 200)
		r = ctl_fail(c, CTL_ERROR, "vscalectl and vscaled may be of different versions",
			     "the answer of the daemon is not valid");
	else
		r = say_refused(c, status, answer);
	cJSON_Delete(answer);
	return r;
}

/* 503 means that a call of the daemon to PID 1 is under way, which takes milliseconds. */
static CURLcode perform_patiently(CURL *curl, FILE *answer)
{
	long status = 0;
	CURLcode r;

	for (int i = 0;; i++) {
		rewind(answer);
		r = curl_easy_perform(curl);
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
		if (r != CURLE_OK || status != 503 || i == RETRIES)
			return r;
		usleep(RETRY_USEC);
	}
}

static int perform(const struct ctl *c, CURL *curl, const char *path, const char *body, cJSON **ret)
{
	OWN(drop_headers) struct curl_slist *headers = NULL;
	OWN(drop_free) char *text = NULL;
	OWN(drop_file) FILE *answer = NULL;
	size_t size = 0;
	char url[1024];
	CURLcode r;

	if ((size_t)snprintf(url, sizeof(url), "http://localhost%s", path) >= sizeof(url))
		return ctl_fail(c, CTL_USAGE, NULL, "the name is too long");
	answer = open_memstream(&text, &size);
	if (answer == NULL)
		return ctl_fail(c, CTL_ERROR, NULL, "%s", strerror(errno));
	curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, c->socket);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, ANSWER_TIMEOUT_SEC);
	curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)ANSWER_MAX);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	if (body) {
		headers = curl_slist_append(NULL, "Content-Type: application/json");
		curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	}
	r = perform_patiently(curl, answer);
	if (r == CURLE_OPERATION_TIMEDOUT)
		return ctl_fail(c, CTL_TRY_LATER, "see: journalctl -t vscaled",
				"the daemon does not answer at %s", c->socket);
	if (r != CURLE_OK)
		return ctl_fail(c, CTL_ERROR, NULL, "%s: %s", c->socket, curl_easy_strerror(r));
	fflush(answer);
	return read_answer(c, curl, text, size, ret);
}

int client_call(const struct ctl *c, const char *path, const cJSON *body, cJSON **ret)
{
	OWN(drop_curl) CURL *curl = NULL;
	char *text = NULL;
	int r = client_probe(c->socket);

	if (r < 0)
		return say_unreachable(c, r);
	curl = curl_easy_init();
	if (body)
		text = cJSON_PrintUnformatted(body);
	r = curl ? perform(c, curl, path, text, ret)
		 : ctl_fail(c, CTL_ERROR, NULL, "out of memory");
	cJSON_free(text);
	return r;
}

int client_call_name(const struct ctl *c, const char *path, const char *name, cJSON **ret)
{
	char *escaped = curl_easy_escape(NULL, name, 0);
	char full[1024];
	int n = snprintf(full, sizeof(full), "%s%s", path, escaped ? escaped : "");

	curl_free(escaped);
	if (!escaped || n < 0 || (size_t)n >= sizeof(full))
		return ctl_fail(c, CTL_USAGE, NULL, "the name is too long");
	return client_call(c, full, NULL, ret);
}
