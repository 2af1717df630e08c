// SPDX-License-Identifier: Apache-2.0
// What agents may do: the policies in force, changed only after a check, with their history.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, post, put } from "../lib/api.js";
import { dateTime, LIMIT_NAMES, ofLimit, plural } from "../lib/format.js";
import { useApi, useDebounced, useTitle } from "../lib/hooks.js";
import { lacks } from "../lib/session.js";
import { Editor } from "../policies/editor.jsx";
import { PolicyHistory } from "../policies/history.jsx";
import { Dialog } from "../ui/dialog.jsx";
import { Diff } from "../ui/diff.jsx";
import { Icon } from "../ui/icons.jsx";
import { Age, Button, Copy, Facts, Panel } from "../ui/parts.jsx";
import { PageHead } from "../ui/shell.jsx";
import { Loaded, Notice } from "../ui/states.jsx";
import { toast } from "../ui/toast.jsx";

const CHECK_MS = 500;
const LIMIT_KEYS = {
  max_iterations: "iterations",
  max_tokens: "tokens",
  max_cost: "cost",
  time_limit_ns: "time",
};

function limitRows(limits) {
  return Object.entries(limits ?? {})
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([key, value]) => {
      const name = LIMIT_KEYS[key] ?? key.replace(/_micro$|_ns$/, "");
      return [
        LIMIT_NAMES[name] ?? name,
        typeof value === "number" ? ofLimit(name, value) : JSON.stringify(value),
      ];
    });
}

function Limits({ limits }) {
  const rows = limitRows(limits);
  if (!rows.length) return <p class="faint">Only each run's own limits apply.</p>;
  return <Facts rows={rows} />;
}

function InForce({ policies }) {
  return (
    <Panel
      title="In force"
      id="policy-force"
      aside={policies.is_builtin ? <span class="state">built in</span> : null}
    >
      <Facts
        rows={[
          ["Source", <code class="wrap">{policies.source}</code>],
          [
            "Changed",
            policies.changed && (
              <>
                {dateTime(policies.changed)}{" "}
                <span class="faint">
                  <Age time={policies.changed} />
                </span>
              </>
            ),
          ],
          ["By", policies.by],
          [
            "Digest",
            <>
              <code title={policies.sha256}>{policies.sha256}</code>{" "}
              <Copy text={policies.sha256} label="digest" />
            </>,
            "digest",
          ],
        ]}
      />
      <div class="sub">
        <h3>Initial limits</h3>
        <Limits limits={policies.limits} />
      </div>
    </Panel>
  );
}

const EXAMPLE = `// What no policy permits is denied, so first permit everything.
@id("base")
permit (principal, action, resource);

// Then forbid: more than 50 iterations per run.
@id("limit.iterations") @reason("ask the platform team for more")
forbid (principal, action == Action::"iterate", resource)
unless { context.iteration < 50 };
`;

function NoneYet({ onBegin }) {
  return (
    <Notice tone="grey" icon="shield">
      <p>
        <strong>No policies yet.</strong> Runs are limited only by their own options.
      </p>
      {onBegin && (
        <p>
          <Button onClick={onBegin}>Start from an example</Button>
        </p>
      )}
    </Notice>
  );
}

