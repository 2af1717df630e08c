// SPDX-License-Identifier: Apache-2.0
// What JSX becomes calls of (build.mjs).
export { Fragment, h } from "preact";
