// SPDX-License-Identifier: Apache-2.0
// Steps about what a collector of OTLP/HTTP gets.
"use strict";

const { Given, Then } = require("@cucumber/cucumber");
const assert = require("node:assert/strict");
const { Listener } = require("../support/listener");
const { find } = require("./journal");
const { serve } = require("./server");

Given("a collector of traces", async function () {
  this.collector = new Listener();
  await this.collector.listen();
  this.cleanups.push(() => this.collector.close());
  this.env.OTEL_EXPORTER_OTLP_ENDPOINT = this.collector.url;
});

Given("a collector of traces that is down", async function () {
  const listener = new Listener();
  await listener.listen();
  this.env.OTEL_EXPORTER_OTLP_ENDPOINT = listener.url;
  await listener.close();
});

Given("a server that sends traces", function () {
  return serve(this);
});

function spans(world) {
  return world.collector.requests
    .filter(({ path }) => path === "/v1/traces")
    .flatMap(({ body }) => JSON.parse(body).resourceSpans)
    .flatMap((resource) => resource.scopeSpans)
    .flatMap((scope) => scope.spans);
}

function counted(world, table) {
  return table
    .raw()
    .every(
      ([name, count]) => spans(world).filter((span) => span.name === name).length === Number(count),
    );
}

Then("the collector has one trace, whose id is the run's", function () {
  const [created] = find(this, "run.created");
  const ids = new Set(spans(this).map((span) => span.traceId));
  assert.deepEqual([...ids], [created.run_id.replaceAll("-", "")]);
});

Then("it has the spans", function (table) {
  assert.ok(
    counted(this, table),
    spans(this)
      .map((span) => span.name)
      .join("\n"),
  );
});

Then("the collector soon has the spans", async function (table) {
  await this.until("the spans", () => counted(this, table)).catch((error) => {
    throw new Error(
      `${error.message}\n${spans(this)
        .map((span) => span.name)
        .join("\n")}`,
    );
  });
});

Then("each span has a start that is not after its end", function () {
  for (const { name, startTimeUnixNano, endTimeUnixNano } of spans(this)) {
    assert.ok(BigInt(startTimeUnixNano) > 0n, name);
    assert.ok(BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano), name);
  }
});

Then("each span but the root has a parent in the trace", function () {
  const ids = new Set(spans(this).map((span) => span.spanId));
  const roots = spans(this).filter((span) => !span.parentSpanId);
  assert.equal(roots.length, 1);
  for (const { name, parentSpanId } of spans(this))
    assert.ok(!parentSpanId || ids.has(parentSpanId), name);
});

Then("the later span {string} is linked to the earlier one", function (name) {
  const [earlier, later] = spans(this)
    .filter((span) => span.name === name)
    .sort((a, b) => (BigInt(a.startTimeUnixNano) < BigInt(b.startTimeUnixNano) ? -1 : 1));
  assert.deepEqual(
    later.links.map(({ spanId }) => spanId),
    [earlier.spanId],
  );
});

Then(
  "the file {string} names the trace and the span of iteration {int}",
  function (name, iteration) {
    const span = spans(this).filter((one) => one.name === "loop.iteration")[iteration - 1];
    assert.equal(this.read(name).trim(), `00-${span.traceId}-${span.spanId}-01`);
  },
);

module.exports = { spans };
