#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# certs.sh FOLDER: two authorities and what they signed, for the tests of the client's TLS.
set -euo pipefail
cd "$1"

# authority NAME
authority()
{
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 \
		-subj "/CN=$1" -keyout "$1.key" -out "$1.crt"
}

# signed NAME AUTHORITY ALTERNATIVE-NAMES FIRST-DAY LAST-DAY
signed()
{
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" \
		-keyout "$1.key" -out "$1.csr"
	rm -f index.txt serial
	touch index.txt
	echo "subjectAltName=$3" >"$1.ext"
	openssl ca -batch -notext -config ca.conf -cert "$2.crt" -keyfile "$2.key" \
		-in "$1.csr" -out "$1.crt" -extfile "$1.ext" -startdate "$4" -enddate "$5"
}

{
	cat >ca.conf <<-'CONF'
		[ca]
		default_ca = here
		[here]
		database = index.txt
		new_certs_dir = .
		default_md = sha256
		rand_serial = yes
		unique_subject = no
		policy = any
		[any]
		commonName = supplied
	CONF
	authority ca
	authority other
	signed good ca IP:127.0.0.1,DNS:localhost 20200101000000Z 20990101000000Z
	signed expired ca IP:127.0.0.1,DNS:localhost 20200101000000Z 20200201000000Z
	signed elsewhere ca DNS:elsewhere.test 20200101000000Z 20990101000000Z
	signed stranger other IP:127.0.0.1,DNS:localhost 20200101000000Z 20990101000000Z
	signed client ca DNS:client.test 20200101000000Z 20990101000000Z
} >certs.log 2>&1 || {
	cat certs.log >&2
	exit 1
}
