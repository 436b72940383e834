// SPDX-License-Identifier: Apache-2.0
// chart.mjs WANT.yaml GOT.yaml: the same objects in any order? One line per object that differs.
// A namespace of a kind that has none does not count: kustomize does not know every kind.
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { parseAllDocuments } from "yaml";

const [want, got] = process.argv.slice(2).map((file) => {
  const objects = parseAllDocuments(readFileSync(file, "utf8")).map((d) => d.toJS()).filter((o) => o);
  for (const o of objects) if (/^(ValidatingAdmission|SecurityContext)/.test(o.kind)) delete o.metadata.namespace;
  const named = objects.map((o) => [`${o.kind}/${o.metadata.namespace ?? ""}/${o.metadata.name}`, o]);
  if (new Set(named.map(([n]) => n)).size !== named.length) throw new Error(`${file}: an object twice`);
  return new Map(named);
});
const names = [...new Set([...want.keys(), ...got.keys()])];
const bad = names.filter((n) => !isDeepStrictEqual(want.get(n), got.get(n)));
for (const n of bad) console.log(`${n} differs: ${JSON.stringify(got.get(n))}, not ${JSON.stringify(want.get(n))}`);
process.exit(names.length > 0 && bad.length === 0 ? 0 : 1);
