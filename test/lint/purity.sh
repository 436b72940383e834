#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# purity.sh LIBRARY: policy/ calls nothing outside a short list (no clock, file, environment, locale,
# random number) and keeps no state of its own. Then the same check on planted violations.
set -euo pipefail
# shellcheck source=lint.sh
. "$(dirname "$0")/lint.sh"
need nm size cc ar

pure=(
	memcpy memmove memset memcmp memchr
	strlen strnlen strcmp strncmp strchr strrchr strspn strcspn
	malloc calloc realloc reallocarray free qsort bsearch abort
	pow exp exp2 log log2 log10 sqrt ceil floor round trunc fabs fmax fmin fmod ldexp frexp
	lround llround lrint llrint modf
)
# What the compiler itself puts in: 128-bit arithmetic, assertions, fortification, sanitizers.
compiler='__(u?div|u?mod|udivmod|divmod|mul|float|fix)[a-z]*[0-9]?|__assert_fail|__stack_chk_fail
	|__(mem|str)[a-z]*_chk|__[a-z]?u?(asan|ubsan|sanitizer|gcov|llvm)_.*|_GLOBAL_OFFSET_TABLE_'

foreign()
{
	comm -23 <(nm -u "$1" | awk '$1 == "U" { print $2 }' | sort -u) \
		<(nm --defined-only "$1" | awk 'NF == 3 { print $3 }' | sort -u)
}

check()
{
	local symbol list=" ${pure[*]} " compiler_re=${compiler//[$' \t\n']/} sanitized

	while read -r symbol; do
		[[ $list == *" $symbol "* ]] || [[ $symbol =~ ^($compiler_re)$ ]] ||
			bad "${1##*/} uses $symbol"
	done < <(foreign "$1")
	sanitized=$(nm -u "$1" | grep -c -E '__(asan|ubsan)_' || true)
	[ "$sanitized" = 0 ] || return 0 # the sanitizers keep data of their own
	while read -r symbol; do
		bad "${1##*/}: $symbol holds variables"
	done < <(size -A "$1" | awk '/:$|ex / { o = $1 } /^\.(data|bss|tdata|tbss)[ .]/ &&
		$1 !~ /\.rel\.ro/ && $2 > 0 { print o, $1 }')
}

# planted NAME CODE: a library with this code must fail
planted()
{
	local dir

	dir=$(mktemp -d)
	echo "$2" >"$dir/planted.c"
	cc -c -O0 -o "$dir/planted.o" "$dir/planted.c"
	ar rc "$dir/libplanted.a" "$dir/planted.o"
	if "$0" --only "$dir/libplanted.a" >/dev/null; then
		bad "purity.sh does not notice $1"
	fi
	rm -rf "$dir"
}

if [ "$1" = --only ]; then
	check "$2"
	verdict
fi
check "$1"
planted time '#include <time.h>
long f(void) { return (long)time(0); }'
planted getenv '#include <stdlib.h>
char *f(void) { return getenv("X"); }'
planted fopen '#include <stdio.h>
void *f(void) { return fopen("/x", "r"); }'
planted rand '#include <stdlib.h>
int f(void) { return rand(); }'
planted isdigit '#include <ctype.h>
int f(int c) { return isalpha(c); }'
planted 'a static variable' 'int f(void) { static int n; return n++; }'
planted 'an initialised variable' 'int n = 3; int f(void) { return n++; }'
verdict
