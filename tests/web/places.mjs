// SPDX-License-Identifier: Apache-2.0
// Every page and state that is looked at: by axe, for its width, and as a picture.
import { quiet } from "./mock/hitl.mjs";
import { World, showcase } from "./mock/model.mjs";
import { Mock } from "./mock/server.mjs";
import { live } from "./browser.mjs";
import { inbox } from "./mock/inbox.mjs";
import { prdWorld } from "./mock/tasks.mjs";
import { idOf } from "./mock/work.mjs";

/** For their ids. */
const ENTRIES = inbox();

const settled = (page) => page.waitForFunction(() => !document.querySelector(".skeleton"));

function furnished() {
  const world = new World({ size: 60 });
  const run = showcase(world);
  run.tokens = 168_400;
  world.warn(run, "tokens", 200_000, 168_400);
  const others = [...world.runs.values()];
  const tell = (kind, other, message, more = {}) =>
    world.warnings.push({
      id: `w-${kind}-${other.run_id}`,
      time: other.updated,
      kind,
      run_id: other.run_id,
      agent_id: other.agent_id,
      iteration: other.iteration,
      message,
      seq: 9,
      position: 9,
      ...more,
    });
  tell("ended", others[8], "The run ended as failed: three iterations in a row failed", {
    status: "failed",
  });
  tell("stalled", others[2], "Nothing has happened for 12 m");
  tell("limit", others[12], "$4.60 of $5.00 cost, $0.40 left", {
    limit_name: "cost",
    limit: 5,
    value: 4.6,
    remaining: 0.4,
    percent: 92,
  });
  tell(
    "policy",
    others[15],
    "the limit of 100 iterations is used up (100 so far); policy `limit.iterations` says so",
    { status: "policy_violation" },
  );
  world.putPolicy(world.policies[0].text.replace("100", "200"), "token release-bot (api)", "set");
  return { world, run };
}

async function mock(folder, more = {}) {
  const { world, run } = furnished();
  const server = await new Mock({ folder, world, ...more }).start();
  return { server, world, run };
}

async function prd(folder, more = {}) {
  const { world, run } = prdWorld(more);
  return { server: await new Mock({ folder, world }).start(), world, run };
}

