// SPDX-License-Identifier: Apache-2.0
// Navigation, connection, theme and who is signed in. On a phone the navigation is at the bottom.
import { useEffect, useRef } from "preact/hooks";
import { waiting } from "../lib/inbox.js";
import { connection, retryNow } from "../lib/live.js";
import { session, setToken, bearer } from "../lib/session.js";
import { useSignal } from "../lib/store.js";
import { chooseTheme, theme } from "../lib/theme.js";
import { clock } from "../lib/time.js";
import { warnings } from "../lib/warnings.js";
import { Icon, Logo } from "./icons.jsx";
import { say } from "./toast.jsx";

const THEMES = {
  system: ["auto", "system", "dark"],
  dark: ["moon", "dark", "light"],
  light: ["sun", "light", "system"],
};

/** On a phone the row of pages is wider than the screen: the present one comes into view. */
function useInView(page) {
  const nav = useRef(null);
  useEffect(() => {
    const row = nav.current;
    const link = row?.querySelector("[aria-current]");
    if (link) row.scrollLeft = link.offsetLeft - (row.clientWidth - link.offsetWidth) / 2;
  }, [page]);
  return nav;
}

function Navigation({ pages, page }) {
  const { unseen } = useSignal(warnings);
  const { mine } = useSignal(waiting);
  return (
    <nav class="nav" aria-label="Pages" ref={useInView(page)}>
      {pages.map(({ key, name, icon, isDuty }, at) => (
        <a
          key={key}
          href={`#/${key}`}
          class={Boolean(isDuty) !== Boolean(pages[at - 1]?.isDuty) && at ? "nav-part" : ""}
          aria-current={page === key ? "page" : undefined}
        >
          <Icon name={icon} />
          <span>{name}</span>
          {key === "inbox" && mine > 0 && (
            <span class="nav-badge">
              {mine > 99 ? "99+" : mine}
              <span class="sr"> wait for you</span>
            </span>
          )}
          {key === "warnings" && unseen > 0 && (
            <span class="nav-badge">
              {unseen}
              <span class="sr"> new</span>
            </span>
          )}
        </a>
      ))}
    </nav>
  );
}

const PHASES = {
  none: ["grey", "Not connected"],
  connecting: ["amber", "Connecting"],
  live: ["green", "Live"],
  paused: ["grey", "Paused"],
  refused: ["red", "Refused"],
  closed: ["grey", "Not connected"],
};

function Connection() {
  useSignal(clock);
  const { phase, retryAt } = useSignal(connection);
  const [tone, label] = PHASES[phase] ?? ["amber", "Reconnecting"];
  const seconds = Math.max(0, Math.ceil((retryAt - Date.now()) / 1000));
  useEffect(() => {
    if (phase === "waiting") say("Connection lost, reconnecting");
  }, [phase]);
  return (
    <div class={`connection tone-${tone}`} data-phase={phase}>
      <i class="connection-dot" aria-hidden="true" />
      <span>
        {phase === "waiting" ? `Reconnecting${seconds > 0 ? ` in ${seconds} s` : ""}` : label}
      </span>
      {phase === "waiting" && (
        <button type="button" class="link" onClick={retryNow}>
          Now
        </button>
      )}
    </div>
  );
}

function ThemeSwitch() {
  const { choice } = useSignal(theme);
  const [icon, name, next] = THEMES[choice];
  return (
    <button
      type="button"
      class="quiet-button"
      onClick={() => chooseTheme(next)}
      title={`Theme: ${name}`}
      aria-label={`Theme: ${name}. Switch to ${next}`}
    >
      <Icon name={icon} />
    </button>
  );
}

function Person() {
  const { me } = useSignal(session);
  if (!me) return null;
  const name = me.name.replace(/^(token|local user) (?=.)/, "");
  return (
    <div class="person">
      <Icon name="user" size={14} />
      <span class="person-name" title={`${me.name} · ${me.scope}`}>
        {name}
        <small>
          {me.scope === "read" ? "read only" : me.scope}
          {me.agents ? ` · ${me.agents.length} agents` : ""}
        </small>
      </span>
      {bearer() && (
        <button type="button" class="link" onClick={() => setToken(null)}>
          Sign out
        </button>
      )}
    </div>
  );
}

export function Shell({ pages, page, main, onHelp, children }) {
  const skip = (event) => {
    event.preventDefault();
    main.current?.focus();
  };
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={skip}>
        Skip to content
      </a>
      <header class="side">
        <a class="brand" href="#/runs" aria-label="Rondo, to the runs">
          <Logo />
          <span>Rondo</span>
        </a>
        <Navigation pages={pages} page={page} />
        <div class="side-foot">
          <Connection />
          <div class="side-tools">
            <Person />
            <button
              type="button"
              class="quiet-button key-button"
              onClick={onHelp}
              title="Keys (?)"
              aria-label="Keyboard shortcuts"
            >
              <Icon name="help" />
            </button>
            <ThemeSwitch />
          </div>
        </div>
      </header>
      <main class="main" id="main" ref={main} tabIndex={0}>
        {children}
      </main>
    </div>
  );
}

export function PageHead({ title, sub, children, before }) {
  return (
    <header class="page-head">
      <div class="page-title">
        {before}
        <h1>{title}</h1>
        {sub && <div class="page-sub">{sub}</div>}
      </div>
      {children && <div class="page-actions">{children}</div>}
    </header>
  );
}
