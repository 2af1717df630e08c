// SPDX-License-Identifier: Apache-2.0
// Pictures of every page and state: `node shots.mjs CHROMIUM DIST FOLDER [NAME...]`.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch, open, shut } from "./browser.mjs";
import { PLACES, scene } from "./places.mjs";

const VIEWS = [
  { suffix: "dark", theme: "dark" },
  { suffix: "light", theme: "light" },
  { suffix: "phone", theme: "dark", width: 390, height: 844 },
];

const [chromium, dist, folder, ...names] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await launch(chromium);
for (const place of PLACES.filter(({ name }) => !names.length || names.includes(name))) {
  for (const view of VIEWS) {
    const made = await scene(place, dist);
    const page = await open(browser, `${made.server.url}/${place.path(made.run)}`, {
      ...view,
      reducedMotion: "reduce",
    });
    try {
      await place.act(page, made);
      await page.waitForTimeout(250);
    } catch (error) {
      console.log(`${place.name} ${view.suffix}: ${error.message.split("\n")[0]}`);
    }
    if (page.problems.length)
      console.log(`${place.name} ${view.suffix}: ${page.problems.join("; ")}`);
    await page.screenshot({ path: join(folder, `${place.name}-${view.suffix}.png`) });
    await shut(page);
    await made.server.kill();
  }
}
await browser.close();