/** name: of the picture; path(run): address; setup: of the mock; act(page, scene): until it looks right */
export const PLACES = [
  {
    name: "runs",
    path: () => "#/runs",
    act: async (page) => {
      await live(page);
      await page.waitForSelector(".tr[data-run]");
      await page.keyboard.press("j");
      await page.keyboard.press("j");
    },
  },
  { name: "runs-filtered-to-nothing", path: () => "#/runs?q=zzz", act: settled },
  {
    name: "runs-empty",
    path: () => "#/runs",
    setup: async (folder) => ({
      server: await new Mock({ folder, world: new World({ size: 0 }) }).start(),
    }),
    act: async (page) => {
      await live(page);
      await settled(page);
    },
  },
  {
    name: "runs-loading",
    path: () => "#/runs",
    setup: async (folder) => {
      const scene = await mock(folder);
      scene.server.broken = new Map();
      return scene;
    },
    before: (scene) => {
      scene.server.delayMs = 60_000;
    },
    act: (page) => page.waitForSelector(".skeleton"),
  },
  {
    name: "runs-failing",
    path: () => "#/runs",
    before: (scene) => scene.server.broken.set("/v1/runs", 503),
    act: (page) => page.waitForSelector(".empty-problem"),
  },
  {
    name: "runs-forbidden",
    path: () => "#/runs",
    before: (scene) => scene.server.broken.set("/v1/runs", 403),
    act: (page) => page.waitForSelector(".empty-problem"),
  },
  {
    name: "runs-reconnecting",
    path: () => "#/runs",
    act: async (page, scene) => {
      await live(page);
      await page.waitForSelector(".tr[data-run]");
      scene.server.broken.set("/v1/stream", 503);
      scene.server.cutStreams();
      await page.waitForSelector('.connection[data-phase="waiting"]', { state: "attached" });
    },
  },
  {
    name: "sign-in",
    path: () => "",
    setup: (folder) => mock(folder, { token: "rondo_secret" }),
    act: (page) => page.waitForSelector("#token"),
  },
  {
    name: "run",
    path: (run) => `#/runs/${run.run_id}`,
    act: async (page) => {
      await live(page);
      await page.waitForSelector(".chart canvas");
    },
  },
  {
    name: "run-condition-open",
    path: (run) => `#/runs/${run.run_id}`,
    act: async (page) => {
      await page.click('[data-condition="linting_clean"] button');
      await page.waitForSelector(".condition-body");
    },
  },
  {
    name: "run-stop-dialog",
    path: (run) => `#/runs/${run.run_id}`,
    act: async (page) => {
      await live(page);
      await page.getByRole("button", { name: "Stop" }).click();
      await page.waitForSelector("dialog[open]");
    },
  },
  {
    name: "run-limits-dialog",
    path: (run) => `#/runs/${run.run_id}`,
    act: async (page) => {
      await live(page);
      await page.getByRole("button", { name: "Limits" }).click();
      await page.waitForSelector("dialog[open]");
    },
  },
  {
    name: "run-timeline",
    path: (run) => `#/runs/${run.run_id}/timeline`,
    act: async (page) => {
      await live(page);
      await page.waitForSelector(".tl-row");
      await page.keyboard.press("k");
      await page.keyboard.press("k");
      await page.waitForSelector(".detail");
    },
  },
  {
    name: "run-conversation",
    path: (run) => `#/runs/${run.run_id}/conversation`,
    act: async (page) => {
      await page.waitForSelector(".message");
      await page.locator(".call-head").first().click();
    },
  },
  {
    name: "run-checkpoints",
    path: (run) => `#/runs/${run.run_id}/checkpoints`,
    act: (page) => page.waitForSelector(".checkpoint .code"),
  },
  {
    name: "run-checkpoint-changes",
    path: (run) => `#/runs/${run.run_id}/checkpoints/20`,
    act: async (page) => {
      await page.getByRole("button", { name: "Changes" }).click();
      await page.waitForSelector(".diff-row");
    },
  },
  { name: "run-details", path: (run) => `#/runs/${run.run_id}/details`, act: settled },
  {
    name: "run-violation",
    path: (run) => `#/runs/${run.run_id}`,
    before: ({ world, run }) => {
      run.violation = {
        policy: "iterations",
        limit_name: "iterations",
        limit: 34,
        value: 35,
        iteration: 35,
        message: "iteration 35 is above 34",
        reason: "policy iterations",
        verdict: "deny",
      };
      world.finish(run, "policy_violation");
    },
    act: async (page) => {
      await live(page);
      await settled(page);
    },
  },
  {
    name: "run-read-only",
    path: (run) => `#/runs/${run.run_id}`,
    setup: (folder) => mock(folder, { scope: "read" }),
    act: async (page) => {
      await live(page);
      await settled(page);
    },
  },
  {
    name: "run-not-found",
    path: () => "#/runs/ffffffff",
    act: (page) => page.waitForSelector(".empty-problem"),
  },
  {
    name: "policies",
    path: () => "#/policies",
    act: async (page) => {
      await page.waitForSelector(".editor-text");
      await page.locator(".change-head").first().click();
      await page.waitForSelector(".diff-row");
    },
  },
  {
    name: "policies-none",
    path: () => "#/policies",
    before: ({ world }) => Object.assign(world, { policies: [] }).putPolicy("", null, "builtin"),
    act: (page) => page.getByRole("button", { name: "Start from an example" }).waitFor(),
  },
  {
    name: "policies-finding",
    path: () => "#/policies",
    act: async (page) => {
      await page
        .locator(".editor-text")
        .fill(
          '// Nobody may.\npremit (principal, action, resource);\n\n@id("unused")\nforbid (principal, action, resource);\n',
        );
      await page.waitForSelector(".findings li");
    },
  },
  {
    name: "policies-save-dialog",
    path: () => "#/policies",
    act: async (page) => {
      const area = page.locator(".editor-text");
      await area.fill((await area.inputValue()).replaceAll("200", "300"));
      await page.waitForSelector(".button-primary:not([aria-disabled])");
      await page.getByRole("button", { name: "Save…" }).click();
      await page.waitForSelector("dialog[open] .diff-row");
    },
  },
  {
    name: "policies-read-only",
    path: () => "#/policies",
    setup: (folder) => mock(folder, { scope: "operate" }),
    act: (page) => page.waitForSelector(".editor-text"),
  },
  { name: "warnings", path: () => "#/warnings", act: (page) => page.waitForSelector(".warn") },
  {
    name: "warnings-empty",
    path: () => "#/warnings?kind=storage",
    act: (page) => page.waitForSelector(".empty"),
  },
  { name: "sources", path: () => "#/sources", act: (page) => page.waitForSelector(".entry") },
  {
    name: "sources-none",
    path: () => "#/sources",
    before: ({ world }) => Object.assign(world.duty, { sources: [] }),
    act: (page) => page.waitForSelector(".empty"),
  },
  { name: "queue", path: () => "#/queue", act: (page) => page.waitForSelector(".entry .toned") },
  {
    name: "queue-empty",
    path: () => "#/queue",
    before: ({ world }) => Object.assign(world.duty, { requests: [] }),
    act: (page) => page.waitForSelector(".empty"),
  },
  {
    name: "queue-refused",
    path: () => "#/queue?show=refused",
    act: (page) => page.waitForSelector(".entry"),
  },
  {
    name: "follow-ups",
    path: () => "#/follow-ups?show=all",
    act: (page) => page.waitForSelector(".entry"),
  },
  {
    name: "follow-ups-none",
    path: () => "#/follow-ups",
    before: ({ world }) => Object.assign(world.duty, { followUps: [] }),
    act: (page) => page.waitForSelector(".empty"),
  },
  {
    name: "follow-ups-change",
    path: () => "#/follow-ups",
    act: async (page) => {
      await page.getByRole("button", { name: "Change the follow-up of checker" }).click();
      await page.waitForSelector("dialog[open]");
    },
  },
  {
    name: "follow-ups-read-only",
    path: () => "#/follow-ups",
    setup: (folder) => mock(folder, { scope: "read" }),
    act: (page) => page.waitForSelector(".entry"),
  },
  { name: "budgets", path: () => "#/budgets", act: (page) => page.waitForSelector(".budget") },
  {
    name: "budgets-reset-dialog",
    path: () => "#/budgets",
    act: async (page) => {
      await page.getByRole("button", { name: "Reset the budgets of nightly" }).click();
      await page.waitForSelector("dialog[open]");
    },
  },
  {
    name: "budgets-none",
    path: () => "#/budgets",
    before: ({ world }) => Object.assign(world.duty, { budgets: [] }),
    act: (page) => page.waitForSelector(".empty"),
  },
  { name: "memory", path: () => "#/memory", act: (page) => page.waitForSelector(".entry") },
  {
    name: "memory-none",
    path: () => "#/memory",
    before: ({ world }) => Object.assign(world.duty, { memories: [] }),
    act: (page) => page.waitForSelector(".empty"),
  },
  {
    name: "memory-forget-dialog",
    path: () => "#/memory",
    act: async (page) => {
      await page.getByRole("button", { name: "Forget memory 9 of nightly" }).click();
      await page.waitForSelector("dialog[open]");
    },
  },
  {
    name: "inbox",
    path: () => "#/inbox?show=all",
    act: (page) => page.waitForSelector(".inbox-row"),
  },
  {
    name: "inbox-empty",
    path: () => "#/inbox",
    before: ({ world }) => Object.assign(world, { inbox: [] }),
    act: (page) => page.waitForSelector(".empty"),
  },
  {
    name: "inbox-critical",
    path: () => `#/inbox/${ENTRIES[0].request_id}?show=all`,
    act: (page) => page.waitForSelector(".inbox-entry"),
  },
  {
    name: "inbox-file",
    path: () => `#/inbox/${ENTRIES[1].request_id}?show=all`,
    act: (page) => page.waitForSelector(".inbox-entry .diff"),
  },
  {
    name: "inbox-hidden",
    path: () => `#/inbox/${ENTRIES[6].request_id}`,
    act: (page) => page.waitForSelector(".hidden-values"),
  },
  {
    name: "inbox-nasty",
    path: () => `#/inbox/${ENTRIES[3].request_id}?show=all`,
    act: (page) => page.waitForSelector(".hidden-character:visible"),
  },
  {
    name: "inbox-long",
    path: () => `#/inbox/${ENTRIES[4].request_id}`,
    act: (page) => page.waitForSelector(".fold-note"),
  },
  {
    name: "inbox-decided",
    path: () => `#/inbox/${ENTRIES[2].request_id}`,
    before: ({ world }) =>
      Object.assign(world.inbox[2], {
        state: "rejected",
        decided_by: "user:ben",
        decided_at: new Date().toISOString(),
      }),
    act: (page) => page.waitForSelector(".inbox-entry .notice"),
  },
  {
    name: "inbox-reject-dialog",
    path: () => `#/inbox/${ENTRIES[2].request_id}`,
    act: async (page) => {
      await page.waitForSelector(".inbox-entry");
      await page.keyboard.press("r");
      await page.waitForSelector("dialog[open]");
    },
  },
  {
    name: "inbox-critical-dialog",
    path: () => `#/inbox/${ENTRIES[0].request_id}`,
    act: async (page) => {
      await page.waitForSelector(".inbox-entry");
      await page.keyboard.press("a");
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByRole("checkbox").waitFor();
    },
  },
  {
    name: "inbox-reading-only",
    path: () => `#/inbox/${ENTRIES[2].request_id}?show=all`,
    setup: (folder) => mock(folder, { scope: "read" }),
    act: (page) => page.waitForSelector(".inbox-entry"),
  },
  {
    name: "inbox-disconnected",
    path: () => `#/inbox/${ENTRIES[2].request_id}`,
    act: async (page, scene) => {
      await live(page);
      await page.waitForSelector(".inbox-entry");
      scene.server.broken.set("/v1/stream", 503);
      scene.server.cutStreams();
      await page.getByText("Not connected: others").waitFor();
    },
  },
  {
    name: "engineering",
    path: () => "#/engineering",
    act: (page) => page.waitForSelector(".mix"),
  },
  {
    name: "engineering-what-if",
    path: () => "#/engineering",
    act: async (page) => {
      await page.locator("#what-if-text").fill("permit (principal, action, resource);");
      await page.getByRole("button", { name: "Compare" }).press("Enter");
      await page.waitForSelector(".what-if-answer");
    },
  },
  {
    name: "engineering-none",
    path: () => "#/engineering",
    before: ({ world }) => {
      world.hitl = quiet();
    },
    act: (page) => page.waitForSelector(".empty"),
  },
  {
    name: "tasks",
    path: (run) => `#/runs/${run.run_id}`,
    setup: prd,
    act: (page) => page.waitForSelector(".task-card"),
  },
  {
    name: "tasks-graph",
    path: (run) => `#/runs/${run.run_id}`,
    setup: prd,
    act: async (page) => {
      await page.waitForSelector(".task-card");
      await page.keyboard.press("d");
      await page.waitForSelector(".graph-node");
    },
  },
  {
    name: "tasks-detail",
    path: (run) => `#/runs/${run.run_id}/tasks/4`,
    setup: prd,
    act: (page) => page.waitForSelector(".attempt"),
  },
  {
    name: "tasks-changes",
    path: (run) => `#/runs/${run.run_id}/tasks/1`,
    setup: prd,
    act: async (page) => {
      await page.getByRole("button", { name: "Show the changes" }).click();
      await page.waitForSelector(".change-file");
    },
  },
  {
    name: "tasks-log",
    path: (run) => `#/runs/${run.run_id}`,
    setup: prd,
    act: async (page) => {
      await page.waitForSelector(".task-card");
      await page.keyboard.press("l");
      await page.getByText("Codebase Patterns").waitFor();
    },
  },
  {
    name: "tasks-none",
    path: (run) => `#/runs/${run.run_id}`,
    setup: (folder) => prd(folder, { tasks: () => [] }),
    act: (page) => page.waitForSelector(".empty"),
  },
  {
    name: "tasks-failing",
    path: (run) => `#/runs/${run.run_id}/tasks`,
    setup: prd,
    before: (scene) => scene.server.broken.set("/tasks", 503),
    act: (page) => page.waitForSelector(".empty-problem"),
  },
  { name: "work", path: () => "#/work", act: (page) => page.waitForSelector(".entry") },
  {
    name: "work-none",
    path: () => "#/work",
    before: ({ world }) => Object.assign(world, { work: [] }),
    act: (page) => page.waitForSelector(".empty"),
  },
  {
    name: "work-item",
    path: () => `#/work/${idOf("github.com/acme/shop", 37)}`,
    act: (page) => page.waitForSelector(".entry"),
  },
  {
    name: "work-item-requested",
    path: () => `#/work/${idOf("github.com/acme/shop", 38)}`,
    before: ({ world }) =>
      Object.assign(world.work[1], {
        request: { kind: "release", by: "token ops (api)", time: new Date().toISOString() },
      }),
    act: (page) => page.waitForSelector(".notice"),
  },
  {
    name: "work-release-dialog",
    path: () => `#/work/${idOf("github.com/acme/shop", 38)}`,
    act: async (page) => {
      await page.getByRole("button", { name: "Release" }).click();
      await page.waitForSelector("dialog[open]");
    },
  },
  { name: "health", path: () => "#/health", act: (page) => page.waitForSelector(".cards") },
  {
    name: "keys",
    path: () => "#/health",
    act: async (page) => {
      await page.waitForSelector(".cards");
      await page.keyboard.press("?");
      await page.waitForSelector("dialog[open]");
    },
  },
  { name: "no-such-page", path: () => "#/nothing", act: (page) => page.waitForSelector(".empty") },
];

export async function scene(place, folder) {
  const made = await (place.setup ?? mock)(folder);
  place.before?.(made);
  return made;
}

/** Those without which a glance would be none. */
export const PAGES = [
  "runs",
  "sign-in",
  "run",
  "run-timeline",
  "run-conversation",
  "run-checkpoints",
  "run-details",
  "policies",
  "inbox",
  "inbox-critical",
  "warnings",
  "sources",
  "queue",
  "follow-ups",
  "budgets",
  "memory",
  "engineering",
  "tasks",
  "tasks-graph",
  "tasks-detail",
  "work",
  "work-item",
  "health",
];