function Findings({ check, onReveal }) {
  const { isChecking, findings, isValid, problem } = check;
  return (
    <div class="findings" id="findings" role="status" data-valid={isValid ? "true" : "false"}>
      {problem ? (
        <p class="toned tone-red">Could not be checked: {problem.message}</p>
      ) : isChecking ? (
        <p class="faint">Checking…</p>
      ) : findings.length === 0 ? (
        <p class="toned tone-green">
          <Icon name="check" size={13} /> No findings
        </p>
      ) : (
        <ul>
          {findings.map((finding, at) => (
            <li key={at} class={`tone-${finding.severity === "error" ? "red" : "amber"}`}>
              <button
                type="button"
                onClick={() => finding.line && onReveal(finding.line, finding.column)}
              >
                <Icon name={finding.severity === "error" ? "cross" : "alert"} size={13} />
                <span class="finding-place">
                  {finding.line ? `${finding.line}:${finding.column || 1}` : "file"}
                </span>
                <span>
                  {finding.message}
                  {finding.hint && <small> {finding.hint}</small>}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** The check follows the text when it has been quiet for a moment. */
function useCheck(text, isOn) {
  const [state, setState] = useState({
    of: null,
    isChecking: false,
    isValid: true,
    findings: [],
    problem: null,
  });
  const late = useDebounced(text, CHECK_MS);
  useEffect(() => {
    if (!isOn) {
      setState({ of: null, isChecking: false, isValid: true, findings: [], problem: null });
      return undefined;
    }
    let isOld = false;
    setState((old) => ({ ...old, isChecking: true, problem: null }));
    post("/v1/policies/check", { text: late }).then(
      (answer) =>
        isOld ||
        setState({
          of: late,
          isChecking: false,
          isValid: answer.is_valid,
          findings: answer.findings ?? [],
          limits: answer.limits,
          problem: null,
        }),
      (problem) =>
        isOld || setState({ of: late, isChecking: false, isValid: false, findings: [], problem }),
    );
    return () => {
      isOld = true;
    };
  }, [late, isOn]);
  return { ...state, isChecking: isOn && (state.isChecking || state.of !== text) };
}

function SaveDialog({ base, text, check, onClose, onSaved, onConflict }) {
  const save = async () => {
    try {
      const saved = await put(
        "/v1/policies",
        { text, if_sha256: base.sha256 },
        { headers: { "If-Match": `"${base.sha256}"` } },
      );
      onSaved(saved);
    } catch (problem) {
      if (problem.status !== 409 && problem.status !== 412) throw problem;
      onConflict();
    }
  };
  const warnings = check.findings.filter(({ severity }) => severity !== "error").length;
  return (
    <Dialog
      title="Replace the policies?"
      submit="Replace policies"
      onClose={onClose}
      onSubmit={save}
      isWide
    >
      <p>
        They apply from the next step of every running loop.
        {warnings ? ` The check has ${plural(warnings, "warning")}.` : ""}
      </p>
      <Diff before={base.text ?? ""} after={text} label="Changes" />
      <h3>New limits</h3>
      <Limits limits={check.limits} />
    </Dialog>
  );
}

function ConflictDialog({ base, text, onClose, onTheirs, onMine }) {
  const [theirs, setTheirs] = useState(null);
  useEffect(() => {
    get("/v1/policies").then(setTheirs, () => {});
  }, []);
  return (
    <Dialog title="Policies changed by someone else" onClose={onClose} isWide>
      {theirs ? (
        <>
          <p>
            {theirs.by ?? "Someone"} changed the policies while you were editing. Your text was not
            saved. Their changes:
          </p>
          <Diff before={base.text ?? ""} after={theirs.text ?? ""} label="Their changes" />
          <div class="dialog-choices">
            <Button
              onClick={() => {
                onTheirs(theirs);
                onClose();
              }}
            >
              Discard mine, load theirs
            </Button>
            <Button
              onClick={() => {
                onMine(theirs, text);
                onClose();
              }}
            >
              Keep my text, compare with theirs
            </Button>
          </div>
        </>
      ) : (
        <p class="faint">Loading theirs…</p>
      )}
    </Dialog>
  );
}

function Body({ loaded, history, reload }) {
  const [base, setBase] = useState(loaded);
  const [text, setText] = useState(loaded.text ?? "");
  const [dialog, setDialog] = useState(null);
  const reveal = useRef(null);
  const why = lacks("administer");
  const isChanged = text !== (base.text ?? "");
  const check = useCheck(text, isChanged);
  const findings = isChanged ? check.findings : (base.findings ?? []);
  const isOutdated = loaded.sha256 !== base.sha256;
  const take = (policies) => {
    setBase(policies);
    setText(policies.text ?? "");
  };
  useEffect(() => {
    if (isOutdated && !isChanged) take(loaded);
  }, [loaded.sha256]);
  const saved = (policies) => {
    take(policies);
    toast("Policies replaced");
    reload();
  };
  const blocked =
    why ??
    (!isChanged
      ? "No changes"
      : check.isChecking
        ? "Check in progress"
        : check.isValid
          ? null
          : "The text has errors");
  const shown = isChanged ? check : { isChecking: false, isValid: true, findings, problem: null };
  return (
    <div class="split split-wide">
      <Panel
        title="Policies"
        id="policy-text"
        className="policy-text"
        aside={
          <span class="panel-tools">
            {isChanged && <Button onClick={() => setText(base.text ?? "")}>Undo all</Button>}
            <Button icon="save" tone="primary" why={blocked} onClick={() => setDialog("save")}>
              Save…
            </Button>
          </span>
        }
      >
        {why && (
          <Notice tone="grey" icon="key">
            {why}.
          </Notice>
        )}
        {!base.text && !isChanged && <NoneYet onBegin={why ? null : () => setText(EXAMPLE)} />}
        {isOutdated && isChanged && (
          <Notice>
            The policies changed while you were editing. You will see the changes before yours are
            saved.
          </Notice>
        )}
        <Editor
          text={text}
          onText={setText}
          findings={findings}
          isReadOnly={Boolean(why)}
          why={why}
          reveal={reveal}
        />
        {(text || isChanged) && (
          <Findings check={shown} onReveal={(line, column) => reveal.current(line, column)} />
        )}
      </Panel>
      <div class="column">
        <InForce policies={base} />
        <PolicyHistory history={history} current={base.text ?? ""} onTake={why ? null : setText} />
      </div>
      {dialog === "save" && (
        <SaveDialog
          base={base}
          text={text}
          check={check}
          onClose={() => setDialog((now) => (now === "save" ? null : now))}
          onSaved={saved}
          onConflict={() => setDialog("conflict")}
        />
      )}
      {dialog === "conflict" && (
        <ConflictDialog
          base={base}
          text={text}
          onClose={() => setDialog(null)}
          onTheirs={take}
          onMine={(theirs) => setBase(theirs)}
        />
      )}
    </div>
  );
}

export function Policies() {
  useTitle("Policies");
  const policies = useApi("/v1/policies");
  const history = useApi("/v1/policies/history?limit=50");
  const reload = () => {
    policies.reload();
    history.reload();
  };
  return (
    <div class="page">
      <PageHead title="Policies" sub="Cedar; evaluated before every step of every run" />
      <Loaded of={policies} rows={10}>
        {(data) => <Body loaded={data} history={history} reload={reload} />}
      </Loaded>
    </div>
  );
}
