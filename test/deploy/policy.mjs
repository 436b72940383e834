// SPDX-License-Identifier: Apache-2.0
// policy.mjs FILE.yaml POLICY.json: writes the admission policy of the manifests.
// policy.mjs POLICY.json CASES.json compare: evaluates it by a CEL implementation that is not the test API
// server's, and compares what the two say of each case.
import { readFileSync, writeFileSync } from "node:fs";
import { Environment } from "@marcbachmann/cel-js";
import { parseAllDocuments } from "yaml";

const [from, to, compare] = process.argv.slice(2);
if (!compare) {
  const objects = parseAllDocuments(readFileSync(from, "utf8")).map((d) => d.toJS());
  writeFileSync(to, JSON.stringify(objects.find((o) => o.kind === "ValidatingAdmissionPolicy").spec));
  process.exit(0);
}

const policy = JSON.parse(readFileSync(from, "utf8"));
const cases = JSON.parse(readFileSync(to, "utf8"));
const cel = new Environment({ enableOptionalTypes: true, unlistedVariablesAreDyn: true });

// Whether the policy lets the case pass; what cannot be evaluated does not.
function passes(c) {
  const scope = { object: c.object, oldObject: c.oldObject, request: c.request, variables: {} };
  try {
    for (const v of policy.variables) scope.variables[v.name] = cel.evaluate(v.expression, scope);
    return policy.validations.every((r) => cel.evaluate(r.expression, scope) === true);
  } catch {
    return false;
  }
}

let failed = 0;
for (const c of cases) {
  if (passes(c) === c.passes) continue;
  failed++;
  console.log(`the test API server ${c.passes ? "allows" : "refuses"}, another CEL does not: ${c.what}`);
}
const allowed = cases.filter((c) => c.passes).length;
if (allowed === 0 || allowed === cases.length) {
  failed++;
  console.log(`${allowed} of ${cases.length} cases are allowed`);
}
console.log(`${cases.length} cases, ${allowed} of them allowed`);
process.exit(failed ? 1 : 0);
