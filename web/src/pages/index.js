// SPDX-License-Identifier: Apache-2.0
// The pages: one row each. jump: the key after `g`; isDuty: about agents on duty.
import { Budgets } from "./budgets.jsx";
import { Engineering } from "./engineering.jsx";
import { FollowUps } from "./follow-ups.jsx";
import { Health } from "./health.jsx";
import { Inbox } from "./inbox.jsx";
import { Memory } from "./memory.jsx";
import { Policies } from "./policies.jsx";
import { Queue } from "./queue.jsx";
import { Runs } from "./runs.jsx";
import { Sources } from "./sources.jsx";
import { Warnings } from "./warnings.jsx";
import { Work } from "./work.jsx";

export const PAGES = [
  { key: "runs", name: "Runs", icon: "runs", jump: "r", Page: Runs },
  { key: "inbox", name: "Inbox", icon: "inbox", jump: "i", Page: Inbox },
  { key: "warnings", name: "Warnings", icon: "bell", jump: "w", Page: Warnings },
  { key: "work", name: "Work", icon: "branch", jump: "o", Page: Work },
  { key: "sources", name: "Sources", icon: "clock", jump: "s", Page: Sources, isDuty: true },
  { key: "queue", name: "Queue", icon: "stack", jump: "q", Page: Queue, isDuty: true },
  { key: "follow-ups", name: "Follow-ups", icon: "next", jump: "f", Page: FollowUps, isDuty: true },
  { key: "budgets", name: "Budgets", icon: "gauge", jump: "b", Page: Budgets, isDuty: true },
  { key: "memory", name: "Memory", icon: "brain", jump: "m", Page: Memory, isDuty: true },
  { key: "policies", name: "Policies", icon: "shield", jump: "p", Page: Policies },
  { key: "engineering", name: "Engineering", icon: "gauge", jump: "e", Page: Engineering },
  { key: "health", name: "Health", icon: "pulse", jump: "h", Page: Health },
];
