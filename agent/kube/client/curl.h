/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl, loaded when the first client is made: it and the twenty libraries that it brings take 3
 * MB, which a node without Kubernetes should not pay. */
#pragma once

#include <curl/curl.h>

#define CURL_FUNCTIONS(X)                                                                          \
	X(easy_cleanup)                                                                            \
	X(easy_getinfo)                                                                            \
	X(easy_header)                                                                             \
	X(easy_init)                                                                               \
	X(easy_setopt)                                                                             \
	X(easy_strerror)                                                                           \
	X(free)                                                                                    \
	X(global_cleanup)                                                                          \
	X(global_init)                                                                             \
	X(multi_add_handle)                                                                        \
	X(multi_assign)                                                                            \
	X(multi_cleanup)                                                                           \
	X(multi_info_read)                                                                         \
	X(multi_init)                                                                              \
	X(multi_remove_handle)                                                                     \
	X(multi_setopt)                                                                            \
	X(multi_socket_action)                                                                     \
	X(multi_strerror)                                                                          \
	X(slist_append)                                                                            \
	X(slist_free_all)                                                                          \
	X(url)                                                                                     \
	X(url_cleanup)                                                                             \
	X(url_get)                                                                                 \
	X(url_set)

struct curl_functions {
#define CURL_MEMBER(name) __typeof__(curl_##name) *name;
	CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

/* Filled by curl_load and by nothing else. */
extern struct curl_functions curl;

/* May be called more than once. -ELIBACC: not installed or too old. */
int curl_load(void);
