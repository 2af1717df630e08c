// SPDX-License-Identifier: Apache-2.0
// The frame around all pages: who is there, where to go, whether we are connected.
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "./lib/api.js";
import { endPrefix, isAfterPrefix, notePrefix, useKeys } from "./lib/hooks.js";
import { watchInbox } from "./lib/inbox.js";
import { openOverview } from "./lib/overview.js";
import { go, route } from "./lib/router.js";
import { admit, session } from "./lib/session.js";
import { useSignal } from "./lib/store.js";
import { PAGES } from "./pages/index.js";
import { Run } from "./pages/run.jsx";
import { SignIn } from "./pages/sign-in.jsx";
import { KeyHelp } from "./ui/key-help.jsx";
import { PageHead, Shell } from "./ui/shell.jsx";
import { Empty, Failure, Skeleton } from "./ui/states.jsx";
import { Toasts } from "./ui/toast.jsx";

const RETRY_MS = 3000;

/** Ask who we are, again and again while the server cannot be reached. */
function useSession() {
  const { state } = useSignal(session);
  const [problem, setProblem] = useState(null);
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (state !== "unknown") return undefined;
    const abort = new AbortController();
    let timer;
    get("/v1/me", { signal: abort.signal }).then(
      (me) => {
        setProblem(null);
        admit(me);
      },
      (failure) => {
        if (failure.name === "AbortError" || failure.status === 401) return;
        setProblem(failure);
        timer = setTimeout(() => setRound((n) => n + 1), RETRY_MS);
      },
    );
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [state, round]);
  return { state, problem, retry: () => setRound((n) => n + 1) };
}

function Page({ parts }) {
  const [page = "runs", id] = parts;
  if (page === "runs" && id) return <Run key={id} id={id} rest={parts.slice(2)} />;
  const found = PAGES.find(({ key }) => key === page);
  if (found) return <found.Page rest={parts.slice(1)} />;
  return (
    <div class="page">
      <PageHead title="Not found" />
      <Empty icon="search" title="Page not found">
        <a href="#/runs">Back to runs</a>
      </Empty>
    </div>
  );
}

export function App() {
  const { parts } = useSignal(route);
  const { state, problem, retry } = useSession();
  const [isHelp, setHelp] = useState(false);
  const main = useRef(null);
  const page = parts[0] ?? "runs";
  const isRun = page === "runs" && parts.length > 1;
  const isIn = state === "in";
  useEffect(() => (isIn && !isRun ? openOverview() : undefined), [isIn, isRun]);
  useEffect(() => (isIn ? watchInbox() : undefined), [isIn]);
  const jump = (key) => () => {
    if (!isAfterPrefix()) return false;
    endPrefix();
    return go(key);
  };
  useKeys({
    "?": () => setHelp(true),
    g: notePrefix,
    ...Object.fromEntries(PAGES.map(({ key, jump: letter }) => [letter, jump(key)])),
  });
  if (state === "needs_token") return <SignIn />;
  return (
    <Shell pages={PAGES} page={page} main={main} onHelp={() => setHelp(true)}>
      {isIn ? (
        <Page parts={parts} />
      ) : (
        <div class="page">
          <PageHead title={PAGES.find(({ key }) => key === page)?.name ?? "Runs"} />
          {problem ? <Failure problem={problem} onRetry={retry} /> : <Skeleton rows={14} />}
        </div>
      )}
      {isHelp && <KeyHelp pages={PAGES} onClose={() => setHelp(false)} />}
      <Toasts />
    </Shell>
  );
}
