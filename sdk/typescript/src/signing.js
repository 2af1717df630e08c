// SPDX-License-Identifier: Apache-2.0
// Signatures of Standard Webhooks 1.0 (`v1`): HMAC-SHA256 over id, time and raw body.
import { createHmac, timingSafeEqual } from "node:crypto";
import { ConfigError } from "./errors.js";

export const TOLERANCE_S = 300;

/** The bytes of a secret `whsec_BASE64`. */
export function readSecret(text) {
  const base64 = String(text).replace(/^whsec_/, "");
  const secret = Buffer.from(base64, "base64");
  if (secret.toString("base64") !== base64 || secret.length < 24 || secret.length > 64) {
    throw new ConfigError("signingSecret: give whsec_ and the base64 of 24 to 64 bytes");
  }
  return secret;
}

/** The value of `webhook-signature`. */
export function sign(secret, id, timestamp, body) {
  return `v1,${createHmac("sha256", secret).update(`${id}.${timestamp}.`).update(body).digest("base64")}`;
}

/** Whether one of the signatures is right and fresh. */
export function verify(secret, headers, body, nowMs = Date.now()) {
  const id = headers["webhook-id"] ?? "";
  const stamp = headers["webhook-timestamp"] ?? "";
  if (id === "" || id.includes(".") || !/^\d{1,15}$/.test(stamp)) return false;
  if (Math.abs(nowMs / 1000 - Number(stamp)) > TOLERANCE_S) return false;
  const expected = Buffer.from(sign(secret, id, stamp, body));
  const given = (headers["webhook-signature"] ?? "").split(" ").map((one) => Buffer.from(one));
  return given.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
}
