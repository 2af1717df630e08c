// SPDX-License-Identifier: Apache-2.0
import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./css/tokens.css";
import "./css/base.css";
import "./css/shell.css";
import "./css/parts.css";
import "./css/inbox.css";
import "./css/table.css";
import "./css/run.css";
import "./css/pages.css";
import "./css/tasks.css";
import "./lib/theme.js";
import { App } from "./app.jsx";

render(<App />, document.getElementById("app"));
