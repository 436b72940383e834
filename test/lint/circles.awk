# SPDX-License-Identifier: Apache-2.0
# Reads "FILE" for each source file, then "FILE INCLUDE"; prints each circle of more than 3 modules.
# x.c and x.h are one module; x_y.c without a header of its own belongs to x.

function module(file,   m)
{
	sub(/\.[ch]$/, "", file)
	for (m = file; !((m ".h") in known);)
		if (!sub(/_[^_\/]*$/, "", m))
			return file
	return m
}

# The circles by Tarjan's algorithm: a module ends one when it leads to none that was found earlier.
function visit(v,   i, w, n, circle)
{
	number[v] = low[v] = ++count
	stack[++top] = v
	open[v] = 1
	for (i = 1; i <= uses[v]; i++) {
		w = used[v, i]
		if (!(w in number))
			visit(w)
		if (open[w] && low[w] < low[v])
			low[v] = low[w]
	}
	if (low[v] != number[v])
		return
	do {
		w = stack[top--]
		open[w] = 0
		circle = " " w circle
		n++
	} while (w != v)
	if (n > 3)
		print n " modules in a circle:" circle
}

NF == 1 { known[$1] = 1 }
NF == 2 && ($2 in known) {
	from = module($1)
	to = module($2)
	if (from != to)
		used[from, ++uses[from]] = to
}
END {
	for (v in uses)
		if (!(v in number))
			visit(v)
}
