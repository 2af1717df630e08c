// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import { useTitle } from "../lib/hooks.js";
import { session, setToken } from "../lib/session.js";
import { useSignal } from "../lib/store.js";
import { Logo } from "../ui/icons.jsx";
import { Button } from "../ui/parts.jsx";

export function SignIn() {
  useTitle("Sign in");
  const { isTokenWrong } = useSignal(session);
  const [text, setText] = useState("");
  const submit = (event) => {
    event.preventDefault();
    if (text.trim()) setToken(text.trim());
  };
  return (
    <main class="sign-in">
      <form onSubmit={submit}>
        <Logo />
        <h1>Sign in to Rondo</h1>
        <p>This server requires a token. Its operator can create one with</p>
        <pre class="code">rondo token create NAME --scope read</pre>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          spellcheck={false}
          placeholder="rondo_…"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          aria-describedby="token-note"
          aria-invalid={isTokenWrong ? "true" : undefined}
        />
        {isTokenWrong && (
          <p class="field-error" role="alert">
            This token is unknown, expired or revoked.
          </p>
        )}
        <Button type="submit" tone="primary" onClick={() => {}}>
          Sign in
        </Button>
        <p class="faint" id="token-note">
          It is kept for this tab only and sent to this server only.
        </p>
      </form>
    </main>
  );
}
